package actor

import (
	"context"
	"runtime/debug"
)

// phase is what foreign code the owner is running. Foreign code may panic, and it may end its goroutine by
// runtime.Goexit, as a failing assertion in a test does; the actor must survive both, with every step of its life taken
// exactly once. A panic in a hook is caught where it happens, one in a handler by the turn's guard. After a Goexit the
// goroutine is given up, and the next activation goes on behind the step that was interrupted: whoever runs foreign code
// first sets the phase and takes the thing it is about to settle off its list.
type phase uint8

const (
	ours           phase = iota // no foreign code
	inReceive                   // a handler
	inSettle                    // the completion of the message that was handled
	inStart                     // factory, PreStart, PostRestart
	inDropStash                 // completions of stashed messages, before a restart
	inBeforeStart               // PreRestart, or PostStop in its place
	inJudge                     // Supervisor, Decide
	inPostStop                  // PostStop
	inClose                     // completions of messages that are left at the end
	inReleaseHolds              // completions that the outgoing instance held
	inOurs                      // the runtime's own code, by way of a logger for example; only after a Goexit
)

// handover is what the next activation needs of one that foreign code has ended.
type handover struct {
	e     envelope
	own   Completion
	err   error
	ctx   context.Context
	after func(error)
}

// guard runs user code and turns a panic into an error.
func (c *cell) guard(p phase, f func() error) (err error) {
	defer c.recovered(&err)
	c.phase = p
	err = f()
	c.phase = ours
	return err
}

// recovered is deferred around user code. After a runtime.Goexit there is nothing to recover and the phase stays set.
func (c *cell) recovered(err *error) {
	if c.phase == ours {
		return
	}
	if v := recover(); v != nil {
		c.phase = ours
		*err = newPanicError(v)
	}
}

// newPanicError is called while the panic is being recovered, so the stack is still that of the panic.
func newPanicError(v any) error { return &PanicError{Value: v, Stack: debug.Stack()} }

// guard is deferred by turn. After a panic the carrier has another turn; after a runtime.Goexit it is about to end, and
// the cell goes to another.
func (k *carrier) guard() {
	if !k.inside {
		return
	}
	k.inside = false
	c := k.cell
	if v := recover(); v != nil {
		k.resume = newPanicError(v)
		return
	}
	if c.st == gone && c.phase == ours { // in tellEnd, which has no second half; it is not to be in the queue, see qnext
		return
	}
	c.rare().handover = &handover{*k.e, k.own, k.err, k.ctx, k.after}
	if c.phase == ours {
		c.phase = inOurs
	}
	c.run, k.cell = nil, nil
	k.sched.enqueue(c, true)
}

// takeOver prepares the carrier to go on where another was ended.
func (k *carrier) takeOver(c *cell) {
	h := c.rare().handover
	c.rare().handover = nil
	k.boxed, k.own, k.err, k.ctx, k.after = h.e, h.own, h.err, h.ctx, h.after
	k.e = &k.boxed
	k.resume = ErrGoexit
}

// interrupted goes on behind the step in which foreign code ended the last turn.
func (c *cell) interrupted(err error) {
	p := c.phase
	c.phase = ours
	if p != inReceive && p != inStart { // those are failures and reported as such
		c.logInterruption(err)
	}
	switch p {
	case inReceive:
		c.handled(err)
	case inSettle:
		err := c.run.err
		c.run.err = nil
		c.afterMessage(err)
	case inStart:
		c.started(err)
	case inDropStash:
		c.dropStashBeforeRestart()
	case inBeforeStart:
		c.replaceInstance()
	case inReleaseHolds:
		c.start()
	case inJudge:
		c.judged(Supervisor{}, Escalate)
	case inPostStop, inClose:
		c.close()
	}
}

// logInterruption must not fail, not even when it is the logger that does.
func (c *cell) logInterruption(err error) {
	defer func() { _ = recover() }()
	attrs := []any{"error", err}
	if p, ok := err.(*PanicError); ok {
		attrs = append(attrs, "stack", string(p.Stack))
	}
	c.log().Error("code outside of a handler ended the actor's goroutine; the actor goes on", attrs...)
}
