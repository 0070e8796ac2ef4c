// Package timing keeps the deadlines of one actor system: receive timeouts, actor timers and ask timeouts.
//
// A Clock is a heap of entries and one runtime timer that sleeps until the earliest of them. Nothing ticks while no
// deadline is due, nothing is process-wide, and every time is exact: an entry fires at its deadline, never before, and
// is not rounded to slots. It works unchanged inside a testing/synctest bubble.
package timing

import (
	"math"
	"sync"
	"time"
)

// Firer is what an Entry wakes. Fire is called on the clock's goroutine without any lock held, at or after the entry's
// deadline; it must not block. An entry that is removed while it is about to fire may fire all the same, so a Firer
// decides under its own lock whether the call still concerns it.
type Firer interface{ Fire(now int64) }

// Entry is one deadline. The zero value with Owner set is ready. An Entry belongs to one Clock and must not be copied
// while it is in it.
type Entry struct {
	Owner Firer
	at    int64
	pos   int // index in the heap plus one, 0: not in it
}

// Clock schedules entries. All methods may be called from any goroutine and do not block for longer than the heap
// operation; create one with New.
type Clock struct {
	t0 time.Time

	mu      sync.Mutex
	heap    []*Entry
	timer   *time.Timer
	wake    int64 // what the timer is set to; 0: not set
	running bool  // tick is at work and will set the timer itself
	stopped bool
	ended   sync.Cond
}

// New returns a Clock that starts at 1 ns and has nothing to do.
func New() *Clock {
	k := &Clock{t0: time.Now()}
	k.ended.L = &k.mu
	return k
}

// Now is the time in nanoseconds since New, plus one: never 0.
func (k *Clock) Now() int64 { return int64(time.Since(k.t0)) + 1 }

// Later is t + d, or the end of time when that overflows.
func Later(t int64, d time.Duration) int64 {
	if t > math.MaxInt64-int64(d) {
		return math.MaxInt64
	}
	return t + int64(d)
}

// Add puts e into the clock, to fire at at; an entry that is in it already moves. On a stopped clock it does nothing.
func (k *Clock) Add(e *Entry, at int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	e.at = at
	if e.pos == 0 {
		k.heap = append(k.heap, e)
		e.pos = len(k.heap)
		k.up(e.pos - 1)
	} else {
		k.up(e.pos - 1)
		k.down(e.pos - 1)
	}
	if !k.running && (k.wake == 0 || at < k.wake) {
		k.setTimer(at)
	}
}

// Remove takes e out and reports whether it was in.
func (k *Clock) Remove(e *Entry) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.remove(e)
}

// Len is how many entries wait.
func (k *Clock) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.heap)
}

// Stop forgets every entry and waits for a firing that is under way. It must not be called from Fire. Idempotent.
func (k *Clock) Stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	for _, e := range k.heap {
		e.pos = 0
	}
	k.heap = nil
	if k.timer != nil {
		k.timer.Stop()
	}
	for k.running {
		k.ended.Wait()
	}
}

// setTimer is called with mu held.
func (k *Clock) setTimer(at int64) {
	k.wake = at
	d := time.Duration(at - k.Now())
	if k.timer == nil {
		k.timer = time.AfterFunc(d, k.tick)
		return
	}
	k.timer.Reset(d)
}

// tick fires what is due. It takes the due entries in portions, so that nobody waits long for the lock.
func (k *Clock) tick() {
	var buf [64]*Entry
	k.mu.Lock()
	if k.running || k.stopped {
		k.mu.Unlock()
		return
	}
	k.running, k.wake = true, 0
	for !k.stopped {
		now := k.Now()
		due := buf[:0]
		for len(k.heap) > 0 && k.heap[0].at <= now && len(due) < len(buf) {
			due = append(due, k.heap[0])
			k.remove(k.heap[0])
		}
		if len(due) == 0 {
			break
		}
		k.mu.Unlock()
		for _, e := range due {
			e.Owner.Fire(now)
		}
		clear(due)
		k.mu.Lock()
	}
	k.running = false
	if k.stopped {
		k.ended.Broadcast()
	} else if len(k.heap) > 0 {
		k.setTimer(k.heap[0].at)
	}
	k.mu.Unlock()
}

// The heap is 4-ary: shallower than a binary one, and its children share a cache line.

func (k *Clock) remove(e *Entry) bool {
	if e.pos == 0 {
		return false
	}
	i, last := e.pos-1, len(k.heap)-1
	k.swap(i, last)
	k.heap[last] = nil
	k.heap = k.heap[:last]
	e.pos = 0
	if i < last {
		k.up(i)
		k.down(i)
	}
	return true
}

func (k *Clock) swap(i, j int) {
	k.heap[i], k.heap[j] = k.heap[j], k.heap[i]
	k.heap[i].pos, k.heap[j].pos = i+1, j+1
}

func (k *Clock) up(i int) {
	for i > 0 {
		p := (i - 1) / 4
		if k.heap[p].at <= k.heap[i].at {
			return
		}
		k.swap(p, i)
		i = p
	}
}

func (k *Clock) down(i int) {
	for {
		first, least := 4*i+1, i
		for c := first; c < first+4 && c < len(k.heap); c++ {
			if k.heap[c].at < k.heap[least].at {
				least = c
			}
		}
		if least == i {
			return
		}
		k.swap(i, least)
		i = least
	}
}
