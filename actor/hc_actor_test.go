package actor

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// hooked is an actor with every hook, each recorded under the instance's number.
type hooked struct {
	r    *record
	n    int
	pre  func(*Context) error
	recv func(*Context, any) error
}

func (h *hooked) PreStart(ctx *Context) error {
	h.r.add("%d PreStart", h.n)
	return call(h.pre, ctx)
}

func (h *hooked) PostStop(*Context) error { h.r.add("%d PostStop", h.n); return nil }

func (h *hooked) PreRestart(_ *Context, cause error, msg any) error {
	h.r.add("%d PreRestart %v %v", h.n, cause, msg)
	return nil
}

func (h *hooked) PostRestart(_ *Context, cause error) error {
	h.r.add("%d PostRestart %v", h.n, cause)
	return nil
}

func (h *hooked) Receive(ctx *Context, msg any) error {
	if f, ok := msg.(func(*Context) error); ok {
		return f(ctx)
	}
	if h.recv != nil {
		return h.recv(ctx, msg)
	}
	return h.r.note(ctx, msg)
}

// counted numbers the instances that a factory makes.
func (r *record) counted() func() Actor {
	n := 0
	return func() Actor { n++; return &hooked{r: r, n: n} }
}

// watcher records Terminated for a ref. It is watched when watcher returns. Only in a bubble.
func (r *record) watcher(t *testing.T, s *System, ref Ref) {
	t.Helper()
	mustSpawn(t, s, "watcher of "+ref.Name(), always(&script{
		pre: do(func(ctx *Context) { ctx.Watch(ref) }),
		recv: func(_ *Context, msg any) error {
			if d, ok := msg.(Terminated); ok {
				r.add("ended %s: %v", d.Ref.Name(), d.Cause)
			}
			return nil
		},
	}))
	synctest.Wait()
}

func TestHC_A1_factory_fails_once(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		n := 0
		a := mustSpawn(t, s, "a", func() Actor {
			if n++; n == 1 {
				panic("no")
			}
			return &hooked{r: r, n: n}
		})
		a.Tell("m")
		r.at(0)
		r.want(t, "0 2 PreStart", "0 m") // a creation, not a restart
	})
}

func TestHC_A1_factory_always_fails(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		n := 0
		a := mustSpawn(t, s, "a", func() Actor { n++; panic(errBoom) })
		a.Tell("m")
		r.watcher(t, s, a)
		r.at(0)
		if n != 11 {
			t.Errorf("%d starts, want 11", n)
		}
		r.wantAnyOrder(t, "0 dead m to a: actor: stopped", "0 ended a: actor: panic: boom")
		if _, err := s.Spawn("a", always(&script{})); err != nil {
			t.Errorf("the name is not free: %v", err)
		}
	})
}

func TestHC_A1_factory_returns_nil(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", func() Actor { return nil }, supervisedBy(Stop))
		r.watcher(t, s, a)
		r.at(0)
		r.want(t, "0 ended a: actor: the factory of troupe://test/user/a returned nil")
	})
}

func TestHC_A1_factory_fails_at_a_restart(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		n := 0
		a := mustSpawn(t, s, "a", func() Actor {
			if n++; n == 2 {
				panic("no")
			}
			return &hooked{r: r, n: n}
		})
		a.Tell(errBoom)
		a.Tell("m")
		r.at(0)
		r.want(t, "0 1 PreStart", "0 fails", "0 1 PreRestart boom boom", "0 3 PostRestart actor: panic: no", "0 m")
	})
}

func TestHC_A2_resume_without_an_instance_starts_again(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		n := 0
		a := mustSpawn(t, s, "a", func() Actor { n++; panic("no") }, func(c *SpawnConfig) {
			c.Supervisor = &Supervisor{Decide: func(Ref, error) Directive { return Resume }, MaxRestarts: 2}
		})
		r.watcher(t, s, a)
		r.at(0)
		if n != 3 {
			t.Errorf("%d starts, want 3", n)
		}
		r.want(t, "0 ended a: actor: panic: no")
	})
}

func TestHC_A3_failed_start_stopped(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", func() Actor { return &hooked{r: r, pre: func(*Context) error { return errBoom }} }, supervisedBy(Stop))
		r.watcher(t, s, a)
		r.at(0)
		r.want(t, "0 0 PreStart", "0 0 PostStop", "0 ended a: boom")
	})
}

