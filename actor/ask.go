package actor

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/timing"
)

// promise is the receiver of one answer. It is a node, so that it can be the sender of the message; it is the message's
// completion; and it is the firer of its own deadline.
type promise struct {
	node
	sys   *System
	entry timing.Entry
	ended atomic.Bool
	done  chan struct{}
	value any
	err   error
}

// resolve ends the ask and reports whether this call did; the first one counts. An error as the reply is the ask's
// error.
func (p *promise) resolve(v any, err error) bool {
	if p.ended.Swap(true) {
		return false
	}
	if e, ok := v.(error); ok && err == nil {
		v, err = nil, e
	}
	p.value, p.err = v, err
	close(p.done)
	return true
}

// Answer ends the ask with a reply.
func (p *promise) Answer(v any) { p.resolve(v, nil) }

// Done ends the ask with an error. The runtime does not call it for a handler that returned nil; a holder who does ends
// the ask with the zero value.
func (p *promise) Done(err error) { p.resolve(nil, err) }

// Fire ends the ask at the runtime's own deadline.
func (p *promise) Fire(int64) { p.resolve(nil, ErrAskTimeout) }

// isAsk says whether a completion is that of an ask, or a held one of an ask that was sent on.
func isAsk(d Completion) bool {
	switch d.(type) {
	case *promise, *heldAsk:
		return true
	}
	return false
}

// Ask tells msg and waits for the reply. It ends with the first of: the reply, the error or Reject of the handler, a
// dead letter, the end of ctx; if ctx has no deadline, after troupe.actor.askTimeout (5 s) with ErrAskTimeout. A handler
// that returns nil without a reply does not end it. A reply that is an error is returned as the error, and one that is
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
	if to.n == nil {
		return nil, ErrNoRecipient
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	sys := to.n.system()
	p := &promise{sys: sys, done: make(chan struct{})}
	p.node.ask = p
	if _, ok := ctx.Deadline(); !ok {
		p.entry.Owner = p
		now := sys.clock.Now()
		sys.clock.Add(&p.entry, timing.Later(now, sys.settings.AskTimeout), now)
		defer sys.clock.Remove(&p.entry)
	}
	to.n.deliver(envelope{msg: msg, sender: Ref{&p.node}, done: p})
	select {
	case <-p.done:
	case <-ctx.Done():
		p.resolve(nil, context.Cause(ctx))
		<-p.done // somebody may have been faster
	case <-sys.terminated: // whoever could have answered is gone, and so is the clock
		p.resolve(nil, ErrStopped)
		<-p.done
	}
	return p.value, p.err
}

func (n *node) system() *System {
	if n.cell == nil {
		return n.ask.sys
	}
	return n.cell.sys
}
