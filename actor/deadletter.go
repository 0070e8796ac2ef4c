package actor

import (
	"errors"
	"fmt"
	"log/slog"
)

// DeadLetter is published on the event stream for each message that nobody handled: To has stopped or never was, its
// mailbox was full, or it left the message unhandled. Reason says which. Sender is zero when unknown. A message with a
// completion that a full mailbox refused makes no dead letter: its owner gets ErrMailboxFull. Nor do ReceiveTimeout,
// Terminated and timer ticks, which are the runtime's own, and PoisonPill and Kill for an actor that has stopped anyway.
//
// Dead letters are logged, too, by type and never by content: the first 10 in a minute, and then how many more there were
// (troupe.actor.deadLetters). System.Stats counts them. Neither limits the events.
type DeadLetter struct {
	Msg    any
	To     Ref
	Sender Ref
	Reason error
}

// undelivered settles an envelope that no handler got.
func (s *System) undelivered(e *envelope, to Ref, reason error) {
	if e.done != nil {
		if e.own() {
			return // the one it was for is gone
		}
		e.drop()
	}
	switch e.msg.(type) {
	case PoisonPill, Kill:
		s.finish(e, ErrDeadLetter)
		return
	}
	s.deadLetter(e, to, reason)
}

// deadLetter publishes one and ends the completion.
func (s *System) deadLetter(e *envelope, to Ref, reason error) {
	_, again := e.msg.(DeadLetter) // a dead letter of a dead letter would go round for ever
	full := e.done != nil && errors.Is(reason, ErrMailboxFull)
	defer s.endDead(e, full, reason) // also if the logger or a predicate ends the goroutine
	if !again && !full {
		s.events.letters.note(s, e, to, reason)
		if s.events.subs.Load() != nil {
			s.events.Publish(DeadLetter{Msg: e.msg, To: to, Sender: e.sender, Reason: reason})
		}
	}
}

// endDead ends the completion of a dead letter.
func (s *System) endDead(e *envelope, full bool, reason error) {
	switch {
	case full:
		s.finish(e, ErrMailboxFull)
	case reason == ErrStopped || reason == ErrNoRecipient:
		s.finish(e, ErrDeadLetter)
	case e.done != nil:
		s.finish(e, fmt.Errorf("%w: %w", ErrDeadLetter, reason))
	}
}

// finish ends the envelope's completion, if it still has one. A Done that panics is the fault of whoever wrote it and
// must not hit the actor or the sender that happens to be at work.
func (s *System) finish(e *envelope, err error) {
	d := e.done
	if d == nil {
		return
	}
	e.done = nil
	s.done(d, err)
}

func (s *System) done(d Completion, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.report(slog.LevelError, "a Completion panicked", "error", newPanicError(v))
		}
	}()
	d.Done(err)
}
