package actor

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// An actor of another system that is woken from a handler runs on the carrier of the sender's system, which writes the
// sender's system's time into the window.
func TestReceiveTimeoutAcrossSystems(t *testing.T) {
	const window = 100 * time.Millisecond
	b := newTestSystem(t)
	<-time.After(300 * time.Millisecond)
	a := newTestSystem(t)
	var end atomic.Int64
	t0 := time.Now()
	idle := make(chan time.Duration, 1)
	target := mustSpawn(t, b, "target", always(&script{pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(window) }), recv: func(_ *Context, msg any) error {
		if _, ok := msg.(ReceiveTimeout); ok {
			select {
			case idle <- time.Since(t0) - time.Duration(end.Load()):
			default:
			}
			return nil
		}
		end.Store(int64(time.Since(t0)))
		return nil
	}}))
	others := make([]Ref, 8)
	for i := range others {
		others[i], _ = a.SpawnAnonymous(always(&script{}))
	}
	sender := mustSpawn(t, a, "sender", always(&script{recv: func(ctx *Context, _ any) error {
		ctx.Tell(target, "m") // into the slot
		for _, o := range others {
			ctx.Tell(o, "m") // into the queue
		}
		return nil
	}}))
	for time.Since(t0) < window+window/2 {
		sender.Tell("go")
		<-time.After(2 * time.Millisecond)
	}
	if d := <-idle; d < window {
		t.Errorf("the receive timeout came after %v, the window is %v", d, window)
	}
}

// And its own system does not know that it is at work.
func TestQuietAcrossSystems(t *testing.T) {
	a, b := newTestSystem(t), newTestSystem(t)
	in, out := make(chan struct{}), make(chan struct{})
	target := mustSpawn(t, b, "target", always(&script{}))
	sender := mustSpawn(t, a, "sender", always(&script{recv: func(ctx *Context, _ any) error {
		ctx.Tell(target, func(*Context) error { close(in); <-out; return nil })
		return nil
	}}))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	b.awaitQuiet(ctx)
	sender.Tell("go")
	<-in
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if b.awaitQuiet(ctx) {
		t.Error("the system is quiet while a handler of its runs")
	}
	close(out)
}

// And the sender's system cannot end while it is at work.
func TestTerminateAcrossSystems(t *testing.T) {
	a, b := newTestSystem(t), newTestSystem(t)
	in, out := make(chan struct{}), make(chan struct{})
	target := mustSpawn(t, b, "target", always(&script{}))
	sender := mustSpawn(t, a, "sender", always(&script{recv: func(ctx *Context, _ any) error {
		ctx.Tell(target, func(*Context) error { close(in); <-out; return nil })
		return nil
	}}))
	sender.Tell("go")
	<-in
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second) // drain 2 s, no actor of a is stuck
	defer cancel()
	if err := a.Terminate(ctx); err != nil {
		t.Error(err)
	}
	close(out)
}

// A subscription on the stream of another system outlives its actor.
func TestSubscriptionAcrossSystems(t *testing.T) {
	a, b := newTestSystem(t), newTestSystem(t)
	ref := mustSpawn(t, b, "x", always(&script{}))
	Subscribe[int](a.EventStream(), ref)
	if err := ref.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	a.EventStream().Publish(1) // finds out
	if subs := a.events.subs.Load(); subs != nil {
		t.Errorf("%d subscriptions of an actor that has ended", len(*subs))
	}
}

// 24: Stop of an actor that is at its end returns before the end.
func TestSecondStopWaitsToo(t *testing.T) {
	s := newTestSystem(t)
	in, out := make(chan struct{}), make(chan struct{})
	var over atomic.Bool
	a := mustSpawn(t, s, "a", always(&script{}))
	held := make(chan struct{})
	Send(a, Envelope{Msg: func(ctx *Context) error { ctx.Hold(); close(held); return nil }, Done: doneAs{func(error) { close(in); <-out; over.Store(true) }}})
	<-held
	a.Tell(PoisonPill{})
	<-in
	go func() { <-time.After(20 * time.Millisecond); close(out) }()
	if err := a.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if !over.Load() {
		t.Error("Stop has returned, and a completion that the actor held has not ended, nor is its name free")
	}
}

type panickingError struct{}

func (panickingError) Error() string { return "x" }
func (panickingError) Unwrap() error { panic("boom") }

// An error with a method that panics.
func TestErrorThatPanics(t *testing.T) {
	s := newTestSystem(t)
	var n atomic.Int32
	a := mustSpawn(t, s, "a", func() Actor { n.Add(1); return &script{} }, supervisedBy(Restart))
	a.Tell(func(*Context) error { return panickingError{} })
	within(t, time.Second, "the restart", func() bool { return n.Load() == 2 })
	a.Tell(func(ctx *Context) error { ctx.StopSelf(); return panickingError{} })
	within(t, time.Second, "the end", func() bool { return a.n.cell().mb.Closed() })
}
