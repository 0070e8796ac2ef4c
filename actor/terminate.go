package actor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"time"
)

// Terminate ends the system: the shutdown phases, then every actor below /user, then those below /system. It blocks
// until all is stopped and no goroutine of the system is left, or until ctx ends, with the context's error; the
// termination goes on in that case. Idempotent: every call waits for the same termination and has the same outcome. When
// the system has ended, the error is nil, or joins a *ShutdownError for each task that failed or was abandoned, and an
// error that wraps ErrAbandoned and names the actors, if any, that did not stop within troupe.actor.stopTimeout (10 s)
// because a handler, a hook or a Completion of theirs did not return: all others have stopped then.
//
// Code that the termination waits for cannot wait for the termination: called from a handler, a hook, a shutdown task, a
// Completion or a function of PipeToSelf, Terminate only begins it and returns ErrInside at once, whatever ctx is. That
// goes for the code of every system's actors, not just this one's. Wait on another goroutine, by Terminate or Terminated.
func (s *System) Terminate(ctx context.Context) error {
	ctx = orBackground(ctx)
	select {
	case <-s.terminated: // before this call, so there is nothing to wait for
		return s.shutdown.outcome
	default:
	}
	s.beginTerminate()
	if inside() {
		return fmt.Errorf("actor: system %s is terminating: %w", s.name, ErrInside)
	}
	select {
	case <-s.terminated:
		return s.shutdown.outcome
	case <-ctx.Done():
		return fmt.Errorf("actor: system %s is still terminating: %w", s.name, context.Cause(ctx))
	}
}

// Terminated is closed when the system has ended. Waiting for it in a handler or another place where Terminate returns
// ErrInside blocks for ever.
func (s *System) Terminated() <-chan struct{} { return s.terminated }

// beginTerminate starts the termination on a goroutine of its own; Terminate and Terminated wait for it.
func (s *System) beginTerminate() {
	if !s.shutdown.started.Swap(true) {
		go s.terminate()
	}
}

func (s *System) terminate() {
	defer close(s.terminated)
	// The termination is under nobody's context: it is the end of everything that could cancel it.
	base := context.Background() // see above
	var failed []error
	for p := range Phase(phases) {
		failed = append(failed, s.runPhase(base, p)...)
	}
	stuck := s.stopActors()
	if stuck != nil {
		failed = append(failed, stuck)
	} else {
		s.awaitQuiet(base)
	}
	if err := s.awaitHelpers(); err != nil {
		failed = append(failed, err)
	}
	s.over.Store(true)
	s.events.letters.close(s)
	for _, left := range s.clock.Stop() {
		if ask, ok := left.(*promise); ok { // the rest is deadlines of actors that do not stop
			ask.Fire(0)
		}
	}
	if stuck == nil {
		s.sched.stop()     // else those that are stuck may come back, and end
		s.awaitQuiet(base) // the watchdog may have started a carrier for what was done by then
	}
	s.shutdown.outcome = errors.Join(failed...)
}

// awaitHelpers waits for the goroutines of PipeToSelf and for shutdown tasks that were given up. Their contexts have
// ended; one that takes no notice must not keep the system from ending.
func (s *System) awaitHelpers() error {
	done := make(chan struct{})
	go func() {
		s.helpers.Wait()
		close(done)
	}()
	budget := time.NewTimer(s.settings.PhaseTimeout)
	defer budget.Stop()
	select {
	case <-done:
		return nil
	case <-budget.C:
		s.report(slog.LevelError, "goroutines of PipeToSelf or of shutdown tasks do not return although their contexts have ended; the system ends without them",
			"waited", s.settings.PhaseTimeout)
		return fmt.Errorf("actor: system %s has ended, but not all of its goroutines: %w", s.name, ErrAbandoned)
	}
}

// report logs from where a logger that panics would hit somebody who has nothing to do with it.
func (s *System) report(level slog.Level, msg string, args ...any) {
	defer func() { _ = recover() }()
	s.log.Log(context.Background(), level, msg, args...) // there is no request that this belongs to
}

// foreign are the functions of this package that run the code of others while the termination, or somebody whom it waits
// for, waits for them. All that runs on an actor's goroutine is below turn.
func foreign() [8]string {
	name := func(f any) string { return runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name() }
	return [...]string{
		name((*carrier).turn), name(runTask), name((*System).done), name((*subscription).accepts), name((*Context).PipeToSelf),
		name((*box).rank), name((*System).report), name((*cell).noteLong),
	}
}

// inside reports whether the caller is below one of those. The names of the functions on the stack are all there is to
// go by: a goroutine does not know what it works for, and to keep books on it would cost something for each message.
func inside() bool {
	names := foreign()
	pcs := make([]uintptr, 64)
	n := runtime.Callers(2, pcs)
	for n == len(pcs) {
		pcs = make([]uintptr, 2*len(pcs))
		n = runtime.Callers(2, pcs)
	}
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		for _, name := range names {
			if rest, ok := strings.CutPrefix(f.Function, name); ok && (rest == "" || strings.HasPrefix(rest, ".func")) {
				return true
			}
		}
		if !more {
			return false
		}
	}
}
