package actor_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/troupe-go/troupe/actor"
)

// What is urgent is handled first, whatever was told before it.
func ExampleMailbox_priority() {
	sys, err := actor.NewSystem("hospital")
	if err != nil {
		log.Fatal(err)
	}
	begin := make(chan struct{})
	ref, err := sys.Spawn("doctor", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			if msg == "shift begins" {
				<-begin
				return nil
			}
			fmt.Println(msg)
			return nil
		})
	}, func(c *actor.SpawnConfig) {
		c.Mailbox.Priority = func(msg any) int {
			if msg == "emergency" {
				return 0
			}
			return 1
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	ref.Tell("shift begins")
	for ref.TryTell("check-up") != nil { // never: the mailbox has no bound
	}
	ref.Tell("emergency")
	close(begin)
	if err := ref.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// emergency
	// check-up
}

// A sender that is not an actor waits for room in a bounded mailbox.
func ExampleRef_TellWait() {
	sys, err := actor.NewSystem("port")
	if err != nil {
		log.Fatal(err)
	}
	handled := 0
	ref, err := sys.Spawn("crane", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			if msg == "how many" {
				ctx.Reply(handled)
				return nil
			}
			handled++
			return nil
		})
	}, func(c *actor.SpawnConfig) {
		c.Mailbox = actor.Mailbox{Capacity: 2, Overflow: actor.RejectNewest}
	})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 1000 {
		if err := ref.TellWait(context.Background(), i); err != nil {
			log.Fatal(err)
		}
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(errors.Is(ref.TellWait(gone, "too late"), context.Canceled))
	if err := ref.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(handled, "handled,", sys.Stats().Dropped, "dropped")
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// true
	// 1000 handled, 0 dropped
}
