// Package mailbox is the queue pair of one actor: a user lane, bounded or not, and a system lane that is always served
// first. It also decides who runs the actor: the push that finds the actor idle makes its caller the one who must
// schedule it, and Next gives that ownership back when there is nothing to do. So at most one activation of an actor
// exists at any time, and no wake-up is lost.
package mailbox

import "sync"

// Overflow says what a full bounded mailbox does with one more message.
type Overflow uint8

const (
	// DropOldest evicts the oldest message that may be dropped.
	DropOldest Overflow = iota
	// Reject refuses the newcomer.
	Reject
)

// Kind says what Next returned.
type Kind uint8

const (
	// None: ownership was given up, the activation ends.
	None Kind = iota
	// User: an envelope of the user lane.
	User
	// System: a command of the system lane.
	System
)

// Result says what became of a pushed envelope.
type Result uint8

const (
	// Taken: it is in the lane.
	Taken Result = iota
	// Evicted: it is in the lane, and the oldest droppable one was taken out for it.
	Evicted
	// Full: it was refused because of the bound.
	Full
	// Closed: it was refused because the actor is gone.
	Closed
)

// Owner is told, with the mailbox locked, that an activation is about to give up ownership.
type Owner interface {
	// Idle must be short, and must not call the mailbox but for its …Locked methods.
	Idle()
}

// Mailbox has the two lanes. E is the user envelope, S the system command. Set Owner, and Capacity with Overflow for a
// bounded lane, before the first push. Every method but Next and Idle's callback may be called from any goroutine.
type Mailbox[E, S any] struct {
	Owner    Owner
	Capacity int // of droppable messages in the user lane; 0 is unbounded
	Overflow Overflow

	mu        sync.Mutex
	scheduled bool // an activation owns the actor
	suspended bool // the user lane is not served
	closed    bool
	bounded   int // droppable messages in user
	user      ring[slot[E]]
	sys       ring[S]
}

type slot[E any] struct {
	e         E
	droppable bool
}

// Push appends to the user lane. A droppable envelope obeys the bound; others, the signals, exceed it if they must.
// wake says that the caller has become the one who has to start an activation. victim is valid for Evicted.
func (m *Mailbox[E, S]) Push(e E, droppable bool) (r Result, wake bool, victim E) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return Closed, false, victim
	}
	if droppable && m.Capacity > 0 && m.bounded >= m.Capacity {
		if m.Overflow == Reject {
			m.mu.Unlock()
			return Full, false, victim
		}
		victim = m.evict()
		r = Evicted
	}
	wake = m.PushLocked(e, droppable)
	m.mu.Unlock()
	return r, wake, victim
}

// PushLocked is Push without the bound, for a caller that holds the lock and knows that the mailbox is open.
func (m *Mailbox[E, S]) PushLocked(e E, droppable bool) (wake bool) {
	m.user.pushBack(slot[E]{e, droppable})
	if droppable {
		m.bounded++
	}
	if m.scheduled || m.suspended {
		return false
	}
	m.scheduled = true
	return true
}

// evict takes out the oldest droppable envelope. There is one, since bounded >= Capacity > 0.
func (m *Mailbox[E, S]) evict() (victim E) {
	for i := range m.user.len() {
		if s := m.user.at(i); s.droppable {
			victim = s.e
			m.user.remove(i)
			m.bounded--
			return victim
		}
	}
	return victim
}

// Prepend puts envelopes in front of the user lane, in their order. They were accepted once, so the bound does not apply
// to them any more: they are neither counted nor evicted. Only the owner calls it, so nobody has to be woken.
func (m *Mailbox[E, S]) Prepend(es []E) {
	m.mu.Lock()
	for i := len(es) - 1; i >= 0; i-- {
		m.user.pushFront(slot[E]{es[i], false})
	}
	m.mu.Unlock()
}

// PushSystem appends to the system lane, which has no bound. ok is false when the actor is gone.
func (m *Mailbox[E, S]) PushSystem(s S) (wake, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false, false
	}
	m.sys.pushBack(s)
	wake = !m.scheduled
	m.scheduled = true
	return wake, true
}

// Next gives the owner its next work, a system command before any envelope. None ends the activation.
func (m *Mailbox[E, S]) Next(e *E, s *S) Kind {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sys.len() > 0 {
		*s = m.sys.popFront()
		return System
	}
	if !m.suspended && m.user.len() > 0 {
		f := m.user.popFront()
		if f.droppable {
			m.bounded--
		}
		*e = f.e
		return User
	}
	if m.Owner != nil && !m.closed {
		m.Owner.Idle()
	}
	m.scheduled = false
	return None
}

// Suspend stops, or resumes, the serving of the user lane. Only the owner calls it.
func (m *Mailbox[E, S]) Suspend(on bool) {
	m.mu.Lock()
	m.suspended = on
	m.mu.Unlock()
}

// Close refuses all further pushes and returns what is left, oldest first. Only the owner calls it. The buffers are
// given back: a ref to an actor that is gone may live long.
func (m *Mailbox[E, S]) Close() (user []E, sys []S) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for m.user.len() > 0 {
		user = append(user, m.user.popFront().e)
	}
	for m.sys.len() > 0 {
		sys = append(sys, m.sys.popFront())
	}
	m.user, m.sys, m.bounded = ring[slot[E]]{}, ring[S]{}, 0
	return user, sys
}

// Len is how many envelopes wait in the user lane.
func (m *Mailbox[E, S]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.len()
}

// Lock locks the mailbox for the …Locked methods. What its holder does must be short and must not call other methods.
func (m *Mailbox[E, S]) Lock() { m.mu.Lock() }

// Unlock ends Lock.
func (m *Mailbox[E, S]) Unlock() { m.mu.Unlock() }

// AnyLocked reports whether an envelope of the user lane satisfies the predicate.
func (m *Mailbox[E, S]) AnyLocked(pred func(*E) bool) bool {
	for i := range m.user.len() {
		if pred(&m.user.at(i).e) {
			return true
		}
	}
	return false
}

// ClosedLocked reports whether Close was called.
func (m *Mailbox[E, S]) ClosedLocked() bool { return m.closed }

// ScheduledLocked reports whether an activation owns the actor.
func (m *Mailbox[E, S]) ScheduledLocked() bool { return m.scheduled }
