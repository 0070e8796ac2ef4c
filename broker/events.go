package broker

import "time"

// Event is implemented by every event of this package: subscribe to it with actor.Subscribe[broker.Event] to see all of
// them, or to one of the types to see only those. Path is the actor's path, which tells several brokers apart; Endpoint
// is the redacted label; a Cause is an error whose text holds no credential.
type Event interface {
	// Source returns path and endpoint.
	Source() (path, endpoint string)
}

// Connected is published for every successful connect, the first one too, when the state is connected and before the
// first dispatch.
type Connected struct{ Path, Endpoint string }

// Disconnected is published when an established connection was lost: not for a failed connect, nor for an orderly stop.
type Disconnected struct {
	Path, Endpoint string
	Cause          error
}

// ReconnectAttempt is published when a retry starts, immediately before its connect. Attempt counts from 1 since the
// last successful connect; Delay is the jittered wait that was scheduled for it.
type ReconnectAttempt struct {
	Path, Endpoint string
	Attempt        int
	Delay          time.Duration
}

// ReconnectFailed is published once when no retry will follow: after maxAttempts, or because reconnect is off. Attempts
// is the number of retries that were made. The actor stays disconnected until it is told Reconnect.
type ReconnectFailed struct {
	Path, Endpoint string
	Attempts       int
	Cause          error
}

// BufferOverflow is published when the outbound buffer evicted an envelope, at once; those of the millisecond after it
// share the next one. Count is how many an event stands for. The envelope itself is in the dead letter of the same
// eviction.
type BufferOverflow struct {
	Path, Endpoint string
	Limit, Count   int
}

// NotConnected is published when a message was refused because there is no connection and outboundBuffer is 0, or failFast
// is on and no retry will follow.
type NotConnected struct{ Path, Endpoint string }

// SubscriptionFailed is published when a desired subscription could not be made on the current connection; the others
// and the connection are not affected, and the next connect tries it again.
type SubscriptionFailed struct {
	Path, Endpoint string
	Key            string
	Cause          error
}

// Source returns path and endpoint.
func (e Connected) Source() (path, endpoint string) { return e.Path, e.Endpoint }

// Source returns path and endpoint.
func (e Disconnected) Source() (path, endpoint string) { return e.Path, e.Endpoint }

// Source returns path and endpoint.
func (e ReconnectAttempt) Source() (path, endpoint string) { return e.Path, e.Endpoint }

// Source returns path and endpoint.
func (e ReconnectFailed) Source() (path, endpoint string) { return e.Path, e.Endpoint }

// Source returns path and endpoint.
func (e BufferOverflow) Source() (path, endpoint string) { return e.Path, e.Endpoint }

// Source returns path and endpoint.
func (e NotConnected) Source() (path, endpoint string) { return e.Path, e.Endpoint }

// Source returns path and endpoint.
func (e SubscriptionFailed) Source() (path, endpoint string) { return e.Path, e.Endpoint }

// Reason says why an envelope was not delivered.
type Reason uint8

const (
	// ReasonOverflow: it was evicted by a newer one, or refused because the buffer was full.
	ReasonOverflow Reason = iota + 1
	// ReasonRejected: the peer refused it for good.
	ReasonRejected
	// ReasonPoison: it took down connection after connection.
	ReasonPoison
	// ReasonExpired: it waited longer than its age limit.
	ReasonExpired
	// ReasonUnknown: it was sent, the connection was lost, and it was not to be sent again.
	ReasonUnknown
	// ReasonStopped: the actor stopped before it was sent.
	ReasonStopped
	// ReasonNotConnected: there was no connection to take it, and outboundBuffer is 0 or failFast is on.
	ReasonNotConnected
	// ReasonDiscarded: a handler refused an inbound message with Discard.
	ReasonDiscarded
	// ReasonMaxDeliveries: handlers refused an inbound message until maxDeliveries.
	ReasonMaxDeliveries
	// ReasonRefused: a handler refused an inbound message, and the protocol cannot deliver it again.
	ReasonRefused
)

// String is the reason in one word.
func (r Reason) String() string {
	names := [...]string{"none", "overflow", "rejected", "poison", "expired", "unknown", "stopped", "notConnected",
		"discarded", "maxDeliveries", "refused"}
	if int(r) < len(names) {
		return names[r]
	}
	return "invalid"
}

// Undelivered is the message of the dead letter (actor.DeadLetter on the event stream) that accounts for one outbound
// payload which did not reach the peer.
type Undelivered struct {
	Reason Reason
	// Path and Endpoint are as in Event.
	Path, Endpoint string
	// Payload is what was given to Base.Enqueue.
	Payload any
	// Refused says that the payload was never accepted, so that the books do not hold it.
	Refused bool
	// Cause has no credential in its text.
	Cause error
}

// Dropped is the message of the dead letter (actor.DeadLetter on the event stream) that accounts for one inbound message
// which was given up: the peer was told that it is done with, and no subscriber has handled it.
type Dropped struct {
	Reason Reason
	// Path and Endpoint are as in Event.
	Path, Endpoint string
	// Message is what the subscribers were told.
	Message any
	// Deliveries is how often it was delivered.
	Deliveries int
	// Cause is the last refusal; its text has no credential.
	Cause error
}

// Outcome is the good end of an envelope.
type Outcome uint8

const (
	// Acked: the peer confirmed it.
	Acked Outcome = iota + 1
	// Written: it was handed to the operating system, and the protocol has nothing that would confirm it.
	Written
)

// String is the outcome in one word.
func (o Outcome) String() string {
	switch o {
	case Acked:
		return "acked"
	case Written:
		return "written"
	}
	return "invalid"
}

// Receipt answers the ask on a publish command: actor.Ask[broker.Receipt]. An envelope that was not delivered ends the
// ask with an UndeliveredError instead.
type Receipt struct {
	Outcome Outcome
	// Detail is the protocol's own receipt, such as a stream sequence; nil if it has none.
	Detail any
	// Resends is how often the envelope was sent before the attempt that succeeded.
	Resends int
}
