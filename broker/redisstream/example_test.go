package redisstream_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/alicebob/miniredis/v2"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/redisstream"
)

// An actor that publishes orders and consumes them in a group; an order is acknowledged when the worker has handled it.
func Example() {
	server := miniredis.NewMiniRedis() // in place of a real one
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	sys, err := actor.NewSystem("example", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if err != nil {
		fmt.Println(err)
		return
	}
	handled := make(chan string, 1)
	worker, _ := sys.Spawn("worker", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			if m, ok := msg.(redisstream.Message); ok {
				handled <- m.ID + " " + m.Fields["item"]
			}
			return nil
		})
	})
	ref, _ := sys.Spawn("redis", redisstream.New(func(c *redisstream.Config) {
		c.URL = broker.Endpoint("redis://" + server.Addr())
		c.Group, c.Streams, c.Target, c.Start = "workers", []string{"orders"}, worker, "0"
	}))
	r, err := actor.Ask[broker.Receipt](context.Background(), ref, redisstream.Publish{
		Stream: "orders", Fields: map[string]string{"item": "tea"}, ID: "order-1",
	})
	fmt.Println(r.Outcome, err)
	fmt.Println(<-handled)
	fmt.Println(sys.Terminate(context.Background()))
	// Output:
	// acked <nil>
	// order-1 tea
	// <nil>
}
