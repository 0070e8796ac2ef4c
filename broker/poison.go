package broker

import (
	"slices"
	"time"
)

// This file finds the envelope that takes down one connection after the other. A loss does not say which envelope caused
// it, and the innocent must not pay:
//
//   - after closeAfter losses in a row with something in flight, the window closes to 1;
//   - an envelope that was alone in flight at suspectAt further losses is a suspect, and the next link does not get it;
//   - if that link confirms another envelope and outlives by far the time in which the others fell, or stays up for
//     stableAfter, it has proved good, and the suspect is on trial: it is sent once more, alone. If the link falls before it is settled, it is poison and a dead letter;
//   - if the link falls while the suspect is held, the link is to blame and the suspect returns to the head. What was alone
//     in flight at that loss is counted all the same, so that of two poisons, one behind the other, both come to be held;
//   - a streak in which a link was to blame proves nothing when it ends: links may just have become good again. Then the
//     suspects go back to the queue, and only one that comes to the same point a second time is tried;
//   - an answer of the peer opens the window again and wipes every count.
const (
	closeAfter  = 3
	suspectAt   = 2
	maxSuspects = 8
)

// A link has outlived the others when it is up for outlive times as long as the suspect was in flight at the losses, and
// for minOutlive at least: links that fall every few milliseconds by themselves do not last that long.
const (
	outlive    = 4
	minOutlive = 100 * time.Millisecond
)

// hold keeps the suspects at the head from a new link. Under mu.
func (o *outbox[O]) hold() {
	for o.limit > 0 && len(o.held) < maxSuspects && o.q.len() > 0 && o.q.at(0).alone >= suspectAt {
		o.held = append(o.held, o.q.remove(0))
	}
}

// release takes one suspect out of those held; the caller owns the entry. Under mu.
func (o *outbox[O]) release(i int) entry[O] {
	e := o.held[i]
	o.held = slices.Delete(o.held, i, i+1)
	return e
}

// acquit returns the suspects to the head. Under mu.
func (o *outbox[O]) acquit() {
	for i := range o.held {
		o.held[i].alone = 0
		o.putBack(o.held[i])
	}
	clear(o.held)
	o.held = o.held[:0]
}

// judge puts the suspects on trial when something speaks for the current link. Under mu.
func (o *outbox[O]) judge() {
	for i := range o.held {
		e := o.held[i]
		e.alone = 0
		if o.blamed && e.strikes == 0 {
			e.strikes++
		} else {
			e.trial = true
			o.trials++
		}
		o.putBack(e)
	}
	clear(o.held)
	o.held, o.blamed = o.held[:0], false
}

// convict ends the guilty after a loss. Who waited for a trial is a suspect still if the loss is explained by that, and
// free otherwise. Under mu, when everything is back in the queue.
func (o *outbox[O]) convict() (out []verdict[O]) {
	if o.trials == 0 {
		return nil
	}
	for i := 0; i < o.q.len() && o.q.at(i).ord != 0; {
		if !o.q.at(i).guilty {
			i++
			continue
		}
		v := verdict[O]{entry: o.q.remove(i), reason: ReasonPoison, cause: ErrPoison}
		o.count(&v)
		out = append(out, v)
	}
	if len(out) > 0 {
		o.losses, o.narrow = 0, false
	}
	for i := 0; i < o.q.len() && o.q.at(i).ord != 0; i++ {
		if e := o.q.at(i); e.trial {
			e.trial = false
			o.trials--
			if len(out) > 0 {
				e.alone = suspectAt
			}
		}
	}
	return out
}

// answered notes that the peer answered on the current link: the losses before were not the fault of what is sent now. A
// confirmation also proves that the link is good for what was held back. Under mu.
func (o *outbox[O]) answered(confirmed bool) {
	o.losses = 0
	if o.narrow {
		o.narrow = false
		for i := 0; i < o.q.len() && o.q.at(i).ord != 0; i++ {
			o.q.at(i).alone = 0
		}
	}
	if confirmed && len(o.held) > 0 {
		o.proved = true
		o.try()
	}
}

// try puts the suspects on trial if the link has proved good, now or when it has outlived the others. Under mu.
func (o *outbox[O]) try() {
	if len(o.held) == 0 || !o.proved || !o.open {
		return
	}
	wait := int64(0)
	for i := range o.held {
		if e := &o.held[i]; !o.blamed || e.strikes > 0 { // the others only go back to the queue
			wait = max(wait, int64(minOutlive), outlive*e.took)
		}
	}
	if at := o.upAt + wait; at > o.now() {
		o.tick.trial = at
		o.arm()
		return
	}
	o.judge()
}

// stable tells that the link has been up for stableAfter. That speaks against one suspect; with several it proves
// nothing, because the peer may be one that dies of everything it is sent, and they are sent again.
func (o *outbox[O]) stable(l *Link) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.epoch != l.epoch {
		return
	}
	if len(o.held) > 1 {
		o.acquit()
	}
	o.judge()
	o.changed()
}

// blame counts a loss against the window and then against the one envelope in flight. Under mu, before the flights are
// put back.
func (o *outbox[O]) blame(l *Link) {
	var one *entry[O]
	n := o.flying
	if n > 0 {
		one = &o.fl[o.first-1].entry
	}
	for i := 0; i < o.q.len() && o.q.at(i).ord != 0; i++ {
		e := o.q.at(i)
		if e.returned == l.epoch { // its outcome was left open just before the link fell
			n++
			one = e
		}
		e.returns = 0
	}
	for i := o.first; i != 0; i = o.fl[i-1].next {
		o.fl[i-1].returns = 0
	}
	if n == 0 {
		return
	}
	if n == 1 && one.trial {
		one.guilty = true
		return
	}
	if o.narrow && n == 1 {
		one.alone++
		if one.sentAt != 0 {
			one.took = max(one.took, o.now()-one.sentAt)
		}
	}
	o.blamed = o.blamed || len(o.held) > 0
	if o.losses++; o.losses >= closeAfter {
		o.narrow = true
	}
}
