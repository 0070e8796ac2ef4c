package actor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ranked gives an actor priorities, a bound and a policy.
func ranked(n int, o Overflow, rank func(any) int) func(*SpawnConfig) {
	return func(c *SpawnConfig) { c.Mailbox = Mailbox{Capacity: n, Overflow: o, Priority: rank} }
}

// byNumber ranks ints by what they are, and everything else before them.
func byNumber(msg any) int {
	if n, ok := msg.(int); ok {
		return n
	}
	return -1
}

// logsTo makes the system's log a buffer of lines without their times.
func logsTo(s *System) *lockedBuffer {
	var out lockedBuffer
	s.log = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	return &out
}

func policies() map[string]Overflow {
	return map[string]Overflow{"DropOldest": DropOldest, "DropNewest": DropNewest, "RejectNewest": RejectNewest}
}

// HC-M1: what the runtime sends is in a full mailbox beyond its bound, whatever the policy and with priorities as well, and
// no later message pushes it out.
func TestHC_M1_signals_survive_every_policy(t *testing.T) {
	for name, o := range policies() {
		for ranks, rank := range map[string]func(any) int{"fifo": nil, "ranked": func(any) int { return 7 }} {
			t.Run(name+" "+ranks, func(t *testing.T) {
				bubble(t, func(t *testing.T, s *System, r *record) {
					r.deadLetters(t, s)
					x := mustSpawn(t, s, "x", always(&script{}))
					y := mustSpawn(t, s, "y", always(&script{}))
					w := mustSpawn(t, s, "w", always(&script{recv: r.note}), ranked(2, o, rank))
					w.Tell(func(ctx *Context) error {
						ctx.Watch(x)
						ctx.WatchWith(y, "y is gone")
						return ctx.Timers().StartSingle("t", "tick", 4*ms)
					})
					r.at(0)
					w.Tell(10 * ms)
					r.at(1 * ms)
					w.Tell("a")
					w.Tell("b")
					x.Tell(PoisonPill{})
					r.at(2 * ms)
					y.Tell(PoisonPill{})
					r.at(5 * ms)
					w.Tell("c")
					w.Tell("d")
					w.Tell(Kill{})
					w.Tell(PoisonPill{})
					w.Tell("e") // behind the pill, if it gets in
					r.at(20 * ms)
					signals := []string{"10 ended x", "10 y is gone", "10 tick"}
					full := func(at int, msgs ...string) (l []string) {
						for _, m := range msgs {
							l = append(l, fmt.Sprintf("%d dead %s to w: actor: mailbox full", at, m))
						}
						return l
					}
					var want []string
					if o == DropOldest {
						want = append(full(5, "a", "b", "c"), "10 slow")
						want = append(append(want, signals...), "10 d", "10 dead e to w: actor: stopped")
					} else {
						want = append(full(5, "c", "d", "e"), "10 slow", "10 a", "10 b")
						want = append(want, signals...)
					}
					r.wantAnyOrder(t, want...) // the killed actor restarts, and takes the pill then
				})
			})
		}
	}
}

// HC-M1 with ranks: a full mailbox evicts the oldest of the lowest priority, and never a signal, however low that is.
func TestHC_M1_eviction_by_rank(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		x := mustSpawn(t, s, "x", always(&script{}))
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), ranked(3, DropOldest, func(msg any) int {
			if _, ok := msg.(Terminated); ok {
				return 99
			}
			return byNumber(msg)
		}))
		a.Tell(do(func(ctx *Context) { ctx.Watch(x) }))
		r.at(0)
		a.Tell(10 * ms)
		r.at(1 * ms)
		x.Tell(PoisonPill{})
		r.at(2 * ms)
		for i, n := range []int{5, 7, 3, 7, 1, 9} { // the second 7 evicts the first, 1 the second, 9 itself
			r.at(time.Duration(i+2) * ms)
			a.Tell(n)
		}
		r.at(20 * ms)
		r.want(t, "5 dead 7 to a: actor: mailbox full", "6 dead 7 to a: actor: mailbox full", "7 dead 9 to a: actor: mailbox full",
			"10 slow", "10 1", "10 3", "10 5", "10 ended x")
	})
}

