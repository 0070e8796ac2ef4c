package actor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// cast is a group of siblings. What each of them does is recorded for itself, since siblings work side by side.
type cast struct {
	t      *testing.T
	s      *System
	mu     sync.Mutex
	log    map[string][]string
	parent Ref
}

// newCast spawns the siblings below a parent that judges them by sup.
func newCast(t *testing.T, s *System, sup Supervisor, names ...string) *cast {
	t.Helper()
	c := &cast{t: t, s: s, log: map[string][]string{}}
	c.parent = mustSpawn(t, s, "parent", func() Actor {
		c.add("parent", "starts")
		return &script{sup: sup, pre: do(func(ctx *Context) {
			for _, name := range names {
				spawnKid(ctx, name, c.member(name))
			}
		})}
	}, supervisedBy(Restart))
	synctest.Wait()
	c.forget()
	return c
}

func (c *cast) add(name, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log[name] = append(c.log[name], fmt.Sprintf(format, args...))
}

func (c *cast) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = map[string][]string{}
}

func (c *cast) kid(name string) Ref {
	k := c.parent.n.cell().kids().find(name)
	if k == nil {
		c.t.Fatalf("%s is not there", name)
	}
	return k.ref()
}

func (c *cast) alive(name string) bool { return c.parent.n.cell().kids().find(name) != nil }

// want waits until all is quiet and compares what one of them did, which is then forgotten.
func (c *cast) want(name string, want ...string) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := c.log[name]; !slices.Equal(got, want) {
		c.t.Errorf("%s did\n%q, want\n%q", name, got, want)
	}
	delete(c.log, name)
}

// tell tells one of them and waits until all is quiet: an error makes it fail, a function runs in its turn, a duration
// takes that long.
func (c *cast) tell(name string, msgs ...any) {
	ref := c.kid(name)
	for _, m := range msgs {
		ref.Tell(m)
	}
	synctest.Wait()
}

func (c *cast) member(name string) func() Actor { return func() Actor { return &castMember{c, name} } }

type castMember struct {
	c    *cast
	name string
}

func (m *castMember) PreStart(*Context) error { m.c.add(m.name, "starts"); return nil }
func (m *castMember) PostStop(*Context) error { m.c.add(m.name, "stops"); return nil }

func (m *castMember) PreRestart(_ *Context, cause error, msg any) error {
	m.c.add(m.name, "ends: %v, at %v", cause, msg)
	return nil
}

func (m *castMember) PostRestart(_ *Context, cause error) error {
	m.c.add(m.name, "again: %v", cause)
	return nil
}

func (m *castMember) Receive(ctx *Context, msg any) error {
	switch msg := msg.(type) {
	case error:
		return msg
	case func(*Context) error:
		return msg(ctx)
	case time.Duration:
		pause(msg)
	}
	m.c.add(m.name, "%v", msg)
	return nil
}

// fault is a failure that says what to do about it.
type fault struct {
	d    Directive
	name string
}

func (f fault) Error() string { return f.name }

func faultDecider(_ Ref, cause error) Directive {
	var f fault
	if errors.As(cause, &f) {
		return f.d
	}
	return Restart
}

func allForOne() Supervisor {
	return Supervisor{Decide: faultDecider, MaxRestarts: -1, AllForOne: true}
}

func TestAllForOne_restart(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "x", "y", "z")
		refs := []Ref{c.kid("x"), c.kid("y"), c.kid("z")}
		c.tell("y", 10*ms, "y1") // is at a message when x fails, and has another one
		c.tell("z", "z1")
		c.tell("x", errBoom, "x1")
		c.want("x", "ends: boom, at boom", "again: boom", "x1")
		c.want("y")
		c.want("z", "z1", "ends: boom, at <nil>", "again: boom")
		r.at(10 * ms)
		c.want("y", "10ms", "ends: boom, at <nil>", "again: boom", "y1")
		c.want("parent")
		if !slices.Equal(refs, []Ref{c.kid("x"), c.kid("y"), c.kid("z")}) {
			t.Error("a restart changed a ref")
		}
		c.tell("y", errBoom) // and once more, begun by another one
		c.want("x", "ends: boom, at <nil>", "again: boom")
		c.want("y", "ends: boom, at boom", "again: boom")
	})
}

