package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/resilience"
)

var errDown = errors.New("connection refused")

func ExampleBreaker_Do() {
	breaker, err := resilience.NewBreaker(func(c *resilience.BreakerConfig) {
		c.Name, c.MaxFailures, c.ResetTimeout = "prices", 2, 10*time.Millisecond
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	server := errDown
	ask := func(context.Context) error { return server }

	fmt.Println(breaker.Do(ctx, ask))
	fmt.Println(breaker.Do(ctx, ask), "- the second in a row")
	err = breaker.Do(ctx, ask)
	fmt.Println("rejected:", errors.Is(err, resilience.ErrOpen))

	server = nil
	var open *resilience.OpenError
	if errors.As(err, &open) {
		<-time.After(open.Wait)
	}
	fmt.Println(breaker.Do(ctx, ask), breaker.State())
	// Output:
	// connection refused
	// connection refused - the second in a row
	// rejected: true
	// <nil> closed
}

func ExampleDo() {
	breaker, err := resilience.NewBreaker(func(c *resilience.BreakerConfig) { c.CallTimeout = 2 * time.Second })
	if err != nil {
		log.Fatal(err)
	}
	price, err := resilience.Do(context.Background(), breaker, func(ctx context.Context) (int, error) {
		return 42, nil // the place for a request that heeds ctx
	})
	fmt.Println(price, err)
	// Output: 42 <nil>
}

func ExampleNewBreaker() {
	errNotFound := errors.New("not found")
	breaker, err := resilience.NewBreaker(func(c *resilience.BreakerConfig) {
		c.MaxFailures = 1
		c.IsFailure = func(err error) bool { return !errors.Is(err, errNotFound) } // a server that says so is well
		c.OnStateChange = func(from, to resilience.BreakerState) { fmt.Println(from, "to", to) }
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	fmt.Println(breaker.Do(ctx, func(context.Context) error { return errNotFound }))
	fmt.Println(breaker.Do(ctx, func(context.Context) error { return errDown }))

	_, err = resilience.NewBreaker(func(c *resilience.BreakerConfig) { c.MaxFailures = 0 })
	fmt.Println(err)
	// Output:
	// not found
	// closed to open
	// connection refused
	// resilience: bad configuration: MaxFailures is 0, must be 1 or more
}

// An actor must not wait for a call. It asks for a permit and sends it along with the message, as its completion: what
// becomes of the message is the outcome.
func ExampleBreaker_Allow() {
	sys, err := actor.NewSystem("shop")
	if err != nil {
		log.Fatal(err)
	}
	changes := make(chan resilience.BreakerState, 1)
	breaker, err := resilience.NewBreaker(func(c *resilience.BreakerConfig) {
		c.MaxFailures = 1
		c.OnStateChange = func(_, to resilience.BreakerState) { changes <- to }
	})
	if err != nil {
		log.Fatal(err)
	}
	printer, err := sys.Spawn("printer", func() actor.Actor {
		return actor.Func(func(*actor.Context, any) error { return errors.New("out of paper") })
	})
	if err != nil {
		log.Fatal(err)
	}
	printLabel := func(label string) {
		permit, err := breaker.Allow()
		if err != nil {
			fmt.Println("not printed:", label)
			return
		}
		actor.Send(printer, actor.Envelope{Msg: label, Done: permit})
	}
	printLabel("first")
	fmt.Println(<-changes)
	printLabel("second")
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// open
	// not printed: second
}

func ExampleRetry() {
	attempts := 0
	fetch := func(ctx context.Context) (string, error) {
		if attempts++; attempts < 3 {
			return "", errDown
		}
		return "the page", nil
	}
	page, err := resilience.Retry(context.Background(), fetch, func(c *resilience.RetryConfig) {
		c.Attempts = 5
		c.Backoff = resilience.Exponential(time.Millisecond, 10*time.Millisecond, resilience.DefaultRandomFactor)
		c.OnRetry = func(failed int, err error, _ time.Duration) { fmt.Println(failed, err) }
	})
	fmt.Println(page, err)
	// Output:
	// 1 connection refused
	// 2 connection refused
	// the page <nil>
}

func ExamplePermanent() {
	_, err := resilience.Retry(context.Background(), func(context.Context) (int, error) {
		return 0, resilience.Permanent(errors.New("no such user"))
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, resilience.ErrPermanent))
	// Output:
	// resilience: gave up after 1 attempt, another would not help: no such user
	// true
}

func ExampleRetryAfter() {
	attempts := 0
	_, err := resilience.Retry(context.Background(), func(context.Context) (int, error) {
		if attempts++; attempts == 1 {
			return 0, resilience.RetryAfter(errors.New("busy"), 30*time.Millisecond)
		}
		return attempts, nil
	}, func(c *resilience.RetryConfig) {
		c.Backoff = resilience.Backoff{Min: time.Millisecond, Max: time.Millisecond}
		c.OnRetry = func(_ int, err error, wait time.Duration) { fmt.Println(err, wait) }
	})
	fmt.Println(err)
	// Output:
	// busy 30ms
	// <nil>
}

func ExampleRetryError() {
	_, err := resilience.Retry(context.Background(), func(context.Context) (int, error) { return 0, errDown }, func(c *resilience.RetryConfig) {
		c.Attempts, c.Backoff = 2, resilience.Backoff{}
	})
	var gaveUp *resilience.RetryError
	if errors.As(err, &gaveUp) {
		fmt.Println(gaveUp.Attempts, gaveUp.Err)
	}
	fmt.Println(errors.Is(err, errDown), errors.Is(err, resilience.ErrAttempts))
	// Output:
	// 2 connection refused
	// true true
}
