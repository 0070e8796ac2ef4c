package rt2

import (
	"runtime"
	"slices"
	"time"
)

// The watchdog rescues actors that wait behind a handler that blocks. It is a
// timer that is armed only when an actor was put where it may have to wait: in
// a carrier's slot, or on the queue with no carrier launched for it.

const patience = time.Millisecond

// alarm arms the watchdog. The marks are set here, so that its first look
// already knows who made no step since.
func (rt *Runtime) alarm(c *Ctx) {
	if rt.dog.on.Load() || !rt.dog.on.CompareAndSwap(false, true) {
		return
	}
	if c != nil {
		c.mark.Store(1)
	} else {
		rt.dog.mu.Lock()
		for _, c := range rt.dog.all {
			c.mark.Store(1)
		}
		rt.dog.mu.Unlock()
	}
	rt.dog.timer.Reset(patience)
}

// look is the watchdog's timer. If actors wait and a carrier makes no step, not
// even in the microseconds that we watch it, what it has taken is moved to the
// queue, and others are started to run it: as many as wait if a processor is
// idle (then the handlers block, and those that wait may block as well), one if
// none is (then handlers compute, and more goroutines would only share what
// there is). A carrier without a step since the last look leaves the count.
func (rt *Runtime) look() {
	waits, stuck := rt.some.Load(), false
	rt.dog.mu.Lock()
	young := rt.dog.young[:0]
	for _, c := range rt.dog.all {
		if e := c.shared.Load(); e != nil {
			rt.closeEpoch(e)
		}
		waits = waits || c.slotWaits() || c.batchWaits()
		if c.mark.Load() == 0 {
			c.mark.Store(1)
			young = append(young, c)
			continue
		}
		if c.loose.CompareAndSwap(0, 1) {
			rt.active.Add(-1)
			stuck = true
		}
		if c.rescue() {
			stuck = true
		}
	}
	rt.dog.mu.Unlock()
	idle := false
	if waits {
		t := rt.now()
		for range 16 {
			pause(spinBase)
			runtime.Gosched()
		}
		idle = rt.now()-t < int64(patience)/10
		rt.dog.mu.Lock()
		for _, c := range rt.dog.all {
			if c.mark.Load() != 0 && slices.Contains(young, c) && (c.rescue() || c.loose.Load() == 0) {
				stuck = true
			}
		}
		rt.dog.mu.Unlock()
	}
	clear(young)
	rt.dog.young = young
	rt.mu.Lock()
	q := rt.qlen
	rt.single = stuck
	rt.mu.Unlock()
	for ; q > 0; q-- {
		if k := rt.active.Load(); k >= rt.max || !rt.launch(k) {
			break
		}
	}
	if stuck && q > 0 {
		if !idle {
			q = 1
		}
		for range min(q, 256) {
			go rt.carry(1)
		}
	}
	if !rt.waiting() {
		// Who sets a slot after our look saw on, or sees it cleared now.
		rt.dog.on.Store(false)
		if !rt.waiting() || !rt.dog.on.CompareAndSwap(false, true) {
			return
		}
	}
	rt.dog.timer.Reset(patience)
}

// waiting reports whether anything may wait behind a handler.
func (rt *Runtime) waiting() bool {
	if rt.some.Load() {
		return true
	}
	rt.dog.mu.Lock()
	defer rt.dog.mu.Unlock()
	for _, c := range rt.dog.all {
		if c.slotWaits() || c.batchWaits() {
			return true
		}
		if e := c.shared.Load(); e != nil && e.t.Load() == 0 {
			return true
		}
	}
	return false
}
