package broker

import (
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// noSubscriberDelay is when a message that nobody took should come again: at once, it would go round and round.
const noSubscriberDelay = time.Second

// inbound is the window of messages that were handed to actors and are not handled yet, over all connections of the
// actor, and the verdicts on their way back to the current connection. mu guards all of it and of its places and
// sequences; nothing foreign runs under mu.
type inbound struct {
	limit         int
	low           int // once full, the window opens again at this many
	mode          AckMode
	ackTimeout    time.Duration
	maxDeliveries int
	redelivery    RedeliveryConfig
	self          actor.Ref
	fan           *fanout
	dropped       func(Dropped) // outside of mu
	clock         chan struct{} // signalled when something may be due earlier than the engine's goroutine knows

	mu       sync.Mutex
	room     sync.Cond // readers wait for a place
	verdicts sync.Cond // the acknowledging goroutine waits for verdicts
	free     *place
	used     int
	full     bool
	epoch    uint64 // link that may deliver; 0 is none
	acking   bool   // that link takes verdicts
	delays   bool   // and its peer waits by itself before it delivers again
	deserted bool   // the last subscriber has died
	paused   bool   // by an operator
	drained  bool   // no more verdicts for this link after those that are there
	acks     []Ack
	spare    []Ack
	count    inboundCounts
	due      dueHeap // what is to be told again, or whose refusal is to be passed on
	waiting  struct{ first, last *place }
	runs     []*Sequence // of the current link, and not closed
	drops    []Dropped   // to be published
}

// inboundCounts are totals over all connections.
type inboundCounts struct {
	Delivered uint64 // messages told, each time counted
	Handled   uint64 // acknowledged
	Refused   uint64 // to come again
	Dropped   uint64 // given up
	Stale     uint64 // verdicts for a link that was over
	Unwanted  uint64 // deliveries without a subscriber
}

func newInbound(c *Config, self actor.Ref, fan *fanout, dropped func(Dropped)) *inbound {
	n := c.InboundWindow
	in := &inbound{
		limit: n, low: n - max(1, n/4), mode: c.AckMode, ackTimeout: c.AckTimeout, maxDeliveries: c.MaxDeliveries,
		redelivery: c.Redelivery, self: self, fan: fan, dropped: dropped, clock: make(chan struct{}, 1),
	}
	in.room.L, in.verdicts.L = &in.mu, &in.mu
	return in
}

// leave unlocks and publishes what was given up meanwhile.
func (in *inbound) leave() {
	drops := in.drops
	in.drops = nil
	in.mu.Unlock()
	for _, d := range drops {
		in.dropped(d)
	}
}

// giveUp notes that a message will not come again although nobody has handled it.
func (in *inbound) giveUp(p *place, r Reason, err error) {
	in.count.Dropped++
	in.drops = append(in.drops, Dropped{Reason: r, Message: p.msg, Deliveries: p.n, Cause: err})
}

// post queues a verdict for the peer.
func (in *inbound) post(a Ack) {
	in.acks = append(in.acks, a)
	if len(in.acks) == 1 {
		in.verdicts.Signal()
	}
}

// reopen wakes the readers when the window may be filled again.
func (in *inbound) reopen() {
	if in.full && in.used <= in.low {
		in.full = false
	}
	if !in.shut() {
		in.room.Broadcast()
	}
}

func (in *inbound) shut() bool {
	return in.full || in.used >= in.limit || in.paused || in.deserted && in.acking
}

// wait waits for a place; false when the link, or the sequence if there is one, may not deliver any more.
func (in *inbound) wait(l *Link, s *Sequence) bool {
	open := func() bool { return in.epoch == l.epoch && (s == nil || !s.closed) }
	for open() && in.shut() {
		if in.used >= in.limit {
			in.full = true
		}
		in.room.Wait()
	}
	return open()
}

func (in *inbound) roomFor(l *Link) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.wait(l, nil) {
		return 0, ErrLinkClosed
	}
	return in.limit - in.used, nil
}

