package jetstream_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
)

// An actor that consumes a stream. Messages are acknowledged when the handler has returned nil.
func Example() {
	sys, err := actor.NewSystem("shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	worker, err := sys.Spawn("worker", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			m, ok := msg.(jetstream.Message)
			switch {
			case !ok:
				return nil
			case len(m.Data) == 0: // it will never be any better
				return actor.Reject(broker.Discard(errors.New("empty order")))
			}
			fmt.Println(m.ID(), string(m.Data))
			return nil
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	orders, err := sys.Spawn("orders", jetstream.New(func(c *jetstream.Config) {
		c.Servers = []string{"nats://localhost:4222"}
		c.Stream.Name, c.Stream.Subjects = "ORDERS", []string{"orders.>"}
		c.Consumer.Name, c.Target = "worker", worker
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt, err := actor.Ask[broker.Receipt](context.Background(), orders, jetstream.Publish{
		Subject: "orders.new", Data: []byte("2 cups"), ID: "order-1",
	})
	fmt.Println(receipt.Outcome, receipt.Detail, err)
}

// Messages are forwarded to whoever does the work, with the duty to acknowledge: the stream hears of it when the last
// actor in the chain is done.
func ExampleMessage() {
	var sessionOf func(customer string) actor.Ref
	_ = actor.Func(func(ctx *actor.Context, msg any) error {
		if m, ok := msg.(jetstream.Message); ok {
			ctx.Forward(sessionOf(m.Subject))
		}
		return nil
	})
}
