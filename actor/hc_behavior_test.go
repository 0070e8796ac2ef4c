package actor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestHC_B1_unbecome_finds_the_base(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		say := func(name string) Func {
			return func(ctx *Context, msg any) error {
				if f, ok := msg.(func(*Context) error); ok {
					return f(ctx)
				}
				r.add("%s %v", name, msg)
				return nil
			}
		}
		a := mustSpawn(t, s, "a", always(&script{recv: say("base")}))
		step := func(f func(*Context)) {
			a.Tell(do(f))
			a.Tell("m")
			r.at(0)
		}
		step((*Context).Unbecome)
		step(func(ctx *Context) { ctx.Become(say("one")) })
		step(func(ctx *Context) { ctx.Become(say("two")) })
		step(func(ctx *Context) { ctx.BecomeStacked(say("three")) })
		step((*Context).Unbecome)
		step((*Context).Unbecome)
		step((*Context).Unbecome)
		a.Tell(do(func(ctx *Context) { ctx.Become(say("four")) }))
		a.Tell(func(*Context) error { return errBoom })
		a.Tell("m")
		r.at(0)
		r.want(t, "0 base m", "0 one m", "0 two m", "0 three m", "0 two m", "0 base m", "0 base m", "0 base m")
	})
}

func TestHC_B2_stash_goes_before_the_mailbox(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		open := false
		factory := func() Actor {
			return &script{recv: func(ctx *Context, msg any) error {
				if _, fails := msg.(error); !open && !fails {
					return ctx.Stash()
				}
				return r.note(ctx, msg)
			}}
		}
		a := mustSpawn(t, s, "a", factory)
		for i := range 3 {
			a.Tell(i)
		}
		a.Tell(do(func(ctx *Context) { open = true; ctx.UnstashAll(); pause(ms) }))
		a.Tell("mailbox")
		r.at(2 * ms)
		r.want(t, "1 0", "1 1", "1 2", "1 mailbox")
		r.reset()
		open = false
		for i := range 2 {
			a.Tell(i)
		}
		a.Tell(errBoom)
		r.at(3 * ms)
		r.want(t, "2 fails", "2 dead 0 to a: actor: stopped", "2 dead 1 to a: actor: stopped")
		r.reset()
		a.Tell("s")
		a.Tell(do(func(ctx *Context) { ctx.StopSelf(); pause(ms) }))
		a.Tell("mailbox")
		r.at(10 * ms)
		r.want(t, "4 dead s to a: actor: stopped", "4 dead mailbox to a: actor: stopped")
	})
}

func TestHC_B5_stash_and_then_fail(t *testing.T) {
	for _, d := range []Directive{Resume, Restart} {
		bubble(t, func(t *testing.T, s *System, r *record) {
			n := 0
			a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
				if n++; n == 1 {
					return errors.Join(ctx.Stash(), errBoom)
				}
				return r.note(ctx, msg)
			}}), supervisedBy(d))
			r.send(a, "m", "m")
			r.at(0)
			a.Tell(do((*Context).UnstashAll))
			r.at(0)
			if d == Resume {
				r.want(t, "0 m", "0 m done: <nil>") // owned by the stash: neither lost nor handled twice
			} else {
				r.want(t, "0 m done: actor: dead letter")
			}
		})
	}
}

