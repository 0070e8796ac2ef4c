package mailbox

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Overflow says what a full Box does with one more envelope.
type Overflow uint8

const (
	// DropOldest takes it and evicts: the oldest droppable envelope, of those with the lowest priority.
	DropOldest Overflow = iota
	// DropNewest evicts the newcomer.
	DropNewest
	// Reject refuses the newcomer.
	Reject
)

// BoxResult says what became of an envelope pushed into a Box.
type BoxResult uint8

const (
	// Taken: it is in the box.
	Taken BoxResult = iota
	// Evicted: another one, or this one, was dropped for the bound. It is what Push returns.
	Evicted
	// Full: it was refused because of the bound.
	Full
	// Shut: it was refused because the actor is gone.
	Shut
	// Grown: it is in the box, which has no bound, and LongAt envelopes wait, or the next time twice as many as the last
	// time.
	Grown
)

// ErrShut is returned by PushWait for a box whose actor is gone.
var ErrShut = errors.New("mailbox: closed")

// Box is a queue with a bound, with priorities or with both. Set the exported fields before the first push. Every method
// may be called from any goroutine and holds the box's lock for a short time only.
type Box[E any] struct {
	Capacity int // of droppable envelopes; 0 is unbounded
	Overflow Overflow

	mu      sync.Mutex
	closed  bool
	bounded int // droppable ones waiting
	n       int
	dropped int64
	tiers   []*tier[E]   // by rank, lowest number first; without priorities there is one at most
	waiters []*waiter[E] // first come first; there are none while there is room
	level   uint8        // how many times Grown was returned
}

// waiter is an envelope that waits for room with who pushed it.
type waiter[E any] struct {
	e    E
	rank int
	over chan struct{} // closed when it is in the box, or never will be
	err  error
}

// tier is what waits with the same rank, oldest first.
type tier[E any] struct {
	rank int
	q    ring[slot[E]]
}

type slot[E any] struct {
	e         E
	droppable bool
}

// Push appends e to the envelopes of its rank. A droppable one obeys the bound; others exceed it if they must and are
// never evicted. victim is valid for Evicted; dropped is how many have been evicted or refused so far.
func (b *Box[E]) Push(e E, rank int, droppable bool) (r BoxResult, victim E, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return Shut, victim, 0
	}
	if !droppable || b.Capacity == 0 || b.bounded < b.Capacity {
		b.add(e, rank, droppable)
		if b.Capacity == 0 && b.n >= LongAt<<b.level {
			b.level++
			return Grown, victim, 0
		}
		return Taken, victim, 0
	}
	b.dropped++
	switch b.Overflow {
	case Reject:
		return Full, victim, b.dropped
	case DropNewest:
		return Evicted, e, b.dropped
	}
	b.add(e, rank, true)
	return Evicted, b.evict(), b.dropped
}

func (b *Box[E]) add(e E, rank int, droppable bool) {
	b.tier(rank).q.pushBack(slot[E]{e, droppable})
	b.n++
	if droppable {
		b.bounded++
	}
}

// tier finds the tier of a rank or makes it. The cost grows with the number of ranks that wait, not of envelopes.
func (b *Box[E]) tier(rank int) *tier[E] {
	if len(b.tiers) == 1 && b.tiers[0].q.len() == 0 {
		b.tiers[0].rank = rank // it is kept when it is the only one, so that a box without priorities has no garbage
		return b.tiers[0]
	}
	i, ok := slices.BinarySearchFunc(b.tiers, rank, func(t *tier[E], rank int) int {
		switch {
		case t.rank < rank:
			return -1
		case t.rank > rank:
			return 1
		}
		return 0
	})
	if !ok {
		b.tiers = slices.Insert(b.tiers, i, &tier[E]{rank: rank})
	}
	return b.tiers[i]
}

// evict takes out the oldest droppable envelope of the lowest priority that has one. There is one.
func (b *Box[E]) evict() (victim E) {
	for i := len(b.tiers) - 1; i >= 0; i-- {
		t := b.tiers[i]
		for j := range t.q.len() {
			if s := t.q.at(j); s.droppable {
				victim = s.e
				t.q.remove(j)
				b.bounded--
				b.n--
				b.trim(i)
				return victim
			}
		}
	}
	return victim
}

// trim forgets a tier that is empty, but for the only one.
func (b *Box[E]) trim(i int) {
	if len(b.tiers) > 1 && b.tiers[i].q.len() == 0 {
		b.tiers = slices.Delete(b.tiers, i, i+1)
	}
}

// PushWait is Push for a droppable envelope that waits for room instead of overflowing. It returns the error of ctx or
// ErrShut if it was not taken. Room that Pop makes is for those who wait, in the order they came: Pop itself puts their
// envelope in, so that nobody who pushes at that moment can take their turn.
func (b *Box[E]) PushWait(ctx context.Context, e E, rank int) error {
	b.mu.Lock()
	switch {
	case b.closed:
		b.mu.Unlock()
		return ErrShut
	case b.Capacity == 0 || b.bounded < b.Capacity:
		b.add(e, rank, true)
		b.mu.Unlock()
		return nil
	}
	w := &waiter[E]{e: e, rank: rank, over: make(chan struct{})}
	b.waiters = append(b.waiters, w)
	b.mu.Unlock()
	select {
	case <-w.over:
		return w.err
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiters, w)
	if i < 0 { // its turn came first
		return w.err
	}
	b.waiters = slices.Delete(b.waiters, i, i+1)
	return context.Cause(ctx)
}

// admit gives the room there is to the first of those who wait.
func (b *Box[E]) admit() {
	if len(b.waiters) == 0 {
		return
	}
	w := b.waiters[0]
	b.waiters = slices.Delete(b.waiters, 0, 1)
	b.add(w.e, w.rank, true)
	close(w.over)
}

// Pop takes out the first envelope of the highest priority.
func (b *Box[E]) Pop() (e E, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		return e, false
	}
	t := b.tiers[0]
	s := t.q.popFront()
	b.trim(0)
	b.n--
	if s.droppable {
		b.bounded--
		b.admit()
	}
	return s.e, true
}

// Prepend puts envelopes before those of their rank, in their order. They were accepted once, so the bound does not
// apply to them any more: they are neither counted nor evicted. ranks is as long as es, or nil if all have rank 0.
func (b *Box[E]) Prepend(es []E, ranks []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(es) - 1; i >= 0; i-- {
		rank := 0
		if ranks != nil {
			rank = ranks[i]
		}
		b.tier(rank).q.pushFront(slot[E]{es[i], false})
	}
	b.n += len(es)
}

// Len is how many envelopes wait.
func (b *Box[E]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// Any reports whether a waiting envelope satisfies the predicate, which must be short.
func (b *Box[E]) Any(pred func(*E) bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tiers {
		for i := range t.q.len() {
			if pred(&t.q.at(i).e) {
				return true
			}
		}
	}
	return false
}

// Close refuses everything from now on, ends all waiting and returns what is left in the order of Pop.
func (b *Box[E]) Close() (rest []E) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, t := range b.tiers {
		for t.q.len() > 0 {
			rest = append(rest, t.q.popFront().e)
		}
	}
	for _, w := range b.waiters {
		w.err = ErrShut
		close(w.over)
	}
	b.tiers, b.waiters, b.n, b.bounded = nil, nil, 0, 0
	return rest
}
