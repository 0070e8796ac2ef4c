package resilience

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// ChildEnded is published on the system's event stream by an actor made by Supervise when its child has ended.
type ChildEnded struct {
	// Supervisor is the actor made by Supervise.
	Supervisor actor.Ref
	// Child is the incarnation that has ended.
	Child actor.Ref
	// Cause is why it failed, nil for an orderly stop.
	Cause error
	// InARow is how many ends there were without a stable child in between, this one included.
	InARow int
	// Again says that the child is started again, after Delay; otherwise the supervisor gives up.
	Again bool
	// Delay is how long the child stays down.
	Delay time.Duration
}

// Supervise makes a factory for an actor, the supervisor, that runs one child made by newChild and passes to it what
// itself is told. When the child ends it is started again, not at once as by an actor.Supervisor, but after a time that
// grows with every further end: the pattern for a child that needs something outside which may be away for a while.
//
// The ref of the supervisor stays the same, so it is the one to give away. While the child is up messages go to it at
// once, with their sender and completion; while it is down or still starting they wait, see SuperviseConfig.MaxStash, and
// go to the child, in order, when its PreStart has succeeded: a child that keeps failing there costs no message. What
// the child had in its own mailbox when it ended becomes dead letters, as at the stop of any actor, and so does a message
// that reaches it in the instant in which it ends.
//
// A failed child is stopped, never restarted in place; what has failed is not resumed. A start that failed by
// configuration is not tried again. When the supervisor gives up it stops itself, or fails, see Escalate. When it stops
// or restarts, the child is stopped first, and what waits becomes dead letters with actor.ErrStopped. Bad settings are a
// start that fails by configuration, with an *actor.ConfigError. newChild is called once for each incarnation, on the
// child's goroutine.
func Supervise(newChild func() actor.Actor, opts ...func(*SuperviseConfig)) func() actor.Actor {
	cfg := DefaultSuperviseConfig()
	for _, opt := range opts {
		if opt != nil {
			opt(&cfg)
		}
	}
	err := cfg.Validate()
	if err == nil && newChild == nil {
		err = wrong(ErrConfig, "newChild", "nil", "a factory")
	}
	return func() actor.Actor {
		return &supervisor{cfg: cfg, invalid: err, newChild: newChild, box: &waiting{limit: cfg.MaxStash}}
	}
}

// supervisor is the actor made by Supervise.
type supervisor struct {
	cfg      SuperviseConfig
	invalid  error
	newChild func() actor.Actor
	box      *waiting

	child    actor.Ref // zero while there is none
	ending   bool      // it has failed or is stopping, and takes no more messages
	hopeless bool      // its start failed by configuration
	inARow   int       // ends without a stable child in between
	dropped  int       // messages that made room since the child went down
}

// startChild is the tick of the timer that ends the time down.
type startChild struct{}

const backoffTimer = "backoff"

// PreStart starts the first child.
func (s *supervisor) PreStart(ctx *actor.Context) error {
	if s.invalid != nil {
		return &actor.ConfigError{Path: "resilience.Supervise", Err: s.invalid}
	}
	return s.start(ctx)
}

// PostStop runs when the child has ended, or, at a restart, is about to be stopped.
func (s *supervisor) PostStop(ctx *actor.Context) error {
	s.box.shut()
	for {
		e, ok := s.box.take()
		if !ok {
			return nil
		}
		s.drop(ctx, e, actor.ErrStopped)
	}
}

// Supervisor has a failed child stopped.
func (s *supervisor) Supervisor() actor.Supervisor { return actor.Supervisor{Decide: s.decide} }

// decide runs on the supervisor's goroutine, in between messages: those that come after the failure are kept, although
// Terminated is still on its way.
func (s *supervisor) decide(child actor.Ref, cause error) actor.Directive {
	if child == s.child {
		s.end()
		s.hopeless = actor.DefaultDecider(child, cause) == actor.Stop
	}
	return actor.Stop
}

// Receive passes everything on but what is its own.
func (s *supervisor) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case startChild:
		return s.start(ctx)
	case actor.Terminated:
		return s.ended(ctx, m)
	}
	s.deliver(ctx, msg)
	return nil
}

// start spawns the child. Its name is free: this actor has seen the Terminated of the one before.
func (s *supervisor) start(ctx *actor.Context) error {
	gen := s.box.expect()
	factory := func() actor.Actor {
		a := s.newChild()
		if a == nil {
			return nil
		}
		return &child{Actor: a, box: s.box, gen: gen}
	}
	ref, err := ctx.Spawn(s.cfg.ChildName, factory, func(c *actor.SpawnConfig) { c.Mailbox = s.cfg.ChildMailbox })
	if err != nil {
		return err
	}
	s.child, s.ending, s.hopeless = ref, false, false
	ctx.Watch(ref)
	return nil
}

// end notes that the child takes no more messages.
func (s *supervisor) end() {
	s.ending = true
	s.box.shut()
}

