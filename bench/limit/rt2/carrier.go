package rt2

import (
	"runtime"
	"sync"
)

// What a carrier has taken for itself the watchdog can take back: an actor in
// the slot, and a batch. Each has a word; busy: the watchdog reads, and the
// carrier must not write there.

const (
	batchLen = 15
	busy     = ^uint32(0)
)

// slotWaits and batchWaits report whether something is there.
func (c *Ctx) slotWaits() bool { return c.slotW.Load() == 1 }

func (c *Ctx) batchWaits() bool {
	w := c.batchW.Load()
	return w != busy && w>>8 < w&255
}

func (c *Ctx) takeSlot() *Actor {
	if c.slotW.Load() == 1 && c.slotW.CompareAndSwap(1, 0) {
		return c.slotA
	}
	return nil
}

func (c *Ctx) takeBatch() *Actor {
	for {
		w := c.batchW.Load()
		if w == busy || w>>8 >= w&255 {
			return nil
		}
		if c.batchW.CompareAndSwap(w, w+1<<8) {
			return c.batch[w>>8]
		}
	}
}

// rescue moves what waits in c to the queue, without the usual care for
// carriers: look does that.
func (c *Ctx) rescue() (some bool) {
	if c.slotW.Load() == 1 && c.slotW.CompareAndSwap(1, busy) {
		a := c.slotA
		c.slotW.Store(0)
		c.rt.append(a)
		some = true
	}
	if w := c.batchW.Load(); w != busy && w>>8 < w&255 && c.batchW.CompareAndSwap(w, busy) {
		for _, a := range c.batch[w>>8 : w&255] {
			c.rt.append(a)
		}
		c.batchW.Store(0)
		some = true
	}
	return some
}

// carriers are contexts for the next carrier to start. Which one it gets makes no difference, so systems may share
// them; the variable itself is read-only.
var carriers = sync.Pool{New: func() any { return new(Ctx) }}

// once is an activation on a goroutine of its own.
func (rt *Runtime) once(a *Actor) {
	c := carriers.Get().(*Ctx)
	c.rt = rt
	c.run(a)
	carriers.Put(c)
}

// wake schedules an actor from inside an actor: it runs next on this carrier.
func (c *Ctx) wake(a *Actor) {
	if c.rt.direct || c.slotW.Load() != 0 {
		c.rt.enqueue(a, true)
		return
	}
	c.slotA = a
	c.slotW.Store(1)
	if !c.rt.dog.on.Load() {
		c.rt.alarm(c)
	}
}

// carry runs actors until there are none. loose: not counted in active.
func (rt *Runtime) carry(loose uint32) {
	c := carriers.Get().(*Ctx)
	c.rt = rt
	c.loose.Store(loose)
	c.mark.Store(0)
	rt.dog.mu.Lock()
	rt.dog.all = append(rt.dog.all, c)
	rt.dog.mu.Unlock()
	ok := false
	defer func() {
		if ok {
			carriers.Put(c)
			return
		}
		// A handler called runtime.Goexit.
		if c.loose.CompareAndSwap(0, 1) {
			rt.active.Add(-1)
		}
		c.retire()
		if n := rt.active.Load(); n < rt.max && rt.some.Load() {
			rt.launch(n)
		}
	}()
	for {
		if a := c.pick(); a != nil {
			c.run(a)
			if c.loose.Load() == 0 || c.settleDown() {
				continue
			}
			break
		}
		if c.loose.Load() == 0 && c.linger() {
			continue
		}
		if c.leave() {
			break
		}
	}
	c.retire()
	ok = true
}

// settleDown lets a carrier that was stuck, or helped out, stay if there is
// room for it.
func (c *Ctx) settleDown() bool {
	for {
		n := c.rt.active.Load()
		if n >= c.rt.max {
			return false
		}
		if c.rt.active.CompareAndSwap(n, n+1) {
			c.loose.Store(0)
			return true
		}
	}
}

// leave gives up the place in active; false: there is work after all. First
// out of active, then the look at the queue: whoever enqueues does it the other
// way round, so that one of the two sees the other.
func (c *Ctx) leave() bool {
	rt := c.rt
	if c.loose.CompareAndSwap(0, 1) {
		rt.active.Add(-1)
	}
	if rt.some.Load() {
		if c.settleDown() {
			return false
		}
		rt.alarm(nil)
	}
	return true
}

func (c *Ctx) retire() {
	rt := c.rt
	c.share()
	for a := c.takeBatch(); a != nil; a = c.takeBatch() {
		rt.enqueue(a, true)
	}
	c.closeEpoch()
	rt.dog.mu.Lock()
	l := rt.dog.all
	for i, x := range l {
		if x == c {
			l[i] = l[len(l)-1]
			l[len(l)-1] = nil
			rt.dog.all = l[:len(l)-1]
			break
		}
	}
	rt.dog.mu.Unlock()
	c.slotA = nil
	clear(c.batch[:])
}

// pick is the next actor to run. It leaves nothing on the queue without the
// watchdog awake: the actor picked may block.
func (c *Ctx) pick() *Actor {
	rt := c.rt
	if c.mark.Load() != 0 {
		c.mark.Store(0)
	}
	c.tick++
	a := c.takeSlot()
	if a != nil && c.tick%61 == 0 && (rt.some.Load() || c.batchWaits()) {
		rt.enqueue(a, true)
		a = nil
	}
	if a == nil {
		if a = c.takeBatch(); a == nil {
			if a = c.dequeue(); a == nil {
				c.closeEpoch()
				return nil
			}
		}
	}
	if c.ep != nil {
		c.oldEpoch()
	}
	if rt.some.Load() {
		if n := rt.active.Load(); n < rt.max && rt.search.Load() == 0 {
			rt.launch(n)
		}
	} else if !c.batchWaits() {
		return a
	}
	if !rt.dog.on.Load() {
		rt.alarm(c)
	}
	return a
}

// linger waits a little for work before the carrier goes.
func (c *Ctx) linger() bool {
	rt := c.rt
	if rt.search.Add(1) > 1 {
		rt.search.Add(-1)
		return false
	}
	found := false
	for range spins {
		if rt.some.Load() {
			found = true
			break
		}
		runtime.Gosched()
	}
	rt.search.Add(-1)
	return found
}

// spins is how often a carrier that found nothing looks again before it goes.
const spins = 16
