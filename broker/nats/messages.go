package nats

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker/internal/natsconn"
)

// Publish is the command that sends one message. Told, it goes out in the order of acceptance, through an outage too;
// asked, the answer is a broker.Receipt with the outcome Written once the server has read it, or a
// *broker.UndeliveredError. Data and Header belong to the actor from then on and must not be changed.
type Publish struct {
	// Subject the message goes to; no wildcards. Required.
	Subject string
	// Reply is where an answer should go. Default empty.
	Reply string
	// Data is the payload. It may be empty, and may not be larger than the server's max_payload.
	Data []byte
	// Header travels with the message; keys are case-sensitive.
	Header map[string][]string
	// MaxAge is how long the message may wait to be sent; then it is a dead letter. Default 0: Config.MaxAge.
	MaxAge time.Duration
}

// Subscribe is the command that tells a target every message of a subject. There is one subscription per subject and
// queue on the wire, however many targets it has; it is made again after every reconnect and ends with its last target.
type Subscribe struct {
	// Subject to listen to; * stands for one token, > for the rest. Required.
	Subject string
	// Queue is the name of a queue group: of all its members, in this process and others, one gets each message. Default
	// empty: no group.
	Queue string
	// Target gets the messages, as Message. Required.
	Target actor.Ref
}

// Unsubscribe is the command that takes a target out of a subscription; Subject and Queue are those of Subscribe. What
// is not subscribed is ignored.
type Unsubscribe struct {
	Subject string
	Queue   string
	Target  actor.Ref
}

// Request is the command that sends one message and waits for one reply. It has to be asked:
//
//	reply, err := actor.Ask[nats.Message](ctx, ref, nats.Request{Subject: "time.now"})
//
// It lives no longer than the connection: without one it fails with broker.ErrNotConnected, and when the connection is
// lost with broker.ErrLinkClosed. Nobody listening is ErrNoResponders, no reply in time ErrRequestTimeout. Requests do
// not wait behind publishes, nor publishes behind them.
type Request struct {
	// Subject, Data and Header are as in Publish.
	Subject string
	Data    []byte
	Header  map[string][]string
	// Timeout bounds the wait for the reply. Default 0: Config.RequestTimeout. The ask has a limit of its own.
	Timeout time.Duration
}

// Message is what a subscription's target is told, and the reply to a Request. Several targets share Data and Header.
type Message struct {
	Subject string
	// Reply is where the sender wants an answer; empty if it wants none.
	Reply  string
	Data   []byte
	Header map[string][]string
}

// Response makes the answer to a message, to be told to the actor that delivered it: ctx.Reply(m.Response(data)). A
// message without Reply wants none, and its Response is refused.
func (m Message) Response(data []byte) Publish { return Publish{Subject: m.Reply, Data: data} }

// MessagesDropped is published on the event stream when the inbound window and the bounds of pendingMessages and
// pendingBytes were full, so that messages of a subscription were lost. It is a broker.Event.
type MessagesDropped struct {
	Path, Endpoint string
	// Subject and Queue are those of the subscription.
	Subject, Queue string
	// Count is how many were dropped since the event before.
	Count int
}

// Source returns path and endpoint.
func (e MessagesDropped) Source() (path, endpoint string) { return e.Path, e.Endpoint }

var (
	// ErrNoResponders ends a Request to which nobody listens.
	ErrNoResponders = errors.New("nats: nobody listens to the subject")
	// ErrRequestTimeout ends a Request that got no reply in time.
	ErrRequestTimeout = errors.New("nats: no reply in time")
	// ErrNotAsked refuses a Request that was told: its reply would have nowhere to go.
	ErrNotAsked = errors.New("nats: a Request has to be asked")
)

func (p *Publish) check() error {
	if err := natsconn.CheckSubject(p.Subject, false); err != nil {
		return fmt.Errorf("nats: Publish: %w", err)
	}
	if p.Reply != "" {
		if err := natsconn.CheckSubject(p.Reply, false); err != nil {
			return fmt.Errorf("nats: Publish to %s: Reply: %w", p.Subject, err)
		}
	}
	if err := natsconn.CheckHeader(p.Header); err != nil {
		return fmt.Errorf("nats: Publish to %s: %w", p.Subject, err)
	}
	if p.MaxAge < 0 {
		return fmt.Errorf("nats: Publish to %s: MaxAge is %v, must not be negative", p.Subject, p.MaxAge)
	}
	return nil
}

func (s *Subscribe) check() error {
	if err := natsconn.CheckSubject(s.Subject, true); err != nil {
		return fmt.Errorf("nats: Subscribe: %w", err)
	}
	if err := natsconn.CheckQueue(s.Queue); err != nil {
		return fmt.Errorf("nats: Subscribe to %s: %w", s.Subject, err)
	}
	if s.Target.IsZero() {
		return fmt.Errorf("nats: Subscribe to %s: target must not be the zero Ref", s.Subject)
	}
	return nil
}

func (r *Request) check() error {
	if err := natsconn.CheckSubject(r.Subject, false); err != nil {
		return fmt.Errorf("nats: Request: %w", err)
	}
	if err := natsconn.CheckHeader(r.Header); err != nil {
		return fmt.Errorf("nats: Request to %s: %w", r.Subject, err)
	}
	if r.Timeout < 0 {
		return fmt.Errorf("nats: Request to %s: timeout must not be negative, is %v", r.Subject, r.Timeout)
	}
	return nil
}
