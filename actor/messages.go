package actor

import (
	"context"
	"fmt"

	"github.com/troupe-go/troupe/internal/mailbox"
)

// Tell sends msg with this actor as the sender. It never blocks. To the zero Ref it makes a dead letter.
func (x *Context) Tell(to Ref, msg any) {
	by := x.current("Tell")
	if by == nil {
		return
	}
	if to.n == nil || to.n.ask || by.ctx != nil {
		x.c.tell(by, to, envelope{msg: msg, sender: x.Self()})
		return
	}
	c := to.n.cell()
	e := envelope{msg: msg, sender: x.Self()}
	if p := c.mb.Push(e); p == mailbox.Wake {
		by.wake(c)
	} else if err := c.pushed(p, e, by); err != nil {
		c.sys.undelivered(&e, to, err)
	}
}

// tell sends an envelope from the cell's own turn.
func (c *cell) tell(by *carrier, to Ref, e envelope) {
	if to.n == nil {
		c.sys.undelivered(&e, to, ErrNoRecipient)
		return
	}
	if !to.n.ask {
		e.carry(by.ctx)
	}
	to.n.deliver(e, by)
}

// stopRef tells ref a PoisonPill.
func (c *cell) stopRef(ref Ref) {
	if ref.n != nil {
		ref.n.deliver(envelope{msg: PoisonPill{}}, c.run)
	}
}

// Reply is Context.Tell to the sender of the current message; without one it makes a dead letter.
func (x *Context) Reply(msg any) { x.Tell(x.Sender(), msg) }

// Forward sends the current message on with its original sender and hands its completion over: what this handler
// returns counts for its own supervision, but no longer for the completion. To the zero Ref it makes a dead letter.
func (x *Context) Forward(to Ref) {
	k := x.handling("Forward")
	if k == nil {
		return
	}
	e := *k.e
	k.e.done, k.taken = nil, true
	x.c.tell(k, to, e)
}

// Hold takes the completion out of the current message, for work that ends later than the handler: whoever does the
// work calls Done, from any goroutine. For an ask it is an Answerer. Nil when the message has none, or it was held or
// forwarded before. A held completion that is still open when the actor stops is ended with ErrStopped, and one that
// is open when a restart replaces the instance with ErrPreviousInstance: nobody is left who would end it.
func (x *Context) Hold() Completion {
	k := x.current("Hold")
	if k == nil {
		return nil
	}
	d := k.e.done
	if d == nil {
		return nil
	}
	k.e.done, k.taken = nil, true
	return x.c.rare().held.hold(d)
}

// Unhandled says that the actor does not know the current message: it becomes a dead letter with ErrUnhandled, and an
// ask ends with that error. ReceiveTimeout and Terminated may be left unhandled without a trace.
func (x *Context) Unhandled() {
	k := x.handling("Unhandled")
	if k == nil {
		return
	}
	e := *k.e
	k.e.done = nil
	switch k.own.(type) {
	case *idleMark, deathMark, deathSeen:
	default:
		x.c.sys.deadLetter(&e, x.Self(), fmt.Errorf("%w of type %T", ErrUnhandled, e.msg))
	}
}

// PipeFailed is what an actor receives when a function that it gave to PipeToSelf returned an error or panicked.
type PipeFailed struct{ Err error }

// PipeToSelf runs f on a goroutine of its own and sends its result to the actor as an ordinary message, or PipeFailed
// when it returned an error or panicked. f's context is that of Context.Context; f must return when it ends, the
// system's end waits for it, for a limited time. After a restart or stop the result is a dead letter.
func (x *Context) PipeToSelf(f func(context.Context) (any, error)) {
	k := x.current("PipeToSelf")
	if k == nil {
		return
	}
	c, mark, ctx := &x.c, &pipeMark{x.c.look().instance, k.ctx}, x.Context()
	c.sys.helpers.Add(1)
	go func() {
		defer c.sys.helpers.Done()
		e := envelope{done: mark}
		defer func() {
			if err := c.push(e, nil); err != nil {
				c.sys.undelivered(&e, c.ref(), err)
			}
		}()
		e.msg = PipeFailed{ErrGoexit} // stays if f ends its goroutine
		defer func() {
			if v := recover(); v != nil {
				e.msg = PipeFailed{newPanicError(v)}
			}
		}()
		v, err := f(ctx)
		if err != nil {
			v = PipeFailed{err}
		}
		e.msg = v
	}()
}
