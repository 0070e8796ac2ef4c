package brokertest

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// Features says what a protocol promises beyond the base; Run tests only what is promised.
type Features struct {
	// Outcome is how a publish ends: broker.Acked or broker.Written.
	Outcome broker.Outcome
	// Stored says that the server keeps what was published for a consumer that is away.
	Stored bool
	// Redelivers says that the server delivers a refused message again.
	Redelivers bool
	// Pings says that the protocol keeps an idle connection alive by itself, so that idleTimeout only cuts dead ones.
	Pings bool
	// Secret is a credential that Protocol.New uses; Run searches all events, dead letters and log lines for it.
	Secret string
	// StopWithin is how long a stop without a flush may take against a peer that does not answer. It is measured and
	// printed; a stop fails the case at ten times it. Default 100ms.
	StopWithin time.Duration
}

// Protocol is one protocol under test together with a running server.
type Protocol struct {
	// Addr is the server's TCP address. Run puts a fault proxy in front of it.
	Addr string
	// New returns the factory of an actor that publishes through the server at addr. tune is to be the last option.
	New func(addr string, tune func(*broker.Config)) func() actor.Actor
	// Publish is the command that publishes a message which carries id.
	Publish func(id string) any
	// NewConsumer returns the factory of an actor that hands to to what Publish publishes; nil if there is none. An actor
	// for the same addr replaces one that has stopped: what it left unacknowledged comes to the new one if the server
	// stores.
	NewConsumer func(addr string, to actor.Ref, tune func(*broker.Config)) func() actor.Actor
	// ID takes the id out of what the consumer's target receives; empty if it is not one of Publish's.
	ID func(msg any) string
}

// Run is the conformance suite. newProtocol starts a fresh server for each case and registers its end with t.Cleanup.
// The cases run one after the other, in real time, and print what they measured.
func Run(t *testing.T, features Features, newProtocol func(t *testing.T) Protocol) {
	t.Helper()
	if features.StopWithin == 0 {
		features.StopWithin = 100 * time.Millisecond
	}
	for _, c := range []struct {
		name string
		test func(*bench)
		need bool
	}{
		{"connect", caseConnect, true},
		{"receipts", caseReceipts, true},
		{"refused_then_up", caseRefused, true},
		{"order_and_books_through_losses", caseOrder, true},
		{"resets_after_handshake_poison_nothing", caseResets, true},
		{"hole_is_noticed", caseHole, true},
		{"idle_link_stays_up", caseIdle, features.Pings},
		{"subscriptions_once_after_each_reconnect", caseSubscriptions, true},
		{"refused_comes_again", caseRedelivery, features.Redelivers},
		{"unhandled_comes_again", caseUnhandled, features.Stored && features.Redelivers},
		{"stop_against_silent_peer", caseStopSilent, true},
		{"stop_against_hole", caseStopHole, true},
		{"stop_in_backoff", caseStopBackoff, true},
		{"stop_at_any_time", caseStopAnytime, true},
		{"stop_flushes", caseStopFlush, true},
	} {
		if c.need {
			t.Run(c.name, func(t *testing.T) { runCase(t, features, newProtocol, c.test) })
		}
	}
}
