package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/cmd/troupe/internal/order"
)

const (
	// unanswered bounds the publisher's open asks. It is the backpressure: the outbound buffer, of 1000, cannot overflow.
	unanswered = 256
	// askTimeout is the patience of one ask: longer than any outage of a run.
	askTimeout = time.Minute
	// maxRefusals is how often the stream may refuse one order for good before the run gives up.
	maxRefusals = 20
	// refusalPause is the wait before a refused order is published again.
	refusalPause = 250 * time.Millisecond

	stream  = "ORDERS"
	subject = "orders"
)

// publisher reads orders and publishes each by an ask, at most unanswered at a time. It reads no further while they are.
type publisher struct {
	s      *state
	src    *order.Source
	to     actor.Ref
	gate   *gate
	done   chan<- struct{} // closed when the input has ended and every ask was answered
	failed func(error)

	open    int
	reading bool // a read is under way beside the mailbox
	ended   bool
	closed  bool
}

// goOn makes the publisher look for work.
type goOn struct{}

// read is what a read beside the mailbox brought.
type read struct {
	entry order.Entry
	ok    bool
}

// answer is the end of one ask.
type answer struct {
	o        order.Order
	refusals int
	err      error
}

// PreStart begins.
func (p *publisher) PreStart(ctx *actor.Context) error {
	ctx.Self().Tell(goOn{})
	return nil
}

// Receive publishes, and publishes again what failed.
func (p *publisher) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case goOn:
	case read:
		p.reading = false
		p.take(ctx, m.entry, m.ok)
	case answer:
		p.answered(ctx, m)
	case actor.PipeFailed:
		p.failed(fmt.Errorf("publisher: %w", m.Err))
	default:
		ctx.Unhandled()
	}
	p.fill(ctx)
	return nil
}

// fill publishes while there is room and input.
func (p *publisher) fill(ctx *actor.Context) {
	for !p.ended && !p.reading && p.open < unanswered && p.gate.open() {
		if e, ok := p.src.TryNext(); ok {
			p.take(ctx, e, true)
			continue
		}
		p.reading = true
		ctx.PipeToSelf(func(c context.Context) (any, error) {
			e, ok := p.src.Next(c)
			return read{e, ok}, nil
		})
	}
	if p.ended && p.open == 0 && !p.closed {
		p.closed = true
		close(p.done)
	}
}

// take publishes one entry of the input, or reports why not.
func (p *publisher) take(ctx *actor.Context, e order.Entry, ok bool) {
	if !ok {
		p.ended = true
		p.gate.end()
		return
	}
	if e.Err != nil {
		var n int64
		p.s.with(func() { p.s.bad++; n = p.s.bad })
		if n <= 20 {
			p.s.say("input", "line %d is left out: %v", e.Line, e.Err)
		} else if n == 21 {
			p.s.say("input", "more lines are left out; only their number is reported from here")
		}
		return
	}
	var n int64
	p.s.with(func() { p.s.accepted++; n = p.s.accepted })
	p.open++
	p.publish(ctx, answer{o: e.Order})
	p.gate.passed(n)
}

// publish asks the broker actor on a goroutine that the runtime owns.
func (p *publisher) publish(ctx *actor.Context, a answer) {
	p.s.with(func() { p.s.unanswered = int64(p.open) })
	ctx.PipeToSelf(func(c context.Context) (any, error) {
		data, err := json.Marshal(a.o)
		if err != nil {
			return nil, err
		}
		if a.refusals > 0 {
			t := time.NewTimer(refusalPause)
			defer t.Stop()
			select {
			case <-t.C:
			case <-c.Done():
				return nil, context.Cause(c)
			}
		}
		c, cancel := context.WithTimeout(c, askTimeout)
		defer cancel()
		_, a.err = actor.Ask[broker.Receipt](c, p.to, jetstream.Publish{Subject: subject, Data: data, ID: a.o.ID})
		return a, nil
	})
}

// answered counts a confirmation; anything else is published again under the same id, which the stream recognises.
func (p *publisher) answered(ctx *actor.Context, a answer) {
	if a.err == nil {
		p.open--
		p.s.with(func() { p.s.confirmed++; p.s.unanswered = int64(p.open) })
		return
	}
	var u *broker.UndeliveredError
	if errors.As(a.err, &u) && u.Reason == broker.ReasonRejected {
		a.refusals++
		if a.refusals == 1 {
			p.s.say("link", "the stream refused an order, it is published again: %v", u.Err)
		}
		if a.refusals >= maxRefusals {
			p.failed(fmt.Errorf("the stream refuses to store orders: %w", u.Err))
			return
		}
	}
	p.s.with(func() { p.s.retries++ })
	p.publish(ctx, answer{o: a.o, refusals: a.refusals})
}

// consumer is the target of the broker actor: it hands each delivery on, completion included, so that JetStream is
// acknowledged when the session has handled it.
type consumer struct {
	s  *state
	to actor.Ref
}

// Receive forwards.
func (c *consumer) Receive(ctx *actor.Context, msg any) error {
	if _, ok := msg.(jetstream.Message); !ok {
		ctx.Unhandled()
		return nil
	}
	c.s.with(func() { c.s.delivered++ })
	ctx.Forward(c.to)
	return nil
}
