// Package resilience has patterns for calling what may fail, for use inside actors and without any.
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
package resilience
