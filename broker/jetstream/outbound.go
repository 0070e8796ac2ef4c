package jetstream

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/broker"
)

// outbound publishes and takes the stream's answers. It does what the driver's own asynchronous publish does, but it never
// sends a message again behind the base's back, so that the order holds, and it needs no map and no future per message:
// the answer's subject names the slot of the dispatch.
type outbound struct {
	p      *protocol
	link   *broker.Link
	nc     *natsgo.Conn
	js     js.JetStream
	prefix string
	start  time.Time

	// used by dispatch only, which has one caller
	msg    natsgo.Msg
	header natsgo.Header
	id     [1]string

	doubts chan doubt
	wake   chan struct{} // something is in flight again

	mu     sync.Mutex
	slots  []flight
	flying int
	asleep bool // expire waits for wake
}

// flight is one dispatch without an answer. Its reply subject is kept for the next use of the slot, and changed when the
// slot was given up without an answer, which may still come.
type flight struct {
	token   broker.Token
	subject string
	reply   string
	use     uint32
	at      time.Duration
	asked   bool
	busy    bool
	again   *condition // of a conditional message that was sent before; nil otherwise
}

func newOutbound(p *protocol, link *broker.Link) *outbound {
	return &outbound{
		p: p, link: link, prefix: natsgo.NewInbox() + ".", start: time.Now(), header: natsgo.Header{},
		doubts: make(chan doubt, maxDoubts), wake: make(chan struct{}, 1), asleep: true,
	}
}

func (o *outbound) listen() error {
	sub, err := o.nc.Subscribe(o.prefix+"*", o.answered)
	if err != nil {
		return err
	}
	return sub.SetPendingLimits(-1, -1) // the window bounds the answers
}

// dispatch publishes one message. It may block on the socket.
func (o *outbound) dispatch(env broker.Envelope[Publish]) error {
	m := &env.Payload
	o.msg.Subject, o.msg.Data, o.msg.Header = m.Subject, m.Data, o.headerOf(m)
	o.msg.Reply = o.fly(env)
	err := o.nc.PublishMsg(&o.msg)
	o.msg.Data = nil
	if err == nil {
		return nil
	}
	o.land(env.Token.Slot(), env.Token)
	if refusedHere(err) {
		return rejected(m.Subject, err)
	}
	return err
}

// refusedHere says that the driver refused a message before it was sent, and always would.
func refusedHere(err error) bool {
	for _, e := range []error{natsgo.ErrMaxPayload, natsgo.ErrBadSubject, natsgo.ErrBadHeaderMsg, natsgo.ErrHeadersNotSupported} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// headerOf uses one map for all messages: the driver has written it out when its publish returns.
func (o *outbound) headerOf(m *Publish) natsgo.Header {
	clear(o.header)
	maps.Copy(o.header, natsgo.Header(m.Header))
	o.id[0] = m.ID
	o.header[headerID] = o.id[:]
	if n := m.ExpectedLastSequence; n != nil {
		o.header[headerExpectedSequence] = []string{strconv.FormatUint(*n, 10)}
	}
	if n := m.ExpectedLastSubjectSequence; n != nil {
		o.header[headerExpectedSubjectSequence] = []string{strconv.FormatUint(*n, 10)}
	}
	return o.header
}

// fly notes a dispatch and returns the subject for its answer.
func (o *outbound) fly(env broker.Envelope[Publish]) (reply string) {
	i := env.Token.Slot()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i >= len(o.slots) {
		o.slots = append(o.slots, flight{})
	}
	f := &o.slots[i]
	if f.reply == "" {
		f.reply = o.prefix + strconv.Itoa(i) + "-" + strconv.FormatUint(uint64(f.use), 36)
	}
	f.token, f.subject, f.asked, f.busy, f.at = env.Token, env.Payload.Subject, env.Asked(), true, time.Since(o.start)
	f.again = conditionOf(env)
	o.flying++
	if o.asleep {
		o.asleep = false
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	return f.reply
}

// land ends a flight without an answer; false if it has ended already.
func (o *outbound) land(slot int, t broker.Token) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := &o.slots[slot]
	if !f.busy || f.token != t {
		return false
	}
	o.release(f, true)
	return true
}

// release frees a slot, under mu. spoiled says that an answer may still come and must not be taken for the next one's.
func (o *outbound) release(f *flight, spoiled bool) {
	f.busy, f.subject, f.again = false, "", nil
	o.flying--
	if spoiled {
		f.use++
		f.reply = ""
	}
}

// answered is the driver's callback, on one goroutine.
func (o *outbound) answered(m *natsgo.Msg) {
	slotText, useText, ok := strings.Cut(strings.TrimPrefix(m.Subject, o.prefix), "-")
	slot, err := strconv.Atoi(slotText)
	use, err2 := strconv.ParseUint(useText, 36, 32)
	if !ok || err != nil || err2 != nil {
		return
	}
	o.mu.Lock()
	if slot < 0 || slot >= len(o.slots) || !o.slots[slot].busy || uint64(o.slots[slot].use) != use {
		o.mu.Unlock()
		return // given up before
	}
	f := &o.slots[slot]
	d, asked := doubt{token: f.token, subject: f.subject, again: f.again}, f.asked
	o.release(f, false)
	o.mu.Unlock()

	a := readAnswer(m, asked)
	switch {
	case a.err == nil && asked:
		o.link.Settle(d.token, a.receipt, nil)
	case a.err == nil:
		o.link.Settle(d.token, nil, nil)
	case a.later || d.again != nil && wrongSequence(a.err):
		d.err, d.stream = a.err, a.receipt.Stream
		o.doubt(d)
	default:
		o.link.Settle(d.token, nil, rejected(d.subject, a.err))
	}
}

func rejected(subject string, err error) error {
	return broker.Rejected(fmt.Errorf("jetstream: publish to %s: %w", subject, err))
}

// deny ends the flights to a subject that we may not publish to, and reports whether there were any.
func (o *outbound) deny(subject string, err error) bool {
	o.mu.Lock()
	var tokens []broker.Token
	for i := range o.slots {
		if f := &o.slots[i]; f.busy && f.subject == subject {
			tokens = append(tokens, f.token)
			o.release(f, true)
		}
	}
	o.mu.Unlock()
	for _, t := range tokens {
		o.link.Settle(t, nil, rejected(subject, err))
	}
	return len(tokens) > 0
}
