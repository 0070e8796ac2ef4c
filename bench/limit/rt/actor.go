// Package rt is a prototype of what a scheduled actor runtime can reach in
// Go. It is small but keeps what a real one cannot leave out: system signals
// before user messages, panic isolation, parent/child bookkeeping, a handle
// registry, dead letters, ask with timeout, receive timeout, fairness, and
// hand-off of actors that wait behind a blocking handler.
//
// Design:
//   - one 32 bit word an actor holds lock, scheduled, non-empty and signal
//     bits, so a tell is two atomic operations and no allocation;
//   - envelopes are values: one slot inside the actor, then pooled chunks, so
//     an idle actor owns no buffer and a busy one allocates nothing;
//   - carriers (goroutines, at most GOMAXPROCS busy ones) run actors; an actor
//     woken from inside an actor goes to the carrier's own slot and runs next
//     on the same goroutine, with no goroutine switch;
//   - the context belongs to the carrier, not to the actor;
//   - a receive timeout costs nothing a message: each batch stores a cached
//     coarse tick, and the wheel looks at it only when the deadline is due.
package rt

import (
	"sync"
	"sync/atomic"
	"time"
)

// Receiver is an actor's behaviour.
type Receiver interface {
	// Receive handles one message on the actor's carrier; it may block.
	Receive(c *Ctx, m any)
}

// Func is a Receiver.
type Func func(c *Ctx, m any)

// Receive calls f.
func (f Func) Receive(c *Ctx, m any) { f(c, m) }

type (
	// Started is the first message of each actor.
	Started struct{}
	// Stopped is the last.
	Stopped struct{}
	// ReceiveTimeout tells that no message came for the armed time.
	ReceiveTimeout struct{}
)

// Boxed once, though a zero size value in an interface allocates nothing anyway. They are read-only.
var (
	started any = Started{}
	stopped any = Stopped{}
	rcvTime any = ReceiveTimeout{}
)

// Actor is one actor and its reference.
type Actor struct {
	w          atomic.Uint32
	every      atomic.Uint32 // receive timeout in ticks, 0: none
	last       atomic.Uint32 // tick of the latest batch
	slot       uint32        // index in the registry
	first      env
	head, tail *chunk
	recv       Receiver
	rt         *Runtime
	qnext      *Actor
	parent     *Actor
	child      *Actor // first child; guarded by fam
	prev, next *Actor // siblings; guarded by the parent's fam
	fam        sync.Mutex
}

// Ctx is what a behaviour sees; it belongs to the carrier.
type Ctx struct {
	c      *carrier
	self   *Actor
	sender *Actor
}

// Self is the running actor.
func (c *Ctx) Self() *Actor { return c.self }

// Sender is who sent the current message.
func (c *Ctx) Sender() *Actor { return c.sender }

// Tell sends from inside an actor.
func (c *Ctx) Tell(to *Actor, m any) {
	if to.push(m, c.self) {
		c.c.wake(to)
	}
}

// Spawn starts a child.
func (c *Ctx) Spawn(r Receiver) *Actor {
	a := c.c.rt.create(c.self, r)
	c.c.wake(a)
	return a
}

// Stop stops the actor after the current batch.
func (c *Ctx) Stop() { c.self.signal(stopping) }

// SetReceiveTimeout arms (or, with 0, disarms) the idle timeout.
func (c *Ctx) SetReceiveTimeout(d time.Duration) {
	a := c.self
	t := uint32((d + tick - 1) / tick)
	now := c.c.rt.now.Load()
	a.last.Store(now)
	if a.every.Swap(t) == 0 && t != 0 {
		c.c.rt.wheel.add(a, now+t+1)
	}
}
