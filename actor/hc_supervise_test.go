package actor

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The budget is literal: 10 restarts in 60 s are 11 starts.
func TestTenRestartsInSixtySeconds(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		starts := 0
		factory := func() Actor {
			return &script{pre: do(func(*Context) { starts++ }), recv: func(*Context, any) error { return errBoom }}
		}
		a := mustSpawn(t, s, "a", factory)
		r.watcher(t, s, a)
		for i := range 11 { // at 0, 5, …, 50 s
			r.at(time.Duration(i) * 5 * time.Second)
			if starts != i+1 {
				t.Fatalf("%d starts before failure %d", starts, i+1)
			}
			a.Tell("m")
		}
		synctest.Wait()
		if starts != 11 {
			t.Errorf("%d starts, want 11", starts)
		}
		r.want(t, "50000 ended a: boom")

		starts = 0
		b := mustSpawn(t, s, "b", factory)
		for i := range 100 { // every 6 s: the eleventh failure is 60 s after the first, which is forgotten then
			r.at(time.Minute + time.Duration(i)*6*time.Second)
			b.Tell("m")
		}
		synctest.Wait()
		if starts != 101 {
			t.Errorf("%d starts, want 101", starts)
		}
	})
}

func TestHC_V11_budget_settings(t *testing.T) {
	for _, c := range []struct {
		sup    Supervisor
		every  time.Duration
		starts int
	}{
		{Supervisor{MaxRestarts: 2}, time.Second, 3},
		{Supervisor{MaxRestarts: 1, Within: 10 * ms}, 10 * ms, 41},
		{Supervisor{MaxRestarts: 1, Within: 10 * ms}, 9 * ms, 2},
		{Supervisor{MaxRestarts: 3, Within: -1}, time.Hour, 4}, // HC-V11: never forgets, and keeps a number only
		{Supervisor{MaxRestarts: -1}, 0, 41},
	} {
		t.Run(fmt.Sprint(c.sup.MaxRestarts, c.sup.Within, c.every), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				starts := 0
				a := mustSpawn(t, s, "a", func() Actor {
					starts++
					return &script{recv: func(*Context, any) error { return errBoom }}
				}, func(sc *SpawnConfig) { sc.Supervisor = &c.sup })
				for i := range 40 {
					r.at(time.Duration(i) * c.every)
					a.Tell("m")
				}
				synctest.Wait()
				if starts != c.starts {
					t.Errorf("%d starts, want %d", starts, c.starts)
				}
				if k := s.user.kids().find("a"); k != nil && len(s.user.kids().budget(k).at) > max(c.sup.MaxRestarts, 0) {
					t.Errorf("the record has grown to %d", len(s.user.kids().budget(k).at))
				}
			})
		})
	}
}

func TestHC_V1_named_child_of_PreStart_survives_restarts(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", func() Actor {
			return &script{recv: r.note, pre: func(ctx *Context) error {
				_, err := ctx.Spawn("kid", always(&script{}))
				return err
			}}
		})
		for range 5 {
			a.Tell(errBoom)
		}
		a.Tell("m")
		r.at(0)
		r.want(t, "0 fails", "0 fails", "0 fails", "0 fails", "0 fails", "0 m")
	})
}

func TestHC_V4_W5_stale_Terminated(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		first := mustSpawn(t, s, "x", always(&script{}))
		w := mustSpawn(t, s, "w", always(&script{recv: func(_ *Context, msg any) error {
			r.add("the first %t", msg.(Terminated).Ref == first)
			return nil
		}}))
		w.Tell(do(func(ctx *Context) { ctx.Watch(first); pause(10 * ms) }))
		r.at(0)
		first.Tell(PoisonPill{})
		r.at(1 * ms)
		second := mustSpawn(t, s, "x", always(&script{}))
		w.Tell(do(func(ctx *Context) { ctx.Watch(second) }))
		r.at(20 * ms)
		r.want(t, "10 the first true") // and nothing of the second, which lives
		second.Tell(PoisonPill{})
		r.at(30 * ms)
		r.want(t, "10 the first true", "20 the first false")
	})
}

func TestHC_V5_option_before_parent(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var own, plain Ref
		mustSpawn(t, s, "a", always(&script{
			sup: Supervisor{Decide: func(ref Ref, _ error) Directive { r.add("parent judges %s", ref.Name()); return Stop }},
			pre: do(func(ctx *Context) {
				plain = spawnKid(ctx, "plain", always(&script{recv: r.note}))
				own = spawnKid(ctx, "own", always(&script{recv: r.note}), supervisedBy(Resume))
			}),
		}))
		r.at(0)
		own.Tell(errBoom)
		own.Tell("own goes on")
		r.at(0)
		plain.Tell(errBoom)
		r.at(0)
		r.want(t, "0 fails", "0 own goes on", "0 fails", "0 parent judges plain")
	})
}