// HC-M3: the bound counts what waits, not what is being handled, also for the policies that the other test leaves out.
func TestHC_M3_bound_and_counter(t *testing.T) {
	for name, o := range policies() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				r.deadLetters(t, s)
				a := mustSpawn(t, s, "a", always(&script{recv: r.note}), ranked(3, o, byNumber), slowly(Resume))
				a.Tell(errBoom)
				r.at(1 * ms) // it is suspended for a while
				var got []string
				for _, n := range []int{2, 0, 1, 3, 0, 1} {
					got = append(got, fmt.Sprint(a.TryTell(n)))
				}
				if n, ok := a.Pending(); n != 3 || !ok {
					t.Errorf("%d wait, %t", n, ok)
				}
				want := slices.Repeat([]string{"<nil>"}, 6)
				letters := []string{"1 dead 3 to a: actor: mailbox full", "1 dead 2 to a: actor: mailbox full", "1 dead 1 to a: actor: mailbox full"}
				left := []string{"0", "0", "1"}
				switch o {
				case DropNewest:
					letters = []string{"1 dead 3 to a: actor: mailbox full", "1 dead 0 to a: actor: mailbox full", "1 dead 1 to a: actor: mailbox full"}
					left = []string{"0", "1", "2"}
				case RejectNewest:
					want, letters = append(want[:3], slices.Repeat([]string{ErrMailboxFull.Error()}, 3)...), nil
					left = []string{"0", "1", "2"}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q", got)
				}
				if n := s.Stats().Dropped; n != 3 {
					t.Errorf("%d dropped", n)
				}
				r.at(2 * ms)
				r.want(t, append([]string{"0 fails"}, letters...)...)
				r.reset()
				r.at(500 * ms)
				l := r.lines()
				for i := range l {
					l[i] = l[i][strings.Index(l[i], " ")+1:]
				}
				if !slices.Equal(l, left) {
					t.Errorf("%q were handled, want %q", l, left)
				}
			})
		})
	}
}

// HC-M4: what the priority function panics about is last, in its order, and its sender does not notice. The log names the
// type and not the content. Pills are ranked.
func TestHC_M4_ranker_that_panics(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		out := logsTo(s)
		var asked []string
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), ranked(0, DropOldest, func(msg any) int {
			asked = append(asked, fmt.Sprintf("%T", msg))
			switch msg.(type) {
			case Kill:
				return -100
			case PoisonPill:
				return 100
			}
			return msg.(int) // panics for what is none
		}), supervisedBy(Resume))
		a.Tell(0)
		r.at(0)
		a.Tell(do(func(*Context) { pause(10 * ms) })) // the only one there is, so that its rank does not matter
		r.at(1 * ms)
		for _, m := range []any{"secret 1", 5, "secret 2", 1 << 62, -1 << 63, PoisonPill{}} {
			if err := a.TryTell(m); err != nil {
				t.Error(err)
			}
		}
		a.Tell(Kill{})
		r.at(20 * ms)
		r.want(t, "0 0", "10 -9223372036854775808", "10 5")
		if n := len(asked); n != 9 || asked[7] != "actor.PoisonPill" || asked[8] != "actor.Kill" {
			t.Errorf("asked about %q", asked)
		}
		log := out.String()
		if n := strings.Count(log, "type=string times=2 error"); n != 1 || strings.Contains(log, "times=3") || strings.Contains(log, "secret 1") || !strings.Contains(log, "actor=troupe://test/user/a") {
			t.Errorf("%d lines in %s", n, log)
		}
	})
}

// HC-M4: the unrankable are behind everything that has a rank, and among themselves in their order.
func TestHC_M4_unrankable_is_last(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), ranked(0, DropOldest, func(msg any) int {
			if n, ok := msg.(int); ok {
				return n
			}
			panic(errBoom)
		}))
		r.at(0)
		a.Tell(10 * ms)
		r.at(1 * ms)
		for _, m := range []any{"x", 9, "y", 1 << 62, "z", 1} {
			a.Tell(m)
		}
		r.at(20 * ms)
		r.want(t, "10 slow", "10 1", "10 9", "10 4611686018427387904", "10 x", "10 y", "10 z")
	})
}

