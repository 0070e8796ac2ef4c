package actortest

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/detached"
)

// ContextConfig configures a Context. The zero value is the default.
type ContextConfig struct {
	// Name is what the actor is called. Default "actor".
	Name string
	// Config is the application's configuration, as in actor.SystemConfig. Default nil: the reference alone.
	Config *hocon.Config
	// Logger gets what the actor and the runtime log. Default nil: the test's log.
	Logger *slog.Logger
}

// Validate fills in the defaults. A bad Name is found by NewContext.
func (c *ContextConfig) Validate() error {
	if c.Name == "" {
		c.Name = "actor"
	}
	return nil
}

// Context is what an actor needs to be tested without a system: an *actor.Context that no system runs, and a record of
// what the actor does with it. Nothing happens by itself: no message is delivered, no time passes and no child starts
// unless the test says so. Everything runs on the test's goroutine, so an assertion may stand in the actor itself; the
// methods are for that goroutine only. Make one with NewContext.
//
// What is as in a system: behaviours, stash, watches, timers and the receive timeout, as far as they are set; what
// becomes of a message's completion; names of children. What is different:
//
//   - An error or a panic is returned to the test, which decides what follows: to go on is Resume, PreRestart and
//     PostRestart make a restart.
//   - StopSelf is noted. Deliver then returns an error that wraps actor.ErrStopped, and PostStop is for the test to call.
//   - Children never run. Their factories are in Spawned.
//   - A handler that waits for an answer, by actor.Ask, gets actor.ErrStopped at once, since nobody is there to answer.
//     So do System.Spawn and whoever waits for the system's end: Context.System is one that has ended.
//   - Only the Deliver methods make a current message: to an actor whose Receive is called by the test itself, Sender,
//     Reply, Forward, Hold, Stash and Unhandled have nothing to work with.
type Context struct {
	// Context is what the actor's methods are called with.
	Context *actor.Context
	// Wait is how long Deliver waits for functions that the actor gave to PipeToSelf to return. They run on goroutines of
	// their own, as in a system; their results are in the Mailbox when Deliver returns. NewContext sets it to DefaultWait. 0:
	// it does not wait.
	Wait time.Duration

	tb     testing.TB
	cell   *cell
	sender actor.Ref

	sent    []Sent
	spawned []Spawned
	dead    []actor.DeadLetter
}

type (
	cell = detached.Cell[*actor.Context, actor.Actor, actor.Ref, actor.Envelope, actor.SpawnConfig, actor.DeadLetter]
	seen = detached.Seen[actor.Actor, actor.Ref, actor.Envelope, actor.SpawnConfig, actor.DeadLetter]
)

// NewContext makes a Context. What it logs is shown when the test fails or runs with -v. When the test ends, the actor's
// own context is cancelled, what it held ends with actor.ErrStopped, and the test fails if functions of PipeToSelf do
// not return within DefaultWait. It fails the test at once if there is no Context to be had.
func NewContext(tb testing.TB, opts ...func(*ContextConfig)) *Context {
	tb.Helper()
	var config ContextConfig
	for _, o := range opts {
		if o != nil {
			o(&config)
		}
	}
	if err := config.Validate(); err != nil {
		tb.Fatalf("actortest: no context: %v", err)
	}
	var w *testWriter
	if config.Logger == nil {
		config.Logger, w = newLogger(tb)
	}
	d, err := actor.Detached(detached.Spec{Name: config.Name}, func(c *actor.SystemConfig) {
		c.Config, c.Logger = config.Config, config.Logger
	})
	if err != nil {
		tb.Fatalf("actortest: no context: %v", err)
	}
	c := &Context{Context: d.Context, Wait: DefaultWait, tb: tb, cell: d}
	tb.Cleanup(func() {
		piping := d.Piping()
		d.Close()
		if piping && !c.settle(DefaultWait) {
			tb.Errorf("actortest: functions that the actor gave to PipeToSelf have not returned %v after their context has ended", DefaultWait)
		}
		if w != nil {
			w.end()
		}
	})
	c.sender = c.NewRef("sender")
	return c
}

// NewRef makes the ref of somebody who only keeps what he is told, for the actor to talk to; see Sent. Two with one name
// fail the test, and so does a name that Spawn would refuse; "sender" is taken.
func (c *Context) NewRef(name string) actor.Ref {
	c.tb.Helper()
	ref, err := c.cell.NewRef(name)
	if err != nil {
		c.tb.Fatalf("actortest: no ref: %v", err)
	}
	return ref
}

// Sender is the sender of the messages of Deliver; see Replies.
func (c *Context) Sender() actor.Ref { return c.sender }

