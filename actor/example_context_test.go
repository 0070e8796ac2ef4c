package actor_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// run spawns one actor, tells it the messages, and ends when it has handled them.
func run(behaviour actor.Func, msgs ...any) {
	sys, err := actor.NewSystem("example")
	if err != nil {
		log.Fatal(err)
	}
	ref, err := sys.Spawn("one", func() actor.Actor { return behaviour })
	if err != nil {
		log.Fatal(err)
	}
	for _, msg := range msgs {
		ref.Tell(msg)
	}
	if err := ref.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A lamp is on or off, and each press goes to the other phase.
func ExampleContext_Become() {
	var on actor.Func
	off := actor.Func(func(ctx *actor.Context, _ any) error {
		fmt.Println("on")
		ctx.Become(on)
		return nil
	})
	on = func(ctx *actor.Context, _ any) error {
		fmt.Println("off")
		ctx.Become(off)
		return nil
	}
	run(off, "press", "press", "press")
	// Output:
	// on
	// off
	// on
}

// Until the account is loaded, what comes is put aside.
func ExampleContext_Stash() {
	loading := actor.Func(func(ctx *actor.Context, msg any) error {
		if msg != "loaded" {
			return ctx.Stash()
		}
		ctx.Become(func(_ *actor.Context, msg any) error {
			fmt.Println("handled", msg)
			return nil
		})
		ctx.UnstashAll()
		return nil
	})
	run(loading, "deposit", "withdraw", "loaded", "close")
	// Output:
	// handled deposit
	// handled withdraw
	// handled close
}

// What takes long runs beside the actor, and its result comes as a message.
func ExampleContext_PipeToSelf() {
	sys, err := actor.NewSystem("example")
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan string)
	ref, err := sys.Spawn("weather", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			switch m := msg.(type) {
			case string:
				ctx.PipeToSelf(func(context.Context) (any, error) {
					if m == "Atlantis" {
						return nil, fmt.Errorf("there is no %s", m)
					}
					return len(m), nil // a slow request, in truth
				})
			case int:
				done <- fmt.Sprint(m, " degrees")
			case actor.PipeFailed:
				done <- fmt.Sprint("failed: ", m.Err)
			}
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	ref.Tell("Oslo")
	fmt.Println(<-done)
	ref.Tell("Atlantis")
	fmt.Println(<-done)
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 4 degrees
	// failed: there is no Atlantis
}

// The asker is answered when the work is done, long after the handler has returned.
func ExampleContext_Hold() {
	sys, err := actor.NewSystem("example")
	if err != nil {
		log.Fatal(err)
	}
	work := make(chan actor.Answerer, 1)
	ref, err := sys.Spawn("foreman", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, _ any) error {
			if asker, ok := ctx.Hold().(actor.Answerer); ok {
				work <- asker
			}
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	go func() { (<-work).Answer("built") }()
	fmt.Println(actor.Ask[string](context.Background(), ref, "a bridge"))
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// built <nil>
}

// A timer has a key and sends an ordinary message.
func ExampleTimers() {
	sys, err := actor.NewSystem("example")
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan struct{})
	beats := 0
	heart, err := sys.Spawn("heart", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			switch msg {
			case "start":
				return ctx.Timers().StartFixedDelay("beat", "beat", time.Millisecond, time.Millisecond)
			case "beat":
				if beats++; beats == 3 {
					fmt.Println("active:", ctx.Timers().Keys(), "cancelled:", ctx.Timers().Cancel("beat"))
					close(done)
				}
			}
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	heart.Tell("start")
	<-done
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// active: [beat] cancelled: true
}
