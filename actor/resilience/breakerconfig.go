package resilience

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// BreakerConfig configures a Breaker. Start from DefaultBreakerConfig, as NewBreaker does: the zero value is not valid.
type BreakerConfig struct {
	// Name says in errors and logs which breaker it is. Default empty.
	Name string
	// MaxFailures is how many failures in a row open the breaker, 1 or more. Default 5.
	MaxFailures int
	// ResetTimeout is how long an open breaker rejects before it lets a probe through, 0 or more. Default 30s.
	ResetTimeout time.Duration
	// CallTimeout is how long a call may take: one that has no outcome by then is a failure at that moment, and what
	// becomes of it later does not count. Do gives its function a context with this deadline. 0, the default, is without
	// limit, and then a probe without an outcome keeps the breaker half-open for ever.
	CallTimeout time.Duration
	// IsFailure says whether an error speaks against what is called. One that does not is neither a failure nor a success.
	// It is called outside of locks, on the goroutine that reports the outcome, possibly on several at a time, never with
	// nil. Default nil: every error is a failure but context.Canceled, since a caller that lost interest proves nothing,
	// and a refusal by actor.Reject, which blames the message.
	IsFailure func(err error) bool
	// OnStateChange is told of each change, in order, one at a time, outside of locks, on the goroutine that caused it or
	// an earlier one; it may use the breaker. It must not block: a call may be waiting for it. A panic in it is logged and
	// changes nothing. Default nil.
	OnStateChange func(from, to BreakerState)
	// Logger gets the panics of OnStateChange. Default nil: slog.Default at the time of NewBreaker.
	Logger *slog.Logger
}

// DefaultBreakerConfig is what NewBreaker starts from: 5 failures in a row, 30s until the next try, no time limit.
func DefaultBreakerConfig() BreakerConfig {
	return BreakerConfig{MaxFailures: 5, ResetTimeout: 30 * time.Second}
}

// Validate reports the first field that is out of its range, as an error that wraps ErrConfig.
func (c *BreakerConfig) Validate() error {
	switch {
	case c.MaxFailures < 1:
		return wrong(ErrConfig, "MaxFailures", c.MaxFailures, "1 or more")
	case c.ResetTimeout < 0:
		return wrong(ErrConfig, "ResetTimeout", c.ResetTimeout, "0 or more")
	case c.CallTimeout < 0:
		return wrong(ErrConfig, "CallTimeout", c.CallTimeout, "positive, or 0 for no limit")
	}
	return nil
}

// failure classifies an error, which may be nil.
func (c *BreakerConfig) failure(err error) outcome {
	switch {
	case err == nil:
		return succeeded
	case c.IsFailure != nil && !c.IsFailure(err):
		return inconclusive
	case c.IsFailure == nil && (errors.Is(err, context.Canceled) || actor.Rejected(err)):
		return inconclusive
	}
	return failed
}