// HC-M4: the function is asked once per message by the sender; it may tell the actor itself, in front of a full mailbox and
// while the actor takes its stash back.
func TestHC_M4_ranker_that_tells(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var a Ref
		a = mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
			switch msg {
			case 1:
				r.add("stash 1")
				return ctx.Stash()
			case 2:
				ctx.UnstashAll()
				ctx.Become(r.note)
				return nil
			}
			return r.note(ctx, msg)
		}}), ranked(2, RejectNewest, func(msg any) int {
			if msg == any(1) {
				_ = a.TryTell("by the function")
			}
			return byNumber(msg)
		}))
		r.at(0)
		a.Tell(1)
		r.at(1 * ms)
		a.Tell(2)
		r.at(2 * ms)
		r.want(t, "0 by the function", "0 stash 1", "1 by the function", "1 1")
	})
}

// HC-M5, HC-B4: what is unstashed is before what waits with the same rank, behind what has a better one, in the order of
// its stashing, beyond the bound, and is not dropped by what comes later.
func TestHC_M5_B4_unstash_rejoins_its_tier(t *testing.T) {
	type item struct{ rank, i int }
	for name, o := range policies() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				r.deadLetters(t, s)
				stashing := true
				a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
					if _, ok := msg.(item); ok && stashing {
						return ctx.Stash()
					}
					return r.note(ctx, msg)
				}}), ranked(3, o, func(msg any) int {
					if m, ok := msg.(item); ok {
						return m.rank
					}
					return -1
				}))
				for _, m := range []item{{2, 1}, {1, 2}, {2, 3}, {1, 4}} {
					a.Tell(m)
					r.at(0)
				}
				a.Tell(do(func(ctx *Context) {
					pause(10 * ms) // in which others come
					stashing = false
					ctx.UnstashAll()
					pause(10 * ms)
				}))
				r.at(1 * ms)
				for _, m := range []item{{2, 5}, {1, 6}, {0, 7}} {
					a.Tell(m)
				}
				r.at(11 * ms)
				a.Tell(item{1, 8}) // one too many
				r.at(30 * ms)
				want := []string{"20 {0 7}", "20 {1 2}", "20 {1 4}", "20 {1 6}"}
				if o == DropOldest {
					want = slices.Concat([]string{"11 dead {2 5} to a: actor: mailbox full"}, want, []string{"20 {1 8}", "20 {2 1}", "20 {2 3}"})
				} else {
					want = slices.Concat([]string{"11 dead {1 8} to a: actor: mailbox full"}, want, []string{"20 {2 1}", "20 {2 3}", "20 {2 5}"})
				}
				r.want(t, want...)
			})
		})
	}
}

// HC-M5 for the policy that the other test leaves out.
func TestHC_M5_unstash_with_DropNewest(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error { return ctx.Stash() }}), bounded(1, DropNewest))
		for i := range 3 {
			a.Tell(i)
			r.at(0)
		}
		a.Tell(do(func(ctx *Context) {
			ctx.UnstashAll()
			ctx.Become(r.note)
			pause(10 * ms)
		}))
		r.at(1 * ms)
		a.Tell(3)
		a.Tell(4)
		r.at(20 * ms)
		r.want(t, "1 dead 4 to a: actor: mailbox full", "10 0", "10 1", "10 2", "10 3")
	})
}

// HC-M6: the mailbox outlives the instance, with what waits, its bound and its order.
func TestHC_M6_mailbox_outlives_a_restart(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		n := 0
		a := mustSpawn(t, s, "a", func() Actor {
			n++
			mine := n
			return &script{recv: func(ctx *Context, msg any) error {
				if _, ok := msg.(int); ok {
					r.add("instance %d: %v", mine, msg)
					return nil
				}
				return r.note(ctx, msg)
			}}
		}, ranked(2, DropOldest, byNumber))
		r.at(0)
		a.Tell(10 * ms)
		r.at(1 * ms)
		a.Tell(2)
		a.Tell(errBoom)
		r.at(10 * ms)
		r.want(t, "10 slow", "10 fails", "10 instance 2: 2")
		a.Tell(10 * ms)
		r.at(11 * ms)
		a.Tell(1)
		a.Tell(5)
		a.Tell(0)
		r.at(20 * ms)
		r.want(t, "10 slow", "10 fails", "10 instance 2: 2", "11 dead 5 to a: actor: mailbox full", "20 slow", "20 instance 2: 0", "20 instance 2: 1")
	})
}

