package actor

import (
	"context"
	"testing"
	"time"
)

// TestSuccessorUnderTheSameName: a parent that watches its child may spawn the next incarnation when Terminated arrives,
// because the name is free by then. Outside of a bubble, since it is about two goroutines.
func TestSuccessorUnderTheSameName(t *testing.T) {
	s, err := NewSystem("t", quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Terminate(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	const rounds = 2000
	done := make(chan error, 1)
	lives := 0
	next := func(ctx *Context) error {
		ref, err := ctx.Spawn("child", func() Actor { return Func(func(*Context, any) error { return nil }) })
		if err != nil {
			return err
		}
		lives++
		ctx.Watch(ref)
		ref.Tell(PoisonPill{})
		return nil
	}
	parent := mustSpawn(t, s, "parent", func() Actor {
		return Func(func(ctx *Context, msg any) error {
			if msg == "noise" { // keeps the parent at work, so that it takes Terminated as soon as it is there
				ctx.Self().Tell(msg)
				return nil
			}
			if err := next(ctx); err != nil || lives == rounds {
				done <- err
				ctx.StopSelf()
			}
			return nil
		})
	})
	parent.Tell("noise")
	parent.Tell("begin")
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("life %d: %v", lives+1, err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no end")
	}
}
