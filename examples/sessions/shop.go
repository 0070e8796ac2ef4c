package main

import (
	"fmt"
	"io"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// purchase is for one customer; an ask is answered with the new total.
type purchase struct {
	customer string
	amount   int
}

// retire is what an idle session asks of its parent, closed what it hands back when it has stopped.
type (
	retire struct{}
	closed struct{ total int }
)

// session is one customer.
type session struct {
	idle  time.Duration
	total int
}

// PreStart arms the idle window.
func (s *session) PreStart(ctx *actor.Context) error {
	ctx.SetReceiveTimeout(s.idle)
	return nil
}

// Receive adds up, and asks to retire when idle. It does not stop itself: what waits in its mailbox would be lost.
func (s *session) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case purchase:
		s.total += m.amount
		ctx.Reply(s.total)
	case actor.ReceiveTimeout:
		ctx.Tell(ctx.Parent(), retire{})
	}
	return nil
}

// PostStop hands back what has to survive.
func (s *session) PostStop(ctx *actor.Context) error {
	ctx.Tell(ctx.Parent(), closed{s.total})
	return nil
}

// shop is the parent of the sessions. It keeps its own list of them and does not ask Context.Child: a child is off that
// list as soon as it has ended, which may be before what it sent last has been handled.
type shop struct {
	idle     time.Duration
	out      io.Writer
	ledger   map[string]int
	open     map[string]actor.Ref
	retiring map[string]bool
}

// Receive passes purchases on, and lets idle sessions go.
func (s *shop) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case purchase:
		return s.route(ctx, m)
	case retire:
		if name := ctx.Sender().Name(); !s.retiring[name] {
			s.retiring[name] = true
			ctx.Stop(ctx.Sender())
		}
	case closed:
		name := ctx.Sender().Name()
		s.ledger[name] = m.total
		fmt.Fprintf(s.out, "%s retires with %d\n", name, m.total)
	case actor.Terminated:
		delete(s.open, m.Ref.Name())
		delete(s.retiring, m.Ref.Name())
		ctx.UnstashAll()
	}
	return nil
}

// route forwards to the customer's session; what comes for one that is retiring waits for the next.
func (s *shop) route(ctx *actor.Context, p purchase) error {
	if s.retiring[p.customer] {
		return actor.Reject(ctx.Stash())
	}
	ref, ok := s.open[p.customer]
	if !ok {
		total := s.ledger[p.customer]
		var err error
		ref, err = ctx.Spawn(p.customer, func() actor.Actor { return &session{s.idle, total} })
		if err != nil {
			return actor.Reject(err)
		}
		ctx.Watch(ref)
		s.open[p.customer] = ref
	}
	ctx.Forward(ref)
	return nil
}