// HC-M7, HC-M8: what a bound costs is counted and logged, the first and each doubling, with the actor and the bound and
// nothing of the message; and it is a dead letter, or the error of a sender that asked for it.
func TestHC_M7_M8_drops_are_visible(t *testing.T) {
	for name, o := range policies() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				out := logsTo(s)
				a := mustSpawn(t, s, "a", always(&script{recv: r.note}), bounded(2, o))
				r.at(0)
				a.Tell(10 * ms)
				r.at(1 * ms)
				for i := range 12 {
					_ = a.TryTell(fmt.Sprint("secret ", i))
				}
				r.at(20 * ms)
				want := Stats{Dropped: 10, DeadLetters: 10}
				if o == RejectNewest {
					want.DeadLetters = 0 // each sender knows
				}
				if n := s.Stats(); n != want {
					t.Errorf("%+v", n)
				}
				var lines []string
				for line := range strings.Lines(out.String()) {
					if strings.Contains(line, "mailbox full: messages are dropped") {
						lines = append(lines, strings.TrimSpace(line))
					}
				}
				for i, n := range []int{1, 2, 4, 8} {
					line := fmt.Sprintf(`level=WARN msg="mailbox full: messages are dropped" actor=troupe://test/user/a dropped=%d capacity=2`, n)
					if i >= len(lines) || lines[i] != line {
						t.Fatalf("%q, want the line %q", lines, line)
					}
				}
				if len(lines) != 4 || strings.Contains(out.String(), "secret") {
					t.Errorf("%q", out.String())
				}
			})
		})
	}
}

// HC-M9: a full mailbox that refuses is an error of the sender only. The event stream, a timer, an idle window and the end
// of a watched actor go on; the result of PipeToSelf is a dead letter.
func TestHC_M9_refusal_hits_the_sender_only(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), bounded(1, RejectNewest))
		b := mustSpawn(t, s, "b", always(&script{recv: func(_ *Context, msg any) error { r.add("b %v", msg); return nil }}))
		Subscribe[string](s.EventStream(), a)
		Subscribe[string](s.EventStream(), b)
		a.Tell(func(ctx *Context) error {
			ctx.PipeToSelf(func(context.Context) (any, error) { pause(5 * ms); return "result", nil })
			return ctx.Timers().StartFixedDelay("t", "tick", 6*ms, 6*ms)
		})
		r.at(0)
		a.Tell(10 * ms)
		r.at(1 * ms)
		a.Tell("waits")
		s.EventStream().Publish("event")
		mustSpawn(t, s, "c", always(&script{pre: do(func(ctx *Context) { ctx.Tell(a, "from an actor") })}))
		r.at(20 * ms)
		r.wantAnyOrder(t, "1 b event", "1 dead event to a: actor: mailbox full", "1 dead from an actor to a: actor: mailbox full",
			"5 dead result to a: actor: mailbox full", "10 slow", "10 waits", "10 tick", "16 tick")
	})
}

// HC-M10, RT32, RT33: a receive timeout that falls due in front of a full mailbox costs no message, for every policy and
// with priorities. The priority function is not asked about it, and it is behind everything.
func TestHC_M10_RT32_RT33_full_at_expiry(t *testing.T) {
	for name, o := range policies() {
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T, s *System, r *record) { fullAtExpiry(t, s, r, o) }) })
		t.Run(name+" ranked", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				r.deadLetters(t, s)
				a := mustSpawn(t, s, "a", r.idler(40*ms), ranked(2, o, func(msg any) int {
					if _, ok := msg.(ReceiveTimeout); ok {
						t.Error("asked about a receive timeout")
					}
					return 1<<63 - 1 // as low as can be
				}))
				r.at(0)
				a.Tell(mark{"busy", do(func(*Context) { pause(100 * ms) })})
				r.at(50 * ms) // it is queued since 40
				a.Tell(mark{what: "d"})
				a.Tell(mark{what: "e"})
				if n := s.Stats().Dropped; n != 0 {
					t.Errorf("%d dropped", n)
				}
				r.at(100 * ms)
				r.want(t, "100 busy", "100 RT", "100 d", "100 e")
				a.Tell(100 * ms) // it counts, so the window begins behind it
				r.at(150 * ms)
				a.Tell("f")
				a.Tell("g")
				r.at(245 * ms)
				r.want(t, "100 busy", "100 RT", "100 d", "100 e", "200 slow", "200 f", "200 g", "240 RT")
			})
		})
	}
}

