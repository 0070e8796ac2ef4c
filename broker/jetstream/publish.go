package jetstream

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/broker/internal/natsconn"
)

// Publish is the command that stores one message in the stream that takes its subject. Tell it, or ask it:
//
//	receipt, err := actor.Ask[broker.Receipt](ctx, ref, jetstream.Publish{Subject: "orders.new", Data: data})
//
// The ask ends when the stream has answered: with a broker.Receipt whose Detail is a Receipt, or with a
// *broker.UndeliveredError. Data and Header belong to the actor from then on and must not be changed.
type Publish struct {
	// Subject the message goes to; no wildcards. Required.
	Subject string
	// Data is the payload. It may be empty, and may not be larger than the server's max_payload.
	Data []byte
	// Header travels with the message; keys are case-sensitive.
	Header map[string][]string
	// ID is the message id (header Nats-Msg-Id): the stream stores one message per id within its duplicate window.
	// Default: what Header has, else one made up when the message is accepted. It stays the same when the message has to
	// be sent again.
	ID string
	// MaxAge is how long the message may wait to be sent; then it is a dead letter. Default 0: Config.MaxAge.
	MaxAge time.Duration
	// ExpectedLastSequence makes the stream refuse the message unless its last sequence is this one. Nil is no condition.
	ExpectedLastSequence *uint64
	// ExpectedLastSubjectSequence is the same for the last message of the same subject; 0 is: there is none yet.
	ExpectedLastSubjectSequence *uint64
}

// Receipt is the Detail of the broker.Receipt that answers an asked Publish.
type Receipt struct {
	// Stream that stored the message, and Sequence its number there.
	Stream   string
	Sequence uint64
	// Duplicate says that the stream had a message with this id already, and Sequence is that one's.
	Duplicate bool
}

// Headers that the server understands.
const (
	headerID                      = natsconn.IDHeader
	headerExpectedSequence        = "Nats-Expected-Last-Sequence"
	headerExpectedSubjectSequence = "Nats-Expected-Last-Subject-Sequence"
)

// check says what is wrong with a command.
func (p *Publish) check() error {
	if err := natsconn.CheckSubject(p.Subject, false); err != nil {
		return fmt.Errorf("jetstream: Publish: %w", err)
	}
	if err := natsconn.CheckHeader(p.Header); err != nil {
		return fmt.Errorf("jetstream: Publish to %s: %w", p.Subject, err)
	}
	if err := natsconn.CheckHeader(map[string][]string{headerID: {p.ID}}); err != nil {
		return fmt.Errorf("jetstream: Publish to %s: ID: %w", p.Subject, err)
	}
	if p.MaxAge < 0 {
		return fmt.Errorf("jetstream: Publish to %s: MaxAge is %v, must not be negative", p.Subject, p.MaxAge)
	}
	return nil
}
