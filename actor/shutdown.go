package actor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Phase is a step of a system's termination. The phases run in order, the tasks of one phase side by side.
type Phase uint8

const (
	// PhaseUnbind: stop taking new work from outside.
	PhaseUnbind Phase = iota
	// PhaseDrain: finish what has been told. The runtime waits in it until its actors are quiet, at most
	// troupe.actor.drainTimeout.
	PhaseDrain
	// PhaseBrokers: close connections to the outside, before this node leaves its cluster.
	PhaseBrokers
	// PhaseCluster: leave the cluster.
	PhaseCluster
	// PhaseTerminate: what has to happen last; when its tasks have ended, the actors are stopped.
	PhaseTerminate

	phases = int(PhaseTerminate) + 1
)

// String names the phase.
func (p Phase) String() string {
	switch p {
	case PhaseUnbind:
		return "unbind"
	case PhaseDrain:
		return "drain"
	case PhaseBrokers:
		return "brokers"
	case PhaseCluster:
		return "cluster"
	case PhaseTerminate:
		return "terminate"
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// shutdown has the registered tasks and makes sure that the termination runs once.
type shutdown struct {
	started atomic.Bool
	mu      sync.Mutex
	begun   int   // phases that have begun, whose tasks are fixed
	outcome error // what Terminate returns; set before System.terminated is closed
	tasks   [phases]map[string]func(context.Context) error
}

// OnShutdown registers a task for a phase of the termination, under a name that is unique in the phase. The tasks of a
// phase run at the same time, each on a goroutine of its own, with a context that ends after the phase's budget, by
// default 5 s (troupe.actor.shutdown, troupe.actor.phaseTimeout); the next phase begins when all have returned or that
// time is over. A task that is still at work then is abandoned: its goroutine goes on beside the rest of the
// termination. That, an error and a panic are logged, and Terminate returns them; nothing a task does keeps the system
// from ending. remove takes the task back; it may be called more than once, also by the task itself. It does not end a
// task that is running. It is an error to use a name twice, and ErrStopped when the phase has begun. It does not block.
func (s *System) OnShutdown(p Phase, name string, task func(context.Context) error) (remove func(), err error) {
	if int(p) >= phases {
		return nil, fmt.Errorf("actor: shutdown task %q: %s is not a phase", name, p)
	}
	if task == nil {
		return nil, fmt.Errorf("actor: shutdown task %q in phase %s is nil", name, p)
	}
	d := &s.shutdown
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun > int(p) {
		return nil, fmt.Errorf("actor: shutdown task %q in phase %s: %w", name, p, ErrStopped)
	}
	if _, taken := d.tasks[p][name]; taken {
		return nil, fmt.Errorf("actor: shutdown task %q in phase %s: the name is taken", name, p)
	}
	if d.tasks[p] == nil {
		d.tasks[p] = map[string]func(context.Context) error{}
	}
	d.tasks[p][name] = task
	return sync.OnceFunc(func() {
		d.mu.Lock()
		delete(d.tasks[p], name)
		d.mu.Unlock()
	}), nil
}

// ShutdownError says that a task of OnShutdown failed or, when Err is ErrAbandoned, did not return in its phase's time.
// The system ends all the same. Terminate returns all of them, joined, so use errors.As.
type ShutdownError struct {
	Phase Phase
	Task  string
	Err   error
}

// Error names phase and task.
func (e *ShutdownError) Error() string {
	return fmt.Sprintf("actor: shutdown task %q in phase %s: %v", e.Task, e.Phase, e.Err)
}

// Unwrap returns what the task returned, its panic as a *PanicError, ErrGoexit, or ErrAbandoned.
func (e *ShutdownError) Unwrap() error { return e.Err }

// result is how a task ended.
type result struct {
	name string
	err  error
}

// runPhase runs the tasks of one phase and, in its phase, the drain. Whatever the tasks do, it returns within the budget.
func (s *System) runPhase(base context.Context, p Phase) (failed []error) {
	d := &s.shutdown
	d.mu.Lock()
	d.begun = int(p) + 1
	tasks := maps.Clone(d.tasks[p]) // a task may remove itself, or others, while they run
	d.mu.Unlock()

	budget := s.settings.Shutdown.of(p)
	ctx, cancel := context.WithTimeout(base, budget)
	defer cancel()
	done := make(chan result, len(tasks))
	for name, t := range tasks {
		s.helpers.Go(func() { runTask(ctx, name, t, done) })
	}
	if p == PhaseDrain {
		s.drain(ctx)
	}
	fail := func(name string, err error) {
		failed = append(failed, &ShutdownError{p, name, err})
	}
	for len(tasks) > 0 {
		select {
		case r := <-done:
			delete(tasks, r.name)
			if r.err != nil {
				s.report(slog.LevelWarn, "shutdown task failed", "phase", p.String(), "task", r.name, "error", r.err)
				fail(r.name, r.err)
			}
		case <-ctx.Done():
			for _, name := range slices.Sorted(maps.Keys(tasks)) {
				s.report(slog.LevelWarn, "shutdown task took too long; going on without it", "phase", p.String(), "task", name, "budget", budget)
				fail(name, ErrAbandoned)
			}
			return failed
		}
	}
	return failed
}

// runTask reports how the task ended in any case: by returning, by a panic, or with its goroutine.
func runTask(ctx context.Context, name string, t func(context.Context) error, done chan<- result) {
	r := result{name, ErrGoexit}
	defer func() { done <- r }()
	defer func() {
		if v := recover(); v != nil {
			r.err = newPanicError(v)
		}
	}()
	r.err = t(ctx)
}

// drain waits for quiet actors.
func (s *System) drain(ctx context.Context) {
	if s.settings.DrainTimeout == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.settings.DrainTimeout)
	defer cancel()
	start := time.Now()
	if !s.awaitQuiet(ctx) {
		s.report(slog.LevelWarn, "actors were still busy after the drain", "waited", time.Since(start))
	}
}
