package mailbox

// Signalled reports whether there are signals.
func (m *Mailbox[E]) Signalled() bool { return m.sig.Load() != 0 }

// TakeSignals returns the signals and turns them off.
func (m *Mailbox[E]) TakeSignals() uint32 { return m.sig.Swap(0) }

// Next gives out the next envelope that the owner has at hand, nil if there is none: then Take may get more. The
// envelope may be changed; it is valid until the next call of Next, Take, Leave or Close.
func (m *Mailbox[E]) Next(p *Pool[E]) *E {
	if h := m.head; h != nil && h.pos < h.n && !m.counted {
		i := h.pos
		h.pos++
		return &h.e[i]
	}
	return m.next(p)
}

// next is Next when it is not just the next of the same chunk.
func (m *Mailbox[E]) next(p *Pool[E]) *E {
	for h := m.head; h != nil; h = m.head {
		if h.pos < h.n {
			e := &h.e[h.pos]
			h.pos++
			if m.counted {
				m.left.Add(-1)
			}
			return e
		}
		m.head = h.next
		p.empty(h)
	}
	if m.place == inHand {
		m.clear()
	}
	w := m.w.Load()
	if w&full == 0 || m.place != untouched || w&boxed != 0 {
		return nil
	}
	m.place = inHand
	if m.counted || w&observed != 0 {
		m.counted = true
		m.left.Add(-1)
	}
	return &m.first
}

func (m *Mailbox[E]) clear() {
	var zero E
	m.first, m.place = zero, spent
}

// Linked reports whether Take would get something. Call it when Next has returned nil.
func (m *Mailbox[E]) Linked() bool { return m.w.Load()&more != 0 }

// Take gets all linked chunks and reports how many envelopes are in them; 0: there was none, another goroutine is at the
// queue right now, or Next or the box has something after all. Call it when Next has returned nil.
func (m *Mailbox[E]) Take() int {
	w := m.w.Load()
	if w&more == 0 || w&(locked|boxed) != 0 || w&full != 0 && m.place == untouched || !m.w.CompareAndSwap(w, w|locked) {
		return 0 // a message in the inline place, which came after Next had looked, is older than the chunks
	}
	t, n := m.tail, m.n
	m.head, t.next, m.tail, m.n = t.next, nil, nil, 0
	m.w.Store(w &^ (full | more))
	if m.place != untouched { // it was full, and is not any more
		m.place = untouched
		if m.counted {
			m.left.Add(1)
		}
	}
	if m.counted || w&observed != 0 {
		m.counted = true
		m.left.Add(int32(n))
	}
	return int(n)
}

// LookIntoBox turns the bit off by which Announce says that the box has something, before the owner looks: what is put
// in from here on turns it on again.
func (m *Mailbox[E]) LookIntoBox() { m.Unmark(more) }

// Idle looks for something to do. ok: there is nothing, and word is the one to Leave by; with hold, envelopes are
// nothing to do. Call it when Next has returned nil, or to hold.
func (m *Mailbox[E]) Idle(hold bool) (word uint32, ok bool) {
	for i := 1; ; i++ {
		w := m.w.Load()
		switch {
		case w&locked != 0:
			spin(i)
		case w&system != 0:
			m.w.CompareAndSwap(w, w&^system) // then the signals are looked at again
			return 0, false
		case hold:
			return w, true
		case w&more != 0 || w&full != 0 && m.place == untouched:
			return 0, false
		default:
			return w, true
		}
	}
}

// AfterOne reports whether Next has just given out the inline place, and nothing else is at hand.
func (m *Mailbox[E]) AfterOne() bool { return m.place == inHand && m.head == nil && !m.counted }

