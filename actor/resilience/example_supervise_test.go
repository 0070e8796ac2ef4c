package resilience_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/resilience"
)

// session needs a server that is not there yet when it first starts.
type session struct{ starts int }

func (s *session) PreStart(*actor.Context) error {
	if s.starts < 3 {
		return errDown
	}
	return nil
}

func (s *session) Receive(ctx *actor.Context, msg any) error {
	ctx.Reply(fmt.Sprintf("%v, at start %d", msg, s.starts))
	return nil
}

func ExampleSupervise() {
	sys, err := actor.NewSystem("shop", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) })
	if err != nil {
		log.Fatal(err)
	}
	starts := 0
	newSession := func() actor.Actor {
		starts++
		return &session{starts}
	}
	ref, err := sys.Spawn("session", resilience.Supervise(newSession, func(c *resilience.SuperviseConfig) {
		c.Backoff = resilience.Exponential(time.Millisecond, time.Second, resilience.DefaultRandomFactor)
	}))
	if err != nil {
		log.Fatal(err)
	}
	// The child is down, or about to be. The question waits for the one that starts.
	fmt.Println(actor.Ask[string](context.Background(), ref, "hello"))
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: hello, at start 3 <nil>
}

func ExampleChildEnded() {
	sys, err := actor.NewSystem("shop", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) })
	if err != nil {
		log.Fatal(err)
	}
	over := make(chan struct{})
	observer, err := sys.Spawn("observer", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			if e, ok := msg.(resilience.ChildEnded); ok {
				fmt.Println(e.Supervisor.Name(), e.InARow, e.Cause, e.Again)
				if !e.Again {
					close(over)
				}
			}
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	actor.Subscribe[resilience.ChildEnded](sys.EventStream(), observer)
	_, err = sys.Spawn("session", resilience.Supervise(func() actor.Actor { return &session{} }, func(c *resilience.SuperviseConfig) {
		c.Backoff = resilience.Exponential(time.Millisecond, time.Second, 0)
		c.MaxRestarts = 2
	}))
	if err != nil {
		log.Fatal(err)
	}
	<-over
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// session 1 connection refused true
	// session 2 connection refused true
	// session 3 connection refused false
}
