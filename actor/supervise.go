package actor

import (
	"errors"
	"fmt"
	"time"
)

// Directive is what happens to a failed actor.
type Directive uint8

const (
	// Restart replaces the instance by a fresh one from the factory; the mailbox is kept, the failing message is not.
	Restart Directive = iota
	// Resume drops the failing message and goes on with the same instance. An actor whose start failed has no instance
	// to go on with and is started again.
	Resume
	// Stop ends the actor.
	Stop
	// Escalate makes the parent fail with the same cause.
	Escalate
)

// String names the directive.
func (d Directive) String() string {
	switch d {
	case Restart:
		return "restart"
	case Resume:
		return "resume"
	case Stop:
		return "stop"
	case Escalate:
		return "escalate"
	}
	return fmt.Sprintf("Directive(%d)", uint8(d))
}

// Supervisor decides about failed children, each for itself unless AllForOne is set. The zero value is the default: a
// start that failed by configuration stops the child, every other failure restarts it, at most 10 times in 60 s, then
// stops it.
type Supervisor struct {
	// Decide judges one failure. It runs on the parent's goroutine and must not block. Nil is DefaultDecider. A panic in
	// it escalates, and so does a Supervisor that is not valid.
	Decide func(child Ref, cause error) Directive
	// MaxRestarts is how many restarts a child may have within Within; the failure after the last of them stops it. 0 is
	// the default of 10, negative is without limit.
	MaxRestarts int
	// Within is the window that MaxRestarts is counted in. 0 is the default of 60 s, negative never forgets.
	Within time.Duration
	// AllForOne has a decision about one child carried out for all its siblings, for children that need each other and
	// cannot do with one that has lost its state. Restart restarts them all, with the same cause and once even if several
	// of them have failed: PreRestart of one that has not gets no message. A sibling finishes the message it is at, keeps
	// its mailbox, and is left alone if it is stopping. Stop, also that of a used-up budget, stops them all. Resume and
	// Escalate are as without it. Only the failures of a child itself count against its budget. In
	// SpawnConfig.Supervisor it makes this child's failure that of its siblings, whatever their own Supervisor is.
	// Default false.
	AllForOne bool
}

// Validate refuses a Within of less than a millisecond: such a window never holds more than one failure, so it bounds
// nothing, and what was meant had a unit. Every other value has a meaning. Spawn calls it, and the parent before each judgement.
func (s *Supervisor) Validate() error {
	if s.Within > 0 && s.Within < time.Millisecond {
		return fmt.Errorf("Supervisor.Within must be 0 (60 s), negative (for ever) or at least 1ms, it is %v: it needs a unit, such as %d * time.Second",
			s.Within, int64(s.Within))
	}
	return nil
}

const (
	defaultMaxRestarts = 10
	defaultWithin      = time.Minute
)

// DefaultDecider stops a child whose start failed by configuration (*ConfigError, ErrHookShape, ErrName) and restarts
// after every other failure. Meant to be called by a Decide that only treats some causes itself; it does not block.
func DefaultDecider(child Ref, cause error) Directive {
	if child.n != nil && !child.n.ask && child.n.cell().mb.Marked(markStartFailed) && isConfigurationFailure(cause) {
		return Stop
	}
	return Restart
}

// isConfigurationFailure says that starting again cannot help.
func isConfigurationFailure(err error) bool {
	var ce *ConfigError
	return errors.As(err, &ce) || errors.Is(err, ErrHookShape) || errors.Is(err, ErrName)
}

// mayRestart counts a restart against the budget.
func (b *restarts) mayRestart(sup *Supervisor, now int64) bool {
	limit, within := sup.MaxRestarts, sup.Within
	if limit == 0 {
		limit = defaultMaxRestarts
	}
	if within == 0 {
		within = defaultWithin
	}
	if limit < 0 {
		return true
	}
	if within < 0 {
		b.total++
		return b.total <= limit
	}
	old := 0
	for old < len(b.at) && now-b.at[old] >= int64(within) {
		old++
	}
	b.at = b.at[old:]
	if len(b.at) >= limit {
		return false
	}
	b.at = append(b.at, now)
	return true
}
