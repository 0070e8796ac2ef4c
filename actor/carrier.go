package actor

import (
	"context"
	"runtime"
	"sync/atomic"
)

// carrier is a goroutine that runs cells, one activation after the other. At most GOMAXPROCS of them are active; one
// whose handler blocks is taken out of that number by the watchdog, which starts another in its place.
//
// A cell that is woken by the cell a carrier runs goes into the carrier's slot and runs next on the same goroutine:
// no goroutine is started or switched to, and what the two share is in this processor's cache. What a carrier has taken
// for itself, the slot and a batch from the queue, the watchdog can take back.
type carrier struct {
	sched *scheduler
	cell  *cell           // it runs
	e     *envelope       // the current message, &none if there is none
	own   Completion      // its mark, if the runtime sent it
	err   error           // what its handler returned, while its completion runs
	ctx   context.Context // that came with it, nil for none
	after func(error)     // of the MessageHook, while the handler runs
	taken bool            // it was stashed, forwarded or held
	self  bool            // the cell told itself something since it last took from its mailbox
	// inside: foreign code may be running; guard then knows that it did not return.
	inside   bool
	left     int   // of the activation's budget
	gathered int   // size of the last batch from the mailbox
	resume   error // what ended the last turn

	slot    atomic.Pointer[cell]
	ticks   uint32
	mark    atomic.Bool // set by the watchdog, cleared at each pick
	loose   atomic.Bool // not counted in scheduler.active
	retired atomic.Bool
	epoch   epoch

	batchState atomic.Uint32 // next<<8 | length, or busy
	batch      [batchLen]*cell

	none  envelope
	boxed envelope // current when it came from a box or another carrier
}

const (
	// batchLen is how many cells a carrier takes from the queue beyond the one it runs.
	batchLen = 15
	// busy is the state of a batch that the watchdog is at.
	busy = ^uint32(0)
	// fairness is how many times the slot goes first before what has waited longer does.
	fairness = 61
	// spins is how many times a carrier without work lets others run before it ends.
	spins = 16
)

// once is an activation on a goroutine of its own.
func (s *scheduler) once(c *cell) {
	defer s.done()
	k := s.newCarrier()
	k.activate(c)
	k.recycle()
}

func (s *scheduler) newCarrier() *carrier {
	k, ok := s.pool.Get().(*carrier)
	if !ok {
		k = &carrier{sched: s}
	}
	k.e = &k.none
	k.retired.Store(false)
	return k
}

func (k *carrier) recycle() {
	k.none, k.boxed = envelope{}, envelope{}
	k.cell, k.own, k.err, k.resume, k.ctx, k.after = nil, nil, nil, nil, nil, nil
	clear(k.batch[:])
	k.sched.pool.Put(k)
}

// wake schedules a cell that the caller owns now, from the cell that the carrier runs. The compare-and-swap, and the
// look at retired, are for a Context that is used on another goroutine: it must not break anything but itself.
func (k *carrier) wake(c *cell) {
	if s := &c.sys.sched; s != k.sched { // another system's: its clock, its count of carriers
		s.enqueue(c, true)
		return
	}
	if k.sched.direct || k.slot.Load() != nil || !k.slot.CompareAndSwap(nil, c) {
		k.sched.enqueue(c, true)
		return
	}
	if k.retired.Load() {
		k.share()
		return
	}
	if !k.sched.dog.on.Load() {
		k.sched.alarm(k)
	}
}

// slotWaits and batchWaits report whether something is there.
func (k *carrier) slotWaits() bool { return k.slot.Load() != nil }

func (k *carrier) batchWaits() bool {
	b := k.batchState.Load()
	return b != busy && b>>8 < b&255
}

func (k *carrier) takeSlot() *cell {
	if k.slot.Load() == nil {
		return nil
	}
	return k.slot.Swap(nil)
}

func (k *carrier) takeBatch() *cell {
	for {
		b := k.batchState.Load()
		if b == busy || b>>8 >= b&255 {
			return nil
		}
		if k.batchState.CompareAndSwap(b, b+1<<8) {
			return k.batch[b>>8]
		}
	}
}

