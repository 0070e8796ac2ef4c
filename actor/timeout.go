package actor

import (
	"time"

	"github.com/troupe-go/troupe/internal/timing"
)

// idleWindow is the receive timeout of a cell.
//
// What it costs: a handler that ends sets one bool. When the mailbox runs empty the clock is read once. The entry in
// the system's clock is not touched: it stays at the deadline of an earlier window, and when that is due Fire finds out
// by idleSince whether the actor has been active meanwhile and moves the entry on. So there is no timer operation per
// message, and the time is still exact.
//
// The marker, an envelope of kind timeout at the tail of the user lane, is the receive timeout on its way. Fire puts it
// there unless a message that counts is waiting. It cannot see that one is being handled; the end of that handler makes
// the marker void and starts the window anew. At delivery the marker is checked again.
//
// Invariant, whenever the owner releases an armed cell: exactly one of entry-in-clock (linked) and marker-in-lane
// (queued) holds, or a message that counts is waiting and its handling will set touched.
//
// All of it is guarded by the mailbox's lock. linked and queued are also written by Fire; the rest only by the owner,
// which may therefore read it without. The cell's field touched belongs here too and is the owner's alone: a handler
// that counts has run, or is running, since since was written.
type idleWindow struct {
	entry  timing.Entry
	window time.Duration // 0: off
	since  int64         // end of the last handler that counted
	gen    uint32        // of the setting; a marker of another one is void, and so is a stashed one
	marker uint16        // of the markers of this setting; a marker that is not the last one is void
	linked bool
	queued bool
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
	c.mb.Lock()
	w.gen++
	w.queued = false
	if w.linked && d != w.window {
		c.sys.clock.Remove(&w.entry)
		w.linked = false
	}
	w.window = d
	c.mb.Unlock()
	c.touched = d > 0 // the window begins when this handler ends
}

// disarm is the end of the window, at a restart and at a stop.
func (c *cell) disarm() {
	if c.idle.window == 0 {
		return
	}
	w := &c.idle
	c.mb.Lock()
	w.gen++
	w.window, w.queued, c.touched = 0, false, false
	if w.linked {
		c.sys.clock.Remove(&w.entry)
		w.linked = false
	}
	c.mb.Unlock()
}

// noteActivity is called before an envelope is handled.
func (c *cell) noteActivity(e *envelope) {
	if c.idle.window == 0 {
		return
	}
	if e.kind == timeout || e.counts() {
		c.touched = true // the receive timeout itself re-arms: it comes again after a full window
		return
	}
	c.sealIdle()
}

// sealIdle fixes the end of the last handler that counted before something else runs that may take its time: a message
// that does not count, a command of the system lane.
func (c *cell) sealIdle() {
	if !c.touched || c.idle.window == 0 {
		return
	}
	c.mb.Lock()
	c.idleLocked()
	c.mb.Unlock()
}

// idleLocked notes, with the mailbox locked, that the owner has nothing more to do, and restores the invariant.
func (c *cell) idleLocked() {
	w := &c.idle
	if w.window == 0 {
		return
	}
	if !c.touched && (w.linked || w.queued) {
		return
	}
	now := c.sys.clock.Now()
	if c.touched {
		c.touched, w.since = false, now
		if w.queued { // it was put there while the handler ran
			w.queued = false
			w.marker++
		}
	}
	if !w.linked && !w.queued {
		w.linked = true
		c.sys.clock.Add(&w.entry, timing.Later(w.since, w.window), now)
	}
}

// Fire is called by the clock when the entry is due. It looks at the cell with the mailbox locked and only enqueues.
func (c *cell) Fire(now int64) {
	w := &c.idle
	c.mb.Lock()
	if !w.linked || c.mb.ClosedLocked() {
		c.mb.Unlock()
		return // disarmed while it was about to fire
	}
	if at := timing.Later(w.since, w.window); at > now {
		c.sys.clock.Add(&w.entry, at, now)
		c.mb.Unlock()
		return
	}
	w.linked = false
	wake := false
	if !c.mb.AnyLocked(counts) { // otherwise not idle; the handler of what waits will re-arm
		w.queued = true
		wake = c.mb.PushLocked(envelope{msg: ReceiveTimeout{}, kind: timeout, gen: w.gen, marker: w.marker}, false)
	}
	c.mb.Unlock()
	if wake {
		c.activate()
	}
}

// timeoutDue decides at delivery whether a receive timeout still holds. One that was stashed is checked against its
// generation alone: it has been delivered once.
func (c *cell) timeoutDue(e *envelope) bool {
	w := &c.idle
	if e.gen != w.gen || w.window == 0 {
		return false
	}
	if e.replayed {
		return true
	}
	if e.marker != w.marker {
		return false
	}
	c.mb.Lock()
	defer c.mb.Unlock()
	w.queued = false
	return !c.touched && !c.mb.AnyLocked(counts)
}
