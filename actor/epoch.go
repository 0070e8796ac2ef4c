package actor

import (
	"sync"
	"sync/atomic"
)

// epoch is a moment of a carrier that is not known yet. The end of a handler has to be noted for the receive timeout, and
// reading the clock costs a third of a whole activation. So a carrier that goes on with another cell notes the number of
// its open epoch instead, in the window's since, and whoever closes the epoch reads the clock once and writes the time in
// place of the number, for all cells that still have it there.
//
// Never early: an epoch is sealed before the clock is read, and a cell refers to an epoch only while it is open. So the
// handler had ended before the time that is written. The clock's goroutine must not write a time of its own for a number: the
// cell may have been run again meanwhile, in the same epoch. It looks again later. Late by little: the carrier closes an
// epoch when it has nothing to do and after a few activations, and the watchdog, which is awake while one is open, when it
// looks.
type epoch struct {
	open  atomic.Int64 // the number, which is negative; 0: none is open
	mu    sync.Mutex
	cells []*cell // that have the number; with mu
	uses  int     // activations since it was opened; the carrier's
}

// epochUses is how many activations may share an epoch.
const epochUses = 64

// note makes the open epoch the end of the cell's last handler.
func (k *carrier) note(c *cell) {
	p := &k.epoch
	if n := p.open.Load(); n != 0 && c.idle.since.Load() == n {
		return
	}
	p.mu.Lock()
	n := p.open.Load()
	if n == 0 {
		n = -k.sched.epochs.Add(1)
		p.uses = 0
		p.open.Store(n)
	}
	c.idle.since.Store(n)
	p.cells = append(p.cells, c)
	p.mu.Unlock()
}

// close writes the time. Anybody may call it.
func (p *epoch) close(s *scheduler) {
	if p.open.Load() == 0 {
		return
	}
	p.mu.Lock()
	n := p.open.Load()
	if n == 0 {
		p.mu.Unlock()
		return
	}
	p.open.Store(0) // the seal
	now := s.clock.Now()
	for _, c := range p.cells {
		c.idle.since.CompareAndSwap(n, now)
	}
	clear(p.cells)
	p.cells = p.cells[:0]
	p.mu.Unlock()
}

// known returns since as a time. A number becomes now, which the owner has read in this activation: the epoch of an
// earlier one is still open. Only for the owner.
func (w *idleWindow) known(now int64) int64 {
	for {
		since := w.since.Load()
		if since >= 0 {
			return since
		}
		if w.since.CompareAndSwap(since, now) {
			return now
		}
	}
}

// goesOn reports whether the carrier has another cell to run.
func (k *carrier) goesOn() bool {
	return !k.sched.direct && (k.slotWaits() || k.batchWaits() || k.sched.some.Load())
}
