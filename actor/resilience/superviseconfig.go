package resilience

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Trigger says after which ends a child is started again.
type Trigger uint8

const (
	// OnAnyEnd starts it again after every end.
	OnAnyEnd Trigger = iota
	// OnFailure starts it again after a failure; an orderly stop is the end of its supervisor as well.
	OnFailure
	// OnStop starts it again after an orderly stop, by Context.StopSelf or PoisonPill; a failure is the end of its
	// supervisor as well.
	OnStop
)

// String names the trigger.
func (t Trigger) String() string {
	switch t {
	case OnAnyEnd:
		return "any end"
	case OnFailure:
		return "failure"
	case OnStop:
		return "orderly stop"
	}
	return fmt.Sprintf("Trigger(%d)", uint8(t))
}

// matches says whether an end with this cause, nil for an orderly one, is one that the child is started again after.
func (t Trigger) matches(cause error) bool {
	return t == OnAnyEnd || (t == OnFailure) == (cause != nil)
}

// SuperviseConfig configures an actor made by Supervise. Start from DefaultSuperviseConfig, as Supervise does: the zero
// value is not valid.
type SuperviseConfig struct {
	// ChildName is the child's name, the same for every incarnation. Default "child".
	ChildName string
	// ChildMailbox bounds the child's mailbox. What waits is sent to it in one go when the child has started, so a bound
	// below MaxStash may cost messages then. Default unbounded.
	ChildMailbox actor.Mailbox
	// Backoff is how long the child stays down, by the number of ends in a row. Its Min must be positive. Default
	// Exponential(200ms, 30s, DefaultRandomFactor).
	Backoff Backoff
	// StableAfter is how long a child must have lived, from the end of its PreStart, for the ends before to be forgotten,
	// so that the next time down is Backoff.Min again. 0, the default, is Backoff.Min; negative never forgets.
	StableAfter time.Duration
	// Trigger says after which ends the child is started again; after another one its supervisor gives up. Default
	// OnAnyEnd.
	Trigger Trigger
	// MaxRestarts is how many times in a row, without becoming stable in between, the child is started again before its
	// supervisor gives up. 0, the default, is without limit.
	MaxRestarts int
	// MaxStash is how many messages wait while the child is down or starting. When one more comes, the oldest is a dead
	// letter with actor.ErrStashFull. 0 keeps none: what comes while the child is down is a dead letter with ErrChildDown,
	// what comes while it is starting waits in its own mailbox and is lost with it. Default 1000.
	MaxStash int
	// Escalate makes a supervisor that gives up after a failure of its child fail with that cause, instead of stopping
	// itself in an orderly way. Its own parent then decides: with Stop, whoever watches hears the cause; with Restart it
	// begins anew; with Resume it goes on as if it had not given up. Default false.
	Escalate bool
}

// DefaultSuperviseConfig is what Supervise starts from: again after every end, after 200ms, 400ms and so on up to 30s,
// with up to 1000 messages waiting.
func DefaultSuperviseConfig() SuperviseConfig {
	return SuperviseConfig{ChildName: "child", Backoff: Exponential(200*time.Millisecond, 30*time.Second, DefaultRandomFactor), MaxStash: 1000}
}

// Validate fills in StableAfter and reports the first field that is out of its range, as an error that wraps ErrConfig
// or, for the policy, ErrBackoff. ChildName is checked when the child is spawned.
func (c *SuperviseConfig) Validate() error {
	if err := c.Backoff.Validate(); err != nil {
		return err
	}
	spawn := actor.SpawnConfig{Mailbox: c.ChildMailbox}
	if err := spawn.Validate(); err != nil {
		return fmt.Errorf("%w: Child%w", ErrConfig, err)
	}
	switch {
	case c.Backoff.Min == 0:
		return wrong(ErrConfig, "Backoff.Min", c.Backoff.Min, "positive: a child that fails at once would be started without a pause")
	case c.Trigger > OnStop:
		return wrong(ErrConfig, "Trigger", c.Trigger, "OnAnyEnd, OnFailure or OnStop")
	case c.MaxRestarts < 0:
		return wrong(ErrConfig, "MaxRestarts", c.MaxRestarts, "1 or more, or 0 for no limit")
	case c.MaxStash < 0:
		return wrong(ErrConfig, "MaxStash", c.MaxStash, "0 or more")
	}
	if c.StableAfter == 0 {
		c.StableAfter = c.Backoff.Min
	}
	return nil
}
