package rt

import (
	"runtime"
	"sync"
)

const (
	locked uint32 = 1 << iota
	sched
	full // the inline slot is taken
	more // chunks are linked too
	start
	stopping
	timeoutBit
	dead
	future
	signals = start | stopping | timeoutBit
)

type env struct {
	m    any
	from *Actor
}

const chunkLen = 31

type chunk struct {
	next *chunk
	n    int
	e    [chunkLen]env
}

// chunks are empty. Which one a mailbox gets makes no difference, so runtimes may share them; the variable itself is
// read-only.
var chunks = sync.Pool{New: func() any { return new(chunk) }}

// spin waits for a lock held for a few instructions, the longer the more often
// it was seen held: each look takes the cache line from the holder. Only a
// holder that lost its processor makes it yield.
func spin(i int) {
	if i%32 == 0 {
		runtime.Gosched()
		return
	}
	pause(spinBase << min(i, 5))
}

// spinBase is the shortest pause in turns of an empty loop.
const spinBase = 256

func (a *Actor) lock(not uint32) (uint32, bool) {
	for i := 1; ; i++ {
		w := a.w.Load()
		if w&not != 0 {
			return w, false
		}
		if w&locked == 0 {
			if a.w.CompareAndSwap(w, w|locked) {
				return w, true
			}
			continue
		}
		spin(i)
	}
}

// push enqueues; it reports whether the caller must schedule a.
func (a *Actor) push(m any, from *Actor) bool {
	w, ok := a.lock(dead | future)
	if !ok {
		if w&future != 0 {
			(*futureOf(a)).complete(m)
		} else {
			a.rt.deadLetters.Add(1)
		}
		return false
	}
	if w&(full|more) == 0 {
		a.first = env{m, from}
		a.w.Store(w | full | sched)
		return w&sched == 0
	}
	t := a.tail
	if t == nil || t.n == chunkLen {
		t = a.grow()
	}
	t.e[t.n] = env{m, from}
	t.n++
	a.w.Store(w | more | sched)
	return w&sched == 0
}

func (a *Actor) grow() *chunk {
	t := chunks.Get().(*chunk)
	if a.tail == nil {
		a.head = t
	} else {
		a.tail.next = t
	}
	a.tail = t
	return t
}

// signal sets a signal bit; it reports whether the caller must schedule a.
func (a *Actor) signal(bit uint32) bool {
	for {
		w := a.w.Load()
		if w&dead != 0 || w&bit != 0 {
			return false
		}
		if w&locked != 0 {
			runtime.Gosched()
			continue
		}
		if a.w.CompareAndSwap(w, w|bit|sched) {
			return w&sched == 0
		}
	}
}
