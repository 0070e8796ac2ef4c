package actortest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// DefaultWait is how long a Probe waits for a message, unless Wait says otherwise.
const DefaultWait = 3 * time.Second

// ProbeConfig configures a Probe. The zero value is the default.
type ProbeConfig struct {
	// Name is what the probe's actor is called. Default empty: a generated name.
	Name string
	// Wait is the patience of every Expect method. Default DefaultWait.
	Wait time.Duration
	// Hold leaves the end of each message's Completion to the test, which finds it in Received.Done. Default false: it ends
	// with nil, as if a handler had returned, but for that of an ask, which ends with the probe's Reply.
	Hold bool
	// Auto, if set, handles each message in the probe's actor right after the probe has taken it down; what it returns is
	// the handler's error, so it may Reject. Default nil: nobody answers but the test. With Auto, Hold has no effect.
	Auto func(ctx *actor.Context, msg any) error
}

// Validate checks that Wait is not negative and fills in the default.
func (c *ProbeConfig) Validate() error {
	if c.Wait < 0 {
		return fmt.Errorf("ProbeConfig.Wait must be positive, or 0 for %v; it is %v", DefaultWait, c.Wait)
	}
	if c.Wait == 0 {
		c.Wait = DefaultWait
	}
	return nil
}

// Received is one message as a Probe got it.
type Received struct {
	Msg    any
	Sender actor.Ref
	// Done is the message's Completion: that of an ask, or of any message if ProbeConfig.Hold is set. Otherwise nil.
	Done actor.Completion
}

// Probe is an actor that keeps what it is told until the test takes it. It is an ordinary actor: it can be watched and
// stopped, may watch others and be the parent of others. Its methods are for the test's goroutine, block at most Wait,
// and fail the test at once when what they expect does not come; what they return is the test's own. Make one with
// NewProbe.
type Probe struct {
	// Wait is the patience of every Expect method. NewProbe sets it; the test may change it.
	Wait time.Duration

	tb       testing.TB
	sys      *actor.System
	ref      actor.Ref
	config   ProbeConfig
	last     Received
	taken    int           // how many messages the test has taken
	deadline time.Time     // of the Within that is running
	ended    chan struct{} // the actor has ended

	mu    sync.Mutex
	queue []Received
	more  chan struct{} // capacity 1: the queue has grown
}

// NewProbe spawns a probe in sys. It ends with the system, or by Stop. In a bubble make it in the bubble.
func NewProbe(tb testing.TB, sys *actor.System, opts ...func(*ProbeConfig)) *Probe {
	tb.Helper()
	p := &Probe{tb: tb, sys: sys, more: make(chan struct{}, 1), ended: make(chan struct{})}
	for _, o := range opts {
		if o != nil {
			o(&p.config)
		}
	}
	if err := p.config.Validate(); err != nil {
		tb.Fatalf("actortest: no probe: %v", err)
	}
	p.Wait = p.config.Wait
	newActor := func() actor.Actor { return probeActor{p} }
	var err error
	if p.config.Name == "" {
		p.ref, err = sys.SpawnAnonymous(newActor)
	} else {
		p.ref, err = sys.Spawn(p.config.Name, newActor)
	}
	if err != nil {
		tb.Fatalf("actortest: no probe: %v", err)
	}
	return p
}

// probeActor is the actor of a probe. What it has taken down is the probe's, so it outlives a restart.
type probeActor struct{ p *Probe }

// inActor has the probe's actor do something that needs its context.
type inActor func(*actor.Context)

func (a probeActor) Receive(ctx *actor.Context, msg any) error {
	p := a.p
	if f, ok := msg.(inActor); ok {
		f(ctx)
		return nil
	}
	r := Received{Msg: msg, Sender: ctx.Sender()}
	if p.config.Auto == nil {
		r.Done = p.completion(ctx)
	}
	p.mu.Lock()
	p.queue = append(p.queue, r)
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
	if p.config.Auto != nil {
		return p.config.Auto(ctx, msg)
	}
	return nil
}

// completion takes the current message's, if it is for the test to end.
func (p *Probe) completion(ctx *actor.Context) actor.Completion {
	d := ctx.Hold()
	if _, ask := d.(actor.Answerer); d != nil && !ask && !p.config.Hold {
		d.Done(nil)
		return nil
	}
	return d
}

// PreRestart does nothing: without it a restart would run PostStop.
func (a probeActor) PreRestart(*actor.Context, error, any) error { return nil }

func (a probeActor) PostStop(*actor.Context) error {
	close(a.p.ended)
	return nil
}

// Ref is the probe's address: give it to the actor under test.
func (p *Probe) Ref() actor.Ref { return p.ref }

// Tell sends msg to an actor with the probe as the sender. It returns when the message is in the mailbox.
func (p *Probe) Tell(to actor.Ref, msg any) {
	p.tb.Helper()
	p.do(func(ctx *actor.Context) { ctx.Tell(to, msg) })
}

