package rt

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Runtime is one actor system.
type Runtime struct {
	mu          sync.Mutex
	qhead       *Actor
	qtail       *Actor
	popped      uint64
	qlen        atomic.Int32
	_           [64]byte
	carriers    atomic.Int32
	searching   atomic.Int32
	max         int32
	_           [64]byte
	now         atomic.Uint32 // coarse clock in ticks
	deadLetters atomic.Int64
	wheel       wheel
	futures     futureList
	root        *Actor
	reg         registry
	all         []*carrier // guarded by allMu
	allMu       sync.Mutex
	watching    atomic.Bool
	halt        chan struct{}
}

const tick = 10 * time.Millisecond

// New starts a runtime.
func New() *Runtime {
	rt := &Runtime{max: int32(runtime.GOMAXPROCS(0)), halt: make(chan struct{})}
	rt.futures.init()
	rt.root = &Actor{rt: rt, recv: Func(func(*Ctx, any) {})}
	go rt.clock()
	return rt
}

// Close ends the runtime's clock.
func (rt *Runtime) Close() { close(rt.halt) }

// clock advances the coarse time, fires due timeouts, and expires asks.
func (rt *Runtime) clock() {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-rt.halt:
			return
		case <-t.C:
			now := rt.now.Add(1)
			rt.wheel.advance(rt, now)
			rt.futures.expire(now)
		}
	}
}

// Tell sends from outside of any actor.
func (rt *Runtime) Tell(to *Actor, m any) {
	if to.push(m, nil) {
		rt.enqueue(to, false)
	}
}

// Spawn starts a top level actor.
func (rt *Runtime) Spawn(r Receiver) *Actor {
	a := rt.create(rt.root, r)
	rt.enqueue(a, false)
	return a
}

// Stop asks a to stop.
func (rt *Runtime) Stop(a *Actor) {
	if a.signal(stopping) {
		rt.enqueue(a, false)
	}
}

func (rt *Runtime) create(parent *Actor, r Receiver) *Actor {
	a := &Actor{recv: r, rt: rt, parent: parent}
	a.w.Store(sched | start)
	parent.fam.Lock()
	a.next = parent.child
	if a.next != nil {
		a.next.prev = a
	}
	parent.child = a
	parent.fam.Unlock()
	rt.reg.add(a)
	return a
}

// registry maps slots to actors, for lookups from the wire.
type registry struct {
	mu   sync.Mutex
	tab  []*Actor
	free []uint32
}

func (r *registry) add(a *Actor) {
	r.mu.Lock()
	if n := len(r.free); n > 0 {
		a.slot = r.free[n-1]
		r.free = r.free[:n-1]
		r.tab[a.slot] = a
	} else {
		a.slot = uint32(len(r.tab))
		r.tab = append(r.tab, a)
	}
	r.mu.Unlock()
}

func (r *registry) drop(a *Actor) {
	r.mu.Lock()
	r.tab[a.slot] = nil
	r.free = append(r.free, a.slot)
	r.mu.Unlock()
}
