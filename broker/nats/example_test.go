package nats_test

import (
	"context"
	"fmt"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/nats"
)

// An actor that answers requests, and one request to it.
func Example() {
	sys, err := actor.NewSystem("example")
	if err != nil {
		fmt.Println(err)
		return
	}
	echo, err := sys.Spawn("echo", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			if m, ok := msg.(nats.Message); ok {
				ctx.Reply(m.Response(m.Data))
			}
			return nil
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	bus, err := sys.Spawn("bus", nats.New(func(c *nats.Config) {
		c.Servers = []string{"nats://localhost:4222"}
		c.Subscriptions = []nats.Subscribe{{Subject: "echo", Queue: "workers", Target: echo}}
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	// The start does not wait for the connection, but the answer to a publish does.
	if _, err := actor.Ask[broker.Receipt](context.Background(), bus, nats.Publish{Subject: "started"}); err != nil {
		fmt.Println(err)
		return
	}
	reply, err := actor.Ask[nats.Message](context.Background(), bus, nats.Request{Subject: "echo", Data: []byte("hello")})
	fmt.Println(string(reply.Data), err)
}