// Sender is the sender of the message that was taken last: the zero Ref if that is unknown, or nothing was taken yet.
func (p *Probe) Sender() actor.Ref { return p.last.Sender }

// Reply answers the message that was taken last: it ends an ask, an error as msg being the ask's error, and otherwise
// tells msg to the sender, with the probe as the sender. It fails the test if the message has no sender.
func (p *Probe) Reply(msg any) {
	p.tb.Helper()
	if a, ok := p.last.Done.(actor.Answerer); ok {
		a.Answer(msg)
		return
	}
	if p.last.Sender.IsZero() {
		p.fatalf("there is nobody to reply to: the last message taken, %s, has no sender", show(p.last.Msg))
	}
	p.Tell(p.last.Sender, msg)
}

// Forward sends the message that was taken last on to another actor, with its sender, and with its completion if it is
// an ask or ProbeConfig.Hold is set.
func (p *Probe) Forward(to actor.Ref) {
	actor.Send(to, actor.Envelope{Msg: p.last.Msg, Sender: p.last.Sender, Done: p.last.Done})
	p.last.Done = nil
}

// Watch makes the probe hear of the end of ref; see ExpectTerminated.
func (p *Probe) Watch(ref actor.Ref) {
	p.tb.Helper()
	p.do(func(ctx *actor.Context) { ctx.Watch(ref) })
}

// Unwatch takes a Watch back.
func (p *Probe) Unwatch(ref actor.Ref) {
	p.tb.Helper()
	p.do(func(ctx *actor.Context) { ctx.Unwatch(ref) })
}

// Spawn starts a child of the probe, which so gets what the child tells its parent. It fails the test if there is an
// error. A failed child is judged by the default Supervisor, unless the options give it another.
func (p *Probe) Spawn(name string, newActor func() actor.Actor, opts ...func(*actor.SpawnConfig)) actor.Ref {
	p.tb.Helper()
	var ref actor.Ref
	var err error
	p.do(func(ctx *actor.Context) { ref, err = ctx.Spawn(name, newActor, opts...) })
	if err != nil {
		p.fatalf("%v", err)
	}
	return ref
}

// Stop ends the probe's actor, and its children, and waits for the end. What has come before can still be taken.
func (p *Probe) Stop() {
	p.tb.Helper()
	p.ref.Tell(actor.PoisonPill{})
	t := time.NewTimer(p.Wait)
	defer t.Stop()
	select {
	case <-p.ended:
	case <-t.C:
		p.fatalf("the probe has not stopped within %v", p.Wait)
	}
}

// do runs f in the probe's actor and waits for it.
func (p *Probe) do(f func(*actor.Context)) {
	p.tb.Helper()
	done := make(chan struct{})
	p.ref.Tell(inActor(func(ctx *actor.Context) {
		defer close(done)
		f(ctx)
	}))
	t := time.NewTimer(p.Wait)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		p.fatalf("the probe's actor did not answer within %v", p.Wait)
	case <-p.ended:
		select {
		case <-done: // before it ended
		default:
			p.fatalf("the probe has stopped")
		}
	}
}

// Pending is the number of messages that have come and were not taken.
func (p *Probe) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// Clear drops the messages that have come and were not taken, and returns them.
func (p *Probe) Clear() []Received {
	p.mu.Lock()
	defer p.mu.Unlock()
	dropped := p.queue
	p.queue = nil
	return dropped
}

// Within runs f, in which every expectation has the rest of d for its patience, in place of Wait. It fails the test if f
// has taken longer than d. It does not interrupt f, but for what waits in an expectation of this probe. Within another
// Within the earlier end counts.
func (p *Probe) Within(d time.Duration, f func()) {
	p.tb.Helper()
	outer, start := p.deadline, time.Now()
	p.deadline = start.Add(d)
	if !outer.IsZero() && outer.Before(p.deadline) {
		p.deadline = outer
	}
	defer func() { p.deadline = outer }()
	f()
	if took := time.Since(start); took > d {
		p.fatalf("it took %v, want %v at most", took, d)
	}
}

// patience is how long an expectation waits from now on.
func (p *Probe) patience() time.Duration {
	if p.deadline.IsZero() {
		return p.Wait
	}
	return max(0, time.Until(p.deadline))
}

// take waits at most d for the next message.
func (p *Probe) take(d time.Duration) (Received, bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	for late := false; ; {
		p.mu.Lock()
		if len(p.queue) > 0 {
			p.last = p.queue[0]
			p.queue = p.queue[1:]
			p.taken++
			p.mu.Unlock()
			return p.last, true
		}
		p.mu.Unlock()
		if late {
			return Received{}, false
		}
		select {
		case <-p.more:
		case <-t.C:
			late = true
		}
	}
}

// fatalf fails the test and says which probe it was.
func (p *Probe) fatalf(format string, args ...any) {
	p.tb.Helper()
	p.tb.Fatalf("actortest: probe %s: %s", p.ref.Name(), fmt.Sprintf(format, args...))
}
