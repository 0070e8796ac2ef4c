// Package detached is what the packages actor and actortest agree on: an actor's context without a system that runs it.
// Since it is internal, only this module can ask for one.
//
// Type parameters stand for types of package actor, which imports this one: X is *actor.Context, A is actor.Actor, R is
// actor.Ref, E is actor.Envelope, S is actor.SpawnConfig, L is actor.DeadLetter.
package detached

import "time"

// Spec says what to make.
type Spec struct {
	// Name is what the actor is called.
	Name string
}

// Cell is the runtime's side of an actor that nobody runs but the caller. All functions are for one goroutine.
type Cell[X, A, R, E, S, L any] struct {
	// Context is what the actor's methods are called with.
	Context X
	// Receive has the actor handle a message, as the runtime would, and returns what the handler does.
	Receive func(a A, e E) error
	// Ask is Receive for an ask. The outcome may be asked for at any time and often; ended is false before the end.
	Ask func(a A, msg any) (outcome func() (v any, ended bool, err error))
	// Next is Receive for the first of the messages that wait in the actor's own mailbox; ok is false if there is none.
	Next func(a A) (ok bool, err error)
	// Tick is Receive for the tick of a timer.
	Tick func(a A, key string) error
	// Hook runs a hook, with what the runtime does before and after it.
	Hook func(a A, h Hook, cause error, msg any) error
	// NewRef makes somebody who only keeps what he is told.
	NewRef func(name string) (R, error)
	// Look tells what has happened since the last Look, and how things are now.
	Look func() Seen[A, R, E, S, L]
	// Piping reports whether functions of PipeToSelf may be at work, and Wait waits for them.
	Piping func() bool
	// Wait may be called from another goroutine.
	Wait func()
	// Close ends what the actor has left open.
	Close func()
}

// Hook is one of an actor's hooks.
type Hook uint8

const (
	// PreStart is the start of the first instance.
	PreStart Hook = iota
	// PostStop is the end.
	PostStop
	// PreRestart is the end of an instance that failed.
	PreRestart
	// PostRestart is the start of the one in its place.
	PostRestart
)

// Seen is what can be seen of an actor from outside.
type Seen[A, R, E, S, L any] struct {
	// Since the last Look, in their order.
	Sent        []Sent[R, E]
	Spawned     []Spawned[A, R, S]
	DeadLetters []L

	// The present.
	Window         time.Duration // of the receive timeout; 0: off
	Timers         []Timer       // by key
	Watched        []R           // by path
	Stash, Mailbox []E           // oldest first
	Behaviors      int           // on the stack
	Held           int           // completions
	Stopping       bool
}

// Sent is a message that the actor sent.
type Sent[R, E any] struct {
	To       R
	Envelope E
}

// Spawned is a child.
type Spawned[A, R, S any] struct {
	Ref    R
	New    func() A
	Config S
}

// Timer is a timer that has not ended.
type Timer struct {
	// Key is the timer's name, and Msg what it sends.
	Key string
	Msg any
	// Delay is how long after its start, or its last tick, it sends.
	Delay time.Duration
	// Interval is that of a timer which sends again and again, 0 for one that sends once.
	Interval time.Duration
	// FixedRate says that the interval is counted from tick to tick, not from the end of a tick's handling.
	FixedRate bool
}
