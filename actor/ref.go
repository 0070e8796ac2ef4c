package actor

import (
	"context"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/troupe-go/troupe/internal/mailbox"
)

// Ref addresses one incarnation of an actor. Refs are comparable: == means the same incarnation, and an actor that is
// spawned anew under the same name has another one. A Ref may be copied and used from any goroutine, also after its
// actor has stopped. The zero Ref is nobody.
type Ref struct{ n *node }

// node is what a ref points to: the first field of a cell or of a promise. So a ref is one pointer, an actor has no
// field that only leads back to itself, and telling costs no indirection.
type node struct {
	ask      bool // the node of a promise, not of a cell
	numberHi uint16
	numberLo uint32
}

// cell and promise go from the first field to what it is the first field of; ask says which of the two it is.

func (n *node) cell() *cell { return (*cell)(unsafe.Pointer(n)) }

func (n *node) promise() *promise { return (*promise)(unsafe.Pointer(n)) }

// number is what an actor without a name of its own is called by.
func (n *node) number() uint64 { return uint64(n.numberHi)<<32 | uint64(n.numberLo) }

func (n *node) setNumber(i uint64) { n.numberHi, n.numberLo = uint16(i>>32), uint32(i) }

func (n *node) system() *System {
	if n.ask {
		return n.promise().sys
	}
	return n.cell().sys
}

// Tell puts msg into the actor's mailbox. It never blocks and never fails; a message that nobody takes becomes a
// DeadLetter on the event stream. Told to the zero Ref it does nothing.
func (r Ref) Tell(msg any) {
	if r.n == nil {
		return
	}
	if r.n.ask {
		r.n.deliver(envelope{msg: msg}, nil)
		return
	}
	c := r.n.cell()
	if p := c.mb.Push(envelope{msg: msg}); p != mailbox.Queued {
		c.told(p, msg)
	}
}

// told goes on with a told message that is not just in the queue.
func (c *cell) told(p mailbox.Result, msg any) {
	e := envelope{msg: msg}
	if err := c.pushed(p, e, nil); err != nil {
		c.sys.undelivered(&e, c.ref(), err)
	}
}

// TryTell is Tell that says what happened: ErrMailboxFull, ErrStopped or ErrNoRecipient when the message was not taken,
// and then no dead letter is made. A nil error means that it is in the mailbox, or that DropNewest dropped it. It never blocks.
func (r Ref) TryTell(msg any) error {
	switch {
	case r.n == nil:
		return ErrNoRecipient
	case r.n.ask:
		r.n.deliver(envelope{msg: msg}, nil)
		return nil
	}
	return r.n.cell().push(envelope{msg: msg}, nil)
}

// Send tells e.Msg with a sender and a completion. It may be called from any goroutine and never blocks. e.Done is
// called exactly once, also when nobody takes the message. A completion of Context.Hold is not held any more from here on:
// it belongs to the message, whatever becomes of the actor that held it.
func Send(to Ref, e Envelope) {
	done := handOn(e.Done)
	if to.n == nil {
		if done != nil {
			done.Done(ErrNoRecipient)
		}
		return
	}
	env := envelope{msg: e.Msg, sender: e.Sender, done: done}
	env.carry(travels(e.Context))
	to.n.deliver(env, nil)
}

// TellWait is TryTell that waits for room in a full bounded mailbox instead of overflowing. It is for senders that are
// not actors, and blocks until the message is taken, ctx ends, with its error, or the actor stops, with ErrStopped. In a
// handler it would block that actor.
func (r Ref) TellWait(ctx context.Context, msg any) error {
	ctx = orBackground(ctx)
	switch {
	case r.n == nil:
		return ErrNoRecipient
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.n.ask:
		return r.TryTell(msg)
	}
	return r.n.cell().pushWait(ctx, envelope{msg: msg})
}

// Stop stops the actor when everything told before has been handled, as PoisonPill does, and waits for its end, PostStop
// and children included. If ctx ends first, the actor is stopped at once: its current handler ends, its context is
// cancelled, what waits becomes dead letters; Stop does not wait for that and returns an error that wraps ctx's. An actor
// that has ended is no error; the zero Ref is ErrNoRecipient. Stop is for goroutines that are not actors: in a handler it
// would block that actor, and an actor that waits for its own end waits until ctx ends.
func (r Ref) Stop(ctx context.Context) error {
	ctx = orBackground(ctx)
	switch {
	case r.n == nil:
		return ErrNoRecipient
	case r.n.ask:
		return nil
	}
	c := r.n.cell()
	if c.mb.Marked(markEnded) {
		return nil
	}
	ended := make(chan struct{})
	if !c.send(command{kind: cmdAwait, ended: ended}, nil) && c.mb.Marked(markEnded) {
		return nil // else it is about to end, and looks once more for those who wait
	}
	if ctx.Err() == nil {
		r.Tell(PoisonPill{})
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		c.stop()
		return fmt.Errorf("actor: %s did not stop in time and is stopped at once: %w", r, context.Cause(ctx))
	}
}

// Stopping reports whether the actor is stopping or has stopped. An actor that has a PoisonPill waiting is not stopping
// yet. The zero Ref is stopping. It may be called from any goroutine and does not block.
func (r Ref) Stopping() bool {
	return r.n == nil || !r.n.ask && r.n.cell().mb.Marked(markStopping)
}

// Pending is about how many messages wait in the actor's mailbox: messages that were handled a moment ago may still be
// counted. ok is false for an actor that is stopping or has stopped, for an ask and for the zero Ref. It may be called
// from any goroutine and does not block.
func (r Ref) Pending() (n int, ok bool) {
	if r.n == nil || r.n.ask || r.n.cell().mb.Marked(markStopping) {
		return 0, false
	}
	return r.n.cell().pending(), true
}

// IsZero reports whether r is the zero Ref.
func (r Ref) IsZero() bool { return r.n == nil }

// Name is the last element of the path: the name the actor was spawned with. It is empty for the zero Ref.
func (r Ref) Name() string {
	switch {
	case r.n == nil:
		return ""
	case r.n.ask:
		return "ask"
	}
	return r.n.cell().name()
}

// Path is the actor's address, as in troupe://shop/user/orders/42. Another incarnation has the same path. It is empty
// for the zero Ref.
func (r Ref) Path() string {
	switch {
	case r.n == nil:
		return ""
	case r.n.ask:
		return "troupe://" + r.n.system().name + "/temp/ask"
	}
	return r.n.cell().path()
}

// String is the path, and "nobody" for the zero Ref.
func (r Ref) String() string {
	if r.n == nil {
		return "nobody"
	}
	return r.Path()
}

// deliver hands an envelope to whatever the node belongs to and settles it when it is not taken. by is the carrier that
// the caller runs on, nil outside of actors.
func (n *node) deliver(e envelope, by *carrier) {
	if n.ask {
		e.drop()
		err := error(nil)
		if !n.promise().resolve(e.msg, nil) {
			err = ErrDeadLetter // too late; whoever acknowledges after this answer must know
		}
		n.system().finish(&e, err)
		return
	}
	c := n.cell()
	if err := c.push(e, by); err != nil {
		c.sys.undelivered(&e, Ref{n}, err)
	}
}

// name is the last element of the path.
func (c *cell) name() string {
	if x := c.ext.Load(); x != nil && x.name != "" || c.parent == nil {
		if x == nil {
			return ""
		}
		return x.name
	}
	return "$" + strconv.FormatUint(c.number(), 10)
}