// Deliver has the actor handle msg from Sender, by the behaviour in force: the last Become's, or a's Receive. It returns
// the handler's error; a panic is a *actor.PanicError, whose stack is logged. It is an error, and nothing is delivered,
// if the actor has stopped or is handling something.
//
// Some messages are special, as in a system: a Terminated is taken for the runtime's own, ends the watch and, if it is a
// child's, frees its name; it comes as the message of WatchWith if there is one, and is an error if the ref is not watched.
// ReceiveTimeout is the runtime's own if a receive timeout is set. PoisonPill makes the actor stop and Kill returns
// actor.ErrKilled; no handler sees them.
func (c *Context) Deliver(a actor.Actor, msg any) error {
	return c.DeliverEnvelope(a, actor.Envelope{Msg: msg, Sender: c.sender})
}

// DeliverEnvelope is Deliver with another sender, or none, and a Completion.
func (c *Context) DeliverEnvelope(a actor.Actor, e actor.Envelope) error {
	c.tb.Helper()
	return c.after(c.cell.Receive(a, e))
}

// DeliverNext has the actor handle the first message that waits in its Mailbox. ok is false, and nothing happens, if there
// is none.
func (c *Context) DeliverNext(a actor.Actor) (ok bool, err error) {
	c.tb.Helper()
	ok, err = c.cell.Next(a)
	return ok, c.after(err)
}

// Fire has the actor handle the tick of a timer, as if it was due. A timer that sends once ends with it. It is an error if
// there is no timer under the key.
func (c *Context) Fire(a actor.Actor, key string) error {
	c.tb.Helper()
	return c.after(c.cell.Tick(a, key))
}

// Ask has the actor handle msg as actor.Ask would send it. An error of the handler is that of the ask.
func (c *Context) Ask(a actor.Actor, msg any) *Asked {
	c.tb.Helper()
	q := &Asked{tb: c.tb, msg: msg, outcome: c.cell.Ask(a, msg)}
	_ = c.after(nil)
	return q
}

// PreStart runs the actor's hook of that name if it has one, after a check that its hooks have the right shape, as the
// runtime starts an actor.
func (c *Context) PreStart(a actor.Actor) error { return c.hook(a, detached.PreStart, nil, nil) }

// PostStop ends the actor: its context is cancelled, timers and receive timeout are off, then the hook runs if there is
// one, then stash and Mailbox become dead letters and what is held ends with actor.ErrStopped. Nothing can be delivered
// any more.
func (c *Context) PostStop(a actor.Actor) error { return c.hook(a, detached.PostStop, nil, nil) }

// PreRestart ends an instance that failed: its context is cancelled, timers and receive timeout are off, what is stashed
// becomes dead letters, then the hook runs, or PostStop if the actor does not have it.
func (c *Context) PreRestart(a actor.Actor, cause error, msg any) error {
	return c.hook(a, detached.PreRestart, cause, msg)
}

// PostRestart starts the instance that takes the place of one that failed: behaviours are gone, what is still held ends
// with actor.ErrPreviousInstance, then the hook runs, or PreStart if the actor does not have it.
func (c *Context) PostRestart(a actor.Actor, cause error) error {
	return c.hook(a, detached.PostRestart, cause, nil)
}

func (c *Context) hook(a actor.Actor, h detached.Hook, cause error, msg any) error {
	c.tb.Helper()
	return c.after(c.cell.Hook(a, h, cause, msg))
}

// after is what follows each turn.
func (c *Context) after(err error) error {
	c.tb.Helper()
	var p *actor.PanicError
	if errors.As(err, &p) {
		c.tb.Logf("actortest: the actor panicked: %v\n%s", p.Value, p.Stack)
	}
	if c.Wait > 0 && c.cell.Piping() && !c.settle(c.Wait) {
		c.tb.Fatalf("actortest: a function that the actor gave to PipeToSelf has not returned within %v; set Wait to 0 for one that is meant to take longer", c.Wait)
	}
	return err
}

// settle waits for the functions of PipeToSelf.
func (c *Context) settle(d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.cell.Wait()
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// Asked is a message that Context.Ask has delivered.
type Asked struct {
	tb      testing.TB
	msg     any
	outcome func() (v any, ended bool, err error)
}

// Outcome is the reply or the error that the ask has ended with; ended is false while it has not. It may be asked for
// again later: the reply may come by another way.
func (q *Asked) Outcome() (v any, ended bool, err error) { return q.outcome() }

// Reply is the reply. It fails the test if there is none.
func (q *Asked) Reply() any {
	q.tb.Helper()
	v, ended, err := q.outcome()
	switch {
	case !ended:
		q.tb.Fatalf("actortest: no reply to %s", show(q.msg))
	case err != nil:
		q.tb.Fatalf("actortest: no reply to %s but the error %v", show(q.msg), err)
	}
	return v
}

// Err is the error that the ask has ended with, nil for a reply. It fails the test if it has not ended.
func (q *Asked) Err() error {
	q.tb.Helper()
	_, ended, err := q.outcome()
	if !ended {
		q.tb.Fatalf("actortest: the ask with %s has not ended", show(q.msg))
	}
	return err
}

// String is for messages of failures.
func (q *Asked) String() string {
	v, ended, err := q.outcome()
	switch {
	case !ended:
		return "no reply yet"
	case err != nil:
		return fmt.Sprintf("error %v", err)
	}
	return show(v)
}
