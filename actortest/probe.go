package actortest

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// DefaultWait is how long a Probe waits for a message, unless Wait says otherwise.
const DefaultWait = 3 * time.Second

// Received is one message as a Probe got it.
type Received struct {
	Msg    any
	Sender actor.Ref
}

// Probe is an actor that keeps what it is told until the test takes it. Its methods are for the test's goroutine, block
// at most Wait, and fail the test at once when what they expect does not come; what they return is the test's own. Make
// one with NewProbe.
type Probe struct {
	// Wait is the patience of every Expect method. NewProbe sets it to DefaultWait.
	Wait time.Duration

	tb   testing.TB
	ref  actor.Ref
	last Received

	mu    sync.Mutex
	queue []Received
	more  chan struct{} // capacity 1: the queue has grown
}

// NewProbe spawns a probe in sys, under a generated name. It ends with the system.
func NewProbe(tb testing.TB, sys *actor.System) *Probe {
	tb.Helper()
	p := &Probe{Wait: DefaultWait, tb: tb, more: make(chan struct{}, 1)}
	ref, err := sys.SpawnAnonymous(func() actor.Actor { return actor.Func(p.receive) })
	if err != nil {
		tb.Fatalf("actortest: no probe: %v", err)
	}
	p.ref = ref
	return p
}

// inActor has the probe's actor do something that needs its context.
type inActor func(*actor.Context)

func (p *Probe) receive(ctx *actor.Context, msg any) error {
	if f, ok := msg.(inActor); ok {
		f(ctx)
		return nil
	}
	p.mu.Lock()
	p.queue = append(p.queue, Received{msg, ctx.Sender()})
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
	return nil
}

// Ref is the probe's address: give it to the actor under test.
func (p *Probe) Ref() actor.Ref { return p.ref }

// Tell sends msg to an actor with the probe as the sender. It returns when the message is in the mailbox.
func (p *Probe) Tell(to actor.Ref, msg any) {
	p.do(func(ctx *actor.Context) { ctx.Tell(to, msg) })
}

// Reply sends msg to the sender of the message that was taken last.
func (p *Probe) Reply(msg any) { p.Tell(p.last.Sender, msg) }

// Watch makes the probe hear of the end of ref; see ExpectTerminated.
func (p *Probe) Watch(ref actor.Ref) {
	p.do(func(ctx *actor.Context) { ctx.Watch(ref) })
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
		p.tb.Fatalf("actortest: the probe did not answer within %v; has its system ended?", p.Wait)
	}
}

// Pending is the number of messages that have come and were not taken.
func (p *Probe) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// take waits at most d for the next message.
func (p *Probe) take(d time.Duration) (Received, bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		p.mu.Lock()
		if len(p.queue) > 0 {
			p.last = p.queue[0]
			p.queue = p.queue[1:]
			p.mu.Unlock()
			return p.last, true
		}
		p.mu.Unlock()
		select {
		case <-p.more:
		case <-t.C:
			return Received{}, false
		}
	}
}

// Next takes the next message, whatever it is.
func (p *Probe) Next() Received {
	p.tb.Helper()
	r, ok := p.take(p.Wait)
	if !ok {
		p.tb.Fatalf("actortest: no message within %v", p.Wait)
	}
	return r
}

// Expect takes the next message, which has to equal want in the sense of reflect.DeepEqual.
func (p *Probe) Expect(want any) {
	p.tb.Helper()
	r, ok := p.take(p.Wait)
	switch {
	case !ok:
		p.tb.Fatalf("actortest: no message within %v, want %s", p.Wait, show(want))
	case !reflect.DeepEqual(r.Msg, want):
		p.tb.Fatalf("actortest: got %s, want %s", show(r.Msg), show(want))
	}
}

// Expect takes the probe's next message, which has to be a T, and returns it.
func Expect[T any](p *Probe) T {
	p.tb.Helper()
	r, ok := p.take(p.Wait)
	if !ok {
		p.tb.Fatalf("actortest: no message within %v, want a %v", p.Wait, reflect.TypeFor[T]())
	}
	v, ok := r.Msg.(T)
	if !ok {
		p.tb.Fatalf("actortest: got %s, want a %v", show(r.Msg), reflect.TypeFor[T]())
	}
	return v
}

// ExpectTerminated takes the next message, which has to be the Terminated of ref, and returns it.
func (p *Probe) ExpectTerminated(ref actor.Ref) actor.Terminated {
	p.tb.Helper()
	t := Expect[actor.Terminated](p)
	if t.Ref != ref {
		p.tb.Fatalf("actortest: %v has ended, want %v", t.Ref, ref)
	}
	return t
}

// ExpectNone waits for d, in which no message may come and none may be there already.
func (p *Probe) ExpectNone(d time.Duration) {
	p.tb.Helper()
	if r, ok := p.take(d); ok {
		p.tb.Fatalf("actortest: got %s, want nothing", show(r.Msg))
	}
}

func show(v any) string { return fmt.Sprintf("%T %+v", v, v) }
