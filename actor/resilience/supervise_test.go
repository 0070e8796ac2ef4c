package resilience

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

func TestChildIsStartedAgainLaterAndLater(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(true)
		ref := s.spawn("sup", Supervise(s.worker(3), steady))
		s.at(700 * ms)
		s.want(
			"0 start 1 fails", "0 child of sup ended: boom, 1 in a row, again true after 100ms",
			"100 start 2 fails", "100 child of sup ended: boom, 2 in a row, again true after 200ms",
			"300 start 3 fails", "300 child of sup ended: boom, 3 in a row, again true after 400ms",
			"700 start 4",
		)
		ref.Tell("hello")
		s.want("700 hello")

		s.at(799 * ms) // one short of StableAfter, which is Backoff.Min: not forgotten
		ref.Tell(errBoom)
		s.want("799 child of sup ended: boom, 4 in a row, again true after 800ms")
		s.at(1599 * ms)
		s.want("1599 start 5")
		s.at(1699 * ms) // stable, and an orderly stop counts as well
		ref.Tell(stopSelf)
		s.want("1699 child of sup ended: <nil>, 1 in a row, again true after 100ms")
		s.at(1799 * ms)
		s.want("1799 start 6")
	})
}

func TestStableAfter(t *testing.T) {
	for _, c := range []struct {
		stable, life time.Duration
		want         int // in a row, at the third end
	}{
		{0, 100 * ms, 1}, {0, 99 * ms, 3}, {5 * second, 5 * second, 1}, {5 * second, 5*second - 1, 3}, {-1, time.Hour, 3},
	} {
		t.Run(fmt.Sprint(c.stable, c.life), func(t *testing.T) {
			bubble(t, func(s *stage) {
				probe := actortest.NewProbe(s, s.sys)
				actor.Subscribe[ChildEnded](s.sys.EventStream(), probe.Ref())
				ref := s.spawn("sup", Supervise(s.worker(0), steady, func(cfg *SuperviseConfig) { cfg.StableAfter = c.stable }))
				for i := range 3 {
					synctest.Wait()
					time.Sleep(c.life)
					ref.Tell(errBoom)
					if e := actortest.Expect[ChildEnded](probe); i == 2 && e.InARow != c.want {
						s.Errorf("%d in a row, want %d", e.InARow, c.want)
					} else {
						time.Sleep(e.Delay)
					}
				}
			})
		})
	}
}

// The time that a failed child takes to stop is no part of its life.
func TestSlowStopDoesNotMakeStable(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(true)
		ref := s.spawn("sup", Supervise(func() actor.Actor {
			return &script{post: func(*actor.Context) error { time.Sleep(second); return nil }}
		}, steady))
		synctest.Wait()
		for range 2 {
			ref.Tell(errBoom)
			time.Sleep(1150 * ms) // the second one fails 50ms after its start
			synctest.Wait()
		}
		s.at(3 * second)
		s.want("1000 child of sup ended: boom, 1 in a row, again true after 100ms", "2150 child of sup ended: boom, 2 in a row, again true after 200ms")
	})
}

// HC-K7: while children keep dying in PreStart nothing is lost: what waits goes to the first child that has started.
// There is no grace time to be waited for, and nothing is sent to a child that has not proved itself.
func TestHC_K7_dying_in_PreStart_loses_nothing(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(false)
		probe := actortest.NewProbe(s, s.sys)
		broken := 4
		ref := s.spawn("sup", Supervise(func() actor.Actor {
			broken--
			return &script{
				pre: func(*actor.Context) error {
					if broken >= 0 {
						return errBoom
					}
					return nil
				},
				recv: func(ctx *actor.Context, msg any) error {
					s.add("%v", msg)
					if ctx.Sender() == probe.Ref() {
						ctx.Reply(fmt.Sprint("got ", msg))
					}
					return nil
				},
			}
		}, steady))
		for i := range 8 { // in every state: starting, down, and up in the end
			probe.Tell(ref, i)
			actor.Send(ref, actor.Envelope{Msg: 10 * i, Done: s.completion(fmt.Sprint(10 * i))})
			s.at(time.Duration(i+1) * 200 * ms)
		}
		var want []string
		for i := range 8 { // 1500 = 100 + 200 + 400 + 800
			at := 1500
			want = append(want, fmt.Sprint(at, " ", i), fmt.Sprint(at, " ", 10*i), fmt.Sprintf("%d %d: <nil>", at, 10*i))
		}
		s.want(want...)
		for i := range 8 {
			probe.Expect(fmt.Sprint("got ", i)) // the sender is still the first one
		}
	})
}

