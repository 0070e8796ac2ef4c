package actor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/timing"
)

// Timers are the timers of one actor, each under a key. What a timer sends is an ordinary message without a sender: it
// counts as activity for the receive timeout. Starting a timer under a key that is in use replaces the old one; a tick
// of a cancelled or replaced timer is never delivered, not even one that waits in the mailbox already. All timers end
// at a restart and at a stop; none can be started in PreRestart and PostStop. Timers are used on the actor's own goroutine, inside hooks and Receive, and never block.
type Timers struct{ ctx *Context }

// timer is one running timer. Its fields are the owner's, except due.
type timer struct {
	cell     *cell
	due      timing.Deadline
	key      string
	msg      any
	interval time.Duration // 0: fires once
	rate     bool          // fixed rate: the next tick is due interval after the last was due
	at       int64         // when it is due
	rank     int           // in a mailbox with priorities
}

// StartSingle sends msg once, after delay. The error names the key when delay is not positive, and is ErrStopped while the
// actor is stopping or restarting and when the context is used outside of its turn.
func (t Timers) StartSingle(key string, msg any, delay time.Duration) error {
	return t.start(key, msg, delay, 0, false)
}

// StartFixedDelay sends msg after initial and then again interval after the last one was handled, so that ticks never
// pile up. Both must be positive. The errors are those of StartSingle.
func (t Timers) StartFixedDelay(key string, msg any, initial, interval time.Duration) error {
	if interval <= 0 {
		return fmt.Errorf("actor: timer %q: the interval must be positive, it is %v", key, interval)
	}
	return t.start(key, msg, initial, interval, false)
}

// StartFixedRate sends msg after initial and then at every interval from there. Ticks that fall due while one is
// waiting or being handled are left out, the phase is kept. Both durations must be positive. The
// errors are those of StartSingle.
func (t Timers) StartFixedRate(key string, msg any, initial, interval time.Duration) error {
	if interval <= 0 {
		return fmt.Errorf("actor: timer %q: the interval must be positive, it is %v", key, interval)
	}
	return t.start(key, msg, initial, interval, true)
}

func (t Timers) start(key string, msg any, initial, interval time.Duration, rate bool) error {
	if initial <= 0 {
		return fmt.Errorf("actor: timer %q: the delay must be positive, it is %v", key, initial)
	}
	if !t.ctx.ok("Timers") {
		return ErrStopped
	}
	c := &t.ctx.c
	if c.st >= restarting {
		return ErrStopped
	}
	t.Cancel(key)
	tm := &timer{cell: c, key: key, msg: msg, interval: interval, rate: rate}
	if b := c.look().box; b != nil { // here, since the clock's goroutine must not run foreign code
		tm.rank = b.rank(c, &envelope{msg: msg})
	}
	now := c.sys.clock.Now()
	tm.at = timing.Later(now, initial)
	r := c.rare()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timers == nil {
		r.timers = map[string]*timer{}
	}
	r.timers[key] = tm
	c.sys.clock.Schedule(tm, tm.at, now)
	return nil
}

// Cancel ends the timer under key and reports whether there was one that could still have sent.
func (t Timers) Cancel(key string) bool {
	if !t.ctx.ok("Timers") {
		return false
	}
	c := &t.ctx.c
	r := c.look()
	if r == &c.sys.none {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	tm := r.timers[key]
	if tm == nil {
		return false
	}
	delete(r.timers, key)
	c.sys.clock.Cancel(&tm.due)
	return true
}

// timer is the one under a key, nil if there is none.
func (c *cell) timer(key string) *timer {
	r := c.look()
	if r == &c.sys.none {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timers[key]
}

// CancelAll ends every timer of the actor.
func (t Timers) CancelAll() {
	if t.ctx.ok("Timers") {
		t.ctx.c.cancelTimers()
	}
}

// Active reports whether a timer under key can still send.
func (t Timers) Active(key string) bool {
	return t.ctx.ok("Timers") && t.ctx.c.timer(key) != nil
}

// Keys are the keys of the active timers, sorted. The slice is the caller's.
func (t Timers) Keys() []string {
	if !t.ctx.ok("Timers") {
		return nil
	}
	r := t.ctx.c.look()
	if r == &t.ctx.c.sys.none {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.timers))
}

func (c *cell) cancelTimers() {
	r := c.look()
	if r == &c.sys.none {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tm := range r.timers {
		c.sys.clock.Cancel(&tm.due)
	}
	r.timers = nil
}

// Deadline is the clock's part of the timer.
func (tm *timer) Deadline() *timing.Deadline { return &tm.due }

// Fire is called by the clock and only enqueues. At most one tick of a timer is on its way, since the next is armed when
// this one has been handled; so ticks exceed the bound of a mailbox by at most one per timer and are never dropped.
func (tm *timer) Fire(int64) int64 {
	_ = tm.cell.push(envelope{msg: tm.msg, done: tickMark{tm}}, nil) // a cell that is gone has no use for it
	return 0
}

// expects says at delivery whether the tick is that of a running timer: a cancelled or replaced one is not under its key any
// more. A single one ends with it.
func (tm *timer) expects(c *cell) bool {
	r := c.look()
	if r == &c.sys.none {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timers[tm.key] != tm {
		return false
	}
	if tm.interval == 0 {
		delete(r.timers, tm.key)
	}
	return true
}

// handled arms the next tick.
func (tm *timer) handled(c *cell) {
	if c.timer(tm.key) != tm || tm.interval == 0 {
		return
	}
	now := c.sys.clock.Now()
	if tm.rate {
		missed := (now - tm.at) / int64(tm.interval)
		tm.at = timing.Later(tm.at+missed*int64(tm.interval), tm.interval)
	} else {
		tm.at = timing.Later(now, tm.interval)
	}
	c.sys.clock.Schedule(tm, tm.at, now)
}
