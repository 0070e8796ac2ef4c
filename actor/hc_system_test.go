package actor

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// insideCases are the places from which a system cannot be waited for, each a function that has f called there.
func insideCases() map[string]func(t *testing.T, s *System, f func()) {
	spawnWith := func(t *testing.T, s *System, sc *script, msgs ...any) {
		ref := mustSpawn(t, s, "a", always(sc), supervisedBy(Stop))
		for _, m := range msgs {
			ref.Tell(m)
		}
	}
	return map[string]func(*testing.T, *System, func()){
		"handler": func(t *testing.T, s *System, f func()) {
			spawnWith(t, s, &script{recv: func(*Context, any) error { f(); return nil }}, "m")
		},
		"behaviour": func(t *testing.T, s *System, f func()) {
			become := do(func(ctx *Context) { ctx.Become(func(*Context, any) error { f(); return nil }) })
			spawnWith(t, s, &script{}, become, "m")
		},
		"PreStart": func(t *testing.T, s *System, f func()) { spawnWith(t, s, &script{pre: do(func(*Context) { f() })}) },
		"PostStop": func(t *testing.T, s *System, f func()) {
			spawnWith(t, s, &script{post: do(func(*Context) { f() })}, PoisonPill{})
		},
		"factory": func(t *testing.T, s *System, f func()) {
			mustSpawn(t, s, "a", func() Actor { f(); return &script{} })
		},
		"decider": func(t *testing.T, s *System, f func()) {
			ref := mustSpawn(t, s, "a", always(&script{recv: func(*Context, any) error { return errBoom }}), func(c *SpawnConfig) {
				c.Supervisor = &Supervisor{Decide: func(Ref, error) Directive { f(); return Stop }}
			})
			ref.Tell("m")
		},
		"completion": func(t *testing.T, s *System, f func()) {
			Send(mustSpawn(t, s, "a", always(&script{})), Envelope{Msg: "m", Done: doneFunc(func(error) { f() })})
		},
		"predicate": func(t *testing.T, s *System, f func()) {
			SubscribeIf(s.EventStream(), mustSpawn(t, s, "a", always(&script{})), func(int) bool { f(); return true })
			s.EventStream().Publish(1)
		},
		"PipeToSelf": func(t *testing.T, s *System, f func()) {
			spawnWith(t, s, &script{}, do(func(ctx *Context) {
				ctx.PipeToSelf(func(context.Context) (any, error) { f(); return nil, nil })
			}))
		},
		"task": func(t *testing.T, s *System, f func()) {
			onShutdown(t, s, PhaseUnbind, "task", func(context.Context) error { f(); return nil })
			go func() { _ = s.Terminate(context.Background()) }()
		},
		"deep in the stack": func(t *testing.T, s *System, f func()) {
			var dive func(n int)
			dive = func(n int) {
				if n == 0 {
					f()
					return
				}
				dive(n - 1)
			}
			spawnWith(t, s, &script{recv: func(*Context, any) error { dive(1000); return nil }}, "m")
		},
	}
}

type doneFunc func(error)

func (f doneFunc) Done(err error) { f(err) }

// HC-C6: whoever waits for the end of the system from where the end waits for him is told so at once, and the end comes.
func TestHC_C6_terminate_from_inside(t *testing.T) {
	for name, call := range insideCases() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				var once sync.Once
				call(t, s, func() {
					once.Do(func() {
						r.add("%t", errors.Is(s.Terminate(context.Background()), ErrInside))
						if err := s.RunUntilSignal(context.Background()); !errors.Is(err, ErrInside) {
							t.Errorf("RunUntilSignal: %v", err)
						}
					})
				})
				<-s.Terminated()
				r.want(t, "0 true")
				r.at(0)
			})
		})
	}
}

// HC-C6: the actor's own context, or one made of it, changes nothing about that. On another goroutine it does not hang
// either: the actor's end cancels it.
func TestHC_C6_terminate_with_the_actors_context(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{}))
		a.Tell(do(func(ctx *Context) {
			derived, cancel := context.WithTimeout(ctx.Context(), time.Hour)
			own := ctx.Context()
			go func() {
				defer cancel()
				r.add("elsewhere %t", errors.Is(s.Terminate(own), ErrStopped))
			}()
			for _, c := range []context.Context{own, derived} {
				r.add("%t", errors.Is(s.Terminate(c), ErrInside))
			}
		}))
		<-s.Terminated()
		r.at(0)
		if l := r.lines(); !slices.Contains(l, "0 elsewhere true") || len(l) != 3 || !slices.Contains(l, "0 true") {
			t.Errorf("%q", l)
		}
	})
}

// HC-C6: elsewhere Terminate waits, also on a goroutine that a handler has started; and when all is over there is nothing
// to wait for.
func TestHC_C6_terminate_on_a_goroutine(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{post: do(func(*Context) { pause(10 * ms) })}))
		a.Tell(do(func(*Context) { go func() { r.add("%v", s.Terminate(context.Background())) }() }))
		<-s.Terminated()
		r.at(0)
		r.want(t, "10 <nil>")
		other := newTestSystem(t)
		b := mustSpawn(t, other, "b", always(&script{}))
		b.Tell(do(func(*Context) { r.add("ended before: %v", s.Terminate(context.Background())) }))
		r.at(0)
		r.want(t, "10 <nil>", "10 ended before: <nil>")
	})
}

