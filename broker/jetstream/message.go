package jetstream

import (
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/internal/natsconn"
)

// Message is one message of the stream, told to the target. The acknowledgement follows the handler's return (Forward,
// Hold and Ask move it to later work), or with AckMode Manual the methods Ack and Nack of the embedded Delivery. Subject,
// Data and Header are the receiver's own, but shared by several subscribers.
type Message struct {
	broker.Delivery
	Subject string
	// Reply is where the publisher wants an answer; mostly empty.
	Reply  string
	Data   []byte
	Header map[string][]string
	// Stream and Consumer say where the message came from.
	Stream, Consumer string
	// Sequence is the message's number in the stream, ConsumerSequence counts the deliveries of the consumer.
	Sequence, ConsumerSequence uint64
	// Deliveries is how often this message was delivered, this time included: above 1 somebody may have handled it.
	Deliveries int
	// Pending is how many messages the consumer had yet to deliver behind this one.
	Pending uint64
	// Time is when the stream stored the message.
	Time time.Time
}

// ID is the message id, empty if the publisher gave none.
func (m Message) ID() string {
	if v := m.Header[natsconn.IDHeader]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// newMessage makes what the target gets. It reads the reply subject in place: one allocation per message, for the
// interface it travels in.
func newMessage(d broker.Delivery, m *natsgo.Msg) Message {
	out := Message{Delivery: d, Subject: m.Subject, Data: m.Data, Header: m.Header}
	// $JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<ns>.<pending>, and with a domain
	// $JS.ACK.<domain>.<account>.<stream>... with a random token at the end.
	var t [12]string
	n := 0
	for rest, more := m.Reply, true; more && n < len(t); n++ {
		t[n], rest, more = strings.Cut(rest, ".")
	}
	at := 2
	if n > 9 {
		at = 4
	}
	if n < at+7 {
		return out
	}
	out.Stream, out.Consumer = t[at], t[at+1]
	out.Deliveries = int(number(t[at+2]))
	out.Sequence, out.ConsumerSequence = number(t[at+3]), number(t[at+4])
	out.Time = time.Unix(0, int64(number(t[at+5])))
	out.Pending = number(t[at+6])
	return out
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64) // the server's own token; a zero shows that it was none
	return n
}
