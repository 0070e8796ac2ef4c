package broker

import "slices"

// Hold says what waits in a Sequence while one of its messages is to be delivered again.
type Hold uint8

const (
	// HoldNothing: messages and verdicts go on; only the refused one comes again.
	HoldNothing Hold = iota
	// HoldVerdicts: verdicts reach the peer in the order of Accept. Later messages are delivered, their verdicts wait
	// (MQTT).
	HoldVerdicts
	// HoldMessages: verdicts as with HoldVerdicts, and what was not delivered yet when a message is refused waits until
	// that one is settled (Kafka, per partition). What had been delivered already cannot be called back.
	HoldMessages
)

// Sequence is a run of inbound messages of a peer that cannot deliver a refused one again: a session, a partition. The
// base delivers it again from its own window, after Config.Redelivery, and the peer hears of a message once: when it was
// handled, or given up (Ack.Dropped). A message that goes to several subscribers comes again to all of them. All methods
// may be called from any goroutine; after Close, and on a link that is over, Accept returns ErrLinkClosed.
type Sequence struct {
	l    *Link
	hold Hold

	// inbound.mu guards the rest.
	closed  bool
	first   *place // accepted and not with the peer, in order; not with HoldNothing
	last    *place
	again   int  // refused and not settled since
	queued  int  // accepted, given to Deliver and not told
	telling bool // the engine's goroutine is telling what was queued
}

// Sequence makes a sequence of this link.
func (l *Link) Sequence(hold Hold) *Sequence {
	s := &Sequence{l: l, hold: hold}
	in := l.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.epoch != l.epoch {
		s.closed = true
		return s
	}
	in.runs = append(in.runs, s)
	return s
}

// Accept is Link.Accept for the next message of the sequence. Only one goroutine at a time may call Accept, TryAccept
// and Link.Deliver for one sequence, as the order of its messages is that of the calls.
func (s *Sequence) Accept(ref any, id uint64) (Delivery, error) {
	return s.l.in.accept(s.l, s, ref, id, 1, true)
}

// TryAccept is Link.TryAccept for the next message of the sequence.
func (s *Sequence) TryAccept(ref any, id uint64) (Delivery, error) {
	return s.l.in.accept(s.l, s, ref, id, 1, false)
}

// Held reports whether messages of this sequence wait, or would wait, for one that is to be delivered again; never with
// HoldNothing and HoldVerdicts. A driver that can pause one run should do so then, because what waits takes places of the
// window that all runs share.
func (s *Sequence) Held() bool {
	s.l.in.mu.Lock()
	defer s.l.in.mu.Unlock()
	return s.hold == HoldMessages && (s.again > 0 || s.queued > 0)
}

// Close ends the sequence, when the peer has given it to somebody else (a revoked partition): what was not delivered yet
// is dropped without a verdict, and later verdicts are ignored and counted. It may be called again.
func (s *Sequence) Close() {
	in := s.l.in
	in.mu.Lock()
	defer in.leave()
	if i := slices.Index(in.runs, s); i >= 0 {
		in.runs = slices.Delete(in.runs, i, i+1)
	}
	s.shut()
	in.room.Broadcast() // for an Accept that waits
}

// shut lets go of every message that no verdict can reach any more. Under mu, as everything below.
func (s *Sequence) shut() {
	if s.closed {
		return
	}
	s.closed = true
	for p := s.first; p != nil; {
		next := p.run.next
		s.drop(p)
		p = next
	}
	in := s.l.in
	for i := 0; i < len(in.due); {
		if p := in.due[i]; p.run.seq == s {
			s.drop(p) // takes it out of the heap
			continue
		}
		i++
	}
}

// drop takes a place out of a sequence that is closed. One that a subscriber has stays taken until it is done.
func (s *Sequence) drop(p *place) {
	switch {
	case p.settled: // its verdict was held back
	case p.run.resting || p.run.queued:
		p.end()
	}
	p.run.held = false
	s.unlink(p)
	p.release()
}

// link appends an accepted place.
func (s *Sequence) link(p *place) {
	p.run.seq = s
	if s.hold == HoldNothing {
		return
	}
	p.run.linked, p.run.prev = true, s.last
	if s.last != nil {
		s.last.run.next = p
	} else {
		s.first = p
	}
	s.last = p
}

func (s *Sequence) unlink(p *place) {
	r := &p.run
	if !r.linked {
		return
	}
	if r.prev != nil {
		r.prev.run.next = r.next
	} else {
		s.first = r.next
	}
	if r.next != nil {
		r.next.run.prev = r.prev
	} else {
		s.last = r.prev
	}
	r.linked, r.prev, r.next = false, nil, nil
}

// refused notes that p has to come again.
func (s *Sequence) refused(p *place) {
	if !p.run.again {
		p.run.again = true
		s.again++
	}
	if p.run.queued {
		p.run.queued = false
		s.queued--
	}
	p.run.resting, p.run.overdue = true, false
}

// ended notes that p is settled; what waited for it may go on.
func (s *Sequence) ended(p *place) {
	r := &p.run
	if r.queued {
		r.queued = false
		s.queued--
	}
	again := r.again
	if again {
		s.again--
	}
	r.again, r.resting, r.overdue = false, false, false
	if !r.held {
		s.unlink(p)
	}
	if again && s.hold == HoldMessages && !s.closed {
		s.proceed()
	}
}

// proceed tells the next one that has waited: the first of the refused if it is due, or, when none is left, what is
// queued.
func (s *Sequence) proceed() {
	in := s.l.in
	if s.again == 0 {
		if s.queued > 0 {
			in.poke()
		}
		return
	}
	for p := s.first; p != nil; p = p.run.next {
		if p.run.again {
			if p.run.overdue {
				in.wake(p)
			}
			return
		}
	}
}

// flush hands over the verdicts that have waited for those before them.
func (s *Sequence) flush() {
	for p := s.first; p != nil && p.run.held; p = s.first {
		a := Ack{Ref: p.ref, ID: p.id, Dropped: p.run.dropped}
		s.unlink(p)
		p.run.held = false
		s.l.in.post(a)
		p.release()
	}
}

// blocked reports whether a message that was just accepted has to wait.
func (s *Sequence) blocked() bool {
	return s.hold == HoldMessages && (s.again > 0 || s.queued > 0 || s.telling)
}

// mayTell reports whether a refused place that is due may be told now; if not, it comes when what is before it is settled
// or back.
func (s *Sequence) mayTell(p *place) bool {
	if p.copies > 0 {
		return false
	}
	if s.hold != HoldMessages {
		return true
	}
	for q := p.run.prev; q != nil; q = q.run.prev {
		if q.run.again {
			return false
		}
	}
	return true
}

// waiters lists what is queued, in order. Each of them has to be looked at again before it is told.
func (s *Sequence) waiters() (ds []Delivery) {
	if s.closed || s.again > 0 || s.queued == 0 {
		return nil
	}
	for p := s.first; p != nil; p = p.run.next {
		if p.run.queued {
			ds = append(ds, Delivery{p, p.gen})
		}
	}
	return ds
}

// dequeue takes one of the waiters, unless it is gone or has to wait after all.
func (s *Sequence) dequeue(d Delivery) (*place, bool) {
	if s.closed || s.again > 0 || d.p.gen != d.gen || !d.p.run.queued {
		return nil, false
	}
	d.p.run.queued = false
	s.queued--
	return d.p, true
}