// The functions that inside looks for are found by their names; all of them are of this package.
func TestForeignNames(t *testing.T) {
	pc, _, _, _ := runtime.Caller(0)
	pkg, _, _ := strings.Cut(runtime.FuncForPC(pc).Name(), ".TestForeignNames")
	for i, want := range []string{"(*carrier).turn", "runTask", "(*System).done", "(*subscription).accepts", "(*Context).PipeToSelf"} {
		if got := foreign()[i]; got != pkg+"."+want {
			t.Errorf("%q, want %q", got, pkg+"."+want)
		}
	}
}

// HC-X1: whatever a task does, a panicking logger included, the phases after it run and the system ends; the outcome
// says what happened.
func TestHC_X1_failing_task_does_not_stop_the_end(t *testing.T) {
	bare(t, func(t *testing.T, s *System, r *record) {
		s.log = slog.New(brokenHandler{})
		mustSpawn(t, s, "a", always(&script{post: do(func(*Context) { r.add("PostStop") })}))
		onShutdown(t, s, PhaseUnbind, "panics", func(context.Context) error { panic("boom") })
		onShutdown(t, s, PhaseDrain, "fails", func(context.Context) error { return errBoom })
		onShutdown(t, s, PhaseBrokers, "exits", func(context.Context) error { runtime.Goexit(); return nil })
		onShutdown(t, s, PhaseCluster, "stays", func(ctx context.Context) error { pause(7 * time.Second); return nil })
		onShutdown(t, s, PhaseTerminate, "last", func(context.Context) error { r.add("last"); return nil })
		err := s.Terminate(t.Context())
		r.want(t, "5000 last", "5000 PostStop")
		var got []string
		joined, _ := err.(interface{ Unwrap() []error })
		if joined == nil {
			t.Fatalf("%v", err)
		}
		for _, e := range joined.Unwrap() {
			var s *ShutdownError
			if !errors.As(e, &s) {
				t.Fatal(e)
			}
			got = append(got, s.Phase.String()+" "+s.Task)
		}
		if want := []string{"unbind panics", "drain fails", "brokers exits", "cluster stays"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		var p *PanicError
		if !errors.Is(err, errBoom) || !errors.Is(err, ErrGoexit) || !errors.Is(err, ErrAbandoned) || !errors.As(err, &p) {
			t.Error(err)
		}
		if again := s.Terminate(t.Context()); again != err {
			t.Errorf("the second call has another outcome: %v", again)
		}
	})
}

// brokenHandler is a logger that panics.
type brokenHandler struct{}

func (brokenHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (brokenHandler) Handle(context.Context, slog.Record) error { panic("the logger") }
func (h brokenHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h brokenHandler) WithGroup(string) slog.Handler           { return h }

// HC-X3: a task may take itself back while it runs, and others of its phase, which run all the same. They are waited for
// as ever.
func TestHC_X3_task_removes_itself(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var remove [2]func()
		for i := range remove {
			remove[i] = onShutdown(t, s, PhaseBrokers, string(rune('a'+i)), func(context.Context) error {
				remove[0]()
				remove[1]()
				pause(10 * ms)
				r.add("runs")
				return nil
			})
		}
		onShutdown(t, s, PhaseCluster, "next", func(context.Context) error { r.add("next phase"); return nil })
		terminate(t, s)
		r.want(t, "10 runs", "10 runs", "10 next phase")
	})
}

// HC-X4: each phase has its own budget; a task that outlives it is given up, not ended, and the next phase begins.
func TestHC_X4_budgets_per_phase(t *testing.T) {
	conf := configured(t, `troupe.actor { phaseTimeout = 3s, drainTimeout = 0, shutdown { brokers = 200ms, cluster = 1s } }`)
	bare(t, func(t *testing.T, s *System, r *record) {
		for p := range Phase(phases) {
			onShutdown(t, s, p, "slow", func(ctx context.Context) error {
				d, _ := ctx.Deadline()
				r.add("%v has %v", p, time.Until(d))
				if p == PhaseBrokers || p == PhaseCluster {
					pause(2 * time.Second)
					r.add("%v returns", p)
				}
				return nil
			})
		}
		err := s.Terminate(t.Context())
		if n := strings.Count(err.Error(), ErrAbandoned.Error()); n != 2 {
			t.Errorf("%d of 2 abandoned: %v", n, err)
		}
		r.add("ended")
		r.want(t, "0 unbind has 3s", "0 drain has 3s", "0 brokers has 200ms", "200 cluster has 1s", "1200 terminate has 3s",
			"2000 brokers returns", "2200 cluster returns", "2200 ended")
	}, conf)
}

// HC-X5: the end of the actors is behind the phases and has no part in their budgets: a slow PostStop is waited for, as
// long as stopTimeout allows.
func TestHC_X5_stop_is_not_cut_off(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		mustSpawn(t, s, "a", always(&script{post: do(func(*Context) { pause(9 * time.Second); r.add("PostStop") })}))
		terminate(t, s)
		r.add("ended")
		r.want(t, "9000 PostStop", "9000 ended")
	})
}

// HC-X6: connections are closed before the node leaves its cluster, and while the actors still live.
func TestHC_X6_brokers_before_cluster(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		broker := mustSpawn(t, s, "broker", always(&script{
			recv: func(ctx *Context, msg any) error { r.add("%v", msg); ctx.Reply("closed"); return nil },
			post: do(func(*Context) { r.add("stopped") }),
		}))
		onShutdown(t, s, PhaseCluster, "leave", func(context.Context) error { r.add("leave"); return nil })
		onShutdown(t, s, PhaseBrokers, "close", func(ctx context.Context) error {
			pause(100 * ms)
			_, err := Ask[string](ctx, broker, "close")
			return err
		})
		terminate(t, s)
		r.want(t, "100 close", "100 leave", "100 stopped")
	})
}