// The receive timeout is behind what comes after it, if that has a rank at all.
func TestHC_M10_timeout_is_behind_every_rank(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", r.idler(40*ms), ranked(0, DropOldest, func(any) int { return 5 }))
		r.at(0)
		a.Tell(mark{"busy", do(func(*Context) { pause(100 * ms) })})
		r.at(50 * ms)
		a.Tell(mark{what: "d"})
		r.at(100 * ms)
		r.want(t, "100 busy", "100 d", "100 RT")
		a.Tell(mark{"busy", do(func(*Context) { pause(100 * ms) })})
		r.at(150 * ms)
		a.Tell("counts")
		r.at(241 * ms)
		r.want(t, "100 busy", "100 d", "100 RT", "200 busy", "200 counts", "240 RT")
	})
}

// The default mailbox is unbounded, and so is one that only has priorities: they take everything and warn, once for 10 000
// and for each doubling. A bound says enough by what it drops.
func TestHC_M7_long_mailbox_warns(t *testing.T) {
	for name, opt := range map[string]func(*SpawnConfig){
		"default": func(*SpawnConfig) {}, "ranked": ranked(0, DropOldest, func(any) int { return 1 }), "bounded": bounded(50_000, RejectNewest),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				out := logsTo(s)
				handled := 0
				a := mustSpawn(t, s, "a", always(Func(func(_ *Context, msg any) error {
					if d, ok := msg.(time.Duration); ok {
						pause(d)
					}
					handled++
					return nil
				})), opt)
				r.at(0)
				a.Tell(10 * ms)
				r.at(1 * ms)
				tell := func(n int) {
					for range n {
						a.Tell("m")
					}
				}
				warnings := func(want int) {
					t.Helper()
					if name == "bounded" {
						want = 0
					}
					if n := strings.Count(out.String(), "level=WARN"); n != want {
						t.Fatalf("%d warnings, want %d: %s", n, want, out.String())
					}
				}
				tell(9_000)
				warnings(0)
				tell(1_010)
				warnings(1)
				tell(9_000)
				warnings(1)
				tell(1_010)
				warnings(2)
				tell(20_010)
				warnings(3)
				r.at(20 * ms)
				if handled != 40_031 {
					t.Errorf("%d handled", handled)
				}
				a.Tell(10 * ms)
				r.at(21 * ms)
				tell(20_010)
				warnings(3) // it has been that long before
				if name != "bounded" && !strings.Contains(out.String(), "actor=troupe://test/user/a") {
					t.Error(out.String())
				}
			})
		})
	}
}

// Completions of what a bound drops end at once and once, and an ask with them.
func TestHC_M8_completions_of_dropped_messages(t *testing.T) {
	for name, o := range policies() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				r.deadLetters(t, s)
				a := mustSpawn(t, s, "a", always(&script{recv: r.note}), bounded(1, o))
				r.at(0)
				a.Tell(10 * ms)
				r.at(1 * ms)
				r.send(a, "m1", "m1")
				r.at(2 * ms)
				go func() {
					_, err := Ask[int](context.Background(), a, "m2")
					r.add("ask: %t", errors.Is(err, ErrMailboxFull))
				}()
				r.at(3 * ms)
				r.send(a, "m3", "m3")
				r.at(20 * ms)
				if o == DropOldest {
					r.want(t, "2 m1 done: actor: mailbox full", "3 ask: true", "10 slow", "10 m3", "10 m3 done: <nil>")
				} else {
					r.want(t, "2 ask: true", "3 m3 done: actor: mailbox full", "10 slow", "10 m1", "10 m1 done: <nil>")
				}
			})
		})
	}
}

