package actortest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

// TestHC_TK1_RepeatingWithoutAnInterval: a timer that sends again after no time would never let the time pass. It is
// refused, in a bubble and by a Context, and one that is as short as can be lets the test go on.
func TestHC_TK1_RepeatingWithoutAnInterval(t *testing.T) {
	start := func(t *testing.T) do {
		return func(ctx *actor.Context) {
			for _, d := range []time.Duration{0, -time.Second} {
				if ctx.Timers().StartFixedDelay("delay", 1, time.Second, d) == nil || ctx.Timers().StartFixedRate("rate", 1, time.Second, d) == nil {
					t.Errorf("an interval of %v", d)
				}
			}
			if err := ctx.Timers().StartFixedRate("short", 1, 1, 1); err != nil {
				t.Error(err)
			}
		}
	}
	c := actortest.NewContext(t)
	deliver(t, c, doer(), start(t))
	same(t, "timers", c.Timers(), actortest.Timer{Key: "short", Msg: 1, Delay: 1, Interval: 1, FixedRate: true})
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem(t)
		p := actortest.NewProbe(t, sys)
		a, err := sys.Spawn("a", func() actor.Actor {
			return actor.Func(func(ctx *actor.Context, msg any) error {
				switch msg := msg.(type) {
				case do:
					msg(ctx)
				default:
					ctx.Tell(p.Ref(), msg)
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		a.Tell(start(t))
		begin := time.Now()
		p.ReceiveN(100)
		if took := time.Since(begin); took != 100 {
			t.Errorf("100 ticks of 1 ns took %v", took)
		}
		a.Tell(actor.PoisonPill{})
	})
}

// TestHC_TK2_OneClock: timers, receive timeout, the timeout of an ask, the end of a context and the probe's own patience
// follow the same clock, to the nanosecond.
func TestHC_TK2_OneClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem(t)
		p := actortest.NewProbe(t, sys)
		silent := actortest.NewProbe(t, sys)
		p.Spawn("a", func() actor.Actor {
			return actor.Func(func(ctx *actor.Context, msg any) error {
				switch msg := msg.(type) {
				case do:
					msg(ctx)
				default:
					ctx.Tell(ctx.Parent(), msg)
				}
				return nil
			})
		}).Tell(do(func(ctx *actor.Context) {
			ctx.SetReceiveTimeout(time.Hour)
			if err := ctx.Timers().StartSingle("t", "tick", time.Minute); err != nil {
				t.Error(err)
			}
			ctx.PipeToSelf(func(context.Context) (any, error) {
				_, err := actor.Ask[any](context.Background(), silent.Ref(), 1)
				return nil, err
			})
		}))
		start := time.Now()
		at := func(want time.Duration) {
			t.Helper()
			if got := time.Since(start); got != want {
				t.Errorf("after %v, want %v", got, want)
			}
		}
		p.Wait = 24 * time.Hour
		if f := actortest.Expect[actor.PipeFailed](p); !errors.Is(f.Err, actor.ErrAskTimeout) {
			t.Error(f.Err)
		}
		at(5 * time.Second)
		p.Expect("tick")
		at(time.Minute)
		p.Expect(actor.ReceiveTimeout{})
		at(time.Minute + time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := actor.Ask[any](ctx, silent.Ref(), 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		at(time.Minute + 2*time.Hour)
	})
}

// TestHC_TK3_WithinInterruptsExpectations: what waits in an expectation ends at the end of Within, with the rest of its
// time for its patience; anything else is found to have taken too long.
func TestHC_TK3_WithinInterruptsExpectations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem(t)
		for name, c := range map[string]struct {
			f    func(p *actortest.Probe)
			took time.Duration
			want string
		}{
			"in time": {func(p *actortest.Probe) {
				p.Within(time.Hour, func() { time.Sleep(time.Hour) })
				p.Ref().Tell(1)
				p.Within(time.Second, func() { p.Expect(1); p.ExpectNone(time.Hour) })
			}, time.Hour + time.Second, ""},
			"an expectation": {func(p *actortest.Probe) {
				p.Within(time.Hour, func() { time.Sleep(20 * time.Minute); p.Expect(1) })
			}, time.Hour, "no message within 40m0s"},
			"several": {func(p *actortest.Probe) {
				p.Ref().Tell(1)
				p.Within(time.Hour, func() { p.ReceiveN(2) })
			}, time.Hour, "1 of 2 messages within 1h0m0s: [int 1]"},
			"inner": {func(p *actortest.Probe) {
				p.Within(time.Minute, func() { p.Within(time.Hour, func() { p.Next() }) })
			}, time.Minute, "no message within 1m0s"},
			"something else": {func(p *actortest.Probe) {
				p.Within(time.Minute, func() { time.Sleep(time.Hour) })
			}, time.Hour, "it took 1h0m0s, want 1m0s at most"},
			"after it": {func(p *actortest.Probe) { p.Within(time.Hour, func() {}); p.Next() }, 50 * time.Millisecond, "no message within 50ms"},
		} {
			start := time.Now()
			got := said(t, sys, c.f)
			if took := time.Since(start); took != c.took {
				t.Errorf("%s: it took %v, want %v", name, took, c.took)
			}
			if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("%s: %q, want %q in it", name, got, c.want)
			}
		}
	})
}

