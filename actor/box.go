package actor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/mailbox"
)

// box is the mailbox of an actor with a bound or with priorities.
type box struct {
	mailbox.Box[envelope]
	priority func(msg any) int
	unranked atomic.Int64 // messages that it panicked about
}

// newBox makes what a Mailbox asks for, nil if that is the default.
func newBox(m *Mailbox) *box {
	if m.Capacity == 0 && m.Priority == nil {
		return nil
	}
	b := &box{priority: m.Priority}
	b.Capacity, b.Overflow = m.Capacity, mailbox.Overflow(m.Overflow)
	return b
}

// lowest is the rank of a message that the priority function cannot rank, and of the receive timeout, which it is not
// asked about.
const lowest = math.MaxInt

// rank asks the priority function, which is foreign code on the sender's goroutine.
func (b *box) rank(c *cell, e *envelope) (rank int) {
	if b.priority == nil {
		return 0
	}
	switch d := e.mark().(type) {
	case *idleMark:
		return lowest
	case tickMark:
		return d.rank
	}
	defer func() {
		if v := recover(); v != nil {
			rank = lowest
			if n := b.unranked.Add(1); n&(n-1) == 0 { // the first, and whenever the number has doubled
				c.sys.logRankPanic(c, e, v, n)
			}
		}
	}()
	return b.priority(e.msg)
}

// logRankPanic must not fail: it runs where somebody tells.
func (s *System) logRankPanic(c *cell, e *envelope, v any, n int64) {
	defer func() { _ = recover() }()
	c.log().Error("the priority function panicked; the message gets the lowest priority", "type", typeName(e.msg), "times", n, "error", newPanicError(v))
}

// pushBox puts an envelope into the box of the cell.
func (c *cell) pushBox(e envelope, by *carrier) error {
	b := c.look().box
	r, victim, dropped := b.Push(e, b.rank(c, &e), e.droppable())
	if r == mailbox.Shut {
		return ErrStopped
	}
	if r != mailbox.Full && c.mb.Announce() {
		c.schedule(by)
	}
	switch r {
	case mailbox.Grown:
		c.noteLong()
		return nil
	case mailbox.Taken:
		return nil
	}
	c.sys.noteDrop(c, dropped)
	if r == mailbox.Full {
		return ErrMailboxFull
	}
	c.sys.undelivered(&victim, c.ref(), ErrMailboxFull)
	return nil
}

// fromBox takes the next envelope out of the box, nil if there is none or no box.
func (c *cell) fromBox() *envelope {
	b := c.look().box
	if b == nil {
		return nil
	}
	k := c.run
	e, ok := b.Pop()
	if !ok && c.mb.Linked() {
		c.mb.LookIntoBox()
		e, ok = b.Pop()
	}
	if !ok {
		return nil
	}
	k.boxed = e
	return &k.boxed
}

// pushWait puts a message into the box when there is room. What no bound applies to does not wait.
func (c *cell) pushWait(ctx context.Context, e envelope) error {
	b := c.look().box
	if b == nil || b.Capacity == 0 || !e.droppable() {
		return c.push(e, nil)
	}
	err := b.PushWait(ctx, e, b.rank(c, &e))
	if errors.Is(err, mailbox.ErrShut) {
		return ErrStopped
	}
	if err == nil && c.mb.Announce() {
		c.schedule(nil)
	}
	return err
}

// prepend puts envelopes before everything that waits, or before what waits with the same priority. The priority function
// is asked before the box is locked: it may tell this actor something.
func (c *cell) prepend(es []envelope) {
	if b := c.look().box; b != nil {
		var ranks []int
		defer func() { // also if the priority function ends the goroutine
			b.Prepend(es, ranks)
			c.mb.Announce() // we are the owner, so nobody has to be woken
		}()
		if b.priority != nil {
			ranks = slices.Repeat([]int{lowest}, len(es))
			for i := range es {
				ranks[i] = b.rank(c, &es[i])
			}
		}
		return
	}
	c.mb.Prepend(es, &c.sys.sched.chunks)
}

// shut closes the mailbox and returns what is left.
func (c *cell) shut() []envelope {
	rest := c.mb.Close(&c.sys.sched.chunks)
	if b := c.look().box; b != nil {
		rest = b.Close()
	}
	return rest
}

// typeName names the type of a message for a log line, which must not show the message.
func typeName(msg any) string { return fmt.Sprintf("%T", msg) }

// noteDrop logs what a bound has dropped: the first, and whenever the number has doubled.
func (s *System) noteDrop(c *cell, dropped int64) {
	s.stats.dropped.Add(1)
	if dropped&(dropped-1) != 0 {
		return
	}
	defer func() { _ = recover() }() // a logger that panics must not hit who tells
	c.log().Warn("mailbox full: messages are dropped", "dropped", dropped, "capacity", c.look().box.Capacity)
}
