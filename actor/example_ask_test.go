package actor_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/troupe-go/troupe/actor"
)

// price is asked of a catalogue.
type price struct{ item string }

// spawnCatalogue starts an actor that knows one price.
func spawnCatalogue(sys *actor.System) actor.Ref {
	ref, err := sys.Spawn("catalogue", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			switch m := msg.(type) {
			case price:
				if m.item != "lamp" {
					return actor.Reject(errors.New("no such item"))
				}
				ctx.Reply(4900)
			default:
				ctx.Unhandled()
			}
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	return ref
}

func ExampleAsk() {
	sys := newSystem()
	catalogue := spawnCatalogue(sys)
	ctx := context.Background()
	fmt.Println(actor.Ask[int](ctx, catalogue, price{"lamp"}))

	_, err := actor.Ask[string](ctx, catalogue, price{"lamp"})
	fmt.Println(errors.Is(err, actor.ErrReplyType))
	_, err = actor.Ask[int](ctx, catalogue, "discount?")
	fmt.Println(errors.Is(err, actor.ErrUnhandled))
	fmt.Println(sys.Terminate(ctx))
	// Output:
	// 4900 <nil>
	// true
	// true
	// <nil>
}

// A refused message fails its sender's ask, and the actor goes on.
func ExampleReject() {
	sys := newSystem()
	catalogue := spawnCatalogue(sys)
	ctx := context.Background()
	_, err := actor.Ask[int](ctx, catalogue, price{"sofa"})
	fmt.Println(actor.Rejected(err), err)
	fmt.Println(actor.Ask[int](ctx, catalogue, price{"lamp"}))
	fmt.Println(sys.Terminate(ctx))
	// Output:
	// true ask troupe://shop/user/catalogue with actor_test.price: no such item
	// 4900 <nil>
	// <nil>
}

// delivery is a Completion: what a broker would acknowledge by.
type delivery chan error

func (d delivery) Done(err error) { d <- err }

// A completion learns what became of a message.
func ExampleSend() {
	sys := newSystem()
	catalogue := spawnCatalogue(sys)
	done := make(delivery, 1) // Done must not block
	actor.Send(catalogue, actor.Envelope{Msg: price{"lamp"}, Done: done})
	fmt.Println(<-done)
	actor.Send(catalogue, actor.Envelope{Msg: price{"sofa"}, Done: done})
	fmt.Println(<-done)

	ctx := context.Background()
	if err := catalogue.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	actor.Send(catalogue, actor.Envelope{Msg: price{"lamp"}, Done: done})
	fmt.Println(errors.Is(<-done, actor.ErrDeadLetter))
	fmt.Println(sys.Terminate(ctx))
	// Output:
	// <nil>
	// no such item
	// true
	// <nil>
}