func TestStashLimits(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var errs []error
		a := mustSpawn(t, s, "a", always(&script{
			pre: do(func(ctx *Context) { errs = append(errs, ctx.Stash()) }), // no message
			recv: func(ctx *Context, msg any) error {
				switch msg {
				case "twice":
					errs = append(errs, ctx.Stash(), ctx.Stash())
				case "forwarded":
					ctx.Forward(ctx.Sender())
					errs = append(errs, ctx.Stash())
				case "held":
					ctx.Hold().Done(nil)
					errs = append(errs, ctx.Stash())
				default:
					return ctx.Stash()
				}
				return nil
			},
		}), supervisedBy(Stop))
		sink := mustSpawn(t, s, "sink", always(&script{}))
		a.Tell("twice")
		Send(a, Envelope{Msg: "forwarded", Sender: sink})
		r.send(a, "held", "held")
		r.at(0)
		for i, want := range []error{ErrStashOutside, nil, ErrStashOutside, ErrStashOutside, ErrStashOutside} {
			if i >= len(errs) || !errors.Is(errs[i], want) {
				t.Fatalf("%v", errs)
			}
		}
		r.reset()
		for range StashCapacity - 1 {
			a.Tell("m")
		}
		r.at(0)
		r.watcher(t, s, a)
		a.Tell("one too many")
		r.at(0)
		r.want(t, "0 ended a: "+ErrStashFull.Error())
	})
}

func TestHC_T1_stale_ticks(t *testing.T) {
	for name, f := range map[string]func(*Context) error{
		"cancel": func(ctx *Context) error {
			if !ctx.Timers().Cancel("t") {
				return errors.New("it was still active")
			}
			return nil
		},
		"cancel all": do(func(ctx *Context) { ctx.Timers().CancelAll() }),
		"replace":    func(ctx *Context) error { return ctx.Timers().StartSingle("t", "new", 50*ms) },
		"restart":    func(*Context) error { return errBoom },
		"stop":       do((*Context).StopSelf),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				r.deadLetters(t, s)
				a := mustSpawn(t, s, "a", always(&script{recv: r.note}))
				a.Tell(func(ctx *Context) error {
					err := ctx.Timers().StartSingle("t", "old", 10*ms)
					pause(20 * ms) // the tick is in the mailbox
					return err
				})
				a.Tell(func(*Context) error { return nil })
				a.Tell(f)
				r.at(time.Second)
				// The tick of 10 ms is behind the two; in the first activation it would come in between.
				if name == "replace" {
					r.want(t, "70 new")
				} else {
					r.want(t)
				}
			})
		})
	}
}

func TestTimerKeysAndBadInput(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}))
		a.Tell(do(func(ctx *Context) {
			tm := ctx.Timers()
			for _, err := range []error{
				tm.StartSingle("bad", "x", 0), tm.StartSingle("bad", "x", -1), tm.StartFixedDelay("bad", "x", 0, ms),
				tm.StartFixedDelay("bad", "x", ms, 0), tm.StartFixedRate("bad", "x", ms, -1), tm.StartFixedRate("bad", "x", -1, ms),
			} {
				if err == nil {
					t.Error("no error")
				}
			}
			if err := errors.Join(tm.StartSingle("once", "once", 5*ms), tm.StartFixedDelay("again", "again", 7*ms, 7*ms), tm.StartSingle("never", "x", 1<<63-1)); err != nil {
				t.Error(err)
			}
			if keys := tm.Keys(); !slices.Equal(keys, []string{"again", "never", "once"}) {
				t.Error(keys)
			}
		}))
		r.at(6 * ms)
		a.Tell(do(func(ctx *Context) { // HC-T2
			tm := ctx.Timers()
			if tm.Active("once") || tm.Cancel("once") || !tm.Active("again") {
				t.Error("a timer that has fired is still there")
			}
			if !tm.Cancel("again") || tm.Cancel("again") || !tm.Cancel("never") || len(tm.Keys()) != 0 {
				t.Error("cancel")
			}
		}))
		r.at(time.Second)
		r.want(t, "5 once")
		if s.clock.Len() != 0 {
			t.Error("a deadline is left")
		}
	})
}