func TestHC_V6_failing_decider_escalates(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		for name, sup := range map[string]Supervisor{
			"panics":  {Decide: func(Ref, error) Directive { panic("undecided") }},
			"unknown": {Decide: func(Ref, error) Directive { return 99 }},
		} {
			var kid Ref
			a := mustSpawn(t, s, name, func() Actor {
				return &script{sup: sup, pre: do(func(ctx *Context) { kid = spawnKid(ctx, "kid", always(&script{recv: r.note})) })}
			})
			r.at(0)
			r.watcher(t, s, kid)
			r.at(0)
			kid.Tell(errBoom)
			a.Tell(do(func(*Context) {}))
			r.at(0)
			r.want(t, "0 fails", "0 ended kid: boom") // by the parent's restart, or at once
			if restarts := name == "panics"; restarts != (a.n.cell().instanceForTest() == 2) {
				t.Errorf("%s: instance %d of the parent", name, a.n.cell().instanceForTest())
			}
			r.reset()
			s.user.kids().find("watcher of kid").ref().Tell(PoisonPill{})
			synctest.Wait()
		}
	})
}

func TestHC_V7_budget_per_child(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var mu sync.Mutex
		starts := map[string]int{}
		var kids []Ref
		mustSpawn(t, s, "a", always(&script{sup: Supervisor{MaxRestarts: 2}, pre: do(func(ctx *Context) {
			for _, name := range []string{"x", "y"} {
				kids = append(kids, spawnKid(ctx, name, func() Actor {
					mu.Lock()
					defer mu.Unlock()
					starts[name]++
					return &script{}
				}))
			}
		})}))
		r.at(0)
		for range 2 {
			for _, kid := range kids {
				kid.Tell(func(*Context) error { return errBoom })
				r.at(0)
			}
		}
		if starts["x"] != 3 || starts["y"] != 3 {
			t.Errorf("%v, want 3 each", starts)
		}
	})
}

// escalating is a parent that escalates, with one child.
func escalating(t *testing.T, s *System, r *record, d Directive) (parent, kid Ref) {
	t.Helper()
	n := 0
	parent = mustSpawn(t, s, "p", func() Actor {
		n++
		return &script{
			sup:  Supervisor{Decide: func(Ref, error) Directive { return Escalate }},
			recv: r.note,
			pre: do(func(ctx *Context) {
				r.add("p%d starts", n)
				kid = spawnKid(ctx, "kid", func() Actor {
					return &script{
						recv: r.note,
						pre:  do(func(*Context) { r.add("kid starts") }),
						post: do(func(*Context) { r.add("kid post") }),
					}
				})
			}),
			post: do(func(*Context) { r.add("p%d post", n) }),
		}
	}, supervisedBy(d))
	r.at(0)
	return parent, kid
}

func TestHC_V8_escalation_restarts_the_parent(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		p, kid := escalating(t, s, r, Restart)
		kid.Tell(errBoom)
		r.at(0)
		p.Tell("m")
		r.at(0)
		r.want(t, "0 p1 starts", "0 kid starts", "0 fails", "0 p1 post", "0 kid post", "0 p2 starts", "0 kid starts", "0 m")
	})
}

func TestEscalateThenResumeResumesTheSubtree(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		p, kid := escalating(t, s, r, Resume)
		var sibling, grandchild Ref
		p.Tell(do(func(ctx *Context) { sibling = spawnKid(ctx, "sibling", always(&script{recv: r.note})) }))
		kid.Tell(do(func(ctx *Context) { grandchild = spawnKid(ctx, "grandchild", always(&script{recv: r.note})) }))
		r.at(0)
		kid.Tell(errBoom)
		r.at(0)
		p.Tell("to p")
		r.at(0)
		kid.Tell("to kid")
		r.at(0)
		sibling.Tell("to sibling")
		r.at(0)
		grandchild.Tell("to grandchild")
		r.at(0)
		r.want(t, "0 p1 starts", "0 kid starts", "0 fails", "0 to p", "0 to kid", "0 to sibling", "0 to grandchild")
		for _, ref := range []Ref{p, kid, sibling, grandchild} {
			if c := ref.n.cell(); c.susp != 0 || c.st != running {
				t.Errorf("%s: state %d, %d suspensions", ref, c.st, c.susp)
			}
		}
	})
}

