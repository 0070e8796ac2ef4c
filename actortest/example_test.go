package actortest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

// A session that ends itself when nobody talked to it for 15 minutes, tested to the nanosecond in no time at all.
func ExampleProbe() {
	session := func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			if msg == any(actor.ReceiveTimeout{}) {
				ctx.StopSelf()
				return nil
			}
			ctx.SetReceiveTimeout(15 * time.Minute)
			return nil
		})
	}
	_ = func(t *testing.T) { // a test function of yours
		synctest.Test(t, func(t *testing.T) {
			sys := actortest.NewSystem(t)
			probe := actortest.NewProbe(t, sys)
			ref, err := sys.Spawn("session", session)
			if err != nil {
				t.Fatal(err)
			}
			probe.Watch(ref)
			ref.Tell("hello")
			probe.ExpectNone(15*time.Minute - 1)
			probe.ExpectTerminated(ref)
		})
	}
	// Output:
}
