package mailbox

import "sync/atomic"

// Mailbox is the queue of one actor. The zero value is empty, open and owned by nobody. Push, Signal, Mark, Unmark,
// Marked, Closed, Owned and Len may be called from any goroutine; the rest is the owner's.
type Mailbox[E any] struct {
	w     atomic.Uint32
	n     uint32    // envelopes in linked chunks; with the locked bit
	first E         // the inline place
	tail  *chunk[E] // the last linked chunk, its next is the first of them; with the locked bit

	// The owner's. left is written by the owner only, and only for a mailbox that is observed.
	sig     atomic.Uint32
	left    atomic.Int32 // taken and not given out yet, less the inline place that is given out and still full
	head    *chunk[E]    // taken, not given out yet
	place   place
	counted bool // left is right

	level uint8 // how many times Long was returned; with the locked bit
}

// place is what the owner knows of the inline place beyond the full bit.
type place uint8

const (
	untouched place = iota // full means that an envelope is there
	inHand                 // it was given out; full is still on, so nobody else writes there
	spent                  // and cleared
)

// Result says what became of a pushed envelope.
type Result uint8

const (
	// Queued: it is in the mailbox, and whoever owns the actor will come to it.
	Queued Result = iota
	// Wake: it is in the mailbox, and the caller owns the actor now and has to have it run.
	Wake
	// Boxed: it is not in the mailbox, which has a Box: push it there and then Announce.
	Boxed
	// Closed: it is not in the mailbox, which takes nothing any more.
	Closed
	// Grow: it is not in the mailbox, since there is no room: PushGrow makes some.
	Grow
	// Long: it is Queued, and LongAt envelopes wait now that the owner has not taken yet, or the next time twice as many as
	// the last time.
	Long
)

// LongAt is when Push first returns Long.
const LongAt = 10_000

// Push appends e. An idle mailbox takes it by one compare-and-swap: the inline place is written after that, which
// nobody can see, because others leave the place alone while it is full, and the owner is the caller. The pool is not
// asked for here, so that a push that finds room touches one cache line of the actor and one of the chunk.
func (m *Mailbox[E]) Push(e E) Result {
	for i := 1; ; {
		w := m.w.Load()
		switch {
		case w&idle == 0:
			if m.w.CompareAndSwap(w, w|owned|full) {
				m.first = e
				return Wake
			}
		case w&(closed|boxed) != 0:
			return refusal(w)
		case w&locked != 0:
			spin(i)
			i++
		case m.w.CompareAndSwap(w, w|locked):
			if w&(full|more) == 0 {
				m.first = e
				w |= full
			} else if t := m.tail; t != nil && t.n < chunkLen {
				t.e[t.n] = e
				t.n++
				m.n++
				w |= more
			} else {
				m.w.Store(w)
				return Grow
			}
			return m.unlock(w)
		}
	}
}

// PushGrow is Push for an envelope that Push had no room for.
func (m *Mailbox[E]) PushGrow(e E, p *Pool[E]) Result {
	spare := p.get() // never with the locked bit on
	for i := 1; ; {
		w := m.w.Load()
		switch {
		case w&(closed|boxed) != 0:
			p.put(spare)
			return refusal(w)
		case w&locked != 0:
			spin(i)
			i++
		case m.w.CompareAndSwap(w, w|locked):
			if w&(full|more) == 0 {
				m.first = e
				w |= full
			} else {
				spare = m.link(e, spare)
				w |= more
			}
			r := m.unlock(w)
			p.put(spare)
			return r
		}
	}
}

func refusal(w uint32) Result {
	if w&closed != 0 {
		return Closed
	}
	return Boxed
}

// unlock turns the locked bit off, after an envelope was put in; w is the word without that bit.
func (m *Mailbox[E]) unlock(w uint32) (r Result) {
	if m.n >= LongAt && m.n == LongAt<<m.level {
		m.level++
		r = Long
	}
	if w&(owned|held) == 0 {
		w |= owned
		r = Wake
	}
	m.w.Store(w)
	return r
}

// link appends e to the linked chunks, with the locked bit on, and returns spare if it was not needed.
func (m *Mailbox[E]) link(e E, spare *chunk[E]) (unused *chunk[E]) {
	t := m.tail
	if t == nil || t.n == chunkLen {
		if t == nil {
			spare.next = spare
		} else {
			spare.next, t.next = t.next, spare
		}
		t, spare = spare, nil
		m.tail = t
	}
	t.e[t.n] = e
	t.n++
	m.n++
	return spare
}

// UseBox makes it a mailbox whose envelopes are in a Box. Call it before the first push.
func (m *Mailbox[E]) UseBox() { m.Mark(boxed) }

// Announce says that the box has something. True: the caller owns the actor now and has to have it run.
func (m *Mailbox[E]) Announce() (wake bool) {
	for i := 1; ; i++ {
		w := m.w.Load()
		switch {
		case w&(closed|more) != 0:
			return false // more is on: whoever turned it on has seen to the rest
		case w&locked != 0:
			spin(i)
		case w&(owned|held) != 0:
			if m.w.CompareAndSwap(w, w|more) {
				return false
			}
		case m.w.CompareAndSwap(w, w|more|owned):
			return true
		}
	}
}

// Signal turns on bits that the owner gets from TakeSignals, before any further envelope. wake: the caller owns the
// actor now and has to have it run. ok is false when the mailbox is closed; the owner may have seen the signal all the
// same.
//
// First the signals, then the system bit: the owner looks at the signals after it has turned the system bit off, and
// cannot leave while that is on. So it sees them, or the caller becomes the owner.
func (m *Mailbox[E]) Signal(bits uint32) (wake, ok bool) {
	m.sig.Or(bits)
	for i := 1; ; i++ {
		w := m.w.Load()
		switch {
		case w&closed != 0:
			return false, false
		case w&locked != 0:
			spin(i)
		case m.w.CompareAndSwap(w, w|system|owned):
			return w&owned == 0, true
		}
	}
}

// Len is how many envelopes wait, exactly once it has been called before and the owner has come to look for messages
// since. Not for a boxed mailbox.
func (m *Mailbox[E]) Len() int {
	m.Mark(observed)
	for i := 1; ; i++ {
		w := m.w.Load()
		if w&closed != 0 {
			return 0
		}
		if w&locked != 0 {
			spin(i)
			continue
		}
		if !m.w.CompareAndSwap(w, w|locked) {
			continue
		}
		n := int(m.n)
		m.w.Store(w)
		if w&full != 0 {
			n++
		}
		return max(0, n+int(m.left.Load()))
	}
}