// TellWait takes nobody else's place: those who wait get in when there is room, in the order they came, and those who come
// by another way when there is none obey the policy.
func TestTellWait_in_order(t *testing.T) {
	for name, o := range policies() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				a := mustSpawn(t, s, "a", always(&script{recv: r.note}), bounded(1, o))
				r.at(0)
				a.Tell(10 * ms)
				r.at(1 * ms)
				a.Tell(10 * ms)
				for i := range 5 {
					go func() {
						err := a.TellWait(context.Background(), mark{fmt.Sprint("m", i), do(func(*Context) { pause(10 * ms) })})
						r.add("m%d is in: %v", i, err)
					}()
					synctest.Wait()
				}
				r.at(2 * ms)
				r.want(t)
				r.at(100 * ms)
				r.wantAnyOrder(t, "10 slow", "10 m0 is in: <nil>", "20 slow", "20 m1 is in: <nil>", "30 m0", "30 m2 is in: <nil>", "40 m1",
					"40 m3 is in: <nil>", "50 m2", "50 m4 is in: <nil>", "60 m3", "70 m4")
				if n := s.Stats(); n != (Stats{}) {
					t.Errorf("%+v", n)
				}
			})
		})
	}
}

func TestTellWait_endings(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		if err := (Ref{}).TellWait(t.Context(), "m"); !errors.Is(err, ErrNoRecipient) {
			t.Error(err)
		}
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errBoom)
		unbounded := mustSpawn(t, s, "unbounded", always(&script{recv: r.note}))
		prio := mustSpawn(t, s, "prio", always(&script{recv: r.note}), ranked(0, DropOldest, byNumber))
		for _, ref := range []Ref{unbounded, prio} {
			if err := ref.TellWait(ended, "never"); !errors.Is(err, errBoom) {
				t.Error(err)
			}
			if err := ref.TellWait(t.Context(), "m"); err != nil {
				t.Error(err)
			}
		}
		r.at(0)
		r.want(t, "0 m", "0 m")
		echo := mustSpawn(t, s, "echo", always(Func(func(ctx *Context, msg any) error { return ctx.Sender().TellWait(t.Context(), msg) })))
		if v, err := Ask[int](t.Context(), echo, 7); v != 7 || err != nil {
			t.Error(v, err)
		}
		r.reset()
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), bounded(1, DropOldest))
		r.at(0)
		a.Tell(10 * ms)
		r.at(1 * ms)
		a.Tell(10 * ms)
		wait := func(d time.Duration, name string) {
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), d)
				defer cancel()
				r.add("%s: %v", name, a.TellWait(ctx, name))
			}()
			synctest.Wait()
		}
		wait(4*ms, "gives up")
		wait(time.Hour, "gets in")
		wait(time.Hour, "too late")
		r.at(11 * ms)
		a.Tell(PoisonPill{}) // behind the one that waits, so the third is still outside when the actor ends
		r.at(30 * ms)
		r.wantAnyOrder(t, "5 gives up: context deadline exceeded", "10 slow", "10 gets in: <nil>", "20 slow", "20 gets in",
			"20 too late: <nil>", "20 dead too late to a: actor: stopped")
		r.reset()
		wait(time.Hour, "after the end")
		r.want(t, "30 after the end: actor: stopped")
	})
}

// Those who wait when the actor ends are told so, at an immediate stop as well.
func TestTellWait_at_the_end(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), bounded(1, RejectNewest))
		a.Tell(do(func(ctx *Context) { pause(10 * ms); ctx.StopSelf() }))
		r.at(1 * ms)
		a.Tell("waits")
		for range 3 {
			go func() { r.add("%v", a.TellWait(context.Background(), "m")) }()
		}
		r.at(20 * ms)
		r.want(t, "10 actor: stopped", "10 actor: stopped", "10 actor: stopped")
	})
}

