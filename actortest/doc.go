// Package actortest helps to test actors. It has three ways to do so, from the smallest to the largest.
//
// # One actor, without a system
//
// NewContext makes an *actor.Context that nobody runs. The test delivers messages one by one, on its own goroutine, and
// looks at what the actor did: what it told whom, what it spawned, watched, armed and stashed, how it answered.
//
//	c := actortest.NewContext(t)
//	till := c.NewRef("till")
//	err := c.Deliver(&shop{till: till}, order{"42"})
//	c.ExpectSent(till, order{"42"})
//
// No goroutine is started and no time passes, but for functions that the actor gives to PipeToSelf: these run as they
// always do, and Deliver waits for them. See Context for what is different from a system.
//
// # Actors together
//
// NewSystem starts a system that ends with the test, logs to the test and fails it if something of it does not end. A
// Probe is an actor in it that takes down what it is told and lets the test wait for it: for a message that equals
// another (Expect), for one of a type (the function Expect), for one among others (Fish), for several (ReceiveN,
// ExpectAll), for none (ExpectNone), for the end of an actor (ExpectTerminated). It can answer, asks too (Reply), pass
// messages on (Forward), be a parent (Spawn) and be watched and stopped itself.
//
//	sys := actortest.NewSystem(t)
//	till := actortest.NewProbe(t, sys)
//	ref, err := sys.Spawn("shop", newShop(till.Ref()))
//	ref.Tell(order{"42"})
//	till.Expect(order{"42"})
//
// What a probe waits for has its patience, Probe.Wait, and the test fails when that is over, saying what came instead.
//
// # Time
//
// Both work inside a testing/synctest bubble, where time is virtual and every deadline is exact, and outside of one. To
// test an actor with a receive timeout of 15 minutes in a millisecond, run it in a bubble:
//
//	synctest.Test(t, func(t *testing.T) {
//		sys := actortest.NewSystem(t)
//		probe := actortest.NewProbe(t, sys)
//		ref := … spawn the actor …
//		probe.Watch(ref)
//		probe.ExpectNone(15*time.Minute - 1) // one nanosecond before
//		probe.ExpectTerminated(ref)          // and at the very moment
//	})
//
// Make the system inside of the bubble, since its clock belongs to the bubble it was made in.
//
// # Equality
//
// Values are compared by their contents, as reflect.DeepEqual does, but for refs: two are equal if they address the same
// incarnation. The failure lists the parts that differ.
package actortest