func TestHC_A4_failing_PreStart(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		starts, stops := 0, 0
		a := mustSpawn(t, s, "a", func() Actor {
			return &script{
				pre:  func(*Context) error { starts++; return errBoom },
				post: do(func(*Context) { stops++ }),
			}
		})
		r.watcher(t, s, a)
		r.at(0)
		if starts != 11 || stops != 11 {
			t.Errorf("%d starts and %d stops, want 11 of each", starts, stops)
		}
		r.want(t, "0 ended a: boom")
	})
}

func TestHC_A5_PreRestart_gets_the_message(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&hooked{r: r, recv: func(ctx *Context, msg any) error {
			if msg == "stashed" {
				return errors.Join(ctx.Stash(), errBoom)
			}
			return errBoom
		}}))
		a.Tell("poison")
		a.Tell("stashed")
		a.Tell(Kill{})
		r.at(0)
		r.want(t, "0 0 PreStart", "0 0 PreRestart boom poison", "0 0 PostRestart boom",
			"0 0 PreRestart boom stashed", "0 0 PostRestart boom", "0 0 PreRestart actor: killed <nil>", "0 0 PostRestart actor: killed")
	})
}

func TestHC_A6_failing_hooks_block_nothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		for _, fail := range []func(*Context) error{
			func(*Context) error { return errBoom },
			func(*Context) error { panic(errBoom) },
			func(*Context) error { goexit(); return nil },
		} {
			a := mustSpawn(t, s, "a", always(&script{recv: r.note, post: fail}))
			a.Tell(errBoom) // PostStop in place of PreRestart
			a.Tell("m")
			a.Tell(PoisonPill{})
			r.watcher(t, s, a)
			r.at(0)
			r.want(t, "0 fails", "0 m", "0 ended a: <nil>")
			r.reset()
			s.user.kids().find("watcher of a").ref().Tell(PoisonPill{})
			synctest.Wait()
		}
	})
}

func TestHC_A7_children_end_between_the_hooks(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", r.counted())
		a.Tell(do(func(ctx *Context) {
			spawnKid(ctx, "kid", always(&script{post: do(func(*Context) { pause(5 * ms); r.add("kid ends") })}))
		}))
		a.Tell(errBoom)
		a.Tell(do(func(ctx *Context) { // HC-N5: only a lookup could find a child that has survived; none has
			_, ok := ctx.Child("kid")
			r.add("kid %t", ok)
		}))
		r.at(10 * ms)
		r.want(t, "0 1 PreStart", "0 fails", "0 1 PreRestart boom boom", "5 kid ends", "5 2 PostRestart boom", "5 kid false")
	})
}

func TestHC_N1_N2_N3_names(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		bad := []string{"", ".", "..", "a/b", `a\b`, "a\x00", "a\x1f", "a\x7f", "a\nb", "$x", "$1"}
		for _, name := range bad {
			_, err := s.Spawn(name, always(&script{}))
			if !errors.Is(err, ErrName) || !strings.Contains(err.Error(), "troupe://test/user") {
				t.Errorf("Spawn(%q): %v", name, err)
			}
			if _, err := NewSystem(name, quiet); !errors.Is(err, ErrName) {
				t.Errorf("NewSystem(%q): %v", name, err)
			}
		}
		good := []string{"a b", "a.b", "größe", "#1", "a$b", "...", "a:b@c+d", "日本"}
		for _, name := range good {
			ref, err := s.Spawn(name, always(&script{}))
			if err != nil || ref.Path() != "troupe://test/user/"+name || ref.Name() != name {
				t.Errorf("Spawn(%q): %v, %v", name, ref, err)
			}
		}
		var errs []error
		a := mustSpawn(t, s, "parent", always(&script{pre: do(func(ctx *Context) {
			for _, name := range bad {
				_, err := ctx.Spawn(name, always(&script{}))
				errs = append(errs, err)
			}
		})}))
		r.at(0)
		for i, err := range errs {
			if !errors.Is(err, ErrName) || !strings.Contains(err.Error(), a.Path()) {
				t.Errorf("ctx.Spawn(%q): %v", bad[i], err)
			}
		}
		if len(errs) != len(bad) {
			t.Errorf("%d errors", len(errs))
		}
	})
}