func TestHC_T7_intervals(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		slow := func(ctx *Context, msg any) error {
			r.add("%v", msg)
			pause(4 * ms)
			return nil
		}
		delay := mustSpawn(t, s, "delay", always(&script{recv: slow}))
		rate := mustSpawn(t, s, "rate", always(&script{recv: slow}))
		delay.Tell(func(ctx *Context) error { return ctx.Timers().StartFixedDelay("t", "delay", 5*ms, 10*ms) })
		rate.Tell(func(ctx *Context) error { return ctx.Timers().StartFixedRate("t", "rate", 1*ms, 10*ms) })
		r.at(40 * ms)
		r.want(t, "1 rate", "5 delay", "11 rate", "19 delay", "21 rate", "31 rate", "33 delay")
		r.reset()
		rate.Tell(35 * ms) // covers the ticks of 41 to 71: they are one, and the phase is kept
		rate.Tell(do(func(*Context) { pause(35 * ms) }))
		delay.Tell(do(func(ctx *Context) { ctx.Timers().CancelAll() }))
		r.at(95 * ms)
		r.want(t, "40 35ms", "79 rate", "91 rate") // that of 81 fell due while one was being handled
	})
}

// A timer goes on through what happens to the message: a failure that is resumed, a stash.
func TestTimerGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		n := 0
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
			r.add("%v", msg)
			switch n++; n {
			case 1:
				return errBoom
			case 2:
				return ctx.Stash()
			case 3:
				ctx.UnstashAll()
			}
			return nil
		}}), supervisedBy(Resume))
		a.Tell(func(ctx *Context) error { return ctx.Timers().StartFixedDelay("t", "tick", 10*ms, 10*ms) })
		r.at(45 * ms)
		r.want(t, "10 tick", "20 tick", "30 tick", "30 tick", "40 tick")
	})
}

func TestNoTimerInTheLastHook(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: r.note, post: do(func(ctx *Context) {
			r.add("%v", ctx.Timers().StartSingle("t", "tick", ms))
		})}))
		a.Tell(errBoom) // in place of PreRestart
		r.at(10 * ms)
		a.Tell(PoisonPill{})
		r.at(20 * ms)
		r.want(t, "0 fails", "0 actor: stopped", "10 actor: stopped")
		if n := s.clock.Len(); n != 0 {
			t.Errorf("%d deadlines are left", n)
		}
	})
}

func TestTimerThatStopsItsActor(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{pre: func(ctx *Context) error {
			return ctx.Timers().StartSingle("life", PoisonPill{}, time.Minute)
		}}))
		r.watcher(t, s, a)
		r.at(time.Hour)
		r.want(t, "60000 ended a: <nil>")
	})
}

// Timers and receive timeout end with their instance: at random times of stops and restarts nothing comes after the end,
// there is no dead letter, and a key that is used again never delivers the old payload.
func TestTimersAfterStopAndRestart(t *testing.T) {
	for seed := range uint64(40) {
		bubble(t, func(t *testing.T, s *System, r *record) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			r.deadLetters(t, s)
			life := rand.New(rand.NewPCG(seed, 2))
			generation := 0
			var stopped atomic.Bool
			a := mustSpawn(t, s, "a", func() Actor {
				generation++
				mine := generation
				return &script{
					pre: func(ctx *Context) error {
						ctx.SetReceiveTimeout(time.Duration(1+life.IntN(5)) * ms)
						tm := ctx.Timers()
						return errors.Join(tm.StartSingle("a", mine, time.Duration(1+life.IntN(20))*ms),
							tm.StartFixedDelay("b", mine, time.Duration(1+life.IntN(5))*ms, 3*ms),
							tm.StartFixedRate("c", mine, time.Duration(1+life.IntN(5))*ms, 2*ms))
					},
					recv: func(_ *Context, msg any) error {
						if n, ok := msg.(int); stopped.Load() || ok && n != mine {
							r.add("instance %d got %v, stopped %t", mine, msg, stopped.Load())
						}
						if life.IntN(8) == 0 {
							pause(time.Duration(life.IntN(6)) * ms)
						}
						if life.IntN(10) == 0 {
							return errBoom
						}
						return nil
					},
					post: do(func(*Context) { pause(time.Duration(life.IntN(6)) * ms) }),
				}
			}, supervisedBy(Restart))
			r.at(time.Duration(50+rnd.IntN(50))*ms + time.Duration(rnd.IntN(1000000)))
			a.Tell(PoisonPill{})
			for !a.n.cell().closedForTest() {
				pause(ms)
			}
			stopped.Store(true)
			r.at(time.Second)
			r.want(t)
			if n := s.clock.Len(); n != 0 {
				t.Errorf("%d deadlines are left", n)
			}
		})
	}
}