// HC-K8: the last end is what counts; one that does not match is the end of the supervisor.
func TestHC_K8_triggers(t *testing.T) {
	for _, c := range []struct {
		trigger       Trigger
		failure, stop bool
	}{
		{OnAnyEnd, true, true}, {OnFailure, true, false}, {OnStop, false, true},
	} {
		t.Run(c.trigger.String(), func(t *testing.T) {
			bubble(t, func(s *stage) {
				for name, end := range map[string]struct {
					msg   any
					again bool
				}{
					"failure": {errBoom, c.failure}, "killed": {actor.Kill{}, c.failure}, "stop": {stopSelf, c.stop}, "pill": {actor.PoisonPill{}, c.stop},
				} {
					var kid actor.Ref
					ref := s.spawn(name, Supervise(func() actor.Actor {
						return &script{pre: func(ctx *actor.Context) error { kid = ctx.Self(); return nil }}
					}, steady, func(cfg *SuperviseConfig) { cfg.Trigger = c.trigger }))
					probe := actortest.NewProbe(s, s.sys)
					probe.Watch(ref)
					synctest.Wait()
					// First an end that matches, then the one in question: only the last is judged.
					if c.failure {
						kid.Tell(errBoom)
					} else {
						kid.Tell(stopSelf)
					}
					time.Sleep(second)
					synctest.Wait()
					kid.Tell(end.msg)
					if end.again {
						probe.ExpectNone(second)
					} else if got := probe.ExpectTerminated(ref); got.Cause != nil {
						s.Errorf("%s: the supervisor ended with %v", name, got.Cause)
					}
				}
			})
		})
	}
}

// HC-K9: what waits is a dead letter when the supervisor stops, and its completion ends.
func TestHC_K9_stop_makes_dead_letters(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(false)
		ref := s.spawn("sup", Supervise(s.worker(100), steady))
		synctest.Wait()
		actor.Send(ref, actor.Envelope{Msg: "a", Done: s.completion("a")})
		ref.Tell("b")
		asked := make(chan error, 1)
		go func() {
			_, err := actor.Ask[string](s.Context(), ref, "c")
			asked <- err
		}()
		s.want("0 start 1 fails")
		ref.Tell(actor.PoisonPill{})
		s.wantAnyOrder("0 dead a to sup: actor: stopped", "0 a: actor: dead letter: actor: stopped", "0 dead b to sup: actor: stopped", "0 dead c to sup: actor: stopped")
		if err := <-asked; !errors.Is(err, actor.ErrDeadLetter) {
			s.Errorf("the ask ended with %v", err)
		}
		s.at(time.Minute)
		s.want() // nor is anything started any more
	})
}

// HC-K9: and so when it restarts, before the new instance gets anything.
func TestHC_K9_restart_makes_dead_letters(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(false)
		ref := s.spawn("sup", Supervise(s.worker(1), steady))
		synctest.Wait()
		actor.Send(ref, actor.Envelope{Msg: "a", Done: s.completion("a")})
		ref.Tell("b")
		ref.Tell(actor.Kill{})
		ref.Tell("c") // in the mailbox, which a restart keeps
		s.wantAnyOrder("0 start 1 fails", "0 dead a to sup: actor: stopped", "0 a: actor: dead letter: actor: stopped", "0 dead b to sup: actor: stopped", "0 start 2", "0 c")
		s.at(second)
		s.want() // the timer of the old instance is gone
	})
}

// HC-K10: the restart of the supervisor ends its child, whose Terminated then waits for the new instance, which has a
// child of its own by that time.
func TestHC_K10_stale_Terminated(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(true)
		ref := s.spawn("sup", Supervise(s.worker(0), steady))
		s.want("0 start 1")
		ref.Tell(actor.Kill{})
		s.want("0 start 2")
		ref.Tell("still there")
		s.at(second)
		s.want("0 still there") // no end was seen, and nothing was started
		ref.Tell(errBoom)
		s.at(2 * second)
		s.want("1000 child of sup ended: boom, 1 in a row, again true after 100ms", "1100 start 3")
	})
}

// A child that was stable does not make the failed starts after it look stable.
func TestFailedStartsAfterAStableChild(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(true)
		n := 0
		ref := s.spawn("sup", Supervise(func() actor.Actor {
			n++
			return &script{pre: func(*actor.Context) error {
				if n > 1 {
					return errBoom
				}
				return nil
			}}
		}, steady))
		s.at(second)
		ref.Tell(errBoom)
		s.at(1300 * ms)
		s.want("1000 child of sup ended: boom, 1 in a row, again true after 100ms", "1100 child of sup ended: boom, 2 in a row, again true after 200ms",
			"1300 child of sup ended: boom, 3 in a row, again true after 400ms")
	})
}

