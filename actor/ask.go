package actor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/mailbox"
	"github.com/troupe-go/troupe/internal/timing"
)

// promise is the receiver of one answer. It is a node, so that it can be the sender of the message; it is the message's
// completion; and it is the firer of its own deadline. It is used once, so that neither a late nor a second answer can
// reach another asker; only the channel that wakes the asker is used again.
type promise struct {
	node
	state atomic.Uint32
	sys   *System
	ctx   context.Context // that travels, nil for none
	due   timing.Deadline
	wake  chan struct{} // has room for the one token that a promise ever sends
	value any
	err   error
}

// The states of a promise: one call ends it, and then it is ended.
const (
	askOpen uint32 = iota
	askEnded
)

// resolve ends the ask and reports whether this call did; the first one counts. An error as the reply is the ask's
// error.
func (p *promise) resolve(v any, err error) bool {
	if !p.state.CompareAndSwap(askOpen, askEnded) {
		return false
	}
	if e, ok := v.(error); ok && err == nil {
		v, err = nil, e
	}
	p.value, p.err = v, err
	p.wake <- struct{}{}
	return true
}

// Answer ends the ask with a reply.
func (p *promise) Answer(v any) { p.resolve(v, nil) }

// Done ends the ask with an error. The runtime does not call it for a handler that returned nil; a holder who does ends
// the ask with the zero value.
func (p *promise) Done(err error) { p.resolve(nil, err) }

// Fire ends the ask at the runtime's own deadline, or with the system.
func (p *promise) Fire(int64) int64 {
	err := ErrAskTimeout
	if p.sys.over.Load() {
		err = ErrStopped
	}
	p.resolve(nil, err)
	return 0
}

// Deadline is the clock's part of the promise.
func (p *promise) Deadline() *timing.Deadline { return &p.due }

// isAsk says whether a completion is that of an ask, or a held one of an ask that was sent on.
func isAsk(d Completion) bool {
	switch d.(type) {
	case *promise, *heldAsk:
		return true
	}
	return false
}

// Ask tells msg and waits for the reply. It ends with the first of: the reply, the error or Reject of the handler, a
// dead letter, the end of ctx; if ctx has no deadline, after troupe.actor.askTimeout (5 s) with ErrAskTimeout. A nil ctx has no
// deadline. A handler that returns nil without a reply does not end it. A reply that is an error is returned as the error, and one that is
// not a T as ErrReplyType. Ask blocks its goroutine: inside a handler it blocks that actor, and asking oneself waits for
// the deadline. The error names the recipient and wraps the cause.
func Ask[T any](ctx context.Context, to Ref, msg any) (T, error) {
	var zero T
	v, err := ask(ctx, to, msg)
	if err != nil {
		return zero, fmt.Errorf("ask %s with %T: %w", to, msg, err)
	}
	if v == nil {
		return zero, nil
	}
	t, ok := v.(T)
	if !ok {
		return zero, fmt.Errorf("ask %s with %T: %w: got %T, want %T", to, msg, ErrReplyType, v, zero)
	}
	return t, nil
}

func ask(ctx context.Context, to Ref, msg any) (any, error) {
	ctx = orBackground(ctx)
	if to.n == nil {
		return nil, ErrNoRecipient
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	sys := to.n.system()
	p := &promise{sys: sys, ctx: travels(ctx), wake: sys.wakes.get()}
	p.ask = true
	_, deadline := ctx.Deadline()
	if !deadline {
		now := sys.clock.Now()
		sys.clock.Schedule(p, timing.Later(now, sys.settings.AskTimeout), now)
	}
	to.n.deliverUrgent(envelope{msg: msg, sender: Ref{&p.node}, done: p})
	if ctx.Done() == nil {
		// Nothing but the promise can end the wait. At its end the system fires what is left in the clock; an entry that
		// came after that found the mark set.
		if sys.over.Load() {
			p.resolve(nil, ErrStopped)
		}
		<-p.wake
	} else {
		p.await(ctx)
	}
	if !deadline {
		sys.clock.Cancel(&p.due)
	}
	sys.wakes.put(p.wake)
	return p.value, p.err
}

// orBackground is ctx, or for nil a context that never ends: a nil context must not bring the caller down.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background() // see above
	}
	return ctx
}

// deliverUrgent is deliver for a caller that is about to wait for what comes of it: a carrier that waits in a handler will
// not come to what it has woken.
func (n *node) deliverUrgent(e envelope) {
	if !n.ask {
		c := n.cell()
		p := c.mb.Push(e)
		if p == mailbox.Wake {
			c.sys.sched.enqueueUrgent(c)
		} else if err := c.pushed(p, e, nil); err != nil {
			c.sys.undelivered(&e, Ref{n}, err)
		}
		return
	}
	n.deliver(e, nil)
}

// await waits for the end of the ask, of ctx or of the system.
func (p *promise) await(ctx context.Context) {
	select {
	case <-p.wake:
		return
	case <-ctx.Done():
		p.resolve(nil, context.Cause(ctx))
	case <-p.sys.terminated: // whoever could have answered is gone, and so is the clock
		p.resolve(nil, ErrStopped)
	}
	<-p.wake // somebody may have been faster
}

// wakePool has the channels of asks that have ended. It is a system's, since a channel belongs to its synctest bubble.
type wakePool struct{ p sync.Pool }

func (w *wakePool) get() chan struct{} {
	if ch, ok := w.p.Get().(chan struct{}); ok {
		return ch
	}
	return make(chan struct{}, 1)
}

func (w *wakePool) put(ch chan struct{}) { w.p.Put(ch) }
