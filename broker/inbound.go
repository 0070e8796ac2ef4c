package broker

import (
	"errors"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// noSubscriberDelay is when a message that nobody took should come again: at once, it would go round and round.
const noSubscriberDelay = time.Second

// inbound is the window of messages that were handed to actors and are not handled yet, over all connections of the
// actor, and the verdicts on their way back to the current connection. mu guards all of it; nothing foreign runs under
// mu.
type inbound struct {
	limit int
	low   int // once full, the window opens again at this many
	mode  AckMode
	self  actor.Ref

	mu       sync.Mutex
	room     sync.Cond // readers wait for a place
	verdicts sync.Cond // the acknowledging goroutine waits for verdicts
	free     *place
	used     int
	full     bool
	epoch    uint64 // link that may deliver; 0 is none
	acking   bool   // that link takes verdicts
	deserted bool   // the last subscriber has died
	drained  bool   // no more verdicts for this link after those that are there
	acks     []Ack
	spare    []Ack
	stale    uint64 // verdicts for a link that was over
	unwanted uint64 // messages without a subscriber
}

func newInbound(c *Config, self actor.Ref) *inbound {
	n := c.InboundWindow
	in := &inbound{limit: n, low: n - max(1, n/4), mode: c.AckMode, self: self}
	in.room.L, in.verdicts.L = &in.mu, &in.mu
	return in
}

// place is one accepted message: the completion of every copy that was told. It is reused when all copies have come back
// and the verdict has fallen; gen tells the uses apart.
type place struct {
	in      *inbound
	next    *place
	gen     uint64
	epoch   uint64
	ref     any
	id      uint64
	weight  int
	copies  int // told and not done
	told    bool
	settled bool
	err     error
}

// Delivery is the right to settle one inbound message. Ack and Nack may be called from any goroutine, any number of
// times, and never block: the first verdict counts, and one for a connection that is over is ignored and counted. The
// zero Delivery does nothing. Protocols embed it in their message type, for AckMode Manual.
type Delivery struct {
	p   *place
	gen uint64
}

// Ack acknowledges the message.
func (d Delivery) Ack() { d.settle(nil) }

// Nack refuses the message; RetryAfter and Discard say how. A nil error is replaced by one that says nothing.
func (d Delivery) Nack(err error) {
	if err == nil {
		err = actor.ErrUnhandled
	}
	d.settle(err)
}

// SetDeliveries says how often the peer has delivered this message, this time included, for a peer that counts. It is
// called before Deliver. Without it the base counts what it delivers again itself, and takes any other message for new.
func (d Delivery) SetDeliveries(n int) {}

// Deliveries is how often the message was delivered, this time included, as far as the base knows; at least 1.
func (d Delivery) Deliveries() int { return 1 }

func (d Delivery) settle(err error) {
	if d.p == nil {
		return
	}
	in := d.p.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if d.p.gen != d.gen {
		return
	}
	d.p.told = d.p.told || d.p.copies == 0
	d.p.verdict(err)
	d.p.release()
}

// Done implements actor.Completion: one copy is done with.
func (p *place) Done(err error) {
	in := p.in
	in.mu.Lock()
	defer in.mu.Unlock()
	p.copies--
	if err != nil && p.err == nil {
		p.err = err
	}
	if p.err != nil && (errors.Is(p.err, actor.ErrDeadLetter) || errors.Is(p.err, actor.ErrMailboxFull)) {
		if _, ok := DelayOf(p.err); !ok {
			p.err = RetryAfter(p.err, noSubscriberDelay)
		}
	}
	if p.copies == 0 && (in.mode != Manual || p.err != nil || p.mute()) {
		p.verdict(p.err)
	}
	p.release()
}

// mute says that the peer wants no verdict.
func (p *place) mute() bool { return p.ref == nil && p.id == 0 }

// verdict records what the peer is to be told, once. Under mu.
func (p *place) verdict(err error) {
	if p.settled {
		return
	}
	p.settled = true
	in := p.in
	switch {
	case p.mute():
		return
	case p.epoch != in.epoch || !in.acking || in.drained:
		in.stale++
		return
	}
	in.acks = append(in.acks, Ack{Ref: p.ref, ID: p.id, Err: err})
	if len(in.acks) == 1 {
		in.verdicts.Signal()
	}
}

// release frees the place when the verdict has fallen and every copy has come back. Under mu.
func (p *place) release() {
	if !p.settled || !p.told || p.copies > 0 {
		return
	}
	in := p.in
	in.used -= p.weight
	*p = place{in: in, gen: p.gen + 1, next: in.free}
	in.free = p
	in.reopen()
}

// reopen wakes the readers when the window may be filled again. Under mu.
func (in *inbound) reopen() {
	if in.full && in.used <= in.low {
		in.full = false
	}
	if !in.shut() {
		in.room.Broadcast()
	}
}

func (in *inbound) shut() bool {
	return in.full || in.used >= in.limit || in.deserted && in.acking
}

// wait waits for a place; false when the link may not deliver any more. Under mu.
func (in *inbound) wait(l *Link) bool {
	for in.epoch == l.epoch && in.shut() {
		if in.used >= in.limit {
			in.full = true
		}
		in.room.Wait()
	}
	return in.epoch == l.epoch
}

func (in *inbound) roomFor(l *Link) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.wait(l) {
		return 0, ErrLinkClosed
	}
	return in.limit - in.used, nil
}

