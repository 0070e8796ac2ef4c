package actor

import "runtime/debug"

// phase is what foreign code the owner is running. Foreign code may panic, and it may end its goroutine by
// runtime.Goexit, as a failing assertion in a test does; the actor must survive both, with every step of its life taken
// exactly once. A panic in a handler or hook is caught where it happens. For the rest the activation's goroutine is
// given up, and the next one goes on behind the step that was interrupted: whoever runs foreign code first sets the
// phase and takes the thing it is about to settle off its list.
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
)

// guard runs user code and turns a panic into an error.
func (c *cell) guard(p phase, f func() error) (err error) {
	defer c.recovered(&err)
	c.phase = p
	err = f()
	c.phase = ours
	return err
}

// recovered is deferred around user code. After a runtime.Goexit there is nothing to recover and the phase stays set;
// run takes over then.
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

// interrupted goes on behind the step in which foreign code ended the last activation.
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
		c.settled()
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
