// Package session has the demo's actors behind the consumer: one session per customer, which retires by its receive
// timeout as a sharded entity does, and their parent, which keeps what retired sessions hand back.
package session

import (
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/cmd/troupe/internal/order"
)

// Account is what a session keeps about its customer. The parent lends it to the session, and to the next instance of a
// session that failed, and touches it only between two sessions.
type Account struct {
	Total int64
	Seen  map[string]struct{} // ids that are in Total
}

// retire asks the parent to let the session go.
type retire struct{ customer string }

// leave tells a session that nothing will follow.
type leave struct{}

// handBack gives the account back.
type handBack struct{ customer string }

// session adds up one customer's orders.
type session struct {
	customer string
	account  *Account
	idle     time.Duration
	counts   *Counts
}

// PreStart arms the clock that ends an idle session.
func (s *session) PreStart(ctx *actor.Context) error {
	ctx.SetReceiveTimeout(s.idle)
	return nil
}

// Receive handles orders until it is told to leave. An order it has seen changes nothing.
func (s *session) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case jetstream.Message:
		return s.add(m)
	case actor.ReceiveTimeout:
		ctx.Tell(ctx.Parent(), retire{s.customer})
	case leave:
		ctx.Tell(ctx.Parent(), handBack{s.customer})
		ctx.StopSelf()
	default:
		ctx.Unhandled()
	}
	return nil
}

func (s *session) add(m jetstream.Message) error {
	o, err := order.Parse(m.Data)
	if err != nil {
		return actor.Reject(err)
	}
	if _, again := s.account.Seen[o.ID]; again {
		s.counts.Duplicates.Add(1)
		return nil
	}
	s.account.Seen[o.ID] = struct{}{}
	s.account.Total += o.Amount
	s.counts.Handled.Add(1)
	return nil
}