// Jitter may make a delay 0, which no timer takes.
func TestDelayOfNothing(t *testing.T) {
	bubble(t, func(s *stage) {
		ref := s.spawn("sup", Supervise(s.worker(2), func(c *SuperviseConfig) {
			c.Backoff = Exponential(second, second, 1)
			c.Backoff.Random = func() float64 { return 0 }
		}))
		ref.Tell("a")
		s.at(ms)
		s.want("0 start 1 fails", "0 start 2 fails", "0 start 3", "0 a")
	})
}

func TestMaxRestarts(t *testing.T) {
	three := func(c *SuperviseConfig) { c.MaxRestarts = 3 }
	bubble(t, func(s *stage) {
		s.listen(true)
		ref := s.spawn("sup", Supervise(s.worker(100), steady, three))
		s.watch(ref)
		ref.Tell("a")
		s.at(10 * second)
		s.wantAnyOrder(
			"0 start 1 fails", "0 child of sup ended: boom, 1 in a row, again true after 100ms",
			"100 start 2 fails", "100 child of sup ended: boom, 2 in a row, again true after 200ms",
			"300 start 3 fails", "300 child of sup ended: boom, 3 in a row, again true after 400ms",
			"700 start 4 fails", "700 child of sup ended: boom, 4 in a row, again false after 0s",
			"700 dead a to sup: actor: stopped", "700 sup is gone: <nil>",
		)
	})
	bubble(t, func(s *stage) { // a stable child has the count begin anew
		ref := s.spawn("sup", Supervise(s.worker(0), steady, three))
		for range 20 {
			ref.Tell(errBoom)
			time.Sleep(second)
		}
		s.forget()
		ref.Tell("a")
		s.want("20000 a")
	})
}

func TestEscalate(t *testing.T) {
	opts := func(c *SuperviseConfig) { steady(c); c.MaxRestarts, c.Escalate = 1, true }
	start := []string{"0 start 1 fails", "100 start 2 fails"}
	const cause = "resilience: child child is not started again, it was restarted 1 times in a row: boom"
	for d, then := range map[actor.Directive][]string{
		actor.Stop:    {"100 dead a to sup: actor: stopped", "100 sup is gone: " + cause},
		actor.Restart: {"100 dead a to sup: actor: stopped", "100 start 3"},
		actor.Resume:  {"300 start 3", "300 a"},
	} {
		t.Run(d.String(), func(t *testing.T) {
			bubble(t, func(s *stage) {
				s.listen(false)
				ref := s.spawn("sup", Supervise(s.worker(2), opts), decided(d))
				s.watch(ref)
				ref.Tell("a")
				s.at(second)
				s.wantAnyOrder(append(start[:2:2], then...)...)
			})
		})
	}
	bubble(t, func(s *stage) { // there is no failure to escalate
		ref := s.spawn("sup", Supervise(s.worker(0), opts, func(c *SuperviseConfig) { c.Trigger = OnFailure }))
		s.watch(ref)
		ref.Tell(stopSelf)
		s.want("0 start 1", "0 sup is gone: <nil>")
	})
}

func TestChildThatCannotStartIsNotTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		child func() actor.Actor
		want  string
	}{
		"config": {func() actor.Actor {
			return &script{pre: func(*actor.Context) error { return &actor.ConfigError{Path: "a.b", Err: errBoom} }}
		}, "a.b: boom"},
		"hook":         {func() actor.Actor { return &misshapen{} }, "hook's name"},
		"hook, nested": {actor.Typed(func() actor.TypedActor[any] { return &misshapen{} }), "hook's name"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *stage) {
				probe := actortest.NewProbe(s, s.sys)
				actor.Subscribe[ChildEnded](s.sys.EventStream(), probe.Ref())
				ref := s.spawn("sup", Supervise(c.child, steady))
				e := actortest.Expect[ChildEnded](probe)
				if e.Again || e.Cause == nil || !strings.Contains(e.Cause.Error(), c.want) {
					s.Errorf("%+v, want no other start and %q", e, c.want)
				}
				probe.Watch(ref)
				probe.ExpectTerminated(ref)
			})
		})
	}
}

type misshapen struct{}

func (*misshapen) PostStop() {}

