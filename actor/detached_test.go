package actor

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/detached"
)

func detach(t *testing.T) *detachedCell {
	t.Helper()
	d, err := Detached(detached.Spec{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// TestDetachedClockStandsStill: the delay of a timer is read from when it is due, so not a nanosecond may pass.
func TestDetachedClockStandsStill(t *testing.T) {
	test := func(t *testing.T) {
		s, err := newDetachedSystem(nil)
		if err != nil {
			t.Fatal(err)
		}
		first := s.clock.Now()
		if first != math.MinInt64 {
			t.Errorf("it is %d", first)
		}
		<-time.After(time.Millisecond)
		if now := s.clock.Now(); now != first {
			t.Errorf("%d, and before %d", now, first)
		}
	}
	test(t)
	synctest.Test(t, test)
}

// TestDetachedSetsNoTimer: neither the receive timeout nor timers come into the clock.
func TestDetachedSetsNoTimer(t *testing.T) {
	d := detach(t)
	x := d.Context
	x.SetReceiveTimeout(time.Millisecond)
	if err := x.Timers().StartFixedRate("t", 1, 1, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if n := x.c.sys.clock.Len(); n != 0 {
		t.Errorf("%d in the clock", n)
	}
	if s := d.Look(); s.Window != time.Millisecond || len(s.Timers) != 1 || s.Timers[0].Delay != 1 || s.Timers[0].Interval != math.MaxInt64 {
		t.Errorf("%v %+v", s.Window, s.Timers)
	}
}

// TestDetachedNeverRunsAnybody: whatever is told and spawned, inside of a turn and outside, no carrier starts, and
// nothing is left in the queue.
func TestDetachedNeverRunsAnybody(t *testing.T) {
	d := detach(t)
	out, err := d.NewRef("out")
	if err != nil {
		t.Fatal(err)
	}
	never := func() Actor { t.Error("a child was started"); return nil }
	busy := func(ctx *Context) {
		for range 50 {
			k, err := ctx.SpawnAnonymous(never)
			if err != nil {
				t.Fatal(err)
			}
			k.Tell(1)
			ctx.Tell(k, 2)
			ctx.Tell(out, 3)
			ctx.Watch(k)
			ctx.Stop(k)
		}
	}
	busy(d.Context)
	if err := d.Receive(Func(func(ctx *Context, _ any) error { busy(ctx); return nil }), Envelope{}); err != nil {
		t.Fatal(err)
	}
	s := &d.Context.c.sys.sched
	if n := s.carriers.Load() + s.active.Load(); n != 0 || s.queued != 0 || s.head != nil {
		t.Errorf("%d carriers, %d in the queue", n, s.queued)
	}
	seen := d.Look()
	if len(seen.Spawned) != 100 || len(seen.Sent) != 400 || len(seen.Watched) != 100 {
		t.Errorf("%d spawned, %d sent, %d watched", len(seen.Spawned), len(seen.Sent), len(seen.Watched))
	}
}

// TestDetachedRecordsWhatOtherGoroutinesTell: nothing is lost and each sender's order is kept, while the owner is at work.
func TestDetachedRecordsWhatOtherGoroutinesTell(t *testing.T) {
	d := detach(t)
	out, err := d.NewRef("out")
	if err != nil {
		t.Fatal(err)
	}
	kid, err := d.Context.Spawn("kid", noActor)
	if err != nil {
		t.Fatal(err)
	}
	const senders, each = 4, 500
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				out.Tell([2]int{s, i})
				kid.Tell([2]int{s, i})
			}
		})
	}
	next := map[Ref]*[senders]int{out: {}, kid: {}}
	total := 0
	look := func() {
		for _, m := range d.Look().Sent {
			if v, ok := m.Envelope.Msg.([2]int); ok {
				if want := &next[m.To][v[0]]; *want != v[1] {
					t.Fatalf("%v got %v, want number %d", m.To, v, *want)
				}
				next[m.To][v[0]]++
				total++
			}
		}
	}
	for range 200 {
		if err := d.Receive(Func(func(ctx *Context, _ any) error { ctx.Tell(out, "x"); ctx.Tell(kid, "y"); return nil }), Envelope{}); err != nil {
			t.Fatal(err)
		}
		look()
	}
	wg.Wait()
	look()
	if total != 2*senders*each {
		t.Errorf("%d messages, want %d", total, 2*senders*each)
	}
}

func noActor() Actor { return nil }

// TestDetachedHandsOverWhatItWakes: actors of a real system that it tells run, as many as it tells in one turn.
func TestDetachedHandsOverWhatItWakes(t *testing.T) {
	sys, err := NewSystem("real")
	if err != nil {
		t.Fatal(err)
	}
	d := detach(t)
	const n = 20
	got := make(chan int, n)
	var refs []Ref
	for i := range n {
		ref, err := sys.SpawnAnonymous(func() Actor { return Func(func(*Context, any) error { got <- i; return nil }) })
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	if err := d.Receive(Func(func(ctx *Context, _ any) error {
		for _, r := range refs {
			ctx.Tell(r, 1)
		}
		return nil
	}), Envelope{}); err != nil {
		t.Fatal(err)
	}
	for range n {
		select {
		case <-got:
		case <-time.After(5 * time.Second):
			t.Fatal("one was not run")
		}
	}
	if err := sys.Terminate(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDetachedBadNames are refused as those of children are.
func TestDetachedBadNames(t *testing.T) {
	for _, name := range []string{"", "a/b", "$1", ".."} {
		if _, err := Detached(detached.Spec{Name: name}); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	d := detach(t)
	if _, err := d.NewRef("a"); !errors.Is(err, ErrName) {
		t.Errorf("the actor's own name: %v", err)
	}
	var ce *ConfigError
	_, err := Detached(detached.Spec{Name: "a"}, configured(t, "troupe.actor.askTimeout = 0s"))
	if !errors.As(err, &ce) {
		t.Errorf("a bad setting: %v", err)
	}
}

// TestDetachedEndsWhatATestLeft: a test that fails inside of a handler ends its goroutine there, and its cleanups follow.
func TestDetachedEndsWhatATestLeft(t *testing.T) {
	d, err := Detached(detached.Spec{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	c := &countDone{}
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = d.Receive(Func(func(ctx *Context, _ any) error {
			ctx.Hold()
			runtime.Goexit()
			return nil
		}), Envelope{Done: c})
	})
	wg.Wait()
	if err := d.Receive(Func(func(*Context, any) error { return nil }), Envelope{}); err != nil {
		t.Errorf("the next message: %v", err)
	}
	life := d.Context.Context()
	d.Close()
	if life.Err() == nil || c.n != 1 || c.err != ErrStopped {
		t.Errorf("context %v, %d ends, the last with %v", life.Err(), c.n, c.err)
	}
}

type countDone struct {
	n   int
	err error
}

func (c *countDone) Done(err error) { c.n, c.err = c.n+1, err }