func TestHC_N4_spawn_while_stopping(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		spawns := do(func(ctx *Context) {
			_, err := ctx.Spawn("kid", always(&script{}))
			r.add("%t", errors.Is(err, ErrStopped))
		})
		a := mustSpawn(t, s, "a", always(&script{recv: r.note, post: spawns}))
		a.Tell(errBoom) // in place of PreRestart
		a.Tell(do(func(ctx *Context) { ctx.StopSelf(); _ = spawns(ctx) }))
		r.at(0)
		r.want(t, "0 fails", "0 true", "0 true", "0 true")
	})
}

func TestSpawnNamesAreReleasedAtTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		mustSpawn(t, s, "a", always(&script{
			pre: do(func(ctx *Context) {
				kid := spawnKid(ctx, "kid", always(&script{}))
				ctx.Watch(kid)
				ctx.Stop(kid)
				_, err := ctx.Spawn("kid", always(&script{}))
				r.add("%v", err)
			}),
			recv: func(ctx *Context, msg any) error {
				old := msg.(Terminated).Ref
				kid, err := ctx.Spawn("kid", always(&script{}))
				found, ok := ctx.Child("kid")
				r.add("%v: the same ref %t, the same path %t, found %t", err, kid == old, kid.Path() == old.Path(), ok && found == kid)
				return nil
			},
		}))
		r.at(0)
		r.want(t, `0 actor: spawn "kid" below troupe://test/user/a: actor: bad name: the name is taken by a child that has not ended`,
			"0 <nil>: the same ref false, the same path true, found true")
	})
}

func TestSpawnAnonymous(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		seen := map[string]bool{}
		for range 100 {
			ref, err := s.SpawnAnonymous(always(&script{}))
			if err != nil || !strings.HasPrefix(ref.Name(), "$") || seen[ref.Name()] {
				t.Fatalf("%v, %v", ref, err)
			}
			seen[ref.Name()] = true
		}
		mustSpawn(t, s, "a", always(&script{pre: do(func(ctx *Context) {
			for range 3 {
				if _, err := ctx.SpawnAnonymous(always(&script{})); err != nil {
					t.Error(err)
				}
			}
			r.add("%v", ctx.Children())
		})}))
		r.at(0)
		r.want(t, "0 [troupe://test/user/a/$1 troupe://test/user/a/$2 troupe://test/user/a/$3]")
	})
}

func TestSpawnBadOptions(t *testing.T) {
	s := newTestSystem(t)
	for _, c := range []struct {
		want string
		f    func() Actor
		opt  func(*SpawnConfig)
	}{
		{"Mailbox.Capacity", always(&script{}), bounded(-1, DropOldest)},
		{"Mailbox.Overflow must", always(&script{}), bounded(1, 7)},
		{"Mailbox.Overflow needs", always(&script{}), bounded(0, RejectNewest)},
		{"factory is nil", nil, func(*SpawnConfig) {}},
	} {
		_, err := s.Spawn("a", c.f, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `spawn "a" below troupe://test/user`) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	mustSpawn(t, s, "a", always(&script{})) // the name was not taken by any of these
}

// Options are a snapshot: what the caller does later with the Supervisor it gave has no effect.
func TestSpawnOptionsAreASnapshot(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		sup := &Supervisor{Decide: func(Ref, error) Directive { return Stop }}
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), func(c *SpawnConfig) { c.Supervisor = sup })
		sup.Decide = func(Ref, error) Directive { return Resume }
		r.watcher(t, s, a)
		a.Tell(errBoom)
		r.at(0)
		r.want(t, "0 fails", "0 ended a: boom")
	})
}

// System.Spawn may be called from where one would least like to wait for the guardian: on its own goroutine.
func TestSpawnFromADecider(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), func(c *SpawnConfig) {
			c.Supervisor = &Supervisor{Decide: func(Ref, error) Directive {
				_, err := s.Spawn("standby", always(&script{}))
				r.add("spawned %v", err)
				return Stop
			}}
		})
		a.Tell(errBoom)
		r.at(0)
		r.want(t, "0 fails", "0 spawned <nil>")
	})
}

