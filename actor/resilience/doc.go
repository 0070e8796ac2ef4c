// Package resilience has patterns for calling what may fail, for use inside actors and without any: a policy of growing
// delays, a circuit breaker, a retry, and an actor that starts its child again after a while. They have no settings in a
// configuration file, start no goroutine of their own, and use package time, so that they can be tested in a
// testing/synctest bubble.
//
// # Backoff
//
// Backoff says how long to wait before the next attempt. It keeps no state and starts no timer: it is a function from
// the number of failures in a row to a duration, so whoever waits also keeps the count and decides when it is zeroed.
// The delay is
//
//	min(Min × Factor^n + Step × n, Max) × (1 ± RandomFactor)
//
// The bound comes first and the jitter after it, so a delay may be up to RandomFactor above Max, and below Min. That is
// on purpose: bounded once more, all the waiting that has reached Max would come to the same length again, and the
// clients that lost one server together would come back to it together, which is what the jitter is there to prevent.
// Choose Max so that Max × (1 + RandomFactor) is still acceptable.
//
// # Circuit breaker
//
// A Breaker keeps callers away from what does not work, so that they fail at once and it can recover:
//
//	closed     every call goes through; MaxFailures failures in a row: open
//	open       every call is rejected; the first call after ResetTimeout: half-open
//	half-open  that call is the probe, others are rejected; it succeeds: closed, it fails: open
//
// An outcome counts in the state that its call began in and in no later one: neither does a success that comes late
// close what others' failures have opened, nor a failure of long ago open it again. An error that says nothing about
// what was called, by IsFailure, changes nothing in any state; after a probe that ended so, the next call is the probe.
// CallTimeout makes a failure of a call at that moment, also if the call never returns.
//
// Do runs a call and waits for it. Allow is the form for a caller that must not wait: the Permit that it returns is told
// the outcome later, from any goroutine. A Permit is an actor.Completion, so it can travel with a message and learn what
// became of it.
//
// This is not the breaker of a broker's connection, which is part of its reconnecting; see package broker.
//
// # Retry
//
// Retry calls a function until it succeeds, with a Backoff in between. Permanent marks an error that ends it, RetryAfter
// one that says when the next attempt makes sense; an *OpenError of a Breaker does that too, so a Retry around a Breaker
// sleeps until there is a chance. It blocks: inside an actor it belongs into a function given to Context.PipeToSelf.
//
// # Supervise
//
// An actor.Supervisor restarts a failed child at once, a few times, and then stops it: right for a bug that one message
// has found. A child that needs something outside, which may be away for minutes, needs time between its starts. The
// actor made by Supervise stops a failed child and starts a new one after the delay of a Backoff. Its own ref stays the
// same. What it is told while the child is down, or has not yet finished its PreStart, waits and goes to the child in
// order, with sender and completion, once it has started; nothing is sent to a child that may still fail to start. All
// that cannot be delivered becomes a dead letter.
//
// Not kept are the messages that a child had taken into its own mailbox when it failed: they are dead letters like those
// of any actor that stops, and their completions end with actor.ErrDeadLetter. Who has to know that a message was worked
// on asks, or sends a completion along.
package resilience
