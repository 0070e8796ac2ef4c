package session

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/cmd/troupe/internal/order"
)

// Counts are the running figures of the sessions. The actors write them, anybody may read them.
type Counts struct {
	Handled    atomic.Int64 // distinct ids
	Duplicates atomic.Int64 // deliveries of an id that had been handled
	Started    atomic.Int64 // sessions
	Retired    atomic.Int64
	Alive      atomic.Int64
	Unreadable atomic.Int64 // messages that are no orders
	Broken     atomic.Int64 // sessions that ended without handing back
}

// ended is the end of a customer's session.
type ended struct {
	customer string
	ref      actor.Ref
}

// Close asks the parent to retire every session and to answer with the Ledger when the last one has handed back.
type Close struct{}

// Ledger is the account of every customer. It is the asker's.
type Ledger map[string]Account

// customers is the parent of the sessions and routes messages to them.
type customers struct {
	idle    time.Duration
	counts  *Counts
	entries map[string]*entry
	closer  actor.Ref // who asked Close
}

// entry is one customer. While there is a session, the account is lent to it.
type entry struct {
	ref     actor.Ref
	account *Account
	leaving bool // the session was told to leave: what arrives waits for the next one
	back    bool // it has handed back
	buffer  []actor.Envelope
}

// New returns the factory of the sessions' parent. Sessions retire after idle; counts must not be nil.
func New(idle time.Duration, counts *Counts) func() actor.Actor {
	return func() actor.Actor {
		return &customers{idle: idle, counts: counts, entries: map[string]*entry{}}
	}
}

// Receive routes deliveries and carries the retirement protocol.
func (c *customers) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case jetstream.Message:
		return c.route(ctx, m)
	case retire:
		if e := c.entries[m.customer]; e != nil && e.ref == ctx.Sender() {
			c.letGo(ctx, e)
		}
	case handBack:
		if e := c.entries[m.customer]; e != nil && e.ref == ctx.Sender() {
			e.back = true
		}
	case ended:
		return c.ended(ctx, m)
	case Close:
		c.closer = ctx.Sender()
		for _, e := range c.entries {
			c.letGo(ctx, e)
		}
		c.closed(ctx)
	default:
		ctx.Unhandled()
	}
	return nil
}

// route forwards a delivery, completion included, so that the broker hears what the session has to say.
func (c *customers) route(ctx *actor.Context, m jetstream.Message) error {
	o, err := order.Parse(m.Data)
	if err != nil {
		c.counts.Unreadable.Add(1)
		return actor.Reject(err)
	}
	e := c.entries[o.Customer]
	if e == nil {
		e = &entry{account: &Account{Seen: map[string]struct{}{}}}
		c.entries[o.Customer] = e
	}
	if e.leaving {
		e.buffer = append(e.buffer, actor.Envelope{Msg: m, Sender: ctx.Sender(), Done: ctx.Hold()})
		return nil
	}
	if e.ref.IsZero() {
		if err := c.start(ctx, o.Customer, e); err != nil {
			return err
		}
	}
	ctx.Forward(e.ref)
	return nil
}

// start begins a session with the customer's account.
func (c *customers) start(ctx *actor.Context, customer string, e *entry) error {
	account := e.account
	ref, err := ctx.SpawnAnonymous(func() actor.Actor {
		return &session{customer: customer, account: account, idle: c.idle, counts: c.counts}
	})
	if err != nil {
		return fmt.Errorf("session of %s: %w", customer, err)
	}
	ctx.WatchWith(ref, ended{customer, ref})
	e.ref, e.leaving, e.back = ref, false, false
	c.counts.Started.Add(1)
	c.counts.Alive.Add(1)
	return nil
}

// letGo tells a session to leave. Everything it was sent is in its mailbox before that, and from now on nothing is sent
// to it, so it leaves nothing unhandled behind. A second request changes nothing.
func (c *customers) letGo(ctx *actor.Context, e *entry) {
	if e.ref.IsZero() || e.leaving {
		return
	}
	e.leaving = true
	ctx.Tell(e.ref, leave{})
}

// ended takes note of a session's end and, if messages came meanwhile, starts the next one with them.
func (c *customers) ended(ctx *actor.Context, m ended) error {
	e := c.entries[m.customer]
	if e == nil || e.ref != m.ref {
		return nil
	}
	c.counts.Alive.Add(-1)
	if e.back {
		c.counts.Retired.Add(1)
	} else { // it did not end as it should; what it had handled is in the account all the same
		c.counts.Broken.Add(1)
	}
	e.ref, e.leaving, e.back = actor.Ref{}, false, false
	if err := c.resume(ctx, m.customer, e); err != nil {
		return err
	}
	c.closed(ctx)
	return nil
}

func (c *customers) resume(ctx *actor.Context, customer string, e *entry) error {
	if len(e.buffer) == 0 {
		return nil
	}
	waiting := e.buffer
	e.buffer = nil
	if err := c.start(ctx, customer, e); err != nil {
		for _, env := range waiting {
			if env.Done != nil {
				env.Done.Done(err)
			}
		}
		return err
	}
	for _, env := range waiting {
		actor.Send(e.ref, env)
	}
	return nil
}

// closed answers Close when every session has handed back.
func (c *customers) closed(ctx *actor.Context) {
	if c.closer.IsZero() {
		return
	}
	ledger := Ledger{}
	for customer, e := range c.entries {
		if !e.ref.IsZero() {
			c.letGo(ctx, e) // one that began after the request
			return
		}
		ledger[customer] = *e.account
	}
	ctx.Tell(c.closer, ledger)
	c.closer = actor.Ref{}
}