func TestHC_C1_stop_before_the_next_message(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}))
		r.at(0)
		a.Tell(10 * ms)
		for i := range 3 {
			a.Tell(i)
		}
		r.at(5 * ms)
		a.n.cell().stop() // as a stopping parent does
		r.at(20 * ms)
		r.want(t, "10 slow", "10 dead 0 to a: actor: stopped", "10 dead 1 to a: actor: stopped", "10 dead 2 to a: actor: stopped")
	})
}

func TestHC_C2_suspended_gets_nothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var kid Ref
		a := mustSpawn(t, s, "a", always(&script{recv: r.note, pre: do(func(ctx *Context) {
			kid = spawnKid(ctx, "kid", always(&script{recv: func(ctx *Context, msg any) error { r.add("kid %v", msg); return nil }}))
		})}), slowly(Resume))
		r.at(0)
		a.Tell(errBoom)
		a.Tell("m")
		r.at(1 * ms)
		kid.Tell("m")
		r.at(99 * ms)
		r.want(t, "0 fails")
		r.at(100 * ms)
		if l := r.lines(); len(l) != 3 {
			t.Errorf("%q", l)
		}
	})
}

func TestHC_S1_drain(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var n atomic.Int64
		pong := mustSpawn(t, s, "pong", always(Func(func(ctx *Context, msg any) error { ctx.Reply(msg.(int) - 1); return nil })))
		ping := mustSpawn(t, s, "ping", always(Func(func(ctx *Context, msg any) error {
			n.Add(1)
			if msg.(int) > 0 {
				ctx.Tell(pong, msg)
			}
			return nil
		})))
		slow := mustSpawn(t, s, "slow", always(&script{recv: r.note}))
		ping.Tell(1000)
		slow.Tell(500 * ms)
		slow.Tell("last")
		terminate(t, s)
		if n.Load() != 1001 {
			t.Errorf("%d round trips of 1001", n.Load())
		}
		r.want(t, "500 slow", "500 last")
		if _, err := s.Spawn("late", always(&script{})); !errors.Is(err, ErrStopped) {
			t.Errorf("Spawn after the end: %v", err)
		}
	})
}

func TestHC_S2_system_actors_outlive_user_actors(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		sys, err := s.guardians[1].spawn(s.guardians[1].kids(), "registry", always(Func(func(ctx *Context, msg any) error {
			r.add("%v", msg)
			ctx.Reply("bye")
			return nil
		})), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		mustSpawn(t, s, "a", always(&script{post: func(*Context) error {
			v, err := Ask[string](context.Background(), sys, "unregister")
			r.add("%s", v)
			return err
		}}))
		terminate(t, s)
		r.want(t, "0 unregister", "0 bye")
	})
}

func TestHC_S3_nothing_is_left(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		mustSpawn(t, s, "a", always(&script{pre: func(ctx *Context) error {
			ctx.SetReceiveTimeout(time.Hour)
			ctx.PipeToSelf(func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, context.Cause(ctx) })
			return ctx.Timers().StartFixedRate("t", "tick", time.Hour, time.Hour)
		}}))
		r.at(0)
		terminate(t, s) // checks the clock; the bubble checks for goroutines
		if d := time.Since(r.t0); d != 0 {
			t.Errorf("it took %v", d)
		}
	})
}

func TestHC_S5_V2_stop_wins_over_a_parked_restart(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", r.counted())
		b := mustSpawn(t, s, "b", func() Actor { return &script{recv: r.note, post: do(func(*Context) { r.add("b PostStop") })} })
		slowKid := do(func(ctx *Context) {
			spawnKid(ctx, "kid", always(&script{post: do(func(*Context) { pause(50 * ms) })}))
		})
		for _, ref := range []Ref{a, b} {
			ref.Tell(slowKid)
			ref.Tell(errBoom)
			r.at(time.Since(r.t0) + ms)
		}
		a.n.cell().stop() // as a stopping parent does
		b.n.cell().stop()
		r.at(time.Second)
		// b had its PostStop in place of PreRestart, and an instance gets it once.
		r.want(t, "0 1 PreStart", "0 fails", "0 1 PreRestart boom boom", "1 fails", "1 b PostStop", "50 1 PostStop")
	})
}
