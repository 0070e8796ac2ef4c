// Package timing keeps the deadlines of one actor system: receive timeouts, actor timers and ask timeouts.
//
// A Clock is a heap of entries and one runtime timer that sleeps until the earliest of them. Nothing ticks while no
// deadline is due, nothing is process-wide, and every time is exact: an entry fires at its deadline, never before, and
// is not rounded to slots; those of the same moment fire in the order they were added. It works unchanged inside a
// testing/synctest bubble.
package timing

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/invariants"
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
	pos   int32  // index in the heap plus one, 0: not in it
	seq   uint32 // of the Add: entries due at the same time fire in the order they were added
}

// Clock schedules entries. All methods may be called from any goroutine and do not block for longer than the heap
// operation; create one with New.
type Clock struct {
	t0 time.Time

	mu      sync.Mutex
	heap    []*Entry
	seq     uint32
	timer   *time.Timer
	wake    int64 // what the timer is set to; 0: not set
	running bool  // tick is at work and will set the timer itself
	stopped bool
	ended   sync.Cond
	counted counted
}

// Counts is what a Clock was asked to do since New. Tests prove with it what does not happen.
type Counts struct{ Reads, Adds, Removes int64 }

// counted stays zero unless invariants are checked, so that counting costs nothing in a program.
type counted struct{ reads, adds, removes atomic.Int64 }

func count(n *atomic.Int64) {
	if invariants.Enabled {
		n.Add(1)
	}
}

// Counts returns the numbers so far; all are zero in a build without the tag invariants or the race detector.
func (k *Clock) Counts() Counts {
	return Counts{Reads: k.counted.reads.Load(), Adds: k.counted.adds.Load(), Removes: k.counted.removes.Load()}
}

// New returns a Clock that starts at 1 ns and has nothing to do.
func New() *Clock {
	k := &Clock{t0: time.Now()}
	k.ended.L = &k.mu
	return k
}

// Now is the time in nanoseconds since New, plus one: never 0.
func (k *Clock) Now() int64 {
	count(&k.counted.reads)
	return int64(time.Since(k.t0)) + 1
}

// Later is t + d, or the end of time when that overflows.
func Later(t int64, d time.Duration) int64 {
	if t > math.MaxInt64-int64(d) {
		return math.MaxInt64
	}
	return t + int64(d)
}

// Add puts e into the clock, to fire at at; an entry that is in it already moves. now is what Now has just returned, so
// that arming costs one reading of the time and not two. On a stopped clock it does nothing.
func (k *Clock) Add(e *Entry, at, now int64) {
	count(&k.counted.adds)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	k.seq++
	e.at, e.seq = at, k.seq
	if e.pos == 0 {
		k.heap = append(k.heap, e)
		e.pos = int32(len(k.heap))
	}
	k.fix(int(e.pos) - 1)
	if !k.running && (k.wake == 0 || at < k.wake) {
		k.setTimer(at, now)
	}
}

// Remove takes e out and reports whether it was in.
func (k *Clock) Remove(e *Entry) bool {
	count(&k.counted.removes)
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
func (k *Clock) setTimer(at, now int64) {
	k.wake = at
	d := time.Duration(at - now)
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
		k.setTimer(k.heap[0].at, k.Now())
	}
	k.mu.Unlock()
}

// heapKeep is the capacity below which the heap is not made smaller.
const heapKeep = 1024

// The heap is 4-ary: shallower than a binary one, and its children share a cache line.

func (k *Clock) remove(e *Entry) bool {
	if e.pos == 0 {
		return false
	}
	i, last := int(e.pos)-1, len(k.heap)-1
	k.swap(i, last)
	k.heap[last] = nil
	k.heap = k.heap[:last]
	e.pos = 0
	if i < last {
		k.fix(i)
	}
	if c := cap(k.heap); c > heapKeep && last < c/4 {
		k.heap = append(make([]*Entry, 0, c/2), k.heap...)
	}
	return true
}

// fix moves the entry at i to where its deadline belongs.
func (k *Clock) fix(i int) {
	k.up(i)
	k.down(i)
}

// before compares the numbers of two Adds by their distance, so that it survives the counter's wrap-around.
func (e *Entry) before(o *Entry) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	return int32(e.seq-o.seq) < 0
}

func (k *Clock) swap(i, j int) {
	k.heap[i], k.heap[j] = k.heap[j], k.heap[i]
	k.heap[i].pos, k.heap[j].pos = int32(i+1), int32(j+1)
}

func (k *Clock) up(i int) {
	for i > 0 {
		p := (i - 1) / 4
		if !k.heap[i].before(k.heap[p]) {
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
			if k.heap[c].before(k.heap[least]) {
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