func (in *inbound) accept(l *Link, ref any, id uint64, weight int, block bool) (Delivery, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.epoch != l.epoch:
		return Delivery{}, ErrLinkClosed
	case !block && in.shut():
		if in.used >= in.limit {
			in.full = true
		}
		return Delivery{}, ErrBufferFull
	case !in.wait(l):
		return Delivery{}, ErrLinkClosed
	}
	p := in.take()
	in.used += weight
	p.epoch, p.ref, p.id, p.weight = l.epoch, ref, id, weight
	return Delivery{p, p.gen}, nil
}

// take gets a free place, making several at a time.
func (in *inbound) take() *place {
	if in.free == nil {
		slab := make([]place, min(32, in.limit))
		for i := range slab {
			slab[i].in, slab[i].next = in, in.free
			in.free = &slab[i]
		}
	}
	p := in.free
	in.free, p.next = p.next, nil
	return p
}

// deliver tells msg to refs with the place as the completion of each copy.
func (in *inbound) deliver(d Delivery, msg any, refs []actor.Ref) {
	p := d.p
	if p == nil {
		return
	}
	in.mu.Lock()
	if p.gen != d.gen || p.told {
		in.mu.Unlock()
		return
	}
	if p.epoch != in.epoch && !p.mute() {
		refs = nil // its connection is over: the peer delivers it again, with a verdict that reaches it
	}
	p.told, p.copies = true, len(refs)
	if len(refs) == 0 {
		if p.epoch == in.epoch || p.mute() {
			in.unwanted++
		}
		p.verdict(RetryAfter(ErrNoSubscriber, noSubscriberDelay))
	} else if in.mode == OnDelivery {
		p.verdict(nil)
	}
	p.release()
	in.mu.Unlock()
	for _, r := range refs {
		actor.Send(r, actor.Envelope{Msg: msg, Sender: in.self, Done: p})
	}
}

// begin opens the window for a link; acking says that it takes verdicts.
func (in *inbound) begin(l *Link) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.epoch, in.acking, in.drained = l.epoch, true, false
	in.acks, in.spare = nil, nil // not reused: a hook that was given up on may still read the old ones
	in.room.Broadcast()
}

// noAcks says that the link's Conn takes no verdicts.
func (in *inbound) noAcks(l *Link) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.epoch == l.epoch {
		in.acking = false
		in.room.Broadcast()
	}
}

// setDeserted stops a peer that wants verdicts from being drained into refusals while no subscriber is left.
func (in *inbound) setDeserted(on bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.deserted != on {
		in.deserted = on
		in.room.Broadcast()
	}
}

// drain ends the intake of verdicts; those that are there are still handed out, and then takeAcks returns false. With
// drop they are not.
func (in *inbound) drain(l *Link, drop bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.epoch != l.epoch {
		return
	}
	in.drained = true
	if drop {
		in.stale += uint64(len(in.acks))
		in.acks = nil
	}
	in.verdicts.Broadcast()
}

// close ends the link's deliveries.
func (in *inbound) close(l *Link) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.epoch != l.epoch {
		return
	}
	in.epoch, in.drained = 0, true
	in.room.Broadcast()
	in.verdicts.Broadcast()
}

// takeAcks waits for verdicts; false when there will be none any more. The slice is valid until the next call.
func (in *inbound) takeAcks(l *Link) ([]Ack, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	clear(in.spare)
	for len(in.acks) == 0 {
		if in.drained || in.epoch != l.epoch {
			return nil, false
		}
		in.verdicts.Wait()
	}
	acks := in.acks
	in.acks, in.spare = in.spare[:0], acks
	return acks, true
}

func (in *inbound) counts() (used int, stale, unwanted uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.used, in.stale, in.unwanted
}
