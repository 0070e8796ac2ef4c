package broker

import (
	"container/heap"
	"slices"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// This file has what the engine's goroutine does for inbound messages while it is connected: it tells again what was
// refused, passes on refusals that had to wait, and refuses what nobody has answered. Only that goroutine tells a message
// a second time, so that the order within a sequence is kept. Everything but work runs under inbound.mu.

// dueHeap orders places by due.
type dueHeap []*place

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

// Swap implements heap.Interface.
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heap, h[j].heap = i+1, j+1
}

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	p := x.(*place)
	p.heap = len(*h) + 1
	*h = append(*h, p)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	old := *h
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	p.heap = 0
	return p
}

func (in *inbound) schedule(p *place, d time.Duration) {
	p.due = time.Now().Add(d)
	heap.Push(&in.due, p)
	if p.heap == 1 {
		in.poke()
	}
}

func (in *inbound) unschedule(p *place) {
	if p.heap != 0 {
		heap.Remove(&in.due, p.heap-1)
	}
}

// wake makes an overdue place due now.
func (in *inbound) wake(p *place) {
	p.run.overdue = false
	if p.heap == 0 {
		in.schedule(p, 0)
	}
}

func (in *inbound) poke() {
	select {
	case in.clock <- struct{}{}:
	default:
	}
}

// await puts a message that its handlers have returned from among those that want an answer.
func (in *inbound) await(p *place) {
	p.waiting = true
	if in.ackTimeout > 0 {
		p.until = time.Now().Add(in.ackTimeout)
	}
	p.before = in.waiting.last
	if p.before != nil {
		p.before.after = p
	} else {
		in.waiting.first = p
		in.poke()
	}
	in.waiting.last = p
}

// answered takes it out again.
func (in *inbound) answered(p *place) {
	if !p.waiting {
		return
	}
	if p.before != nil {
		p.before.after = p.after
	} else {
		in.waiting.first = p.after
	}
	if p.after != nil {
		p.after.before = p.before
	} else {
		in.waiting.last = p.before
	}
	p.waiting, p.before, p.after = false, nil, nil
}

// leftBehind refuses the messages that the actor which has stopped was the last to answer.
func (in *inbound) leftBehind(ref actor.Ref) {
	in.mu.Lock()
	defer in.leave()
	for p := in.waiting.first; p != nil; {
		after := p.after
		if slices.Contains(p.to, ref) {
			if p.gone++; p.gone >= len(p.to) {
				p.refuse(ErrTargetGone)
				p.release()
			}
		}
		p = after
	}
}

// next is how long nothing is due; false when nothing is.
func (in *inbound) next(now time.Time) (d time.Duration, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if p := in.waiting.first; p != nil && in.ackTimeout > 0 {
		d, ok = p.until.Sub(now), true
	}
	if in.paused {
		return max(0, d), ok
	}
	if len(in.due) > 0 {
		if left := in.due[0].due.Sub(now); !ok || left < d {
			d, ok = left, true
		}
	}
	for _, s := range in.runs {
		if s.queued > 0 && s.again == 0 {
			return 0, true
		}
	}
	return max(0, d), ok
}

// work does what is due. It is called on the engine's goroutine only, and not under mu.
func (in *inbound) work(l *Link) {
	now := time.Now()
	in.mu.Lock()
	if in.epoch != l.epoch || in.drained {
		in.mu.Unlock()
		return
	}
	for p := in.waiting.first; p != nil && in.ackTimeout > 0 && !p.until.After(now); p = in.waiting.first {
		p.refuse(ErrAckTimeout)
		in.answered(p)
		p.release()
	}
	for !in.paused && len(in.due) > 0 && !in.due[0].due.After(now) {
		p := in.due[0]
		in.unschedule(p)
		switch {
		case p.pass != nil:
			in.post(Ack{Ref: p.ref, ID: p.id, Err: p.pass})
			p.pass = nil
			p.release()
		case !p.run.seq.mayTell(p):
			p.run.overdue = true
		default:
			in.tellAgain(p)
		}
	}
	for !in.paused && in.tellQueued() {
	}
	in.leave()
}

// tellAgain delivers a refused message once more. It leaves mu for a moment.
func (in *inbound) tellAgain(p *place) {
	p.run.resting, p.run.overdue = false, false
	if !p.run.innocent {
		p.n++
	}
	msg := p.msg
	refs := in.tell(p)
	in.leave()
	in.send(p, msg, refs)
	in.mu.Lock()
}

// tellQueued delivers what has waited in one sequence; false when there is none. It leaves mu meanwhile.
func (in *inbound) tellQueued() bool {
	for _, s := range in.runs {
		waiters := s.waiters()
		if len(waiters) == 0 {
			continue
		}
		s.telling = true
		for _, d := range waiters {
			p, ok := s.dequeue(d)
			if !ok {
				continue
			}
			msg := p.msg
			refs := in.tell(p)
			in.leave()
			in.send(p, msg, refs)
			in.mu.Lock()
		}
		s.telling = false
		return true
	}
	return false
}
