package broker

import (
	"fmt"
	"time"
)

// This file has what happens to envelopes by the passing of time: those that grew too old, and the events of evictions,
// which are counted for a millisecond. One goroutine of the outbox waits for both, and only as long as there is something
// to wait for.

// overflowPause is for how long evictions are counted before they are told in one event.
const overflowPause = time.Millisecond

// ticker is the state of that goroutine. outbox.mu guards it.
type ticker struct {
	running bool
	due     int64         // what it sleeps for
	wake    chan struct{} // something is due earlier
	oldest  int64         // no envelope is too old before; 0 is none has an age
	evicted int           // not told yet
	tell    int64         // when they are told; 0 is that the next one is told at once
	trial   int64         // when suspects are tried, if their link is still up; 0 is none
}

func (o *outbox[O]) now() int64 { return int64(time.Since(o.began)) + 1 }

// aged notes that an envelope has an age. Under mu, as the others.
func (o *outbox[O]) aged(until int64) {
	if o.tick.oldest == 0 || until < o.tick.oldest {
		o.tick.oldest = until
		o.arm()
	}
}

// overflowed counts evictions and returns how many are to be told now: the first at once, those of the millisecond after
// it together.
func (o *outbox[O]) overflowed(n int) (tell int) {
	switch t := &o.tick; {
	case n == 0:
	case t.tell != 0:
		t.evicted += n
	default:
		t.tell = o.now() + int64(overflowPause)
		o.arm()
		return n
	}
	return 0
}

// next is when something is due; 0 is never.
func (t *ticker) next() int64 {
	first := int64(0)
	for _, at := range []int64{t.oldest, t.tell, t.trial} {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}

// arm makes sure that the goroutine runs and wakes in time.
func (o *outbox[O]) arm() {
	t := &o.tick
	switch next := t.next(); {
	case next == 0 || o.closed:
	case !t.running:
		t.running, t.due = true, next
		o.timers.Go(o.run)
	case next < t.due:
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// run waits for what is due, and ends when nothing is. Not under mu.
func (o *outbox[O]) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		out, tell, sleep, more := o.sweep()
		if tell > 0 {
			o.evicted(tell)
		}
		o.conclude(out)
		if !more {
			return
		}
		timer.Reset(sleep)
		select {
		case <-timer.C:
		case <-o.tick.wake:
		}
	}
}

// sweep takes out what is too old and counts what is to be told, and says how long to sleep until the next of either.
func (o *outbox[O]) sweep() (out []verdict[O], tell int, sleep time.Duration, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t, now := &o.tick, o.now()
	if t.tell != 0 && t.tell <= now {
		if tell = t.evicted; tell > 0 {
			t.tell = now + int64(overflowPause)
		} else {
			t.tell = 0
		}
		t.evicted = 0
	}
	if t.oldest != 0 && t.oldest <= now {
		out = o.expire(now)
		o.changed()
	}
	if t.trial != 0 && t.trial <= now {
		t.trial = 0
		o.try()
		o.changed()
	}
	t.due = t.next()
	if t.due == 0 || o.closed {
		t.running = false
		return out, tell, 0, false
	}
	return out, tell, time.Duration(t.due - now), true
}

// expire takes out what waits and is too old. What is in flight is not cut: if it returns it is looked at again.
func (o *outbox[O]) expire(now int64) (out []verdict[O]) {
	t := &o.tick
	t.oldest = 0
	old := func(e *entry[O]) bool {
		if e.until > now && (t.oldest == 0 || e.until < t.oldest) {
			t.oldest = e.until
		}
		return e.until != 0 && e.until <= now
	}
	for i := 0; i < len(o.held); {
		if old(&o.held[i]) {
			out = append(out, o.overdue(o.release(i)))
			continue
		}
		i++
	}
	n := o.q.len()
	for range n { // those that stay keep their order
		if e := o.q.remove(0); old(&e) {
			out = append(out, o.overdue(e))
		} else {
			o.q.pushBack(e)
		}
	}
	return out
}

// overdue is the end of an envelope that is too old. One that was in flight before may have arrived.
func (o *outbox[O]) overdue(e entry[O]) verdict[O] {
	v := verdict[O]{entry: e, reason: ReasonExpired, cause: ErrExpired}
	if e.ord != 0 {
		v.reason, v.cause = ReasonUnknown, fmt.Errorf("%w: %w", ErrUnknown, ErrExpired)
	}
	o.count(&v)
	return v
}

// skip ends the head of the queue if it is too old to be sent, and reports whether it was. It leaves mu for a moment.
func (o *outbox[O]) skip() bool {
	if o.tick.oldest == 0 {
		return false
	}
	e := o.q.at(0)
	if e.until == 0 || e.until > o.now() {
		return false
	}
	v := o.overdue(o.q.remove(0))
	o.changed()
	o.mu.Unlock()
	o.conclude([]verdict[O]{v})
	o.mu.Lock()
	return true
}

// fail refuses what comes from now on and ends what waits, when no retry will follow and nothing is to wait for one; off
// takes it back.
func (o *outbox[O]) fail(on bool) {
	var out []verdict[O]
	o.mu.Lock()
	if o.failed = on; on {
		out = o.empty(ReasonNotConnected, ErrNotConnected)
	}
	o.mu.Unlock()
	o.conclude(out)
}

// last is what is still to be told of evictions, at the end. Under mu.
func (t *ticker) last() (n int) {
	n, t.evicted = t.evicted, 0
	return n
}