func TestEscalateThenStop(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		p, kid := escalating(t, s, r, Stop)
		r.watcher(t, s, p)
		r.at(0)
		kid.Tell(errBoom)
		r.at(0)
		r.want(t, "0 p1 starts", "0 kid starts", "0 fails", "0 kid post", "0 p1 post", "0 ended p: boom")
	})
}

// A child that cannot start and whose parent escalates and is resumed is started again, within its budget: no endless
// loop.
func TestEscalatedFailedStartIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		starts := 0
		mustSpawn(t, s, "p", always(&script{
			sup: Supervisor{Decide: func(Ref, error) Directive { return Escalate }, MaxRestarts: 4},
			pre: do(func(ctx *Context) {
				spawnKid(ctx, "kid", func() Actor { return &script{pre: func(*Context) error { starts++; return errBoom }} })
			}),
		}), supervisedBy(Resume))
		r.at(time.Second)
		if starts != 5 {
			t.Errorf("%d starts, want 5", starts)
		}
	})
}

func TestHC_V9_stop_in_the_failing_turn(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", r.counted())
		r.watcher(t, s, a)
		a.Tell(func(ctx *Context) error { ctx.StopSelf(); return errBoom })
		b := mustSpawn(t, s, "b", func() Actor {
			return &script{pre: func(ctx *Context) error { ctx.StopSelf(); return errBoom }}
		})
		r.watcher(t, s, b)
		r.at(0)
		l := r.lines()
		if len(l) != 4 {
			t.Errorf("%q", l) // one start, one PostStop and two ends without a cause
		}
	})
}

func TestHC_V10_kill(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", r.counted())
		a.Tell("m1")
		a.Tell(Kill{})
		a.Tell("m2")
		r.at(0)
		r.want(t, "0 1 PreStart", "0 m1", "0 1 PreRestart actor: killed <nil>", "0 2 PostRestart actor: killed", "0 m2")
	})
}

// A child fails while its parent has failed itself: it is judged when the parent goes on, and not at all if it does not.
func TestChildFailsWhileItsParentHasFailed(t *testing.T) {
	for _, d := range []Directive{Resume, Restart} {
		t.Run(d.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				var kid Ref
				p := mustSpawn(t, s, "p", func() Actor {
					return &script{
						recv: r.note,
						sup:  Supervisor{Decide: func(Ref, error) Directive { r.add("p judges"); return Resume }},
						pre: do(func(ctx *Context) {
							kid = spawnKid(ctx, "kid", always(&script{recv: func(_ *Context, msg any) error {
								if msg == any("slow") {
									pause(10 * ms)
									r.add("kid fails")
									return errBoom
								}
								r.add("kid %v", msg)
								return nil
							}}))
						}),
					}
				}, slowly(d))
				r.at(0)
				kid.Tell("slow")
				r.at(1 * ms)
				p.Tell(errBoom)
				kid.Tell("m")
				r.at(200 * ms)
				if d == Resume {
					r.want(t, "1 fails", "10 kid fails", "101 p judges", "101 kid m")
				} else {
					r.want(t, "1 fails", "10 kid fails")
				}
			})
		})
	}
}

// A child that is spawned below a suspended parent waits with it.
func TestSpawnBelowASuspendedParent(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var kid, grandchild Ref
		p := mustSpawn(t, s, "p", always(&script{recv: r.note, pre: do(func(ctx *Context) {
			kid = spawnKid(ctx, "kid", always(&script{recv: func(ctx *Context, msg any) error {
				pause(10 * ms) // the parent fails meanwhile
				grandchild = spawnKid(ctx, "grandchild", always(&script{pre: do(func(*Context) { r.add("grandchild starts") }), recv: r.note}))
				return nil
			}}))
		})}), slowly(Resume))
		r.at(0)
		kid.Tell("go")
		r.at(1 * ms)
		p.Tell(errBoom)
		r.at(10 * ms)
		grandchild.Tell("m")
		r.at(200 * ms)
		r.want(t, "1 fails", "10 grandchild starts", "101 m")
	})
}

// The same for one that is spawned by a start that happens while an ancestor is suspended already.
func TestStartBelowASuspendedParent(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var kid Ref
		starts := 0
		p := mustSpawn(t, s, "p", always(&script{recv: r.note, pre: do(func(ctx *Context) {
			kid = spawnKid(ctx, "kid", always(&script{recv: r.note, pre: do(func(ctx *Context) {
				starts++
				g := spawnKid(ctx, "grandchild", always(&script{recv: r.note, post: do(func(*Context) { pause(100 * ms) })}))
				g.Tell(fmt.Sprint("m", starts))
			})}))
		})}), slowly(Resume))
		r.at(0)
		kid.Tell(errBoom) // its restart waits for the grandchild until 100
		r.at(10 * ms)
		p.Tell(errBoom) // resumed at 110
		r.at(time.Second)
		r.want(t, "0 m1", "0 fails", "10 fails", "110 m2")
		if g := kid.n.cell().kids().find("grandchild"); g.susp != 0 {
			t.Errorf("%d suspensions are left", g.susp)
		}
	})
}

