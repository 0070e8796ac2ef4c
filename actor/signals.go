package actor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// RunUntilSignal is the last call of a main function: it blocks until the process gets one of the signals, default
// os.Interrupt and syscall.SIGTERM, until ctx ends, or until the system has ended by itself; then it terminates
// the system and returns what Terminate returns, when the system has ended. So the end of ctx is no error. A further
// signal during the termination makes it return at once with an error, for a main function that wants to exit then; the
// termination goes on as long as the process does. It never exits the process itself.
//
// While it blocks the signals do not end the process; when it returns they are as they were before, and handlers of others
// are untouched. Several goroutines may call it. From inside an actor or shutdown task it returns ErrInside at once and
// does nothing.
func (s *System) RunUntilSignal(ctx context.Context, signals ...os.Signal) error {
	if inside() {
		return fmt.Errorf("actor: system %s: RunUntilSignal: %w", s.name, ErrInside)
	}
	if len(signals) == 0 {
		signals = []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	got := make(chan os.Signal, 2) // the one that begins the termination and the one that ends the wait
	signal.Notify(got, signals...)
	defer signal.Stop(got)
	return s.runUntil(ctx, got)
}

func (s *System) runUntil(ctx context.Context, got <-chan os.Signal) error {
	select {
	case <-s.terminated:
	case <-ctx.Done():
		s.report(slog.LevelInfo, "terminating", "cause", context.Cause(ctx))
	case sig := <-got:
		s.report(slog.LevelInfo, "terminating", "signal", sig.String())
	}
	s.beginTerminate()
	select {
	case <-s.terminated:
		return s.shutdown.outcome
	case sig := <-got:
		return fmt.Errorf("actor: system %s: %v while it was terminating; it has not ended", s.name, sig)
	}
}
