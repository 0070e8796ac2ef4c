// Package actortest helps to test actors: a system that ends with the test, and a Probe, an actor that takes down what it
// is told and lets the test wait for it. Both work inside a testing/synctest bubble, where time is virtual and every
// deadline is exact, and outside of one.
//
// To test an actor with a receive timeout of 15 minutes in a millisecond, run it in a bubble:
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
package actortest
