package actor

import (
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/timing"
)

// idleWindow is the receive timeout of a cell.
//
// What it costs: a handler that ends sets one bool. When the mailbox runs empty the clock is read once, or not even that
// if the carrier has other cells to run, see epoch.go. The entry in
// the system's clock is not touched: it stays at the deadline of an earlier window, and when that is due the owner finds
// out by since whether the actor has been active meanwhile and moves the entry on. So there is no timer operation per
// message, and the time is still exact.
//
// The marker, an envelope at the tail of the user lane, is the receive timeout on its way. Fire, on the clock's
// goroutine, signals and puts the marker there; it looks at nothing but whether the window is over. The owner learns of it by the signal or, if it has
// just looked for signals, by the marker. What is handled between the firing and the marker, or waits behind it, makes
// the marker void, and the window starts anew.
//
// Invariant, whenever the owner releases an armed cell: exactly one of entry-in-clock (linked) and marker-on-its-way
// (queued) holds.
//
// It is the owner's, but Fire reads window, since and serial. The owner may change them while Fire looks: then serial, or
// the check at delivery, makes the marker void. The cell's fields linked, queued and touched belong here too; touched: a handler that counts has run, or is running, since since was written.
type idleWindow struct {
	due    timing.Deadline // what the clock knows, of the end of this or an earlier window
	window atomic.Int64    // 0: off
	since  atomic.Int64    // end of the last handler that counted; negative: the number of an epoch
	gen    uint32          // of the setting; a stashed marker of another one is void
	serial atomic.Uint32   // a marker with another one is void
}

// minWindow is the shortest window: a positive one below it is rounded up, so that no setting makes a hot loop.
const minWindow = time.Millisecond

// setWindow arms the window anew; 0 or less is off. Refused once the actor is stopping.
func (c *cell) setWindow(d time.Duration) {
	if c.st >= restarting { // this instance is on its way out, and the next begins without a window
		return
	}
	if d > 0 {
		d = max(d, minWindow)
	} else {
		d = 0
	}
	w := &c.idle
	w.gen++
	if c.queued || int64(d) != w.window.Load() {
		c.unlink()
	}
	w.window.Store(int64(d))
	c.touched = d > 0 // the window begins when this handler ends
}

// disarm is the end of the window, at a restart and at a stop.
func (c *cell) disarm() {
	w := &c.idle
	if w.window.Load() == 0 {
		return
	}
	w.gen++
	w.window.Store(0)
	c.touched = false
	c.unlink()
}

// unlink takes the entry out of the clock, and makes a marker void that is on its way or about to be.
func (c *cell) unlink() {
	c.sys.clock.Cancel(&c.idle.due)
	c.linked, c.queued = false, false
	c.idle.serial.Add(1)
}

// link puts the entry into the clock, for the end of the window.
func (c *cell) link(now int64) {
	c.linked = true
	c.sys.clock.Schedule(c, c.idle.end(now), now)
}

// end is when the window is over. For the owner.
func (w *idleWindow) end(now int64) int64 {
	return timing.Later(w.known(now), time.Duration(w.window.Load()))
}

// noteActivity is called before a message is handled.
func (c *cell) noteActivity(e *envelope) {
	switch c.run.own.(type) {
	case *idleMark: // the receive timeout itself re-arms: it comes again after a full window
		c.touched = true
		return
	case deathMark, deathSeen:
	default:
		if e.counts() {
			c.touched = true
			return
		}
	}
	c.sealIdle()
}

// sealIdle fixes the end of the last handler that counted before something else runs that may take its time: a message
// that does not count, a command of the system lane.
func (c *cell) sealIdle() {
	if c.idle.window.Load() == 0 {
		return
	}
	if c.touched {
		c.settleIdle()
	} else if c.idle.since.Load() < 0 { // the epoch is open, and who could close it may be asleep
		c.idle.known(c.sys.clock.Now())
	}
}

// releaseIdle is settleIdle before the owner releases the cell, when the carrier need not know the time yet.
func (c *cell) releaseIdle() {
	if !c.releaseQuick() {
		c.settleIdle()
	}
}

// releaseQuick reports whether the cell may be released without a reading of the clock, and has seen to it then.
func (c *cell) releaseQuick() bool {
	if !c.linked || c.queued || c.touched && !c.run.goesOn() {
		return false
	}
	if c.touched {
		c.touched = false
		c.run.note(c)
	}
	return true
}

// settleIdle notes that the owner has nothing more to do, and restores the invariant.
func (c *cell) settleIdle() {
	w := &c.idle
	if !c.touched && (c.linked || c.queued) {
		return
	}
	now := c.sys.clock.Now()
	if c.touched {
		c.touched = false
		w.since.Store(now)
		if c.queued { // it fired while the handler ran
			c.queued = false
			w.serial.Add(1)
		}
	}
	if !c.linked && !c.queued {
		c.link(now)
	}
}

// Deadline is the clock's part of the cell.
func (c *cell) Deadline() *timing.Deadline { return &c.idle.due }

// Fire is called by the clock when the entry is due. If the actor has been active since, it moves on. Else the signal first: it makes its caller the owner of an idle cell, so
// that the marker that follows needs no activation of its own, and the owner knows of the marker before it comes to it.
func (c *cell) Fire(now int64) (again int64) {
	w := &c.idle
	window, since := time.Duration(w.window.Load()), w.since.Load()
	switch {
	case window == 0:
		return 0
	case since < 0:
		// The last handler may have ended after the clock read now, so this is not the moment to put in place of the number.
		// It is known when the epoch is closed, and the window is not over before now + window in any case.
		return timing.Later(now, window)
	}
	if end := timing.Later(since, window); end > now {
		return end
	}
	serial := w.serial.Load()
	wake, ok := c.mb.Signal(sigDue)
	if !ok {
		return 0
	}
	_ = c.push(envelope{msg: ReceiveTimeout{}, done: &idleMark{serial: serial}}, nil) // it cannot be refused but by the end
	if wake {
		c.schedule(nil)
	}
	return 0
}

// idleFired is called when the signal of Fire has come.
func (c *cell) idleFired() {
	if c.idle.window.Load() != 0 && c.linked {
		// If the window was set anew while the entry was about to fire, the entry is in the clock after all, and fires once
		// more: what moves it or takes it out does so whether it is said to be linked or not.
		c.linked, c.queued = false, true
	}
}

// idleDue decides at delivery whether a receive timeout still holds. One that was stashed is checked against the setting
// alone: it has been delivered once.
func (c *cell) idleDue(d *idleMark) bool {
	w := &c.idle
	if w.window.Load() == 0 {
		return false
	}
	if d.replayed {
		return d.gen == w.gen
	}
	if d.serial != w.serial.Load() {
		return false
	}
	c.linked, c.queued = false, false // its signal may not have been seen yet, and is void from here on
	w.serial.Add(1)
	if c.touched || c.anyWaiting(counts) {
		return false
	}
	if now := c.sys.clock.Now(); w.end(now) > now {
		c.link(now)
		return false
	}
	d.gen = w.gen
	return true
}
