package broker

import (
	"fmt"
	"slices"
)

// This file has the ways in which envelopes leave the outbox's window: one by one, through, in a run, by a loss.

// verdict is an entry on its way out, with what it ends as; reason 0 is delivered.
type verdict[O any] struct {
	entry[O]
	outcome Outcome
	detail  any
	reason  Reason
	cause   error
}

// conclude ends entries that were taken out under mu. Not under mu.
func (o *outbox[O]) conclude(vs []verdict[O]) {
	for i := range vs {
		v := &vs[i]
		if v.reason == 0 {
			o.finish(&v.entry, v.outcome, v.detail)
		} else {
			o.drop(&v.entry, v.reason, v.cause)
		}
	}
}

// count books a verdict, under mu.
func (o *outbox[O]) count(v *verdict[O]) {
	o.left(&v.entry)
	switch {
	case v.reason != 0:
		o.book.Undelivered++
	case v.outcome == Written:
		o.book.Written++
	default:
		o.book.Acked++
	}
}

// settle is Link.Settle. lost asks for the loss of the link.
func (o *outbox[O]) settle(l *Link, t Token, detail any, err error) (lost error) {
	var buf [2]verdict[O]
	out := buf[:0]
	o.mu.Lock()
	if t.slot <= 0 || int(t.slot) > len(o.fl) || t.ord == 0 || o.fl[t.slot-1].ord != t.ord {
		if v, ok := o.late(t, detail, err); ok {
			out = append(out, v)
		}
	} else {
		out, lost = o.outcome(l, t.slot, detail, err, out)
	}
	o.changed()
	o.mu.Unlock()
	o.conclude(out)
	return lost
}

// outcome deals with one flight of the current link, under mu, and appends what left.
func (o *outbox[O]) outcome(l *Link, slot int32, detail any, err error, out []verdict[O]) ([]verdict[O], error) {
	v := verdict[O]{outcome: Acked, detail: detail}
	switch {
	case err == nil:
		if w, ok := detail.(Outcome); ok {
			v.outcome, v.detail = w, nil
		}
	case IsRejected(err):
		v.reason, v.cause = ReasonRejected, err
	case o.limit == 0:
		v.reason, v.cause = ReasonUnknown, err
	default:
		e := o.land(slot)
		e.returned = l.epoch
		e.returns++
		o.putBack(e)
		if e.returns >= maxReturned {
			return out, fmt.Errorf("%w, last: %w", ErrUnconfirmed, err)
		}
		return out, nil
	}
	v.entry = o.land(slot)
	o.count(&v)
	out = append(out, v)
	if v.reason != ReasonUnknown {
		o.answered(err == nil)
	}
	return out, nil
}

// late handles an outcome whose flight is gone: it was settled before, or a loss put the envelope back. In the second
// case a confirmation still counts and spares the resend.
func (o *outbox[O]) late(t Token, detail any, err error) (v verdict[O], ok bool) {
	if err != nil || t.ord == 0 {
		return v, false
	}
	v = verdict[O]{outcome: Acked, detail: detail}
	if w, isOutcome := detail.(Outcome); isOutcome {
		v.outcome, v.detail = w, nil
	}
	if i := slices.IndexFunc(o.held, func(e entry[O]) bool { return e.ord == t.ord }); i >= 0 {
		v.entry = o.release(i)
	} else {
		i := 0
		for i < o.q.len() && o.q.at(i).ord != t.ord {
			if o.q.at(i).ord == 0 {
				return v, false // never dispatched, and so is everything behind it
			}
			i++
		}
		if i == o.q.len() {
			return v, false
		}
		v.entry = o.q.remove(i)
	}
	o.count(&v)
	return v, true
}

// settleThrough is Link.SettleThrough. It works in bites, so that completions do not wait for a whole window and no
// memory is needed.
func (o *outbox[O]) settleThrough(l *Link, t Token, err error) (lost error) {
	var buf [66]verdict[O]
	for more := true; more; {
		out := buf[:0]
		o.mu.Lock()
		more = o.epoch == l.epoch
		for more {
			if o.first == 0 || o.fl[o.first-1].ord > t.ord {
				more = false
				break
			}
			if len(out) >= len(buf)-2 {
				break
			}
			var e error
			if out, e = o.outcome(l, o.first, nil, err, out); e != nil {
				lost = e
			}
		}
		o.changed()
		o.mu.Unlock()
		o.conclude(out)
	}
	return lost
}

// settleRun settles envelopes that were dispatched one after the other on l, with one outcome.
func (o *outbox[O]) settleRun(l *Link, run []Token, outcome Outcome) {
	var buf [66]verdict[O]
	for len(run) > 0 {
		n := min(len(run), len(buf)-2)
		out := buf[:0]
		o.mu.Lock()
		if o.epoch != l.epoch {
			o.mu.Unlock()
			return
		}
		for _, t := range run[:n] {
			if int(t.slot) <= len(o.fl) && o.fl[t.slot-1].ord == t.ord {
				out, _ = o.outcome(l, t.slot, outcome, nil, out)
			}
		}
		o.changed()
		o.mu.Unlock()
		o.conclude(out)
		run = run[n:]
	}
}

// lost takes back what the link did not settle, in the order of acceptance. It is called after the link's teardown.
func (o *outbox[O]) lost(l *Link) {
	o.mu.Lock()
	if o.epoch != l.epoch {
		o.mu.Unlock()
		return
	}
	o.open = false
	if o.limit == 0 {
		o.epoch = 0
		out := o.empty(ReasonNotConnected, ErrNotConnected)
		o.mu.Unlock()
		o.conclude(out)
		return
	}
	o.blame(l)
	for o.last != 0 {
		o.putBack(o.land(o.last))
	}
	o.acquit()
	out := o.convict()
	o.tick.trial = 0
	o.epoch = 0
	o.changed()
	o.mu.Unlock()
	o.conclude(out)
}

// empty takes everything out: what was dispatched at some time ends as unknown, the rest as never. Under mu.
func (o *outbox[O]) empty(never Reason, cause error) []verdict[O] {
	o.acquit()
	for o.last != 0 {
		o.putBack(o.land(o.last))
	}
	out := make([]verdict[O], 0, o.q.len())
	for o.q.len() > 0 {
		v := verdict[O]{entry: o.q.remove(0), reason: never, cause: cause}
		if v.ord != 0 {
			v.reason, v.cause = ReasonUnknown, ErrUnknown
		}
		o.count(&v)
		out = append(out, v)
	}
	return out
}

// close ends everything that is left, and waits for the outbox's goroutine. It may be called again.
func (o *outbox[O]) close() {
	o.mu.Lock()
	o.ending, o.closed, o.open, o.epoch = true, true, false, 0
	out := o.empty(ReasonStopped, ErrStopping)
	tell := o.tick.last()
	o.can.Broadcast()
	o.mu.Unlock()
	select {
	case o.tick.wake <- struct{}{}:
	default:
	}
	if tell > 0 {
		o.evicted(tell)
	}
	o.conclude(out)
	o.timers.Wait()
}
