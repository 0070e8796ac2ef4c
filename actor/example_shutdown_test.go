package actor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/actor"
)

func newSystem() *actor.System {
	sys, err := actor.NewSystem("shop", func(c *actor.SystemConfig) {
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	})
	if err != nil {
		fmt.Println(err)
	}
	return sys
}

// A main function waits for a signal, here for the end of a context.
func ExampleSystem_RunUntilSignal() {
	sys := newSystem()
	_, err := sys.OnShutdown(actor.PhaseUnbind, "listener", func(context.Context) error {
		fmt.Println("no new work")
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	fmt.Println(sys.RunUntilSignal(ctx))
	// Output:
	// no new work
	// <nil>
}

// A task that fails is in the outcome; the system ends all the same.
func ExampleShutdownError() {
	sys := newSystem()
	_, err := sys.OnShutdown(actor.PhaseBrokers, "flush", func(context.Context) error { return errors.New("disk full") })
	if err != nil {
		fmt.Println(err)
	}
	var task *actor.ShutdownError
	if errors.As(sys.Terminate(context.Background()), &task) {
		fmt.Println(task.Phase, task.Task, task.Err)
	}
	// Output: brokers flush disk full
}

func ExampleSubscribeIf() {
	sys := newSystem()
	ref, err := sys.Spawn("display", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error { fmt.Println(msg); return nil })
	})
	if err != nil {
		fmt.Println(err)
	}
	actor.SubscribeIf(sys.EventStream(), ref, func(cents int) bool { return cents > 100 })
	sys.EventStream().Publish(50)
	sys.EventStream().Publish(150)
	fmt.Println(sys.Terminate(context.Background()))
	// Output:
	// 150
	// <nil>
}

func ExampleSystem_Stats() {
	sys := newSystem()
	ref, err := sys.Spawn("choosy", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, _ any) error { ctx.Unhandled(); return nil })
	})
	if err != nil {
		fmt.Println(err)
	}
	ref.Tell("what nobody knows")
	fmt.Println(sys.Terminate(context.Background()))
	fmt.Println(sys.Stats().DeadLetters)
	// Output:
	// <nil>
	// 1
}
