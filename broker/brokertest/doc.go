// Package brokertest helps to test protocols of package broker, those of this module and anybody else's.
//
// Run is the conformance suite: a protocol that passes it keeps the promises the base makes to its users. Fake is a
// protocol without a network whose every step can be held, failed or hung, for tests of code that uses a broker actor
// and for those of the base itself. Gate parks goroutines, Jitter is a random pause, and Recorder collects events and
// dead letters.
//
// Everything here works inside a testing/synctest bubble when it was made in that bubble.
package brokertest
