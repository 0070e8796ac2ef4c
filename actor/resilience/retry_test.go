package resilience

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// exactly makes the delays of a retry 100ms, 200ms, …, without jitter.
func exactly(attempts int) func(*RetryConfig) {
	return func(c *RetryConfig) { c.Attempts, c.Backoff = attempts, Exponential(100*ms, second, 0) }
}

// trial is a function to retry, which takes down when it was called; attempt i ends with errs[i], and those after it
// succeed.
type trial struct {
	begin time.Time
	at    []time.Duration
	errs  []error
}

func newTrial(errs ...error) *trial { return &trial{begin: time.Now(), errs: errs} }

func (tr *trial) call(context.Context) (string, error) {
	tr.at = append(tr.at, time.Since(tr.begin))
	if n := len(tr.at); n <= len(tr.errs) {
		return "not this", tr.errs[n-1]
	}
	return "done", nil
}

func (tr *trial) want(t *testing.T, at ...time.Duration) {
	t.Helper()
	if !slices.Equal(tr.at, at) {
		t.Errorf("called at %v, want %v", tr.at, at)
	}
}

// wantGaveUp checks a *RetryError.
func wantGaveUp(t *testing.T, v string, err error, attempts int, reason, last error) {
	t.Helper()
	var r *RetryError
	if v != "" || !errors.As(err, &r) || r.Attempts != attempts || r.Reason != reason || r.Err != last {
		t.Errorf("got %q, %v (%+v), want %d attempts, %v, %v", v, err, r, attempts, reason, last)
		return
	}
	if !errors.Is(err, reason) || last != nil && !errors.Is(err, last) {
		t.Errorf("%v does not wrap both %v and %v", err, reason, last)
	}
}

func numbered(n int) error { return fmt.Errorf("failure %d", n) }

func TestRetryUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(numbered(1), numbered(2), numbered(3))
		var told []string
		v, err := Retry(t.Context(), tr.call, exactly(4), func(c *RetryConfig) {
			c.OnRetry = func(n int, err error, wait time.Duration) { told = append(told, fmt.Sprint(n, err, wait)) }
		})
		if v != "done" || err != nil {
			t.Errorf("Retry = %q, %v", v, err)
		}
		tr.want(t, 0, 100*ms, 300*ms, 700*ms)
		if want := []string{"1 failure 1 100ms", "2 failure 2 200ms", "3 failure 3 400ms"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

func TestRetryUsesUpItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := numbered(3)
		tr := newTrial(numbered(1), numbered(2), last, numbered(4))
		v, err := Retry(t.Context(), tr.call, exactly(3))
		wantGaveUp(t, v, err, 3, ErrAttempts, last)
		tr.want(t, 0, 100*ms, 300*ms) // and no wait after the last
		if time.Since(tr.begin) != 300*ms {
			t.Errorf("it took %v", time.Since(tr.begin))
		}
		if got, want := err.Error(), "resilience: gave up after 3 attempts: failure 3"; got != want {
			t.Errorf("%q, want %q", got, want)
		}

		once := newTrial(errBoom)
		v, err = Retry(t.Context(), once.call, exactly(1))
		wantGaveUp(t, v, err, 1, ErrAttempts, errBoom)

		many := newTrial(slices.Repeat([]error{errBoom}, 10)...)
		_, err = Retry(t.Context(), many.call, exactly(0))
		if len(many.at) != 3 {
			t.Errorf("%d attempts by default, error %v, want 3", len(many.at), err)
		}
		if v, err := Retry(t.Context(), newTrial(many.errs...).call, exactly(math.MaxInt)); v != "done" {
			t.Errorf("%q, %v", v, err)
		}
	})
}

func TestPermanentErrorsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		permanent := Permanent(errBoom)
		if !errors.Is(permanent, errBoom) || !errors.Is(permanent, ErrPermanent) || permanent.Error() != "boom" || Permanent(nil) != nil {
			t.Errorf("Permanent = %v", permanent)
		}
		wrapped := fmt.Errorf("step: %w", permanent)
		tr := newTrial(numbered(1), wrapped)
		v, err := Retry(t.Context(), tr.call, exactly(5))
		wantGaveUp(t, v, err, 2, ErrPermanent, wrapped)
		if got, want := err.Error(), "resilience: gave up after 2 attempts, another would not help: step: boom"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		tr.want(t, 0, 100*ms)

		// Also as the outcome of a retry inside of it.
		inner := newTrial(permanent)
		calls := 0
		_, err = Retry(t.Context(), func(ctx context.Context) (string, error) {
			calls++
			return Retry(ctx, inner.call, exactly(5))
		}, exactly(5))
		if calls != 1 || len(inner.at) != 1 || !errors.Is(err, errBoom) {
			t.Errorf("%d and %d calls, %v", calls, len(inner.at), err)
		}

		sorted := newTrial(numbered(1), errBoom)
		v, err = Retry(t.Context(), sorted.call, exactly(5), func(c *RetryConfig) { c.Retryable = func(err error) bool { return err != errBoom } })
		wantGaveUp(t, v, err, 2, ErrPermanent, errBoom)
	})
}

func TestRetryHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errShut := errors.New("we close")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(150*ms, func() { cancel(errShut) }) // in the middle of the second wait
		tr := newTrial(numbered(1), errBoom, numbered(3))
		v, err := Retry(ctx, tr.call, exactly(9))
		wantGaveUp(t, v, err, 2, errShut, errBoom)
		if time.Since(tr.begin) != 150*ms {
			t.Errorf("it took %v", time.Since(tr.begin))
		}
		if got, want := err.Error(), "resilience: gave up after 2 attempts, we close: boom"; got != want {
			t.Errorf("%q, want %q", got, want)
		}

		never := newTrial()
		v, err = Retry(ctx, never.call)
		wantGaveUp(t, v, err, 0, errShut, nil)
		never.want(t)

		// A context that ends during an attempt does not make a failure of its success, and stops after its failure.
		ctx, cancel = context.WithCancelCause(t.Context())
		v, err = Retry(ctx, func(context.Context) (string, error) { cancel(errShut); return "done", nil })
		if v != "done" || err != nil {
			t.Errorf("%q, %v", v, err)
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		v, err = Retry(ctx, func(context.Context) (string, error) { cancel(errShut); return "", errBoom }, func(c *RetryConfig) {
			c.OnRetry = func(int, error, time.Duration) { t.Error("told of a wait that is not to be") }
		})
		wantGaveUp(t, v, err, 1, errShut, errBoom)

		// Without a wait in between the context is heeded all the same.
		ctx, cancel = context.WithCancelCause(t.Context())
		calls := 0
		v, err = Retry(ctx, func(context.Context) (string, error) { calls++; return "", errBoom }, func(c *RetryConfig) {
			c.Attempts, c.Backoff = 100, Backoff{}
			c.OnRetry = func(failed int, _ error, _ time.Duration) {
				if failed == 7 {
					cancel(errShut)
				}
			}
		})
		wantGaveUp(t, v, err, 7, errShut, errBoom)

		// The end of somebody else's context is a failure like any other.
		other := newTrial(context.Canceled, context.DeadlineExceeded)
		if v, err := Retry(t.Context(), other.call, exactly(3)); v != "done" {
			t.Errorf("%q, %v", v, err)
		}
	})
}

func TestRetryAfterIsHeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		later := RetryAfter(errBoom, 5*second)
		if !errors.Is(later, errBoom) || later.Error() != "boom" || RetryAfter(nil, second) != nil {
			t.Errorf("RetryAfter = %v", later)
		}
		tr := newTrial(fmt.Errorf("busy: %w", later), RetryAfter(errBoom, 1), RetryAfter(errBoom, -second), errBoom)
		if v, err := Retry(t.Context(), tr.call, exactly(5)); v != "done" {
			t.Errorf("%q, %v", v, err)
		}
		// The longer of the two counts: 5s, then what the policy says.
		tr.want(t, 0, 5*second, 5200*ms, 5600*ms, 6400*ms)
	})
}

// A retry around a breaker sleeps through the time in which it would be rejected.
func TestRetryWaitsForTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(t, func(c *BreakerConfig) { c.MaxFailures, c.ResetTimeout = 1, 10*second })
		b.Trip()
		tr := newTrial()
		v, err := Retry(t.Context(), func(ctx context.Context) (string, error) { return Do(ctx, b, tr.call) }, exactly(2))
		if v != "done" || err != nil {
			t.Errorf("%q, %v", v, err)
		}
		tr.want(t, 10*second)
	})
}

func TestRetryChecksItsInput(t *testing.T) {
	tr := newTrial()
	for want, opt := range map[string]func(*RetryConfig){
		"Attempts is -1":      func(c *RetryConfig) { c.Attempts = -1 },
		"RandomFactor is NaN": func(c *RetryConfig) { c.Backoff.RandomFactor = math.NaN() }, // HC-K6
		"Max is 1ns":          func(c *RetryConfig) { c.Backoff.Max = 1 },
	} {
		_, err := Retry(t.Context(), tr.call, opt)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrConfig) && !errors.Is(err, ErrBackoff) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if _, err := Retry[int](t.Context(), nil); !errors.Is(err, ErrConfig) {
		t.Errorf("no function: %v", err)
	}
	tr.want(t)
}

func TestRetryLetsPanicsThrough(t *testing.T) {
	defer func() {
		if v := recover(); v != "mine" {
			t.Errorf("recovered %v", v)
		}
	}()
	_, err := Retry(t.Context(), func(context.Context) (int, error) { panic("mine") })
	t.Errorf("Retry returned %v", err)
}
