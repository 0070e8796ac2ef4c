package actor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bare is bubble for a test that ends the system itself, because not all goes well there.
func bare(t *testing.T, f func(t *testing.T, s *System, r *record), opts ...func(*SystemConfig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSystem("test", append([]func(*SystemConfig){quiet}, opts...)...)
		if err != nil {
			t.Fatal(err)
		}
		f(t, s, newRecord())
		<-s.Terminated()
	})
}

// onShutdown registers a task that must be accepted.
func onShutdown(t *testing.T, s *System, p Phase, name string, task func(context.Context) error) (remove func()) {
	t.Helper()
	remove, err := s.OnShutdown(p, name, task)
	if err != nil {
		t.Error(err)
	}
	return remove
}

func TestShutdownPhases(t *testing.T) {
	bare(t, func(t *testing.T, s *System, r *record) {
		var out lockedBuffer
		s.log = slog.New(slog.NewTextHandler(&out, nil))
		mustSpawn(t, s, "a", always(&script{post: do(func(*Context) { r.add("actors stop") })}))
		for p := range Phase(phases) {
			task := func(ctx context.Context) error {
				if d, ok := ctx.Deadline(); !ok || time.Until(d) != 5*time.Second {
					t.Errorf("%v: the deadline is in %v", p, time.Until(d))
				}
				r.add("%v", p)
				pause(ms)
				return nil
			}
			if _, err := s.OnShutdown(p, "task", task); err != nil {
				t.Error(err)
			}
			if _, err := s.OnShutdown(p, "task", task); err == nil || !strings.Contains(err.Error(), "taken") {
				t.Errorf("the same name: %v", err)
			}
			remove, err := s.OnShutdown(p, "removed", func(context.Context) error { t.Error("a removed task runs"); return nil })
			if err != nil {
				t.Error(err)
			}
			remove()
			remove()
			if _, err := s.OnShutdown(p, "fails", func(context.Context) error { return errBoom }); err != nil {
				t.Error(err)
			}
			if _, err := s.OnShutdown(p, "panics", func(context.Context) error { panic("boom") }); err != nil {
				t.Error(err)
			}
		}
		err := s.Terminate(t.Context())
		for p := range Phase(phases) {
			for _, want := range []string{`"fails" in phase ` + p.String() + ": boom", `"panics" in phase ` + p.String() + ": actor: panic: boom"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s is not in the outcome", want)
				}
			}
		}
		r.want(t, "0 unbind", "1 drain", "2 brokers", "3 cluster", "4 terminate", "5 actors stop")
		for _, task := range []string{"fails", "panics"} {
			if n := strings.Count(out.String(), "task="+task); n != phases {
				t.Errorf("%s is logged %d times", task, n)
			}
		}
	})
}