// LeaveAfterOne gives up ownership if the envelope in the inline place is all there was: what Next, Idle and Leave do in
// several steps, in one. Call it after AfterOne. False: take these steps.
func (m *Mailbox[E]) LeaveAfterOne() bool {
	w := m.w.Load()
	if w&idle != owned|full {
		return false
	}
	var zero E
	m.first, m.place = zero, untouched
	if m.w.CompareAndSwap(w, w&^(owned|full)) {
		return true
	}
	m.place = spent
	return false
}

// Leave gives up ownership if the word is still the one that Idle returned, and reports whether it did. From then on
// the caller must not touch what is the owner's.
func (m *Mailbox[E]) Leave(word uint32, hold bool) bool {
	if m.place == inHand {
		m.clear()
	}
	w, was := word&^(owned|held), m.place
	if was == spent {
		w &^= full
		m.place = untouched
		if m.counted {
			m.left.Add(1)
		}
	}
	if hold {
		w |= held
	}
	if m.w.CompareAndSwap(word, w) {
		return true
	}
	if was == spent {
		m.place = spent
		if m.counted {
			m.left.Add(-1)
		}
	}
	return false
}

// Prepend puts envelopes before everything that waits, in their order. Not for a boxed mailbox.
func (m *Mailbox[E]) Prepend(es []E, p *Pool[E]) {
	if m.head == nil && m.place == untouched && m.w.Load()&observed != 0 {
		m.counted = true
	}
	if m.counted {
		m.left.Add(int32(len(es)))
	}
	for len(es) > 0 { // from the back, so that the first ends up first
		k := (len(es) - 1) / chunkLen * chunkLen
		h := p.get()
		h.n = int32(copy(h.e[:], es[k:]))
		h.next, m.head = m.head, h
		es = es[:k]
	}
}

// Any reports whether a waiting envelope satisfies the predicate, which must be short. Not for a boxed mailbox.
func (m *Mailbox[E]) Any(pred func(*E) bool) bool {
	for h := m.head; h != nil; h = h.next {
		for i := h.pos; i < h.n; i++ {
			if pred(&h.e[i]) {
				return true
			}
		}
	}
	for i := 1; ; i++ {
		w := m.w.Load()
		if w&locked != 0 {
			spin(i)
			continue
		}
		if w&full != 0 && m.place == untouched && w&boxed == 0 && pred(&m.first) {
			return true
		}
		if w&more == 0 || w&boxed != 0 {
			return false
		}
		if m.w.CompareAndSwap(w, w|locked) {
			found := m.anyLinked(pred)
			m.w.Store(w)
			return found
		}
	}
}

// anyLinked is called with the locked bit on.
func (m *Mailbox[E]) anyLinked(pred func(*E) bool) bool {
	for h := m.tail.next; ; h = h.next {
		for i := range h.n {
			if pred(&h.e[i]) {
				return true
			}
		}
		if h == m.tail {
			return false
		}
	}
}

// Close refuses everything from now on and returns what is left, oldest first. The owner stays the owner of the actor
// in the sense that nobody becomes it any more.
func (m *Mailbox[E]) Close(p *Pool[E]) (rest []E) {
	var w uint32
	for i := 1; ; i++ {
		if w = m.w.Load(); w&locked != 0 {
			spin(i)
		} else if m.w.CompareAndSwap(w, closed|w&(boxed|observed|Mark0|Mark1|Mark2|Mark3|Mark4)) {
			break
		}
	}
	for h := m.head; h != nil; {
		rest = append(rest, h.e[h.pos:h.n]...)
		next := h.next
		p.empty(h)
		h = next
	}
	if w&full != 0 && m.place == untouched && w&boxed == 0 {
		rest = append(rest, m.first)
	}
	if m.tail != nil {
		for h, last := m.tail.next, m.tail; ; {
			rest = append(rest, h.e[:h.n]...)
			next, end := h.next, h == last
			p.empty(h)
			if end {
				break
			}
			h = next
		}
	}
	var zero E
	m.first, m.head, m.tail, m.n, m.place = zero, nil, nil, 0, untouched
	m.left.Store(0)
	return rest
}