// PoisonPill and Kill are exempt from the bound on this way, too.
func TestTellWait_pill_does_not_wait(t *testing.T) {
	for name, o := range policies() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				a := mustSpawn(t, s, "a", always(&script{recv: r.note, post: do(func(*Context) { r.add("stopped") })}), bounded(1, o))
				r.at(0)
				a.Tell(10 * ms)
				r.at(1 * ms)
				a.Tell("waits")
				go func() { r.add("told: %v", a.TellWait(context.Background(), PoisonPill{})) }()
				r.at(2 * ms)
				a.Tell("one more") // must not evict the pill
				r.at(20 * ms)
				if o == DropOldest {
					r.want(t, "1 told: <nil>", "10 slow", "10 stopped") // what it evicts is the one that waits
				} else {
					r.want(t, "1 told: <nil>", "10 slow", "10 waits", "10 stopped")
				}
			})
		})
	}
}

// HC-B2: a stash may be taken back several times in one handler, and the handler may stash its own message and fail after
// that: everything is handled once, what was taken back last first.
func TestHC_B2_unstash_and_then_stash_or_fail(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		newActor := func() Actor {
			return Func(func(ctx *Context, msg any) error {
				switch msg {
				case "a", "b":
					return ctx.Stash()
				case "back":
					ctx.UnstashAll()
					if err := ctx.Stash(); err != nil {
						return err
					}
					ctx.UnstashAll()
					ctx.Become(r.note)
					return nil
				case "fail":
					ctx.UnstashAll()
					ctx.Become(r.note)
					return errBoom
				}
				return r.note(ctx, msg)
			})
		}
		a := mustSpawn(t, s, "a", newActor)
		for _, m := range []string{"a", "b", "back", "waits"} {
			a.Tell(m)
		}
		r.at(0)
		r.want(t, "0 back", "0 a", "0 b", "0 waits")
		r.reset()
		b := mustSpawn(t, s, "b", newActor, supervisedBy(Resume))
		for _, m := range []string{"a", "b", "fail", "waits"} {
			b.Tell(m)
		}
		r.at(0)
		r.want(t, "0 a", "0 b", "0 waits") // they were in the mailbox again when it failed
		r.reset()
		c := mustSpawn(t, s, "c", always(Func(func(ctx *Context, msg any) error {
			if msg == any("stop") {
				ctx.UnstashAll()
				ctx.StopSelf()
				return nil
			}
			return ctx.Stash()
		})))
		for _, m := range []string{"a", "b", "stop", "waits"} {
			c.Tell(m)
		}
		r.at(0)
		r.want(t, "0 dead a to c: actor: stopped", "0 dead b to c: actor: stopped", "0 dead waits to c: actor: stopped")
	})
}

// A priority function that ends its goroutine hits whoever runs it, never the clock, and never those who are told of an
// end after it.
func TestPriorityThatEndsTheGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		x := mustSpawn(t, s, "x", always(&script{}))
		ranked := func(c *SpawnConfig) {
			c.Mailbox.Priority = func(msg any) int {
				switch msg.(type) {
				case Terminated, string:
					runtime.Goexit()
				}
				return 0
			}
		}
		mustSpawn(t, s, "bad", always(&script{pre: do(func(ctx *Context) { ctx.Watch(x) }), recv: r.note}), ranked)
		for i := range 3 {
			mustSpawn(t, s, fmt.Sprint("good", i), always(&script{pre: do(func(ctx *Context) { ctx.Watch(x) }), recv: r.note}))
		}
		bad := mustSpawn(t, s, "ticks", always(&script{recv: func(ctx *Context, msg any) error {
			if f, ok := msg.(func(*Context)); ok {
				f(ctx)
			}
			return nil
		}}), ranked, supervisedBy(Resume))
		bad.Tell(func(ctx *Context) { _ = ctx.Timers().StartSingle("t", "tick", ms) })
		timed := mustSpawn(t, s, "timed", always(&script{recv: r.note}))
		timed.Tell(do(func(ctx *Context) { _ = ctx.Timers().StartSingle("t", "in time", 2*ms) }))
		r.at(0)
		x.Tell(PoisonPill{})
		r.at(10 * ms)
		r.wantAnyOrder(t, "0 ended x", "0 ended x", "0 ended x", "2 in time")
	})
}
