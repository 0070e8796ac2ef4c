package actor

import (
	"errors"
	"fmt"
)

var (
	// ErrDeadLetter ends a message that no handler got: its recipient has stopped, or it left it unhandled.
	ErrDeadLetter = errors.New("actor: dead letter")
	// ErrMailboxFull ends a message that a full bounded mailbox refused or evicted.
	ErrMailboxFull = errors.New("actor: mailbox full")
	// ErrStopped is returned for an actor or system that is stopping or has stopped.
	ErrStopped = errors.New("actor: stopped")
	// ErrNoRecipient is returned when the ref is the zero Ref.
	ErrNoRecipient = errors.New("actor: no recipient")
	// ErrKilled is the failure of an actor that was told Kill.
	ErrKilled = errors.New("actor: killed")
	// ErrHookShape is a failed start: a method has the name of a hook but not its shape.
	ErrHookShape = errors.New("actor: method has a hook's name but not its shape")
	// ErrUnhandled is the reason of the dead letter that Context.Unhandled makes.
	ErrUnhandled = errors.New("actor: unhandled message")
	// ErrStashFull is returned by Context.Stash when StashCapacity messages are stashed.
	ErrStashFull = errors.New("actor: stash full")
	// ErrStashOutside is returned by Context.Stash when there is no current message to stash: in a hook, or when it was
	// stashed, forwarded or held already.
	ErrStashOutside = errors.New("actor: no current message to stash")
	// ErrAskTimeout ends an ask whose context has no deadline after troupe.actor.askTimeout.
	ErrAskTimeout = errors.New("actor: ask timed out")
	// ErrReplyType ends an ask whose reply is not of the type asked for.
	ErrReplyType = errors.New("actor: reply of another type")
	// ErrForged is the reason of the dead letter for a Terminated that the runtime did not mint.
	ErrForged = errors.New("actor: only the runtime sends Terminated")
	// ErrName is wrapped by the error of a spawn or of NewSystem whose name is refused.
	ErrName = errors.New("actor: bad name")
	// ErrGoexit is the failure of an actor whose handler called runtime.Goexit, as testing.T.FailNow does.
	ErrGoexit = errors.New("actor: handler ended its goroutine")
	// ErrPreviousInstance ends what an instance has left open when a restart replaces it: a held completion, its
	// Context.Context, and, as the reason of a dead letter, the result of a Context.PipeToSelf that comes later.
	ErrPreviousInstance = errors.New("actor: belongs to the instance before the restart")
	// ErrInside is returned by System.Terminate when the caller is code that the termination waits for. The termination
	// has begun; wait for it on another goroutine.
	ErrInside = errors.New("actor: called from inside an actor or shutdown task, which cannot wait for the system's end; wait on another goroutine")
	// ErrAbandoned is the failure of a shutdown task that did not return in its phase's time, and wrapped by the outcome of
	// a termination that ended without actors or goroutines that did not return.
	ErrAbandoned = errors.New("actor: abandoned, it did not return in time")
)

// PanicError is the failure of a handler or hook that panicked. Stack is the goroutine's stack at the panic.
type PanicError struct {
	Value any
	Stack []byte
}

// Error names the value; it leaves the stack out.
func (e *PanicError) Error() string { return fmt.Sprintf("actor: panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ConfigError is a setting that is missing or wrong. Path is its dotted key. As the error of a start it stops the actor
// instead of restarting it.
type ConfigError struct {
	Path string
	Err  error
}

// Error is "path: what is wrong".
func (e *ConfigError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *ConfigError) Unwrap() error { return e.Err }

// rejection marks the error of one refused message.
type rejection struct{ err error }

func (r *rejection) Error() string { return r.err.Error() }
func (r *rejection) Unwrap() error { return r.err }

// Reject marks err as the refusal of the current message: the handler returns it, the message's Completion gets it, and
// the actor goes on as if nothing had happened. Reject(nil) is nil.
func Reject(err error) error {
	if err == nil {
		return nil
	}
	return &rejection{err}
}

// Rejected reports whether err, or an error that it wraps, was made by Reject.
func Rejected(err error) bool {
	var r *rejection
	return errors.As(err, &r)
}
