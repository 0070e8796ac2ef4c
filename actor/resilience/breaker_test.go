package resilience

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
)

var errBoom = errors.New("boom")

// breaker makes one that opens after two failures, for a second.
func breaker(t *testing.T, opts ...func(*BreakerConfig)) *Breaker {
	t.Helper()
	two := func(c *BreakerConfig) { c.MaxFailures, c.ResetTimeout = 2, second }
	b, err := NewBreaker(append([]func(*BreakerConfig){two}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ended makes a call that ends with err.
func ended(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func permit(t *testing.T, b *Breaker) *Permit {
	t.Helper()
	p, err := b.Allow()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wantState(t *testing.T, b *Breaker, want BreakerState) {
	t.Helper()
	if got := b.State(); got != want {
		t.Errorf("state %v, want %v", got, want)
	}
}

// wantRejected checks that a call is rejected, in which state and for how long.
func wantRejected(t *testing.T, b *Breaker, state BreakerState, wait time.Duration) {
	t.Helper()
	called := false
	err := b.Do(t.Context(), func(context.Context) error { called = true; return nil })
	var open *OpenError
	if !errors.Is(err, ErrOpen) || !errors.As(err, &open) || open.State != state || open.Wait != wait || called {
		t.Errorf("called %v, error %v, want a rejection in %v for %v", called, err, state, wait)
	}
}

func TestBreakerLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(t)
		for _, err := range []error{errBoom, nil, errBoom, nil, errBoom} { // never two in a row
			if got := b.Do(t.Context(), ended(err)); got != err {
				t.Errorf("Do = %v, want %v", got, err)
			}
		}
		wantState(t, b, Closed)
		b.Do(t.Context(), ended(errBoom))
		wantState(t, b, Open)
		wantRejected(t, b, Open, second)
		time.Sleep(second - 1)
		wantRejected(t, b, Open, 1)
		time.Sleep(1)
		wantState(t, b, Open) // until somebody calls
		if err := b.Do(t.Context(), ended(errBoom)); err != errBoom {
			t.Errorf("the probe: %v", err)
		}
		wantRejected(t, b, Open, second) // one failed probe is enough, and the time begins again
		time.Sleep(second)
		if err := b.Do(t.Context(), ended(nil)); err != nil {
			t.Errorf("the second probe: %v", err)
		}
		wantState(t, b, Closed)
		b.Do(t.Context(), ended(errBoom))
		wantState(t, b, Closed) // the failures before are forgotten
	})
}

// HC-K1: a function that fails before it has done anything, by an error or a panic, counts like any other.
func TestHC_K1_failure_at_once_counts(t *testing.T) {
	b := breaker(t)
	b.Do(t.Context(), ended(errBoom))
	func() {
		defer func() {
			if v := recover(); v != "at once" {
				t.Errorf("recovered %v, want the function's own panic", v)
			}
		}()
		b.Do(t.Context(), func(context.Context) error { panic("at once") })
	}()
	wantState(t, b, Open)
}

func TestGoexitCountsAndFreesTheProbe(t *testing.T) {
	b := breaker(t, func(c *BreakerConfig) { c.ResetTimeout = 0 })
	b.Trip()
	for range 2 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.Do(context.Background(), func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-done
		wantState(t, b, Open)
	}
	if err := b.Do(t.Context(), ended(nil)); err != nil {
		t.Errorf("the next probe: %v", err)
	}
	wantState(t, b, Closed)
}

// HC-K2: one probe, and the others are rejected until its outcome is known.
// It and those of K3 are W24, too.
func TestHC_K2_one_probe_at_a_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(t)
		b.Trip()
		time.Sleep(second)
		var wg sync.WaitGroup
		var mu sync.Mutex
		calls, rejected := 0, 0
		for range 50 {
			wg.Go(func() {
				err := b.Do(t.Context(), func(context.Context) error {
					mu.Lock()
					calls++
					mu.Unlock()
					time.Sleep(second)
					return nil
				})
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, ErrOpen) {
					rejected++
				}
			})
		}
		synctest.Wait()
		wantState(t, b, HalfOpen)
		wantRejected(t, b, HalfOpen, 0)
		wg.Wait()
		if calls != 1 || rejected != 49 {
			t.Errorf("%d calls and %d rejections, want 1 and 49", calls, rejected)
		}
		wantState(t, b, Closed)
	})
}

// HC-K3: what began before a change of state neither closes nor opens anything after it.
func TestHC_K3_earlier_calls_do_not_count(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(t)
		good, bad, late := permit(t, b), permit(t, b), permit(t, b)
		permit(t, b).Done(errBoom)
		permit(t, b).Done(errBoom)
		wantState(t, b, Open)
		good.Done(nil)
		wantState(t, b, Open)
		time.Sleep(second)
		probe := permit(t, b)
		bad.Done(errBoom)
		wantState(t, b, HalfOpen)
		wantRejected(t, b, HalfOpen, 0) // and it does not make room for another probe
		probe.Done(nil)
		wantState(t, b, Closed)
		permit(t, b).Done(errBoom)
		late.Done(errBoom) // of the closed state before this one
		wantState(t, b, Closed)
		permit(t, b).Done(errBoom)
		wantState(t, b, Open)
	})
}

