package actor_test

import (
	"context"
	"fmt"
	"log"

	"github.com/troupe-go/troupe/actor"
)

// doorMsg are the messages of a door; the compiler lets nobody tell it anything else.
type doorMsg interface{ door() }

type (
	openDoor  struct{ key string }
	closeDoor struct{}
)

func (openDoor) door()  {}
func (closeDoor) door() {}

type door struct{ open bool }

func (d *door) Receive(ctx *actor.Context, msg doorMsg) error {
	switch m := msg.(type) {
	case openDoor:
		d.open = m.key == "sesame"
	case closeDoor:
		d.open = false
	}
	ctx.Reply(d.open)
	return nil
}

// Signal gets what is not a doorMsg.
func (d *door) Signal(ctx *actor.Context, msg any) error {
	fmt.Printf("a door got %T\n", msg)
	return nil
}

func ExampleTyped() {
	sys, err := actor.NewSystem("house")
	if err != nil {
		log.Fatal(err)
	}
	ref, err := sys.Spawn("door", actor.Typed(func() actor.TypedActor[doorMsg] { return &door{} }))
	if err != nil {
		log.Fatal(err)
	}
	front := actor.TypedRef[doorMsg]{Ref: ref}
	front.Tell(closeDoor{})
	fmt.Println(actor.Ask[bool](context.Background(), front.Ref, openDoor{"sesame"}))
	front.Ref.Tell("knock")
	if err := ref.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// true <nil>
	// a door got string
}
