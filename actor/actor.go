package actor

import "context"

// Actor handles messages, one at a time. Receive is called on the actor's own goroutine only; it may block, which
// delays this actor and no other. A returned error or a panic is a failure and goes to the parent's Supervisor; an
// error made by Reject refuses the one message and is no failure. msg is whatever the sender told: the runtime never
// copies or changes it, so senders and actors share what it points to.
type Actor interface {
	Receive(ctx *Context, msg any) error
}

// Func is a function that is an Actor; it is also the type of a behaviour for Context.Become.
type Func func(ctx *Context, msg any) error

// Receive calls f.
func (f Func) Receive(ctx *Context, msg any) error { return f(ctx, msg) }

// PreStarter is an optional hook of an Actor: PreStart runs before the first message. An error or a panic is a failed
// start. Messages told before it ends wait in the mailbox.
type PreStarter interface {
	PreStart(ctx *Context) error
}

// PostStopper is an optional hook of an Actor: PostStop runs after the last message and after all children have
// stopped; also after a failed start. An error is logged and changes nothing.
type PostStopper interface {
	PostStop(ctx *Context) error
}

// PreRestarter is an optional hook of an Actor: PreRestart runs on the old instance before a restart, with the cause
// and the message that was being handled, nil if there was none. Without it the old instance gets PostStop. An error is
// logged and changes nothing.
type PreRestarter interface {
	PreRestart(ctx *Context, cause error, msg any) error
}

// PostRestarter is an optional hook of an Actor: PostRestart runs on the new instance after a restart. Without it the
// new instance gets PreStart. An error is a failed start.
type PostRestarter interface {
	PostRestart(ctx *Context, cause error) error
}

// Supervising is an optional hook of an Actor: Supervisor says how its failed children are judged. It is asked at each
// failure, on the actor's goroutine, and must not block.
type Supervising interface {
	Supervisor() Supervisor
}

// ReceiveTimeout is what an actor receives when it has been idle for the window it set by Context.SetReceiveTimeout.
// The type has no size, so msg == actor.ReceiveTimeout{} and a type switch both work. One that user code tells is an
// ordinary message: it is delivered, but neither counts as activity nor clears the real one.
type ReceiveTimeout struct{}

// NotInfluenceReceiveTimeout marks messages that do not count as activity: handling one leaves the receive timeout as
// it is. Meant for ticks an actor sends itself.
type NotInfluenceReceiveTimeout interface {
	NotInfluenceReceiveTimeout()
}

// Terminated tells a watcher that Ref has stopped for good; a restart is not the end of a ref. Cause is nil for an
// orderly stop, and the failure for an actor that was stopped because of it or while it waited for its supervisor. Only the runtime can mint one: a Terminated that user code
// tells is not delivered but becomes a dead letter.
type Terminated struct {
	Ref   Ref
	Cause error
}

// PoisonPill stops the actor that it is told to when everything told before has been handled.
type PoisonPill struct{}

// Kill makes the actor that it is told to fail with ErrKilled, when everything told before has been handled; what
// follows is the supervisor's decision.
type Kill struct{}

// Completion learns what became of one message. Done is called exactly once, by the runtime and from any goroutine: with
// nil when a handler returned nil, with the handler's error or *PanicError, with ErrDeadLetter or ErrMailboxFull when
// nobody handled the message (ErrUnhandled beside it if a handler left it), with ErrNoRecipient when it was sent to the
// zero Ref, with ErrStopped when the actor that held it has stopped. Done must not block.
type Completion interface {
	Done(err error)
}

// Answerer is the Completion of an ask, as Context.Hold returns it: Answer ends it with a reply instead of Done.
// Whichever of the two is called first counts, the other does nothing.
type Answerer interface {
	Completion
	Answer(v any)
}

// Envelope is a message with what travels beside it. Sender may be zero, Done may be nil.
type Envelope struct {
	Msg     any
	Sender  Ref
	Done    Completion
	Context context.Context // its values come with the message if it is one of WithLog; may be nil
}
