package brokertest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

// A test of code that publishes: the fake server holds the confirmation, the connection is lost, and the message is sent
// again on the next one.
func ExampleFake() {
	sys, err := actor.NewSystem("example", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fake := &brokertest.Fake{Mode: brokertest.ModeConfirm}
	fake.OnDispatch = func(_ context.Context, s brokertest.Sent) error {
		if s.Link == 1 {
			return errors.New("connection reset")
		}
		return nil
	}
	ref, _ := sys.Spawn("broker", fake.New())
	receipt, err := actor.Ask[broker.Receipt](context.Background(), ref, brokertest.Publish{Payload: "order 1"})
	fmt.Println(receipt.Outcome, receipt.Resends, err)
	fmt.Println(fake.Sent())
	fmt.Println(sys.Terminate(context.Background()))
	// Output:
	// acked 1 <nil>
	// [{2 order 1 1}]
	// <nil>
}
