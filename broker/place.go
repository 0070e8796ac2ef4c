package broker

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// place is one accepted inbound message: what it takes to tell it, again if need be, and the completion of every copy
// that was told. It is reused when all copies have come back and the verdict is with the peer; gen tells the uses apart.
// inbound.mu guards all of it.
type place struct {
	in     *inbound
	next   *place // in the list of free ones
	gen    uint64
	epoch  uint64
	ref    any
	id     uint64
	weight int

	msg  any
	key  string   // the first topic, and
	more []string // the others
	n    int      // deliveries by the peer and by us, the current one included

	copies  int  // told and not done
	told    bool // or never to be
	settled bool // the verdict has fallen
	err     error

	due  time.Time // when it is to be told again, or its refusal passed on
	heap int       // index + 1 among those that wait for it; 0 is none
	pass error     // the refusal that is passed on when due

	to      []actor.Ref // whom the last delivery went to, in AckMode Manual
	gone    int         // how many of them have stopped
	until   time.Time   // when it counts as refused without an answer
	waiting bool        // in the list of the unanswered
	before  *place      // its neighbours there
	after   *place

	run member
}

// member is a place's part in a Sequence.
type member struct {
	seq      *Sequence
	prev     *place // neighbours in the order of Accept
	next     *place
	linked   bool
	again    bool  // refused, and not settled since
	resting  bool  // refused and not told again yet
	innocent bool  // refused, but not by a handler: that does not count as a delivery
	overdue  bool  // due, but something before it has to come first
	queued   bool  // not told yet because of one before it
	held     bool  // settled, but a verdict before it has not fallen
	dropped  error // with held: why it was given up
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
func (d Delivery) SetDeliveries(n int) {
	if d.p == nil {
		return
	}
	d.p.in.mu.Lock()
	defer d.p.in.mu.Unlock()
	if d.p.gen == d.gen && !d.p.told {
		d.p.n = max(1, n)
	}
}

// Deliveries is how often the message was delivered, this time included, as far as the base knows; at least 1. It is 0
// when the message is settled.
func (d Delivery) Deliveries() int {
	if d.p == nil {
		return 0
	}
	d.p.in.mu.Lock()
	defer d.p.in.mu.Unlock()
	if d.p.gen != d.gen {
		return 0
	}
	return d.p.n
}

func (d Delivery) settle(err error) {
	if d.p == nil {
		return
	}
	in, p := d.p.in, d.p
	in.mu.Lock()
	defer in.leave()
	switch {
	case p.gen != d.gen || p.settled:
		return
	case err == nil:
		p.handled()
	case p.run.resting: // refused before
		return
	default:
		p.refuse(err)
	}
	p.release()
}

// Done implements actor.Completion: one copy is done with.
func (p *place) Done(err error) {
	in := p.in
	in.mu.Lock()
	defer in.leave()
	p.copies--
	if err != nil && p.err == nil {
		p.err = err
	}
	if p.copies > 0 {
		return
	}
	err, p.err = p.err, nil
	switch {
	case p.settled:
	case p.run.resting: // refused while a copy was out
		if p.run.overdue {
			in.wake(p)
		}
	case err != nil:
		p.refuse(err)
	case in.mode != Manual || p.mute():
		p.handled()
	default:
		in.await(p)
	}
	p.release()
}

// mute says that the peer wants no verdict.
func (p *place) mute() bool { return p.ref == nil && p.id == 0 }

// stale says that no verdict can reach the peer any more.
func (p *place) stale() bool {
	in := p.in
	return p.epoch != in.epoch || !in.acking || in.drained || p.run.seq != nil && p.run.seq.closed
}

// end records that the verdict has fallen.
func (p *place) end() {
	p.settled, p.told = true, true
	if p.waiting {
		p.in.answered(p)
	}
	if p.heap != 0 {
		p.in.unschedule(p)
	}
	p.msg, p.to, p.err = nil, nil, nil
	if s := p.run.seq; s != nil {
		s.ended(p)
	}
}

// handled is the good verdict.
func (p *place) handled() {
	in := p.in
	in.count.Handled++
	if !p.mute() {
		p.verdict(Ack{Ref: p.ref, ID: p.id})
		return
	}
	p.end()
}

// verdict ends the message and hands its verdict to the peer, in the order that its sequence asks for.
func (p *place) verdict(a Ack) {
	in := p.in
	if p.stale() {
		in.count.Stale++
		p.end()
		return
	}
	if s := p.run.seq; s != nil && s.hold != HoldNothing {
		p.run.held, p.run.dropped = true, a.Dropped
		p.end()
		s.flush()
		return
	}
	p.end()
	in.post(a)
}

// refuse is the bad verdict: the message comes again, by the peer or by us, or it is given up.
func (p *place) refuse(err error) {
	in := p.in
	switch {
	case p.mute():
		p.refuseMute(err)
	case p.stale():
		in.count.Stale++
		p.end()
	case IsDiscard(err):
		p.drop(ReasonDiscarded, err)
	case in.maxDeliveries > 0 && p.n >= in.maxDeliveries && !innocent(err):
		p.drop(ReasonMaxDeliveries, err)
	case p.run.seq != nil && p.msg == nil && !p.told:
		p.drop(ReasonRefused, err) // never delivered, so there is nothing to deliver again
	default:
		in.count.Refused++
		p.again(err, in.delay(p.n, err))
	}
}

// again sees to it that the message comes again after d.
func (p *place) again(err error, d time.Duration) {
	in := p.in
	switch {
	case p.run.seq != nil:
		in.answered(p)
		p.run.innocent = innocent(err)
		p.run.seq.refused(p)
		in.schedule(p, d)
	case in.delays || d <= 0:
		p.end()
		in.post(Ack{Ref: p.ref, ID: p.id, Err: err, Delay: max(0, d)})
	default:
		p.end()
		p.pass = err
		in.schedule(p, d)
	}
}

// refuseMute ends a message that cannot come again. That nobody was there is counted, or a dead letter already.
func (p *place) refuseMute(err error) {
	if innocent(err) && !IsDiscard(err) {
		p.end()
		return
	}
	reason := ReasonRefused
	if IsDiscard(err) {
		reason = ReasonDiscarded
	}
	p.in.giveUp(p, reason, err)
	p.end()
}

// drop gives the message up: for the peer it is done with.
func (p *place) drop(r Reason, err error) {
	p.in.giveUp(p, r, err)
	p.verdict(Ack{Ref: p.ref, ID: p.id, Dropped: err})
}

// release frees the place when its verdict is on the way and every copy has come back.
func (p *place) release() {
	if !p.settled || !p.told || p.copies > 0 || p.heap != 0 || p.run.held {
		return
	}
	in := p.in
	in.used -= p.weight
	p.gen++
	p.ref, p.more, p.told, p.settled = nil, nil, false, false // the rest is as it was, or set by the next Accept
	if p.run.seq != nil {
		p.run = member{}
	}
	p.next, in.free = in.free, p
	in.reopen()
}

// refs are those who are to get the message now.
func (p *place) refs(f *fanout) []actor.Ref {
	refs := f.get(p.key)
	if len(p.more) == 0 {
		return refs
	}
	refs = slices.Clone(refs)
	for _, k := range p.more {
		for _, r := range f.get(k) {
			if !slices.Contains(refs, r) {
				refs = append(refs, r)
			}
		}
	}
	return refs
}

// innocent says that a refusal is nothing the message can be blamed for: nobody was there, or had room, or lived long
// enough to say.
func innocent(err error) bool {
	for _, e := range []error{
		ErrNoSubscriber, ErrTargetGone, actor.ErrDeadLetter, actor.ErrMailboxFull, actor.ErrStopped, actor.ErrPreviousInstance,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// delay is the wait after the n-th refusal.
func (in *inbound) delay(n int, err error) time.Duration {
	if d, ok := DelayOf(err); ok {
		return d
	}
	if innocent(err) {
		return noSubscriberDelay
	}
	r := &in.redelivery
	d := float64(r.InitialDelay) * math.Pow(r.Factor, float64(max(0, n-1)))
	return duration(math.Min(d, float64(r.MaxDelay)))
}