func TestAllForOne_stop(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "x", "y", "z")
		for _, name := range []string{"x", "y", "z"} {
			r.watcher(t, s, c.kid(name))
		}
		c.tell("y", do(func(ctx *Context) { spawnKid(ctx, "y's", c.member("y's")) }))
		c.tell("z", 10*ms, "lost")
		r.at(0)
		r.deadLetters(t, s)
		c.tell("x", fault{Stop, "enough"})
		c.want("x", "stops")
		c.want("y's", "starts", "stops")
		c.want("y", "stops")
		r.at(10 * ms)
		c.want("z", "10ms", "stops")
		c.want("parent")
		r.wantAnyOrder(t, "0 ended x: enough", "0 ended y: enough", "10 dead lost to z: actor: stopped", "10 ended z: enough")
	})
}

func TestAllForOne_stop_cancels_the_handlers_context(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "x", "y")
		c.tell("y", do(func(ctx *Context) { <-ctx.Context().Done() }))
		c.tell("x", fault{Stop, "enough"})
		c.want("y", "stops")
	})
}

func TestAllForOne_resume_and_escalate(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "x", "y")
		c.tell("x", fault{Resume, "no matter"}, "x1")
		c.want("x", "x1")
		c.want("y")
		c.tell("x", fault{Escalate, "too much"})
		c.want("parent", "starts")
		c.want("x", "stops", "starts")
		c.want("y", "stops", "starts")
	})
}

// HC-V7: the budget is that of each child, and only its own failures count. One that is used up stops all.
func TestAllForOne_budget(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		sup := allForOne()
		sup.MaxRestarts = 2
		c := newCast(t, s, sup, "x", "y")
		for _, name := range []string{"x", "y", "x", "y"} {
			c.tell(name, errBoom)
		}
		again := slices.Repeat([]string{"again"}, 4)
		for _, name := range []string{"x", "y"} {
			var got []string
			for _, l := range c.log[name] {
				if strings.HasPrefix(l, "again") {
					got = append(got, "again")
				}
			}
			if !slices.Equal(got, again) {
				t.Errorf("%s: %q", name, c.log[name])
			}
		}
		c.forget()
		c.tell("x", errBoom)
		c.want("x", "stops")
		c.want("y", "stops")
	})
}

// HC-V5: the option of one child goes before what its parent says, and takes its siblings along.
func TestAllForOne_option_of_one_child(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, Supervisor{Decide: faultDecider}, "y")
		c.parent.Tell(do(func(ctx *Context) {
			sup := allForOne()
			spawnKid(ctx, "x", c.member("x"), func(sc *SpawnConfig) { sc.Supervisor = &sup })
			spawnKid(ctx, "z", c.member("z"), supervisedBy(Resume))
		}))
		c.want("x", "starts")
		c.want("z", "starts")
		c.tell("y", errBoom) // y's failure is y's alone
		c.want("y", "ends: boom, at boom", "again: boom")
		c.want("x")
		c.tell("x", errBoom)
		c.want("x", "ends: boom, at boom", "again: boom")
		c.want("y", "ends: boom, at <nil>", "again: boom")
		c.want("z", "ends: boom, at <nil>", "again: boom") // although its own failures are resumed
	})
}

func TestAllForOne_top_level(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		sup := allForOne()
		a := mustSpawn(t, s, "a", r.counted(), func(sc *SpawnConfig) { sc.Supervisor = &sup })
		mustSpawn(t, s, "b", r.counted())
		r.at(0)
		r.reset()
		a.Tell(errBoom)
		r.at(0)
		r.wantAnyOrder(t, "0 fails", "0 1 PreRestart boom boom", "0 2 PostRestart boom", "0 1 PreRestart boom <nil>", "0 2 PostRestart boom")
	})
}

