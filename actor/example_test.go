package actor_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// counter counts what it is told.
type counter struct{ n int }

type add struct{ n int }
type read struct{}

func (c *counter) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case add:
		if m.n < 0 {
			return actor.Reject(errors.New("only forward"))
		}
		c.n += m.n
		ctx.Reply(c.n)
	case read:
		ctx.Reply(c.n)
	default:
		ctx.Unhandled()
	}
	return nil
}

func Example() {
	sys, err := actor.NewSystem("shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	ref, err := sys.Spawn("counter", func() actor.Actor { return &counter{} })
	if err != nil {
		fmt.Println(err)
		return
	}
	ref.Tell(add{2})
	ref.Tell(add{3})
	fmt.Println(actor.Ask[int](ctx, ref, read{}))
	_, err = actor.Ask[int](ctx, ref, add{-1})
	fmt.Println(err)
	fmt.Println(ref)
	fmt.Println(sys.Terminate(ctx))
	// Output:
	// 5 <nil>
	// ask troupe://shop/user/counter with actor_test.add: only forward
	// troupe://shop/user/counter
	// <nil>
}

// An actor that retires when it has been idle.
func ExampleContext_SetReceiveTimeout() {
	sys, err := actor.NewSystem("idle")
	if err != nil {
		fmt.Println(err)
		return
	}
	gone := make(chan struct{})
	ref, err := sys.Spawn("session", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			switch msg.(type) {
			case string:
				ctx.SetReceiveTimeout(10 * time.Millisecond)
			case actor.ReceiveTimeout:
				ctx.StopSelf()
				close(gone)
			}
			return nil
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ref.Tell("hello")
	<-gone
	fmt.Println("retired")
	fmt.Println(sys.Terminate(context.Background()))
	// Output:
	// retired
	// <nil>
}

// A parent that restarts what fails, and stops what fails for a reason that will not go away.
func ExampleSupervisor() {
	sup := actor.Supervisor{
		Decide: func(_ actor.Ref, cause error) actor.Directive {
			if errors.Is(cause, context.DeadlineExceeded) {
				return actor.Restart
			}
			return actor.Stop
		},
		MaxRestarts: 3,
		Within:      time.Minute,
	}
	fmt.Println(sup.Decide(actor.Ref{}, context.DeadlineExceeded), sup.Decide(actor.Ref{}, errors.New("disk gone")))
	// Output:
	// restart stop
}
