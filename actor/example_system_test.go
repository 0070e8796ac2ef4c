package actor_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/hocon"
)

// A setting that is out of bounds is an error that names its key.
func ExampleNewSystem() {
	conf, err := hocon.ParseString("application.conf", "troupe.actor.askTimeout = 0s")
	if err != nil {
		log.Fatal(err)
	}
	_, err = actor.NewSystem("shop", func(c *actor.SystemConfig) { c.Config = conf })
	var bad *actor.ConfigError
	fmt.Println(errors.As(err, &bad), bad.Path)
	// Output:
	// true troupe.actor.askTimeout
}

// sale is an event.
type sale struct{ cents int }

func ExampleSubscribe() {
	sys, err := actor.NewSystem("shop")
	if err != nil {
		log.Fatal(err)
	}
	total := 0
	books, err := sys.Spawn("books", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			if s, ok := msg.(sale); ok {
				total += s.cents
			}
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	cancel := actor.Subscribe[sale](sys.EventStream(), books)
	sys.EventStream().Publish(sale{500})
	sys.EventStream().Publish("not a sale")
	sys.EventStream().Publish(sale{250})
	cancel()
	sys.EventStream().Publish(sale{1000})
	if err := books.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(total)
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 750
}

var errBroken = errors.New("broken for good")

// A decider that treats one cause itself and leaves the rest to the default.
func ExampleDefaultDecider() {
	sys, err := actor.NewSystem("shop", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if err != nil {
		log.Fatal(err)
	}
	starts := 0
	press, err := sys.Spawn("press", func() actor.Actor {
		starts++
		return actor.Func(func(_ *actor.Context, msg any) error {
			err, _ := msg.(error)
			return err
		})
	}, func(c *actor.SpawnConfig) {
		c.Supervisor = &actor.Supervisor{Decide: func(child actor.Ref, cause error) actor.Directive {
			if errors.Is(cause, errBroken) {
				return actor.Stop
			}
			return actor.DefaultDecider(child, cause)
		}}
	})
	if err != nil {
		log.Fatal(err)
	}
	press.Tell(errors.New("jammed"))
	press.Tell(errBroken)
	if err := press.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(starts, "starts")
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 starts
}

// A refusal can be told from a failure, also through the error of an ask.
func ExampleRejected() {
	err := fmt.Errorf("order 7: %w", actor.Reject(errors.New("out of stock")))
	fmt.Println(actor.Rejected(err), actor.Rejected(errors.New("disk full")))
	fmt.Println(err)
	// Output:
	// true false
	// order 7: out of stock
}