// HC-K3: a probe that proves nothing leaves the breaker half-open and makes room for the next.
func TestHC_K3_inconclusive_probe(t *testing.T) {
	errMissing := errors.New("no such thing")
	for name, c := range map[string]struct {
		opt func(*BreakerConfig)
		end func(p *Permit)
	}{
		"classified": {func(c *BreakerConfig) { c.IsFailure = func(err error) bool { return err != errMissing } }, func(p *Permit) { p.Done(errMissing) }},
		"cancelled":  {func(*BreakerConfig) {}, func(p *Permit) { p.Done(fmt.Errorf("x: %w", context.Canceled)) }},
		"refused":    {func(*BreakerConfig) {}, func(p *Permit) { p.Done(actor.Reject(errBoom)) }},
		"released":   {func(*BreakerConfig) {}, (*Permit).Release},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breaker(t, c.opt)
				for range 3 {
					c.end(permit(t, b))
				}
				wantState(t, b, Closed)
				permit(t, b).Done(errBoom)
				c.end(permit(t, b)) // no success either: the count stays
				permit(t, b).Done(errBoom)
				wantState(t, b, Open)
				time.Sleep(second)
				for range 3 {
					p := permit(t, b)
					wantRejected(t, b, HalfOpen, 0)
					c.end(p)
					wantState(t, b, HalfOpen)
				}
				permit(t, b).Done(nil)
				wantState(t, b, Closed)
			})
		})
	}
}

// HC-K4: a call that is too late has failed at the limit, although it goes on, and what it returns does not count.
func TestHC_K4_late_results_do_not_count(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(t, func(c *BreakerConfig) { c.CallTimeout = 100 * ms })
		results := make(chan error, 2)
		for _, late := range []error{nil, errBoom} {
			go func() {
				results <- b.Do(t.Context(), func(context.Context) error { // it does not heed its context
					time.Sleep(2 * second)
					return late
				})
			}()
		}
		time.Sleep(100*ms - 1)
		synctest.Wait()
		wantState(t, b, Closed)
		time.Sleep(1)
		synctest.Wait()
		wantRejected(t, b, Open, second)
		time.Sleep(second)
		permit(t, b).Done(nil)
		wantState(t, b, Closed)
		got := []error{<-results, <-results}
		if got[0] != nil {
			got[0], got[1] = got[1], got[0]
		}
		if got[0] != nil || !errors.Is(got[1], ErrCallTimeout) || !errors.Is(got[1], errBoom) {
			t.Errorf("the late calls returned %v, want nil and both the limit and boom", got)
		}
		permit(t, b).Done(errBoom)
		wantState(t, b, Closed)
	})
}

func TestCallTimeoutIsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(t, func(c *BreakerConfig) {
			c.MaxFailures, c.CallTimeout = 1, 100*ms
			c.IsFailure = func(error) bool { return false } // the limit is not asked about
		})
		begin := time.Now()
		_, err := Do(t.Context(), b, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if !errors.Is(err, ErrCallTimeout) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 100*ms {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		wantState(t, b, Open)
		b.Reset()
		err = b.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
		if err == nil || err.Error() != "resilience: call timed out after 100ms" {
			t.Errorf("error %v, want the cause, once", err)
		}
		// A permit that nobody settles is a failure as well: else a lost probe would reject for ever.
		b.Reset()
		p := permit(t, b)
		time.Sleep(100 * ms)
		synctest.Wait()
		wantState(t, b, Open)
		p.Done(nil)
		wantState(t, b, Open)
	})
}

// The limit of a breaker around another is not mistaken for that one's own.
func TestNestedBreakersKnowTheirOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := func(d time.Duration) *Breaker {
			return breaker(t, func(c *BreakerConfig) {
				c.MaxFailures, c.CallTimeout = 1, d
				c.IsFailure = func(error) bool { return false }
			})
		}
		outer, inner := one(50*ms), one(100*ms)
		err := outer.Do(t.Context(), func(ctx context.Context) error {
			return inner.Do(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		})
		if !errors.Is(err, ErrCallTimeout) {
			t.Errorf("error %v", err)
		}
		wantState(t, outer, Open)
		wantState(t, inner, Closed)
	})
}

func TestEndedContextUsesNoPermit(t *testing.T) {
	b := breaker(t, func(c *BreakerConfig) { c.ResetTimeout = 0 })
	b.Trip()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	if err := b.Do(ctx, ended(nil)); err != errBoom {
		t.Errorf("Do = %v, want the cause", err)
	}
	wantState(t, b, Open)
}

