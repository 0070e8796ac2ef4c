package actor

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
)

// A priority function that terminates the system, on the clock's goroutine.
func TestTerminateInAPriorityFunction(t *testing.T) {
	s := bareSystem(t)
	got := make(chan error, 1)
	var once atomic.Bool
	mustSpawn(t, s, "a", always(&script{pre: do(func(ctx *Context) { _ = ctx.Timers().StartSingle("k", "tick", time.Millisecond) })}),
		func(c *SpawnConfig) {
			c.Mailbox.Priority = func(m any) int {
				if m == "tick" && !once.Swap(true) {
					got <- s.Terminate(context.Background())
				}
				return 0
			}
		})
	select {
	case err := <-got:
		if !errors.Is(err, ErrInside) {
			t.Error(err)
		}
	case <-time.After(3 * time.Second):
		t.Error("Terminate waits for itself")
		return
	}
	terminate(t, s)
}

type terminatingLogger struct {
	failingLogger
	f func()
}

func (l terminatingLogger) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l terminatingLogger) Handle(_ context.Context, r slog.Record) error {
	if r.Message == l.msg {
		l.f()
	}
	return nil
}

// A logger that terminates the system, on the termination's own goroutine.
func TestTerminateInTheLogger(t *testing.T) {
	var s *System
	got := make(chan error, 1)
	s = bareSystem(t, func(sc *SystemConfig) {
		sc.Logger = slog.New(terminatingLogger{failingLogger{msg: "shutdown task failed"}, func() { got <- s.Terminate(context.Background()) }})
	})
	_, _ = s.OnShutdown(PhaseBrokers, "x", func(context.Context) error { return errBoom })
	go s.Terminate(context.Background())
	select {
	case err := <-got:
		if !errors.Is(err, ErrInside) {
			t.Error(err)
		}
	case <-time.After(3 * time.Second):
		t.Error("Terminate waits for itself")
	}
}

// The name after Ref.Stop, while the guardian is busy with something else.
func TestNameAfterStopWhileTheParentIsBusy(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	s := newTestSystem(t, func(sc *SystemConfig) {
		sc.Logger = slog.New(terminatingLogger{failingLogger{msg: "dead letter"}, func() { close(in); <-out }})
	})
	a := mustSpawn(t, s, "a", always(&script{}))
	s.user.ref().Tell("noise") // a dead letter, whose line in the log takes its time
	<-in
	if err := a.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := s.Spawn("a", always(&script{})); err != nil {
		t.Error(err)
	}
	close(out)
}
