package actor

import (
	"context"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/mailbox"
	"github.com/troupe-go/troupe/internal/timing"
)

// scheduler runs the cells of one system. A cell that has been woken is either in a carrier's slot or batch, see
// carrier.go, or in the shared queue here. Without work there is no goroutine.
type scheduler struct {
	mu         sync.Mutex // of the queue
	head, tail *cell
	queued     int
	single     bool // handlers block: carriers take no batches
	_          [64]byte

	some     atomic.Bool  // queued > 0
	active   atomic.Int32 // carriers that are not known to be stuck
	carriers atomic.Int32 // goroutines that run cells, counted from before they start until after their last look
	search   atomic.Int32 // carriers that look for work
	_        [64]byte

	clock  *timing.Clock
	epochs atomic.Int64 // numbers that were given
	max    int32        // of active
	turn   uintptr      // where (*carrier).turn begins
	direct bool         // a goroutine for each activation, see newScheduler
	pool   sync.Pool
	chunks mailbox.Pool[envelope]
	quiet  quietWaiters
	dog    watchdog
}

// inBubble reports whether the caller is in a testing/synctest bubble: only there time.Now has no monotonic reading.
func inBubble() bool {
	now := time.Now()
	return now == now.Round(0)
}

// start makes the scheduler ready. In a bubble each activation has a goroutine of its own: carriers would make an actor
// that is behind a blocked handler wait for the watchdog, a virtual millisecond, and synctest.Wait would not mean what
// its caller thinks.
func (s *scheduler) start(clock *timing.Clock) {
	s.clock = clock
	s.max = int32(runtime.GOMAXPROCS(0))
	s.direct = inBubble()
	s.turn = reflect.ValueOf((*carrier).turn).Pointer()
	s.dog.start(s)
}

// stop ends the watchdog. There must be no carrier any more.
func (s *scheduler) stop() { s.dog.stop() }

// enqueue puts a cell that the caller owns into the shared queue and sees to it that a carrier comes. inside: the
// caller is a carrier, which has something else to do.
func (s *scheduler) enqueue(c *cell, inside bool) {
	if s.direct {
		s.carriers.Add(1)
		go s.once(c)
		return
	}
	n := s.append(c)
	active := s.active.Load()
	if active == 0 && !s.some.Load() {
		return // it has been taken, and may have ended by now, and the system with it
	}
	if active == 0 || active < s.max && (inside || n > 1) {
		if s.search.Load() > 0 || s.launch(active) {
			return
		}
	}
	s.alarm(nil)
}

// enqueueUrgent is enqueue for a caller that is going to wait for what comes of it. If it waits in a handler, its carrier
// is as good as stuck, and need not be found so by the watchdog: another takes its place at once.
func (s *scheduler) enqueueUrgent(c *cell) {
	if s.direct || s.active.Load() < s.max {
		s.enqueue(c, true)
		return
	}
	s.append(c)
	if s.onCarrier() {
		s.carriers.Add(1)
		go s.carry(true)
		return
	}
	s.alarm(nil)
}

// onCarrier reports whether the caller runs on a carrier, of whatever system. It takes about a microsecond, which is little
// where the alternative is a millisecond.
func (s *scheduler) onCarrier() bool {
	var pcs [64]uintptr
	for _, pc := range pcs[:runtime.Callers(3, pcs[:])] {
		if f := runtime.FuncForPC(pc); f != nil && f.Entry() == s.turn {
			return true
		}
	}
	return false
}

func (s *scheduler) append(c *cell) (length int) {
	c.qnext = nil
	s.mu.Lock()
	if s.tail == nil {
		s.head = c
	} else {
		s.tail.qnext = c
	}
	s.tail = c
	s.queued++
	n := s.queued
	if n == 1 {
		s.some.Store(true)
	}
	s.mu.Unlock()
	return n
}

// launch starts a carrier if there are still n active ones.
func (s *scheduler) launch(n int32) bool {
	if !s.active.CompareAndSwap(n, n+1) {
		return false
	}
	s.carriers.Add(1)
	go s.carry(false)
	return true
}

// dequeue takes the first cell of the queue, and this carrier's share of the others as its batch, so that the lock is
// not taken for each.
func (k *carrier) dequeue() *cell {
	s := k.sched
	if !s.some.Load() {
		return nil
	}
	s.mu.Lock()
	c := s.head
	if c == nil {
		s.mu.Unlock()
		return nil
	}
	next := c.qnext
	c.qnext = nil // or an idle actor would keep one that has ended
	n := uint32(0)
	if !s.single && !k.loose.Load() && k.batchState.Load() != busy {
		most := min(uint32(s.queued-1)/uint32(s.max), batchLen)
		for ; n < most; n++ {
			k.batch[n] = next
			next, next.qnext = next.qnext, nil
		}
	}
	s.head = next
	s.queued -= int(n) + 1
	if next == nil {
		s.tail = nil
		s.some.Store(false)
	}
	s.mu.Unlock()
	if n > 0 {
		k.batchState.Store(n)
	}
	return c
}

// done counts a goroutine out that has run cells. The last one wakes who waits for quiet: as long as cells only wake
// each other the count does not touch zero, because whoever wakes is itself counted.
func (s *scheduler) done() {
	if s.carriers.Add(-1) == 0 {
		s.quiet.wake()
	}
}

// quietWaiters are those who wait for a moment without activations.
type quietWaiters struct {
	waiting atomic.Int32
	mu      sync.Mutex
	ch      chan struct{}
}

func (q *quietWaiters) wake() {
	if q.waiting.Load() == 0 {
		return
	}
	q.mu.Lock()
	if q.ch != nil {
		close(q.ch)
		q.ch = nil
	}
	q.mu.Unlock()
}

// awaitQuiet returns true as soon as no actor is at work or has been woken, false when ctx ends before.
func (s *System) awaitQuiet(ctx context.Context) bool {
	q := &s.sched.quiet
	q.waiting.Add(1) // before the count is read: whoever makes it zero after that sees us
	defer q.waiting.Add(-1)
	for {
		q.mu.Lock()
		if q.ch == nil {
			q.ch = make(chan struct{})
		}
		ch := q.ch
		q.mu.Unlock()
		if s.sched.carriers.Load() == 0 {
			return true
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return s.sched.carriers.Load() == 0
		}
	}
}
