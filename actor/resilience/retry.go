package resilience

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RetryConfig configures a Retry. Start from DefaultRetryConfig, as Retry does.
type RetryConfig struct {
	// Attempts is how often the function is called at most, the first time included: 1 or more, or 0 for the default
	// of 3. Use math.MaxInt to go on until the context ends.
	Attempts int
	// Backoff says how long to wait between attempts. Default Exponential(100ms, 10s, DefaultRandomFactor).
	Backoff Backoff
	// Retryable says whether another attempt may help after err. It is called on the caller's goroutine after each failed
	// attempt but the last, never with nil or what Permanent made. Default nil: every other error is tried again.
	Retryable func(err error) bool
	// OnRetry is told before each wait, on the caller's goroutine: how many attempts have failed, the last one's error and
	// how long the wait will be. It is the place to log errors that the final one does not carry. Default nil.
	OnRetry func(failed int, err error, wait time.Duration)
}

const defaultAttempts = 3

// DefaultRetryConfig is what Retry starts from: 3 attempts, 100ms and then 200ms apart, each a fifth more or less.
func DefaultRetryConfig() RetryConfig {
	return RetryConfig{Attempts: defaultAttempts, Backoff: Exponential(100*time.Millisecond, 10*time.Second, DefaultRandomFactor)}
}

// Validate fills in Attempts and reports the first field that is out of its range, as an error that wraps ErrConfig or,
// for the policy, ErrBackoff.
func (c *RetryConfig) Validate() error {
	if c.Attempts < 0 {
		return wrong(ErrConfig, "Attempts", c.Attempts, "1 or more, or 0 for the default")
	}
	if c.Attempts == 0 {
		c.Attempts = defaultAttempts
	}
	return c.Backoff.Validate()
}

// RetryError is the error of a Retry that gave up. It wraps Reason and Err.
type RetryError struct {
	// Attempts is how many there were; 0 when the context had ended before the first.
	Attempts int
	// Err is the error of the last attempt, nil if there was none. Those before it were told to OnRetry; they are not
	// kept, since there is no bound to how many they are.
	Err error
	// Reason is why there was no other attempt: ErrAttempts, ErrPermanent or the cause of the context's end.
	Reason error
}

// Error has the number of attempts, the reason unless it is ErrAttempts, and the last error.
func (e *RetryError) Error() string {
	s := fmt.Sprintf("resilience: gave up after %d attempts", e.Attempts)
	if e.Attempts == 1 {
		s = "resilience: gave up after 1 attempt"
	}
	switch e.Reason {
	case ErrAttempts:
	case ErrPermanent:
		s += ", another would not help"
	default:
		s += fmt.Sprintf(", %v", e.Reason)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Reason and, if there was an attempt, Err.
func (e *RetryError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}

// Retry calls f until it returns a nil error, and returns its result; it blocks for as long as that takes. After each
// failure it waits for what the policy says, or longer if the error asks for it, see RetryAfter: nothing but ctx bounds
// that wait. It gives up with a *RetryError after the last attempt, at an error that another attempt would not mend, and
// when ctx ends, also in the middle of a wait; a success counts even if ctx has ended meanwhile. f gets ctx and is called
// on the caller's goroutine; a panic in it goes on. Bad settings are an error that wraps ErrConfig or ErrBackoff, before
// the first call.
//
// Inside an actor, call it in a function given to Context.PipeToSelf, so that the actor does not wait.
func Retry[T any](ctx context.Context, f func(context.Context) (T, error), opts ...func(*RetryConfig)) (T, error) {
	var zero T
	cfg := DefaultRetryConfig()
	for _, opt := range opts {
		if opt != nil {
			opt(&cfg)
		}
	}
	if err := cfg.Validate(); err != nil {
		return zero, err
	}
	if f == nil {
		return zero, wrong(ErrConfig, "the function of Retry", "nil", "one to call")
	}
	if ctx.Err() != nil {
		return zero, &RetryError{Reason: context.Cause(ctx)}
	}
	for failed := 1; ; failed++ {
		v, err := f(ctx)
		if err == nil {
			return v, nil
		}
		if reason := cfg.again(ctx, failed, err); reason != nil {
			return zero, &RetryError{Attempts: failed, Err: err, Reason: reason}
		}
	}
}

// again waits for the next attempt, or says why there is none.
func (c *RetryConfig) again(ctx context.Context, failed int, err error) (reason error) {
	switch {
	case errors.Is(err, ErrPermanent):
		return ErrPermanent
	case failed >= c.Attempts:
		return ErrAttempts
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.Retryable != nil && !c.Retryable(err):
		return ErrPermanent
	}
	wait := max(c.Backoff.Delay(failed-1), hint(err))
	if c.OnRetry != nil {
		c.OnRetry(failed, err, wait)
	}
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil { // it wins when both have come to pass
		return context.Cause(ctx)
	}
	return nil
}
