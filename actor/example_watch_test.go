package actor_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/troupe-go/troupe/actor"
)

// foreman watches one worker and says how it ended.
type foreman struct{ said chan string }

func (f *foreman) PreStart(ctx *actor.Context) error {
	worker, err := ctx.Spawn("worker", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error { return errors.New(msg.(string)) })
	})
	ctx.Watch(worker)
	return err
}

// Supervisor stops a worker that fails.
func (f *foreman) Supervisor() actor.Supervisor {
	return actor.Supervisor{Decide: func(actor.Ref, error) actor.Directive { return actor.Stop }}
}

func (f *foreman) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case string:
		if worker, ok := ctx.Child("worker"); ok {
			ctx.Tell(worker, m)
		}
	case actor.Terminated:
		f.said <- fmt.Sprint(m.Ref.Name(), " has ended: ", m.Cause)
	}
	return nil
}

func ExampleContext_Watch() {
	sys, err := actor.NewSystem("site", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if err != nil {
		log.Fatal(err)
	}
	said := make(chan string, 1)
	ref, err := sys.Spawn("foreman", func() actor.Actor { return &foreman{said} })
	if err != nil {
		log.Fatal(err)
	}
	ref.Tell("the hammer broke")
	fmt.Println(<-said)
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// worker has ended: the hammer broke
}

// Stop lets the actor handle what was told before, and waits for its end.
func ExampleRef_Stop() {
	sys, err := actor.NewSystem("site")
	if err != nil {
		log.Fatal(err)
	}
	ref, err := sys.Spawn("printer", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			fmt.Println(msg)
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	ref.Tell("page 1")
	ref.Tell("page 2")
	if err := ref.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("stopping:", ref.Stopping(), "told:", ref.TryTell("page 3"))
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// page 1
	// page 2
	// stopping: true told: actor: stopped
}

// Kill is a failure that the supervisor judges; the default restarts the actor.
func ExampleKill() {
	sys, err := actor.NewSystem("site", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if err != nil {
		log.Fatal(err)
	}
	starts := 0
	ref, err := sys.Spawn("clerk", func() actor.Actor {
		starts++
		n := starts
		return actor.Func(func(ctx *actor.Context, _ any) error {
			ctx.Reply(n)
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(actor.Ask[int](context.Background(), ref, "instance"))
	ref.Tell(actor.Kill{})
	fmt.Println(actor.Ask[int](context.Background(), ref, "instance"))
	ref.Tell(actor.PoisonPill{})
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
}