func (in *inbound) accept(l *Link, s *Sequence, ref any, id uint64, weight int, block bool) (Delivery, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.epoch != l.epoch, s != nil && s.closed:
		return Delivery{}, ErrLinkClosed
	case !block && in.shut():
		if in.used >= in.limit {
			in.full = true
		}
		return Delivery{}, ErrBufferFull
	case !in.wait(l, s):
		return Delivery{}, ErrLinkClosed
	}
	p := in.take()
	in.used += weight
	p.epoch, p.ref, p.id, p.weight, p.n = l.epoch, ref, id, weight, 1
	if s != nil {
		s.link(p)
	}
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

// deliver tells msg to the subscribers of a topic and of more, unless it has to wait for one before it.
func (in *inbound) deliver(d Delivery, msg any, key string, more []string) {
	p := d.p
	if p == nil {
		return
	}
	in.mu.Lock()
	if p.gen != d.gen || p.told {
		in.mu.Unlock()
		return
	}
	p.msg, p.key, p.more = msg, key, more
	if p.run.queued {
		in.mu.Unlock()
		return
	}
	if s := p.run.seq; s != nil && s.blocked() && !p.stale() {
		p.run.queued = true
		s.queued++
		in.mu.Unlock()
		return
	}
	refs := in.tell(p)
	in.leave()
	in.send(p, msg, refs)
}

// tell prepares a delivery and returns whom it goes to; send does the rest, outside of mu.
func (in *inbound) tell(p *place) []actor.Ref {
	s := p.run.seq
	current := p.epoch == in.epoch && (s == nil || !s.closed)
	var refs []actor.Ref
	if current || p.mute() && s == nil { // else the peer delivers it again, with a verdict that reaches it
		refs = p.refs(in.fan)
	}
	p.told, p.copies, p.gone = true, len(refs), 0
	switch {
	case len(refs) == 0:
		if current || p.mute() && s == nil {
			in.count.Unwanted++
		}
		p.refuse(ErrNoSubscriber)
	case in.mode == OnDelivery:
		in.count.Delivered++
		p.handled()
	default:
		in.count.Delivered++
		if in.mode == Manual {
			p.to = refs
		}
	}
	p.release()
	return refs
}

// send tells the copies that tell has counted.
func (in *inbound) send(p *place, msg any, refs []actor.Ref) {
	for _, r := range refs {
		actor.Send(r, actor.Envelope{Msg: msg, Sender: in.self, Done: p})
	}
}

// begin opens the window for a link.
func (in *inbound) begin(l *Link) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.epoch, in.acking, in.delays, in.drained = l.epoch, true, false, false
	in.acks, in.spare = nil, nil // not reused: a hook that was given up on may still read the old ones
	in.room.Broadcast()
}

// setPeer says what the link's Conn does with verdicts.
func (in *inbound) setPeer(l *Link, acking, delays bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.epoch == l.epoch {
		in.acking, in.delays = acking, delays
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

// setPaused stops the intake, and what was refused from being told again, until it is set off.
func (in *inbound) setPaused(on bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.paused != on {
		in.paused = on
		in.room.Broadcast()
		in.poke()
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
		in.count.Stale += uint64(len(in.acks))
		in.acks = nil
	}
	in.verdicts.Broadcast()
}

// close ends the link's deliveries. What waits to be told again is let go: the peer delivers it on the next connection.
func (in *inbound) close(l *Link) {
	in.mu.Lock()
	defer in.leave()
	if in.epoch != l.epoch {
		return
	}
	in.epoch, in.drained = 0, true
	for _, s := range in.runs {
		s.shut()
	}
	in.runs = nil
	for len(in.due) > 0 {
		p := in.due[0]
		in.unschedule(p)
		if !p.settled {
			p.end()
		}
		p.release()
	}
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

func (in *inbound) counts() (used int, c inboundCounts) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.used, in.count
}