// TestHC_TK4_ExpectNoneFailsAtOnce if something is there already.
func TestHC_TK4_ExpectNoneFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem(t)
		start := time.Now()
		got := said(t, sys, func(p *actortest.Probe) {
			p.Ref().Tell(1)
			p.Ref().Tell(2)
			synctest.Wait()
			p.ExpectNone(time.Hour)
		})
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
		if want := "got int 1, want nothing for 1h0m0s\nbehind it: [int 2]"; !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	})
}

// TestHC_TK5_ProbesAreActors: a probe can be watched, stopped, killed, and be a parent, and has a mailbox like others.
func TestHC_TK5_ProbesAreActors(t *testing.T) {
	sys := actortest.NewSystem(t)
	p := actortest.NewProbe(t, sys)
	watcher := actortest.NewProbe(t, sys, func(c *actortest.ProbeConfig) { c.Name = "watcher" })
	if path := watcher.Ref().Path(); path != "troupe://test/user/watcher" {
		t.Error(path)
	}
	watcher.Watch(p.Ref())
	child := p.Spawn("child", func() actor.Actor { return actor.Func(echo) })
	watcher.Watch(child)
	p.Tell(child, "hello")
	p.Expect("hello")
	p.Ref().Tell("before the end")
	p.Stop()
	p.Stop() // has no further effect
	ends := []actor.Ref{actortest.Expect[actor.Terminated](watcher).Ref, actortest.Expect[actor.Terminated](watcher).Ref}
	same(t, "ends", ends, child, p.Ref())
	p.Expect("before the end")
	if err := p.Ref().TryTell(1); !errors.Is(err, actor.ErrStopped) {
		t.Error(err)
	}
	watcher.Watch(p.Ref()) // of one that has ended
	watcher.ExpectTerminated(p.Ref())

	// A restart leaves the probe as it is.
	q := actortest.NewProbe(t, sys)
	watcher.Watch(q.Ref())
	watcher.Unwatch(q.Ref())
	q.Ref().Tell(1)
	q.Ref().Tell(actor.Kill{})
	q.Ref().Tell(2)
	q.Expect(1)
	q.Expect(2)
	for range 10 {
		q.Tell(q.Ref(), 3)
		q.Expect(3)
	}
	q.Stop()
	watcher.ExpectNone(0)
}

// echo replies what it gets.
func echo(ctx *actor.Context, msg any) error {
	ctx.Reply(msg)
	return nil
}
