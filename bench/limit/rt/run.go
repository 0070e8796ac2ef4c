package rt

import (
	"runtime"
)

const budget = 1024

// gather is how many messages a batch should have before the consumer takes
// the next one without a pause; backoff is the length of that pause in turns
// of an empty loop.
const gather, backoff = 64, 4000

//go:noinline
func pause(n int) {
	for range n {
	}
}

// run is one activation: it handles what a's mailbox has, and lets go of a.
func (c *carrier) run(a *Actor) {
	defer c.guard(a)
	c.ctx.self = a
	left := budget
	seen := 0
	for {
		w := a.w.Load()
		if w&(full|more|signals|locked) == 0 {
			if a.w.CompareAndSwap(w, w&^sched) {
				return
			}
			continue
		}
		if w&locked != 0 {
			seen++
			spin(seen)
			continue
		}
		seen = 0
		if left <= 0 {
			c.rt.enqueue(a, true)
			return
		}
		e, h, w, ok := a.take(w)
		if !ok {
			continue
		}
		was := left
		if a.every.Load() != 0 {
			if now := c.rt.now.Load(); a.last.Load() != now {
				a.last.Store(now)
			}
		}
		if w&signals != 0 {
			c.ctx.sender = nil
			if w&start != 0 {
				a.recv.Receive(&c.ctx, started)
			}
			if w&stopping != 0 {
				c.finish(a, w, h)
				return
			}
			if w&timeoutBit != 0 {
				a.recv.Receive(&c.ctx, rcvTime)
			}
		}
		if w&full != 0 {
			c.ctx.sender = e.from
			a.recv.Receive(&c.ctx, e.m)
			left--
		}
		left -= c.chain(a, h)
		if a.w.Load()&(full|more) != 0 {
			// More to do here: let others have what we woke.
			if c.slot.Load() != nil {
				if x := c.slot.Swap(nil); x != nil {
					c.rt.enqueue(x, true)
				}
			}
			// A producer on another core is filling the mailbox right now:
			// taking each message as it comes moves the cache line back and
			// forth, so let a few gather.
			if was-left < gather {
				pause(backoff)
			}
		}
	}
}

// take empties the mailbox: the message of the inline slot, if the returned word has full, and the chunks. It is false if
// the word has changed meanwhile.
func (a *Actor) take(w uint32) (e env, h *chunk, after uint32, ok bool) {
	if w&more != 0 {
		if !a.w.CompareAndSwap(w, w|locked) {
			return e, nil, w, false
		}
		e, h = a.first, a.head
		a.first, a.head, a.tail = env{}, nil, nil
		a.w.Store(w &^ (full | more | signals))
		return e, h, w, true
	}
	// Producers leave a full slot alone, so one CAS takes it.
	took := w & full
	if took != 0 {
		e = a.first
		a.first = env{}
	}
	for i := 1; w&locked != 0 || !a.w.CompareAndSwap(w, w&^(took|signals)); i++ {
		if w = a.w.Load(); w&locked != 0 {
			spin(i)
		}
	}
	return e, nil, w&^full | took, true
}

// chain handles the messages of chunks that were taken, and says how many those were.
func (c *carrier) chain(a *Actor, h *chunk) (handled int) {
	for h != nil {
		for i := range h.e[:h.n] {
			e := &h.e[i]
			c.ctx.sender = e.from
			a.recv.Receive(&c.ctx, e.m)
		}
		handled += h.n
		n := h.next
		clear(h.e[:h.n])
		h.n, h.next = 0, nil
		chunks.Put(h)
		h = n
	}
	return handled
}

// guard isolates a panicking behaviour: the actor is stopped.
func (c *carrier) guard(a *Actor) {
	if r := recover(); r != nil {
		c.finish(a, full, nil)
	}
}

// finish ends an actor; what was in its mailbox is counted as dead letters.
func (c *carrier) finish(a *Actor, w uint32, h *chunk) {
	rt := c.rt
	if w&full != 0 {
		rt.deadLetters.Add(1) // the message in hand
	}
	for ; h != nil; h = h.next {
		rt.deadLetters.Add(int64(h.n))
	}
	for {
		w := a.w.Load()
		if w&locked != 0 {
			runtime.Gosched()
			continue
		}
		if a.w.CompareAndSwap(w, dead) {
			if w&full != 0 {
				rt.deadLetters.Add(1)
			}
			break
		}
	}
	for h := a.head; h != nil; h = h.next {
		rt.deadLetters.Add(int64(h.n))
	}
	a.first, a.head, a.tail = env{}, nil, nil
	a.every.Store(0)
	a.fam.Lock()
	k := a.child
	a.child = nil
	a.fam.Unlock()
	for k != nil { // children outlive their parent only until they see the signal
		n := k.next
		if k.signal(stopping) {
			c.wake(k)
		}
		k = n
	}
	c.ctx.sender = nil
	a.recv.Receive(&c.ctx, stopped)
	p := a.parent
	p.fam.Lock()
	if a.prev != nil {
		a.prev.next = a.next
	} else if p.child == a {
		p.child = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	}
	p.fam.Unlock()
	rt.reg.drop(a)
}