// Two siblings fail before the first failure is judged. Each failure is judged, none of the two is restarted twice, and
// the stronger decision is the one that counts.
func TestAllForOne_two_fail_at_once(t *testing.T) {
	x, y, z := "x", "y", "z"
	restarted := func(cause string) []string { return []string{"ends: " + cause + ", at " + cause, "again: " + cause} }
	along := func(cause string) []string { return []string{"ends: " + cause + ", at <nil>", "again: " + cause} }
	for _, c := range []struct {
		first, second Directive
		judged        int
		want          map[string][]string
	}{
		{Restart, Restart, 2, map[string][]string{x: restarted("ex"), y: restarted("ey"), z: along("ex")}},
		{Restart, Resume, 2, map[string][]string{x: restarted("ex"), y: restarted("ey"), z: along("ex")}},
		{Resume, Restart, 2, map[string][]string{x: along("ey"), y: restarted("ey"), z: along("ey")}},
		{Resume, Resume, 2, map[string][]string{x: nil, y: nil, z: nil}},
		{Stop, Restart, 1, map[string][]string{x: {"stops"}, y: {"stops"}, z: {"stops"}}},
		{Restart, Stop, 2, map[string][]string{x: append(restarted("ex"), "stops"), y: append(restarted("ey"), "stops"), z: append(along("ex"), "stops")}},
	} {
		t.Run(fmt.Sprint(c.first, " and ", c.second), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				judged := 0
				sup := allForOne()
				sup.Decide = func(k Ref, err error) Directive { judged++; return faultDecider(k, err) }
				g := newCast(t, s, sup, x, y, z)
				g.parent.Tell(do(func(*Context) { pause(10 * ms) }))
				synctest.Wait()
				g.tell(x, fault{c.first, "ex"})
				g.tell(y, fault{c.second, "ey"})
				r.at(10 * ms)
				for name, want := range c.want {
					g.want(name, want...)
					if stopped := slices.Contains(want, "stops"); stopped == g.alive(name) {
						t.Errorf("%s is alive: %t", name, !stopped)
					}
				}
				if judged != c.judged {
					t.Errorf("%d judgements, want %d", judged, c.judged)
				}
				if t.Failed() || !g.alive(x) {
					return
				}
				// Later failures are judged as ever.
				g.tell(x, fault{Restart, "later"})
				g.tell(z, "z1")
				if judged != c.judged+1 {
					t.Errorf("%d judgements after one more failure", judged-c.judged)
				}
				for _, name := range []string{x, y, z} {
					if k := g.kid(name).n.cell(); k.st != running {
						t.Errorf("%s is in state %d", name, k.st)
					}
				}
			})
		})
	}
}

// The second failure is escalated although a restart of all has dealt with it: the parent is restarted, or, resumed,
// goes on with the children as they are.
func TestAllForOne_second_failure_escalates(t *testing.T) {
	for _, d := range []Directive{Restart, Resume} {
		t.Run(d.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				var c *cast
				top := mustSpawn(t, s, "top", always(&script{sup: Supervisor{Decide: func(Ref, error) Directive { return d }}}))
				ready := make(chan struct{})
				top.Tell(do(func(ctx *Context) {
					c = &cast{t: t, s: s, log: map[string][]string{}}
					c.parent = spawnKid(ctx, "parent", func() Actor {
						return &script{sup: allForOne(), pre: do(func(ctx *Context) {
							spawnKid(ctx, "x", c.member("x"))
							spawnKid(ctx, "y", c.member("y"))
						})}
					})
					close(ready)
				}))
				<-ready
				synctest.Wait()
				c.forget()
				c.parent.Tell(do(func(*Context) { pause(10 * ms) }))
				synctest.Wait()
				c.tell("x", fault{Restart, "ex"})
				c.tell("y", fault{Escalate, "ey"}, "y1")
				r.at(10 * ms)
				if d == Restart {
					c.mu.Lock()
					got := c.log["y"]
					c.mu.Unlock()
					if !slices.Contains(got, "starts") { // a new incarnation, by the parent's restart
						t.Errorf("%q", got)
					}
					return
				}
				c.want("x", "ends: ex, at ex", "again: ex")
				c.want("y", "ends: ey, at ey", "again: ey", "y1")
			})
		})
	}
}

