package resilience

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrBackoff is wrapped by every error of Backoff.Validate.
	ErrBackoff = errors.New("resilience: bad backoff")
	// ErrConfig is wrapped by the error of every other Validate, and by what NewBreaker and Retry return for bad settings.
	ErrConfig = errors.New("resilience: bad configuration")
	// ErrOpen is wrapped by the *OpenError of a call that a Breaker rejected.
	ErrOpen = errors.New("resilience: circuit breaker is open")
	// ErrCallTimeout is wrapped by the error of a call that a Breaker counted as failed because it took longer than
	// BreakerConfig.CallTimeout; it is also the cause of that call's context.
	ErrCallTimeout = errors.New("resilience: call timed out")
	// ErrAttempts is wrapped by the error of a Retry whose last attempt failed.
	ErrAttempts = errors.New("resilience: all attempts failed")
	// ErrPermanent is wrapped by what Permanent makes, and by the error of a Retry that ended because trying again would
	// not help.
	ErrPermanent = errors.New("resilience: permanent error")
	// ErrChildDown is the reason of the dead letter for a message that came to an actor made by Supervise while its child
	// was down and nothing is stashed.
	ErrChildDown = errors.New("resilience: the supervised child is down")
)

// wrong says which setting is out of its range and what would be right.
func wrong(sentinel error, field string, got any, right string) error {
	return fmt.Errorf("%w: %s is %v, must be %s", sentinel, field, got, right)
}

// Permanent marks err as one that another attempt would not mend: Retry returns at once. It wraps err and ErrPermanent
// and has err's text. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string        { return e.err.Error() }
func (e *permanentError) Unwrap() error        { return e.err }
func (e *permanentError) Is(target error) bool { return target == ErrPermanent }

// RetryAfter adds to err the time that whoever failed asked for: Retry waits at least d before its next attempt. It
// wraps err and has its text. RetryAfter(nil, d) is nil. Every error type with a method RetryAfter() time.Duration, such
// as *OpenError, is understood in the same way.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &laterError{err, d}
}

type laterError struct {
	err error
	d   time.Duration
}

func (e *laterError) Error() string             { return e.err.Error() }
func (e *laterError) Unwrap() error             { return e.err }
func (e *laterError) RetryAfter() time.Duration { return e.d }

// hint is the time that an error asks for, 0 if it does not.
func hint(err error) time.Duration {
	var h interface{ RetryAfter() time.Duration }
	if errors.As(err, &h) {
		return h.RetryAfter()
	}
	return 0
}
