package actortest_test

import (
	"testing"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

func BenchmarkNewContext(b *testing.B) {
	for b.Loop() {
		actortest.NewContext(b)
	}
}

func BenchmarkDeliver(b *testing.B) {
	c := actortest.NewContext(b)
	a := actor.Func(echo)
	for b.Loop() {
		if err := c.Deliver(a, 1); err != nil {
			b.Fatal(err)
		}
		if len(c.Replies()) != 1 {
			b.Fatal("no reply")
		}
		c.Forget()
	}
}