// Siblings that fail while their parent has failed are judged when it goes on, and then as if at once.
func TestAllForOne_below_a_failed_parent(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := &cast{t: t, s: s, log: map[string][]string{}}
		c.parent = mustSpawn(t, s, "parent", always(&script{recv: r.note, sup: allForOne(), pre: do(func(ctx *Context) {
			for _, name := range []string{"x", "y", "z"} {
				spawnKid(ctx, name, c.member(name))
			}
		})}), slowly(Resume))
		r.at(0)
		c.forget()
		c.tell("x", func(*Context) error { pause(10 * ms); return errBoom })
		c.tell("y", func(*Context) error { pause(20 * ms); return errBoom })
		c.parent.Tell(errors.New("the parent's"))
		r.at(time.Second)
		for name, at := range map[string]string{"x": "", "y": "", "z": "<nil>"} {
			c.mu.Lock()
			got := c.log[name]
			c.mu.Unlock()
			if len(got) != 2 || !strings.HasPrefix(got[0], "ends: boom, at "+at) || got[1] != "again: boom" {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
}

func TestAllForOne_leaves_the_stopping_alone(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "x", "y", "z")
		c.tell("y", do(func(ctx *Context) { // its stop takes until 10
			spawnKid(ctx, "slow", always(&script{post: do(func(*Context) { pause(10 * ms) })}))
		}))
		c.tell("y", PoisonPill{})
		c.tell("z", 5*ms, PoisonPill{}, "lost") // its stop is a message, which waits in the mailbox and is kept
		c.tell("x", errBoom)
		r.at(20 * ms)
		c.want("x", "ends: boom, at boom", "again: boom")
		c.want("y", "stops")
		c.want("z", "5ms", "ends: boom, at <nil>", "again: boom", "stops")
	})
}

// HC-V2, HC-V9: a stop that is asked for before, in, or after the failing turn wins.
func TestAllForOne_stop_meanwhile_wins(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "w", "x", "y", "z")
		c.tell("y", func(ctx *Context) error { pause(5 * ms); ctx.StopSelf(); return nil })
		c.tell("z", func(ctx *Context) error {
			spawnKid(ctx, "slow", always(&script{post: do(func(*Context) { pause(10 * ms) })}))
			return nil
		})
		synctest.Wait()
		c.tell("x", errBoom)
		c.kid("z").n.cell().stop()
		r.at(20 * ms)
		c.want("w", "ends: boom, at <nil>", "again: boom")
		c.want("y", "stops")
		c.want("z", "ends: boom, at <nil>", "stops") // and not again
	})
}

// A sibling that is being started finishes that, one that is being restarted is so only once.
func TestAllForOne_starting_and_restarting_siblings(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "x", "y")
		c.parent.Tell(do(func(ctx *Context) {
			spawnKid(ctx, "new", func() Actor { pause(5 * ms); return &castMember{c, "new"} })
		}))
		synctest.Wait()
		c.tell("y", do(func(ctx *Context) {
			spawnKid(ctx, "slow", always(&script{post: do(func(*Context) { pause(10 * ms) })}))
		}))
		c.tell("y", errBoom) // restarts all, itself after 10
		c.want("y", "ends: boom, at boom")
		c.tell("x", errors.New("the second"))
		c.tell("y", "y1")
		r.at(20 * ms)
		c.want("y", "again: boom", "y1")
		c.want("x", "ends: boom, at <nil>", "again: boom", "ends: the second, at the second", "again: the second")
		// Both decisions came during its start: it finishes that, and then restarts for each of them, like x.
		c.want("new", "starts", "ends: boom, at <nil>", "again: boom", "ends: the second, at <nil>", "again: the second")
	})
}