// share gives what the running cell woke to the other carriers.
func (k *carrier) share() {
	if c := k.takeSlot(); c != nil {
		k.sched.enqueue(c, true)
	}
}

// carry runs cells until there are none. loose: it is not counted in active.
func (s *scheduler) carry(loose bool) {
	defer s.done()
	k := s.newCarrier()
	k.loose.Store(loose)
	k.mark.Store(false)
	s.dog.add(k)
	returned := false
	defer func() {
		if returned {
			k.recycle()
			return
		}
		// A handler called runtime.Goexit.
		if k.loose.CompareAndSwap(false, true) {
			s.active.Add(-1)
		}
		k.retire()
		if n := s.active.Load(); n < s.max && s.some.Load() {
			s.launch(n)
		}
	}()
	for {
		if c := k.pick(); c != nil {
			k.activate(c)
			if !k.loose.Load() || k.settleDown() {
				continue
			}
			break
		}
		if !k.loose.Load() && k.linger() {
			continue
		}
		if k.leave() {
			break
		}
	}
	k.retire()
	returned = true
}

// settleDown lets a carrier that was stuck, or helped out, stay if there is room for it.
func (k *carrier) settleDown() bool {
	for {
		n := k.sched.active.Load()
		if n >= k.sched.max {
			return false
		}
		if k.sched.active.CompareAndSwap(n, n+1) {
			k.loose.Store(false)
			return true
		}
	}
}

// leave gives up the place in active; false: there is work after all. First out of active, then the look at the queue:
// whoever enqueues puts the cell there first and then looks at active, so that one of the two sees the other.
func (k *carrier) leave() bool {
	s := k.sched
	if k.loose.CompareAndSwap(false, true) {
		s.active.Add(-1)
	}
	if s.some.Load() {
		if k.settleDown() {
			return false
		}
		s.alarm(nil)
	}
	return true
}

// retire hands over what the carrier still has.
func (k *carrier) retire() {
	k.retired.Store(true)
	k.epoch.close(k.sched)
	k.share()
	for c := k.takeBatch(); c != nil; c = k.takeBatch() {
		k.sched.enqueue(c, true)
	}
	k.sched.dog.remove(k)
}

// pick is the next cell to run. It leaves nothing behind without the watchdog awake, since the cell may block.
func (k *carrier) pick() *cell {
	s := k.sched
	if k.mark.Load() {
		k.mark.Store(false)
	}
	k.ticks++
	c := k.takeSlot()
	if c != nil && k.ticks%fairness == 0 && (s.some.Load() || k.batchWaits()) {
		s.enqueue(c, true)
		c = nil
	}
	if c == nil {
		if c = k.takeBatch(); c == nil {
			if c = k.dequeue(); c == nil {
				k.epoch.close(s)
				return nil
			}
		}
	}
	if k.epoch.open.Load() != 0 {
		k.age()
	}
	if s.some.Load() {
		if n := s.active.Load(); n < s.max && s.search.Load() == 0 {
			s.launch(n)
		}
	} else if !k.batchWaits() {
		return c
	}
	if !s.dog.on.Load() {
		s.alarm(k)
	}
	return c
}

// age is called before each activation while an epoch is open. It must not stay open through a long handler, so the
// watchdog has to be awake.
func (k *carrier) age() {
	if k.epoch.uses++; k.epoch.uses >= epochUses {
		k.epoch.close(k.sched)
	} else if !k.sched.dog.on.Load() {
		k.sched.alarm(k)
	}
}

// linger waits a little for work, since starting a goroutine costs more. One carrier at a time does.
func (k *carrier) linger() bool {
	s := k.sched
	if s.search.Add(1) > 1 {
		s.search.Add(-1)
		return false
	}
	found := false
	for range spins {
		if s.some.Load() {
			found = true
			break
		}
		runtime.Gosched()
	}
	s.search.Add(-1)
	return found
}