func (*misshapen) Receive(*actor.Context, any) error { return nil }

func TestFactoriesThatFailAreTriedAgain(t *testing.T) {
	bubble(t, func(s *stage) {
		n := 0
		ref := s.spawn("sup", Supervise(func() actor.Actor {
			switch n++; n {
			case 1:
				return nil
			case 2:
				panic("factory")
			}
			return s.worker(0)()
		}, steady))
		ref.Tell("a")
		s.at(second)
		s.want("300 start 1", "300 a")
	})
}

func TestSuperviseConfigIsChecked(t *testing.T) {
	for want, opt := range map[string]func(*SuperviseConfig){
		"RandomFactor is NaN":  func(c *SuperviseConfig) { c.Backoff.RandomFactor = math.NaN() },
		"Backoff.Min is 0s":    func(c *SuperviseConfig) { c.Backoff.Min = 0 },
		"Max is 1ms":           func(c *SuperviseConfig) { c.Backoff.Max = ms },
		"Trigger is Trigger(3": func(c *SuperviseConfig) { c.Trigger = 3 },
		"MaxRestarts is -1":    func(c *SuperviseConfig) { c.MaxRestarts = -1 },
		"MaxStash is -1":       func(c *SuperviseConfig) { c.MaxStash = -1 },
		"ChildMailbox.Cap":     func(c *SuperviseConfig) { c.ChildMailbox.Capacity = -1 },
		"bad name":             func(c *SuperviseConfig) { c.ChildName = "a/b" },
	} {
		t.Run(want, func(t *testing.T) {
			bubble(t, func(s *stage) {
				probe := actortest.NewProbe(s, s.sys)
				ref := s.spawn("sup", Supervise(s.worker(0), opt))
				probe.Watch(ref)
				err := probe.ExpectTerminated(ref).Cause
				var config *actor.ConfigError
				if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &config) && !errors.Is(err, actor.ErrName) {
					s.Errorf("ended with %v, want %q", err, want)
				}
				s.want()
			})
		})
	}
	bubble(t, func(s *stage) {
		probe := actortest.NewProbe(s, s.sys)
		ref := s.spawn("sup", Supervise(nil))
		probe.Watch(ref)
		if err := probe.ExpectTerminated(ref).Cause; !errors.Is(err, ErrConfig) {
			s.Errorf("ended with %v", err)
		}
	})
}

// A wrapper around the child must not hide its hooks or change how it is handled.
func TestChildKeepsItsHooks(t *testing.T) {
	bubble(t, func(s *stage) {
		ref := s.spawn("sup", Supervise(actor.Typed(func() actor.TypedActor[int] { return &typed{s: s} }), steady))
		ref.Tell(1)
		ref.Tell("a signal")
		v, err := actor.Ask[int](s.Context(), ref, 2)
		if v != 20 || err != nil {
			s.Errorf("Ask = %v, %v", v, err)
		}
		ref.Tell(actor.PoisonPill{})
		s.want("0 PreStart in child", "0 1", "0 signal a signal", "0 2", "0 PostStop")
	})
}

type typed struct{ s *stage }

func (a *typed) PreStart(ctx *actor.Context) error {
	a.s.add("PreStart in %s", ctx.Self().Name())
	ctx.Become(func(ctx *actor.Context, msg any) error { // what was told to wait must reach a behaviour as well
		if n, ok := msg.(int); ok {
			return a.Receive(ctx, n)
		}
		return a.Signal(ctx, msg)
	})
	return nil
}

func (a *typed) PostStop(*actor.Context) error { a.s.add("PostStop"); return nil }

func (a *typed) Receive(ctx *actor.Context, n int) error {
	a.s.add("%d", n)
	ctx.Reply(10 * n)
	return nil
}

func (a *typed) Signal(_ *actor.Context, msg any) error { a.s.add("signal %v", msg); return nil }

func TestSystemEndsWhileTheChildIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys, err := actor.NewSystem("test", func(c *actor.SystemConfig) { c.Logger = discard })
		if err != nil {
			t.Fatal(err)
		}
		ref, err := sys.Spawn("sup", Supervise(func() actor.Actor { return nil }, func(c *SuperviseConfig) { c.Backoff.Max = time.Hour }))
		if err != nil {
			t.Fatal(err)
		}
		ref.Tell("a")
		time.Sleep(time.Minute)
		begin := time.Now()
		if err := sys.Terminate(context.Background()); err != nil || time.Since(begin) > 10*second {
			t.Errorf("Terminate: %v after %v", err, time.Since(begin))
		}
	})
}
