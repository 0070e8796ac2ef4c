package resilience

import (
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// parked is a message that waits for a child, with what travels beside it.
type parked struct {
	msg    any
	sender actor.Ref
	done   actor.Completion // held, nil if it had none
}

// waiting is the messages that have come while no child took them, and whether one takes them now. It is the one thing
// that a supervisor and its child share: when the child's PreStart has succeeded, the child itself fetches what waits,
// on its own goroutine. A message to the supervisor saying so could be refused by a bounded mailbox, and would be a dead
// letter of the runtime's making when the supervisor stops.
//
// Only the supervisor closes and puts, only a child opens, and gen tells the present child from one that the supervisor
// has given up on. The order is kept because a child opens only when it finds the queue empty: until then the supervisor
// puts what comes behind the rest, and from then on it sends to a mailbox that has the rest already. Nothing is sent with
// mu held: sending to a full mailbox calls foreign completions.
type waiting struct {
	limit int

	mu      sync.Mutex
	gen     uint64
	open    bool
	started time.Time     // open: since when
	lived   time.Duration // not open: how long the last child was, 0 if it never was
	queue   []parked      // from head on
	head    int
}

// expect begins a new incarnation of the child and returns its generation.
func (w *waiting) expect() (gen uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lived = 0
	return w.gen
}

// shut makes messages wait from now on, and keeps a child that is still fetching them from going on.
func (w *waiting) shut() {
	w.mu.Lock()
	if w.open {
		w.open, w.lived = false, time.Since(w.started)
	}
	w.gen++
	w.mu.Unlock()
}

// isOpen says whether messages go to the child directly.
func (w *waiting) isOpen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

// lifetime is how long the last child was up, until its end was noticed; 0 if it never was.
func (w *waiting) lifetime() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lived
}

// put adds a message. out is the one that had to make room, if full. When a child has opened meanwhile, open is true and
// e was not taken.
func (w *waiting) put(e parked) (out parked, full, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open {
		return out, false, true
	}
	if w.lenLocked() >= w.limit {
		out, full = w.popLocked(), true
	}
	if w.head > len(w.queue)/2 {
		// Half of the slice is behind us: moving the rest costs at most one step for each message taken out before.
		n := copy(w.queue, w.queue[w.head:])
		clear(w.queue[n:])
		w.queue, w.head = w.queue[:n], 0
	}
	w.queue = append(w.queue, e)
	return out, full, false
}

// fetch sends everything that waits to a child that has started, then lets messages go to it directly.
func (w *waiting) fetch(gen uint64, child actor.Ref) {
	for {
		w.mu.Lock()
		if gen != w.gen {
			w.mu.Unlock()
			return
		}
		if w.lenLocked() == 0 {
			w.open, w.started, w.queue, w.head = true, time.Now(), nil, 0
			w.mu.Unlock()
			return
		}
		e := w.popLocked()
		w.mu.Unlock()
		actor.Send(child, actor.Envelope{Msg: e.msg, Sender: e.sender, Done: e.done})
	}
}

// take removes the oldest message.
func (w *waiting) take() (e parked, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lenLocked() == 0 {
		return parked{}, false
	}
	return w.popLocked(), true
}

func (w *waiting) lenLocked() int { return len(w.queue) - w.head }

func (w *waiting) popLocked() parked {
	e := w.queue[w.head]
	w.queue[w.head] = parked{}
	w.head++
	return e
}