func TestOnlyTheFirstOutcomeCounts(t *testing.T) {
	b := breaker(t)
	p := permit(t, b)
	p.Done(errBoom)
	p.Done(errBoom)
	p.Release()
	wantState(t, b, Closed)
	permit(t, b).Done(errBoom)
	wantState(t, b, Open)
}

func TestIsFailureThatPanicsCountsAsFailure(t *testing.T) {
	b := breaker(t, func(c *BreakerConfig) { c.IsFailure = func(error) bool { panic("judge") } })
	for _, call := range []func(){
		func() { b.Do(t.Context(), ended(errBoom)) },
		func() { permit(t, b).Done(errBoom) },
	} {
		func() {
			defer func() {
				if v := recover(); v != "judge" {
					t.Errorf("recovered %v", v)
				}
			}()
			call()
		}()
	}
	wantState(t, b, Open)
}

func TestTripAndReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker(t)
		before := permit(t, b)
		b.Trip()
		time.Sleep(500 * ms)
		b.Trip()
		wantRejected(t, b, Open, second)
		b.Reset()
		before.Done(errBoom)
		permit(t, b).Done(errBoom)
		wantState(t, b, Closed)
		b.Reset()
		permit(t, b).Done(errBoom)
		wantState(t, b, Closed)
	})
}

// Changes are told in order, one at a time, outside of locks, and a panic in between costs nothing but a line in the log.
func TestStateChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var told []string
		var b *Breaker
		b = breaker(t, func(c *BreakerConfig) {
			c.Name, c.Logger = "till", slog.New(slog.NewTextHandler(&log, nil))
			c.OnStateChange = func(from, to BreakerState) {
				told = append(told, fmt.Sprint(from, ">", to))
				switch len(told) {
				case 1:
					b.Reset() // would deadlock under the lock, and must be told after this one has returned
					told = append(told, fmt.Sprint("is ", b.State()))
				case 3:
					panic("listener")
				}
			}
		})
		b.Trip()
		b.Trip()
		b.Trip() // no change
		time.Sleep(second)
		b.Do(t.Context(), ended(nil))
		want := []string{"closed>open", "is closed", "open>closed", "closed>open", "open>half-open", "half-open>closed"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q\nwant %q", told, want)
		}
		if n := strings.Count(log.String(), "msg="); n != 1 || !strings.Contains(log.String(), "panic=listener") || !strings.Contains(log.String(), "breaker=till") {
			t.Errorf("log %q", log.String())
		}
	})
}

// Many goroutines, many outcomes: what was told is a path through the states, without a gap.
func TestBreakerUnderManyCallers(t *testing.T) {
	var told [][2]BreakerState
	b := breaker(t, func(c *BreakerConfig) {
		c.ResetTimeout = 0
		c.OnStateChange = func(from, to BreakerState) { told = append(told, [2]BreakerState{from, to}) }
	})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				err := errBoom
				if (i+g)%3 == 0 {
					err = nil
				}
				b.Do(t.Context(), ended(err))
			}
		})
	}
	wg.Wait()
	at := Closed
	for i, c := range told {
		if c[0] != at || c[1] == at {
			t.Fatalf("change %d is %v > %v in state %v", i, c[0], c[1], at)
		}
		at = c[1]
	}
	wantState(t, b, at)
	if len(told) < 3 {
		t.Errorf("only %d changes", len(told))
	}
}

func TestOpenErrorText(t *testing.T) {
	for want, e := range map[string]OpenError{
		`resilience: circuit breaker "till" is open, try again in 1.5s`:        {Name: "till", State: Open, Wait: 1500 * ms},
		`resilience: circuit breaker is half-open and waits for its probe`:     {State: HalfOpen},
		`resilience: circuit breaker is open, try again in 1ns`:                {State: Open, Wait: 1},
		`resilience: circuit breaker "b" is half-open and waits for its probe`: {Name: "b", State: HalfOpen},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := BreakerState(7).String(); got != "BreakerState(7)" {
		t.Error(got)
	}
}

func TestBreakerConfigIsChecked(t *testing.T) {
	for field, opt := range map[string]func(*BreakerConfig){
		"MaxFailures":  func(c *BreakerConfig) { c.MaxFailures = 0 },
		"ResetTimeout": func(c *BreakerConfig) { c.ResetTimeout = -1 },
		"CallTimeout":  func(c *BreakerConfig) { c.CallTimeout = math.MinInt64 },
	} {
		b, err := NewBreaker(opt)
		if b != nil || !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), ": "+field+" is ") {
			t.Errorf("%v, want ErrConfig that names %s", err, field)
		}
	}
	b, err := NewBreaker()
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		wantState(t, b, Closed)
		b.Do(t.Context(), ended(errBoom))
	}
	wantState(t, b, Open)
}

func BenchmarkBreakerDo(b *testing.B) {
	br, err := NewBreaker()
	if err != nil {
		b.Fatal(err)
	}
	ok := ended(nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := br.Do(b.Context(), ok); err != nil {
			b.Fatal(err)
		}
	}
}
