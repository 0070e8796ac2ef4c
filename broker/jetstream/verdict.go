package jetstream

import (
	"context"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/troupe-go/troupe/broker"
)

// returnDelay keeps what we give back at the end from being delivered to us again before the socket is closed.
const returnDelay = 200 * time.Millisecond

// words are the verdicts, made once: as constants they would be copied for every message.
type words struct{ ack, term, progress []byte }

func newWords() words { return words{[]byte("+ACK"), []byte("+TERM"), []byte("+WPI")} }

// acknowledge passes verdicts on. They are written together: the driver sends its buffer when it is full, or when its
// own goroutine gets to run.
func (in *intake) acknowledge(acks []broker.Ack) error {
	for i := range acks {
		m, ok := acks[i].Ref.(*natsgo.Msg)
		if !ok {
			continue
		}
		if err := in.nc.Publish(m.Reply, in.verdict(&acks[i])); err != nil {
			return err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range acks {
		in.letGo(acks[i].ID)
	}
	return nil
}

// verdict is what the server is told.
func (in *intake) verdict(a *broker.Ack) []byte {
	switch {
	case a.Err != nil:
		return nak(a.Delay)
	case broker.IsDiscard(a.Dropped):
		return in.words.term
	}
	return in.words.ack
}

func nak(delay time.Duration) []byte {
	if delay <= 0 {
		return []byte("-NAK")
	}
	return fmt.Appendf(nil, `-NAK {"delay":%d}`, delay.Nanoseconds())
}

// refuse gives back a message that nobody was told. On a connection that is lost this fails, and ackWait does it.
func (in *intake) refuse(m *natsgo.Msg) { _ = in.nc.Publish(m.Reply, nak(returnDelay)) }

// touch extends the time of messages that are still being handled, so that the server does not deliver them again. A
// message is extended for the first time when it is between a third and two thirds of ackWait old.
func (in *intake) touch(ctx context.Context) error {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	var replies []string
	for {
		var due <-chan time.Time
		in.mu.Lock()
		in.resting = in.heldCount == 0
		resting, every := in.resting, in.ackWait/3
		in.mu.Unlock()
		if !resting {
			t.Reset(every)
			due = t.C
		}
		select {
		case <-ctx.Done():
			return nil
		case <-in.holding:
			continue
		case <-due:
		}
		replies = in.due(replies[:0])
		for _, reply := range replies {
			if err := in.nc.Publish(reply, in.words.progress); err != nil {
				return err
			}
		}
	}
}

// due lists the messages that have been held since before the last round.
func (in *intake) due(replies []string) []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range in.held {
		if h := &in.held[i]; h.msg != nil && h.round < in.round {
			replies = append(replies, h.msg.Reply)
		}
	}
	in.round++
	return replies
}

// giveBack lets the server deliver to others what was fetched and has no verdict. The pulls that are open cannot be taken
// back: what the server still sends for them comes within some round trips and is given back too, until they are used up
// or a round trip brings nothing.
func (in *intake) giveBack(ctx context.Context) {
	in.mu.Lock()
	in.closing = true
	var msgs []*natsgo.Msg
	for i := range in.held {
		if m := in.held[i].msg; m != nil {
			msgs = append(msgs, m)
		}
	}
	seen := in.activity
	in.mu.Unlock()
	for _, m := range msgs {
		in.refuse(m)
	}
	for {
		if in.nc.FlushWithContext(ctx) != nil {
			return // a silent server: ackWait does it
		}
		in.settleQueue(ctx)
		in.mu.Lock()
		done := in.outstanding == 0 || in.activity == seen
		seen = in.activity
		in.mu.Unlock()
		if done {
			return
		}
	}
}