func (c *cell) closedForTest() bool {
	return c.mb.Closed()
}

// instanceForTest counts from 1.
func (c *cell) instanceForTest() int { return int(c.look().instance) + 1 }

// replayedForTest says whether the current message came out of the stash; an ordinary message does not show it, so the
// actor must be one that stashes once.
func (c *cell) replayedForTest() bool {
	if d, ok := c.run.own.(*idleMark); ok {
		return d.replayed
	}
	return c.look().stash != nil
}

// All orders of a message, the expiry, a re-arm and a cancel, at one moment and behind a busy handler.
func TestReceiveTimeoutOrders(t *testing.T) {
	steps := map[string]func(Ref){
		"message": func(a Ref) { a.Tell("m") },
		"fire":    func(a Ref) { c := a.n.cell(); c.Fire(c.sys.clock.Now()) },
		"re-arm":  func(a Ref) { a.Tell(mark{"re-arm", do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) })}) },
		"cancel":  func(a Ref) { a.Tell(mark{"cancel", do((*Context).CancelReceiveTimeout)}) },
	}
	names := []string{"cancel", "fire", "message", "re-arm"}
	for p := range permutations(names) {
		for _, busy := range []time.Duration{0, 100 * ms} {
			t.Run(fmt.Sprint(p, busy), func(t *testing.T) {
				bubble(t, func(t *testing.T, s *System, r *record) {
					a := mustSpawn(t, s, "a", always(&script{recv: r.note}))
					a.Tell(do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) }))
					r.at(0)
					if busy > 0 {
						a.Tell(mark{"busy", do(func(*Context) { pause(busy) })})
					}
					r.at(40*ms - 1) // the expiry is under way at the same moment as the rest
					for _, name := range p {
						steps[name](a)
						if busy == 0 {
							r.at(0)
						}
					}
					r.at(time.Second)
					checkOrder(t, p, busy, r.lines())
				})
			})
		}
	}
}

// checkOrder says what must hold in every order: the last of re-arm and cancel decides whether there are timeouts, and
// none comes before a full window has passed since the message and since the re-arm.
func checkOrder(t *testing.T, p []string, busy time.Duration, got []string) {
	t.Helper()
	armed := slices.Index(p, "re-arm") > slices.Index(p, "cancel")
	last := "39.999999ms"
	next := "79.999999ms RT"
	if busy > 0 {
		last, next = "100", "140 RT"
	}
	var want []string
	if busy > 0 {
		want = append(want, "100 busy")
	}
	for _, name := range p {
		switch name {
		case "message":
			want = append(want, last+" m")
		case "re-arm", "cancel":
			want = append(want, last+" "+name)
		}
	}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Fatalf("got %q, want it to begin with %q", got, want)
	}
	rest := got[len(want):]
	switch {
	case !armed && len(rest) > 0:
		t.Errorf("a timeout after the cancel: %q", rest)
	case armed && (len(rest) < 2 || rest[0] != next):
		t.Errorf("got %q, want them to begin with %q", rest, next)
	}
}

// permutations yields every order of a few strings.
func permutations(of []string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		var walk func(done, left []string) bool
		walk = func(done, left []string) bool {
			if len(left) == 0 {
				return yield(slices.Clone(done))
			}
			for i := range left {
				rest := slices.Delete(slices.Clone(left), i, i+1)
				if !walk(append(slices.Clone(done), left[i]), rest) {
					return false
				}
			}
			return true
		}
		walk(nil, of)
	}
}