func TestShutdownBadInput(t *testing.T) {
	s := newTestSystem(t)
	ok := func(context.Context) error { return nil }
	for name, c := range map[string]struct {
		p    Phase
		task func(context.Context) error
		want string
	}{
		"phase": {Phase(phases), ok, "Phase(5) is not a phase"},
		"nil":   {PhaseDrain, nil, "is nil"},
	} {
		if _, err := s.OnShutdown(c.p, name, c.task); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	terminate(t, s)
	if _, err := s.OnShutdown(PhaseTerminate, "late", ok); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}

// A task may register another in a later phase, not in its own; a task that takes too long is given up, and the actors'
// drain is bounded too.
func TestShutdownBudgets(t *testing.T) {
	bare(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "busy", always(&script{recv: func(ctx *Context, msg any) error {
			pause(110 * ms)
			ctx.Tell(ctx.Self(), msg) // never quiet
			return nil
		}}))
		a.Tell("m")
		_, err := s.OnShutdown(PhaseUnbind, "slow", func(ctx context.Context) error {
			<-ctx.Done()
			_, own := s.OnShutdown(PhaseUnbind, "x", func(context.Context) error { return nil })
			_, later := s.OnShutdown(PhaseCluster, "x", func(context.Context) error { r.add("registered late"); return nil })
			r.add("%t %v", errors.Is(own, ErrStopped), later)
			pause(time.Second)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := s.Terminate(t.Context()); !errors.Is(err, ErrAbandoned) || !strings.Contains(err.Error(), `"slow" in phase unbind`) {
			t.Error(err)
		}
		r.add("ended")
		r.want(t, "5000 true <nil>", "7000 registered late", "7040 ended") // and the drain of 2 s before that
	})
}

func TestShutdownTaskThatNeverReturns(t *testing.T) {
	bare(t, func(t *testing.T, s *System, r *record) {
		free := make(chan struct{})
		if _, err := s.OnShutdown(PhaseBrokers, "stuck", func(context.Context) error { <-free; return nil }); err != nil {
			t.Error(err)
		}
		var e *ShutdownError
		if err := s.Terminate(t.Context()); !errors.As(err, &e) || e.Phase != PhaseBrokers || e.Task != "stuck" || e.Err != ErrAbandoned {
			t.Error(err)
		}
		r.add("ended")
		r.want(t, "10000 ended") // its budget, and as long again at the end
		close(free)
	})
}

func TestTerminate(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		mustSpawn(t, s, "slow", always(&script{post: do(func(*Context) { pause(100 * ms); r.add("post") })}))
		r.at(0)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*ms, errBoom)
		defer cancel()
		if err := s.Terminate(ctx); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "still terminating") {
			t.Error(err)
		}
		select {
		case <-s.Terminated():
			t.Error("it has ended already")
		default:
		}
		var wg sync.WaitGroup
		for range 8 { // idempotent: all wait for the same one
			wg.Go(func() {
				terminate(t, s)
				r.add("returns")
			})
		}
		wg.Wait()
		<-s.Terminated()
		terminate(t, s)
		if l := r.lines(); len(l) != 9 || l[0] != "100 post" || l[8] != "100 returns" {
			t.Errorf("%q", l)
		}
	})
}

// The end races with everything: spawning, telling, asking, failing, timers. Nothing hangs and nothing is left.
func TestTerminateUnderFire(t *testing.T) {
	for round := range 20 {
		s, err := NewSystem("fire", quiet)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					ref, err := s.Spawn(fmt.Sprint(g, " ", i), func() Actor {
						return &script{pre: func(ctx *Context) error {
							ctx.SetReceiveTimeout(ms)
							spawnKid(ctx, "kid", always(&script{recv: func(*Context, any) error { return errBoom }})).Tell("fail")
							return ctx.Timers().StartFixedRate("t", "tick", ms, ms)
						}}
					})
					if err != nil {
						return
					}
					ref.Tell(func(*Context) error { return errBoom })
					if i%3 == 0 {
						ref.Tell(PoisonPill{})
					}
					if i%16 == 0 {
						_, _ = Ask[int](context.Background(), ref, PoisonPill{})
					}
				}
			})
		}
		<-time.After(time.Duration(round) * ms / 4)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if err := s.Terminate(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		wg.Wait()
		if n := s.sched.carriers.Load(); n != 0 || s.clock.Len() != 0 {
			t.Errorf("%d activations and %d deadlines are left", n, s.clock.Len())
		}
	}
}

func TestPhaseNames(t *testing.T) {
	for p, want := range []string{"unbind", "drain", "brokers", "cluster", "terminate", "Phase(5)"} {
		if got := Phase(p).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for d, want := range []string{"restart", "resume", "stop", "escalate", "Directive(4)"} {
		if got := Directive(d).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSeveralSystems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecord()
		one, two := newTestSystem(t), newTestSystem(t)
		a := mustSpawn(t, one, "a", always(&script{recv: r.note}))
		w := mustSpawn(t, two, "w", always(&script{recv: r.note}))
		w.Tell(do(func(ctx *Context) { ctx.Watch(a); ctx.Tell(a, "across") }))
		r.at(0)
		terminate(t, one)
		r.at(0)
		r.want(t, "0 across", "0 ended a")
	})
}
