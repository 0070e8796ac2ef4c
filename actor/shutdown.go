package actor

import (
	"context"
	"fmt"
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
	begun   int // phases that have begun, whose tasks are fixed
	tasks   [phases]map[string]func(context.Context) error
}

// OnShutdown registers a task for a phase of the termination, under a name that is unique in the phase. The tasks of a
// phase run at the same time, each on a goroutine of its own, with a context that ends after troupe.actor.phaseTimeout;
// the next phase begins when all have returned or that time is over. An error or panic is logged. remove, which may be
// called more than once, takes the task back. It is an error to use a name twice, and ErrStopped when the phase has
// begun.
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

// Terminate ends the system: the shutdown phases, then every actor below /user, then those below /system. It blocks
// until all is stopped and no goroutine of the system is left, or until ctx ends, with the context's error; the
// termination goes on in that case. Idempotent: every call waits for the same termination. A handler that waits for the
// end of its own system waits for itself: it must pass Context.Context, which the stop cancels, or call Terminate on a
// goroutine of its own.
func (s *System) Terminate(ctx context.Context) error {
	s.beginTerminate()
	select {
	case <-s.terminated:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actor: system %s is still terminating: %w", s.name, context.Cause(ctx))
	}
}

// Terminated is closed when the system has ended.
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
	for p := range Phase(phases) {
		s.runPhase(base, p)
	}
	for _, g := range s.guardians {
		g.stop()
		<-g.look().ended
	}
	s.awaitQuiet(base)
	s.awaitHelpers()
	s.over.Store(true)
	for _, left := range s.clock.Stop() { // asks; there is no actor that could have a timer
		left.Fire(0)
	}
	s.sched.stop()
}

// awaitHelpers waits for the goroutines of PipeToSelf and for shutdown tasks that were given up. Their contexts have
// ended; one that takes no notice must not keep the system from ending.
func (s *System) awaitHelpers() {
	done := make(chan struct{})
	go func() {
		s.helpers.Wait()
		close(done)
	}()
	budget := time.NewTimer(s.settings.PhaseTimeout)
	defer budget.Stop()
	select {
	case <-done:
	case <-budget.C:
		s.log.Error("goroutines of PipeToSelf or of shutdown tasks do not return although their contexts have ended; the system ends without them",
			"waited", s.settings.PhaseTimeout)
	}
}

// runPhase runs the tasks of one phase and, in its phase, the drain.
func (s *System) runPhase(base context.Context, p Phase) {
	d := &s.shutdown
	d.mu.Lock()
	d.begun = int(p) + 1
	tasks := make(map[string]func(context.Context) error, len(d.tasks[p]))
	for name, t := range d.tasks[p] {
		tasks[name] = t
	}
	d.mu.Unlock()

	ctx, cancel := context.WithTimeout(base, s.settings.PhaseTimeout)
	defer cancel()
	done := make(chan string, len(tasks))
	for name, t := range tasks {
		s.helpers.Add(1)
		go func() {
			defer s.helpers.Done()
			defer func() { done <- name }()
			if err := runTask(ctx, t); err != nil {
				s.log.Warn("shutdown task failed", "phase", p.String(), "task", name, "error", err)
			}
		}()
	}
	if p == PhaseDrain {
		s.drain(ctx)
	}
	for len(tasks) > 0 {
		select {
		case name := <-done:
			delete(tasks, name)
		case <-ctx.Done():
			for name := range tasks {
				s.log.Warn("shutdown task took too long; going on without it", "phase", p.String(), "task", name, "budget", s.settings.PhaseTimeout)
			}
			return
		}
	}
}

func runTask(ctx context.Context, t func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()
	return t(ctx)
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
		s.log.Warn("actors were still busy after the drain", "waited", time.Since(start))
	}
}