// The stop of a failed actor does not wait for its supervisor.
func TestStopWhileFailed(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: r.note, post: do(func(*Context) { r.add("post") })}), slowly(Restart))
		a.Tell(errBoom)
		r.at(10 * ms)
		a.n.cell().stop()
		r.at(time.Second)
		r.want(t, "0 fails", "10 post")
	})
}

func TestDefaultDecider(t *testing.T) {
	configs := map[string]error{
		"ConfigError": &ConfigError{Path: "troupe.x", Err: errBoom},
		"ErrName":     fmt.Errorf("spawn: %w", ErrName),
	}
	for name, err := range configs {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				var starts, stopped atomic.Int32
				mustSpawn(t, s, "start", func() Actor {
					return &script{pre: func(*Context) error { starts.Add(1); return err }}
				})
				// The same error of a handler is no failed start.
				mustSpawn(t, s, "handler", func() Actor {
					stopped.Add(1)
					return &script{recv: func(*Context, any) error { return err }}
				}).Tell("m")
				mustSpawn(t, s, "explicit", func() Actor {
					starts.Add(1)
					return &script{pre: func(*Context) error { return err }}
				}, func(c *SpawnConfig) { c.Supervisor = &Supervisor{Decide: DefaultDecider} })
				r.at(0)
				if starts.Load() != 2 || stopped.Load() != 2 {
					t.Errorf("%d starts, want one each; %d instances after a failed handler, want 2", starts.Load(), stopped.Load())
				}
			})
		})
	}
	if d := DefaultDecider(Ref{}, configs["ErrName"]); d != Restart {
		t.Error(d)
	}
}

func TestStopSelfInADecider(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := &script{recv: r.note, post: do(func(*Context) { r.add("post") })}
		a.pre = do(func(ctx *Context) {
			a.sup = Supervisor{Decide: func(Ref, error) Directive { ctx.StopSelf(); return Resume }}
			spawnKid(ctx, "kid", always(&script{})).Tell(func(*Context) error { return errBoom })
		})
		mustSpawn(t, s, "a", always(a))
		r.at(0)
		r.want(t, "0 post")
	})
}

func TestRootFailureEndsTheSystem(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		mustSpawn(t, s, "a", always(&script{recv: r.note}), supervisedBy(Escalate)).Tell(errBoom)
		<-s.Terminated()
		r.want(t, "0 fails")
	})
}

// A stop that is asked for in the last hook before a restart wins: no new instance.
func TestStopSelfInTheHookBeforeARestart(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		stops := do(func(ctx *Context) { r.add("post"); ctx.StopSelf() })
		var starts atomic.Int32
		a := mustSpawn(t, s, "a", func() Actor { starts.Add(1); return &script{recv: r.note, post: stops} })
		b := mustSpawn(t, s, "b", func() Actor {
			starts.Add(1)
			return &quitting{script{recv: r.note, post: do(func(*Context) { r.add("post of b") })}}
		})
		r.watcher(t, s, a)
		r.watcher(t, s, b)
		a.Tell(errBoom)
		r.at(0)
		b.Tell(errBoom)
		r.at(0)
		// a has had its PostStop in place of PreRestart; b has a PreRestart of its own, and its PostStop after it.
		r.want(t, "0 fails", "0 post", "0 ended a: <nil>", "0 fails", "0 post of b", "0 ended b: <nil>")
		if n := starts.Load(); n != 2 {
			t.Errorf("%d starts", n)
		}
	})
}

// quitting stops itself in PreRestart.
type quitting struct{ script }

func (*quitting) PreRestart(ctx *Context, _ error, _ any) error { ctx.StopSelf(); return nil }

func TestReject(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&hooked{r: r, recv: func(_ *Context, msg any) error {
			return fmt.Errorf("wrapped: %w", Reject(errBoom))
		}}))
		r.send(a, "m", "m")
		_, err := Ask[int](t.Context(), a, "m")
		if !errors.Is(err, errBoom) || !Rejected(err) {
			t.Errorf("%v", err)
		}
		r.at(0)
		r.want(t, "0 0 PreStart", "0 m done: wrapped: boom") // no failure, no restart
		if Reject(nil) != nil || Rejected(errBoom) || Rejected(nil) {
			t.Error("Reject(nil) or Rejected")
		}
	})
}