// ended begins the time down, or gives up. The Terminated of a child that an instance before this one had watched is
// stale, see HC-K10 in the tests.
func (s *supervisor) ended(ctx *actor.Context, t actor.Terminated) error {
	if t.Ref != s.child {
		return nil
	}
	s.end()
	s.child = actor.Ref{}
	if s.cfg.StableAfter > 0 && s.box.lifetime() >= s.cfg.StableAfter {
		s.inARow = 0
	}
	event := ChildEnded{Supervisor: ctx.Self(), Child: t.Ref, Cause: t.Cause, InARow: s.inARow + 1}
	why := ""
	switch {
	case s.hopeless:
		why = "its start failed by configuration"
	case !s.cfg.Trigger.matches(t.Cause):
		why = "it is only started again after " + s.cfg.Trigger.String()
	case s.cfg.MaxRestarts > 0 && s.inARow >= s.cfg.MaxRestarts:
		why = fmt.Sprintf("it was restarted %d times in a row", s.inARow)
	}
	delay := max(s.cfg.Backoff.Delay(s.inARow), 1) // a timer does not take 0
	s.inARow++
	s.dropped = 0
	if why != "" {
		ctx.System().EventStream().Publish(event)
		return s.giveUp(ctx, t, why, delay)
	}
	event.Again, event.Delay = true, delay
	ctx.Log().Warn("child ended and is started again", "child", t.Ref.Name(), "in", delay, "in_a_row", event.InARow, "error", t.Cause)
	ctx.System().EventStream().Publish(event)
	return ctx.Timers().StartSingle(backoffTimer, startChild{}, delay)
}

// giveUp ends the supervisor, or has its parent decide.
func (s *supervisor) giveUp(ctx *actor.Context, t actor.Terminated, why string, delay time.Duration) error {
	if t.Cause == nil {
		ctx.Log().Info("child ended and is not started again", "child", t.Ref.Name(), "why", why)
		ctx.StopSelf()
		return nil
	}
	ctx.Log().Error("child ended and is not started again", "child", t.Ref.Name(), "why", why, "error", t.Cause)
	if !s.cfg.Escalate {
		ctx.StopSelf()
		return nil
	}
	// A stop and a restart cancel the timer. A parent that decides to resume wants the child back.
	if err := ctx.Timers().StartSingle(backoffTimer, startChild{}, delay); err != nil {
		return err
	}
	return fmt.Errorf("resilience: child %s is not started again, %s: %w", t.Ref.Name(), why, t.Cause)
}

// deliver passes the current message on, or keeps it.
func (s *supervisor) deliver(ctx *actor.Context, msg any) {
	if !s.ending {
		if _, alive := s.child.Pending(); !alive { // it stops by itself; its Terminated is on its way
			s.end()
		}
	}
	// Where nothing is kept, a child that is still starting gets its messages all the same: they wait in its mailbox.
	if s.box.isOpen() || s.cfg.MaxStash == 0 && !s.ending {
		ctx.Forward(s.child)
		return
	}
	e := parked{msg: msg, sender: ctx.Sender(), done: ctx.Hold()}
	if s.cfg.MaxStash == 0 {
		s.drop(ctx, e, ErrChildDown)
		return
	}
	out, full, open := s.box.put(e)
	switch {
	case open:
		actor.Send(s.child, actor.Envelope{Msg: e.msg, Sender: e.sender, Done: e.done})
	case full:
		// One warning at the first and at each doubling: a flood of messages must not become a flood of log lines.
		if s.dropped++; s.dropped&(s.dropped-1) == 0 {
			ctx.Log().Warn("too many messages wait for the child; the oldest become dead letters", "limit", s.cfg.MaxStash, "dropped", s.dropped)
		}
		s.drop(ctx, out, actor.ErrStashFull)
	}
}

// drop makes a dead letter.
func (s *supervisor) drop(ctx *actor.Context, e parked, reason error) {
	if _, again := e.msg.(actor.DeadLetter); !again { // one of a dead letter would go round for ever
		ctx.System().EventStream().Publish(actor.DeadLetter{Msg: e.msg, To: ctx.Self(), Sender: e.sender, Reason: reason})
	}
	if e.done == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil { // its author's fault, and no reason to lose what comes after it
			ctx.Log().Error("a Completion panicked", "panic", v)
		}
	}()
	e.done.Done(fmt.Errorf("%w: %w", actor.ErrDeadLetter, reason))
}

// child is the child's actor with one thing added: it fetches what waits when it has started. The first layer with a
// PreStart is the one that the runtime calls, so this one calls that of the actor in it; every other hook is found by
// Unwrap.
type child struct {
	actor.Actor
	box *waiting
	gen uint64
}

// Unwrap returns the actor.
func (c *child) Unwrap() any { return c.Actor }

// PreStart is that of the actor, and what follows it.
func (c *child) PreStart(ctx *actor.Context) error {
	if h := preStarter(c.Actor); h != nil {
		if err := h.PreStart(ctx); err != nil {
			return err
		}
	}
	c.box.fetch(c.gen, ctx.Self())
	return nil
}

// maxLayers is how many wrappers deep the runtime looks for a hook.
const maxLayers = 64

// preStarter finds the outermost layer that has the hook.
func preStarter(a any) actor.PreStarter {
	for range maxLayers {
		if h, ok := a.(actor.PreStarter); ok {
			return h
		}
		w, ok := a.(actor.Wrapper)
		if !ok {
			return nil
		}
		a = w.Unwrap()
	}
	return nil
}