// A child that was spawned after a restart of all had no part in it: its first failure is judged and carried out.
func TestAllForOne_child_spawned_later(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "x")
		c.tell("x", errBoom)
		c.want("x", "ends: boom, at boom", "again: boom")
		c.parent.Tell(do(func(ctx *Context) { spawnKid(ctx, "y", c.member("y")) }))
		synctest.Wait()
		c.tell("y", errBoom)
		c.want("y", "starts", "ends: boom, at boom", "again: boom")
		c.want("x", "ends: boom, at <nil>", "again: boom")
	})
}

// HC-A1, HC-A2: a sibling that cannot start again fails for itself, within its own budget.
func TestAllForOne_start_fails(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		sup := allForOne()
		sup.MaxRestarts = 3
		c := newCast(t, s, sup, "x", "z")
		n := 0
		c.parent.Tell(do(func(ctx *Context) {
			spawnKid(ctx, "y", func() Actor {
				if n++; n == 1 {
					return &castMember{c, "y"}
				}
				return nil
			})
		}))
		synctest.Wait()
		c.tell("x", errBoom)
		if n != 5 { // the first, that with x, three of its own
			t.Errorf("%d starts of y, want 5", n)
		}
		for _, name := range []string{"x", "y", "z"} {
			if c.alive(name) {
				t.Errorf("%s lives although y's budget is used up", name)
			}
		}
	})
}

// Resume of a child without an instance starts it again, and there is nothing in that for its siblings.
func TestAllForOne_resume_of_a_failed_start(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		sup := Supervisor{Decide: func(Ref, error) Directive { return Resume }, MaxRestarts: 2, AllForOne: true}
		c := newCast(t, s, sup, "x")
		starts := 0
		c.parent.Tell(do(func(ctx *Context) {
			spawnKid(ctx, "y", func() Actor { starts++; return nil })
		}))
		c.want("x")
		if starts != 3 || c.alive("y") {
			t.Errorf("%d starts, want 3 and then the end", starts)
		}
	})
}

// What a sibling has put aside or holds ends as with a restart of its own.
func TestAllForOne_stash_holds_timers(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "x", "y")
		y := c.kid("y")
		r.send(y, func(ctx *Context) error { return ctx.Stash() }, "stashed")
		r.send(y, do(func(ctx *Context) { ctx.Hold() }), "held")
		y.Tell(do(func(ctx *Context) {
			ctx.SetReceiveTimeout(10 * ms)
			if err := ctx.Timers().StartSingle("t", "tick", 10*ms); err != nil {
				t.Error(err)
			}
			ctx.BecomeStacked(func(*Context, any) error { t.Error("a behaviour of the last instance"); return nil })
		}))
		synctest.Wait()
		c.tell("x", errBoom)
		c.tell("y", "y1")
		r.at(100 * ms)
		c.want("y", "ends: boom, at <nil>", "again: boom", "y1")
		r.wantAnyOrder(t, "0 stashed done: actor: dead letter", "0 held done: actor: belongs to the instance before the restart")
	})
}

// A decider that ends its goroutine or panics, and a Supervisor that is not valid: escalated, under AllForOne too.
func TestHC_V6_AllForOne_no_decision(t *testing.T) {
	for name, sup := range map[string]Supervisor{
		"panic":     {AllForOne: true, Decide: func(Ref, error) Directive { panic("undecided") }},
		"Goexit":    {AllForOne: true, Decide: func(Ref, error) Directive { goexit(); return Resume }},
		"not valid": {AllForOne: true, Within: 60},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				c := newCast(t, s, sup, "x", "y")
				c.tell("x", errBoom)
				c.want("parent", "starts")
				c.want("x", "stops", "starts")
				c.want("y", "stops", "starts")
			})
		})
	}
}

