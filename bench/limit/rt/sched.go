package rt

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func (rt *Runtime) enqueue(a *Actor, inside bool) {
	rt.mu.Lock()
	a.qnext = nil
	if rt.qtail == nil {
		rt.qhead = a
	} else {
		rt.qtail.qnext = a
	}
	rt.qtail = a
	n := rt.qlen.Add(1)
	rt.mu.Unlock()
	c := rt.carriers.Load()
	if c == 0 || c < rt.max && (inside || n > 1) && rt.searching.Load() == 0 {
		rt.launch(c)
	}
}

func (rt *Runtime) launch(c int32) {
	if rt.carriers.CompareAndSwap(c, c+1) {
		if c == 0 && !rt.watching.Load() && rt.watching.CompareAndSwap(false, true) {
			go rt.watch()
		}
		go rt.carry()
	}
}

func (rt *Runtime) dequeue() *Actor {
	if rt.qlen.Load() == 0 {
		return nil
	}
	rt.mu.Lock()
	a := rt.qhead
	if a != nil {
		rt.qhead = a.qnext
		if rt.qhead == nil {
			rt.qtail = nil
		}
		a.qnext = nil
		rt.qlen.Add(-1)
		rt.popped++
	}
	rt.mu.Unlock()
	return a
}

// watch rescues actors that wait behind a handler that blocks: an actor still
// in a carrier's slot on two looks goes to the shared queue, and a queue that
// did not move gets one more carrier. It ends when nothing runs.
func (rt *Runtime) watch() {
	t := time.NewTicker(time.Millisecond)
	defer t.Stop()
	var before map[*carrier]*Actor
	var popped uint64
	for idle := 0; idle < 20; {
		<-t.C
		if rt.carriers.Load() == 0 {
			idle++
			continue
		}
		idle = 0
		cur := map[*carrier]*Actor{}
		rt.allMu.Lock()
		for _, c := range rt.all {
			if a := c.slot.Load(); a != nil {
				cur[c] = a
			}
		}
		rt.allMu.Unlock()
		for c, a := range cur {
			if before[c] == a && c.slot.CompareAndSwap(a, nil) {
				rt.enqueue(a, true)
			}
		}
		before = cur
		rt.mu.Lock()
		stuck := rt.qhead != nil && rt.popped == popped
		popped = rt.popped
		rt.mu.Unlock()
		if stuck {
			rt.carriers.Add(1)
			go rt.carry()
		}
	}
	rt.watching.Store(false)
	if c := rt.carriers.Load(); c > 0 && rt.watching.CompareAndSwap(false, true) {
		go rt.watch()
	}
}

type carrier struct {
	rt   *Runtime
	slot atomic.Pointer[Actor]
	ctx  Ctx
	tick uint32
}

// carriers are for the next goroutine to start. Which one it gets makes no difference, so runtimes may share them; the
// variable itself is read-only.
var carriers = sync.Pool{New: func() any { return new(carrier) }}

// wake schedules an actor from inside an actor.
func (c *carrier) wake(a *Actor) {
	if c.slot.Load() == nil {
		c.slot.Store(a)
		return
	}
	c.rt.enqueue(a, true)
}

func (rt *Runtime) carry() {
	c := carriers.Get().(*carrier)
	c.rt = rt
	c.ctx.c = c
	rt.allMu.Lock()
	rt.all = append(rt.all, c)
	rt.allMu.Unlock()
	for {
		a := c.pick()
		if a == nil {
			if rt.carriers.Load() > rt.max || !c.search() {
				n := rt.carriers.Add(-1)
				if rt.qlen.Load() > 0 && n < rt.max && rt.carriers.CompareAndSwap(n, n+1) {
					continue
				}
				break
			}
			continue
		}
		c.run(a)
	}
	rt.allMu.Lock()
	for i, x := range rt.all {
		if x == c {
			rt.all[i] = rt.all[len(rt.all)-1]
			rt.all = rt.all[:len(rt.all)-1]
			break
		}
	}
	rt.allMu.Unlock()
	carriers.Put(c)
}

func (c *carrier) pick() *Actor {
	c.tick++
	if c.slot.Load() != nil {
		a := c.slot.Swap(nil)
		if a != nil && c.tick%61 == 0 && c.rt.qlen.Load() > 0 {
			c.rt.enqueue(a, true)
			a = nil
		}
		if a != nil {
			return a
		}
	}
	a := c.rt.dequeue()
	if a != nil && c.rt.qlen.Load() > 0 && c.rt.searching.Load() == 0 {
		if n := c.rt.carriers.Load(); n < c.rt.max {
			c.rt.launch(n)
		}
	}
	return a
}

// search waits a little for work before the carrier goes.
func (c *carrier) search() bool {
	rt := c.rt
	if rt.searching.Add(1) > 1 {
		rt.searching.Add(-1)
		return false
	}
	found := false
	for range spins {
		if rt.qlen.Load() > 0 {
			found = true
			break
		}
		runtime.Gosched()
	}
	rt.searching.Add(-1)
	return found
}

// spins is how often a carrier that found nothing looks again before it goes.
const spins = 16