// HC-V3: there is no opt-out of the rule that a restart stops the children, so nothing that a child was told before it
// can reach the next one: its mailbox ends as dead letters.
func TestHC_V3_no_child_outlives_a_restart(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, Supervisor{}, "x")
		kid := c.kid("x")
		r.deadLetters(t, s)
		c.tell("x", 10*ms, "lost")
		c.parent.Tell(func(*Context) error { return errBoom })
		r.at(20 * ms)
		c.want("x", "10ms", "stops", "starts")
		r.want(t, "10 dead lost to x: actor: stopped")
		if again := c.kid("x"); again == kid || again.n.cell().susp != 0 || again.n.cell().st != running {
			t.Error("the child was kept, or does not run")
		}
	})
}

func TestSupervisorValidate(t *testing.T) {
	for _, sup := range []Supervisor{
		{}, {MaxRestarts: -1}, {MaxRestarts: -7, Within: -time.Hour}, {Within: ms}, {MaxRestarts: 1 << 40, Within: 1 << 62}, {AllForOne: true},
	} {
		if err := sup.Validate(); err != nil {
			t.Errorf("%+v: %v", sup, err)
		}
	}
	bad := Supervisor{Within: 60}
	err := bad.Validate()
	if err == nil || !strings.Contains(err.Error(), "Within") || !strings.Contains(err.Error(), "60 * time.Second") {
		t.Errorf("%v", err)
	}
	s := newTestSystem(t)
	if _, err := s.Spawn("a", always(&script{}), func(c *SpawnConfig) { c.Supervisor = &bad }); err == nil || !strings.Contains(err.Error(), "Supervisor.Within") {
		t.Errorf("%v", err)
	}
}

// The children of a sibling are suspended while its last hook runs, as if it had failed itself.
func TestAllForOne_children_of_a_sibling_wait(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := newCast(t, s, allForOne(), "x")
		r.deadLetters(t, s)
		var kid Ref
		c.parent.Tell(do(func(ctx *Context) {
			spawnKid(ctx, "y", func() Actor {
				return &quitter{script{pre: do(func(ctx *Context) { kid = spawnKid(ctx, "kid", always(&script{recv: r.note})) })}, func() { pause(10 * ms) }}
			})
		}))
		synctest.Wait()
		first := kid
		c.tell("x", errBoom)
		first.Tell("lost")
		r.at(20 * ms)
		kid.Tell("m")
		r.at(20 * ms)
		r.want(t, "10 dead lost to kid: actor: stopped", "20 m")
	})
}

// A failure that a restart of all has dealt with and that is escalated all the same is over when the parent goes on: a
// later failure of the same child is not taken for it.
func TestAllForOne_escalated_failure_is_over(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		c := &cast{t: t, s: s, log: map[string][]string{}}
		sup := allForOne()
		sup.MaxRestarts = 1
		c.parent = mustSpawn(t, s, "parent", always(&script{recv: r.note, sup: sup, pre: do(func(ctx *Context) {
			spawnKid(ctx, "x", c.member("x"))
			n := 0
			spawnKid(ctx, "y", func() Actor {
				if n++; n == 2 {
					return nil // the start with x fails
				}
				return &castMember{c, "y"}
			})
		})}), slowly(Resume))
		r.at(0)
		c.forget()
		c.parent.Tell(do(func(*Context) { pause(10 * ms) }))
		synctest.Wait()
		c.tell("x", fault{Restart, "ex"})
		c.tell("y", fault{Escalate, "ey"}, "y1")
		r.at(time.Second)
		// Its failed start is the one restart that y has.
		c.want("y", "ends: ey, at ey", "again: actor: the factory of troupe://test/user/parent/y returned nil", "y1")
	})
}
