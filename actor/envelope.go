package actor

import "context"

// envelope is one entry of the user lane. What the runtime itself puts there has a done of one of the types below; told
// messages have the completion that came with them, which usually is none.
type envelope struct {
	msg    any
	sender Ref
	done   Completion
}

// The runtime's own envelopes. None of them is a completion: Done does nothing.
type (
	// idleMark is a receive timeout, see timeout.go. The numbers are those of the window when it fell due.
	idleMark struct {
		gen, serial uint32
		replayed    bool
	}
	// deathMark is the end of a watched actor; the watcher's registration decides what is delivered.
	deathMark struct{}
	// deathSeen is one that came out of the stash: its registration was consumed before.
	deathSeen struct{}
	// tickMark is the tick of a timer, see timers.go.
	tickMark struct{ *timer }
	// tickSeen is one that came out of the stash.
	tickSeen struct{}
	// pipeMark is the result of PipeToSelf for an instance.
	pipeMark struct {
		instance uint32
		ctx      context.Context
	}
)

// Done of the runtime's own envelopes does nothing.
func (*idleMark) Done(error) {}

// Done does nothing.
func (deathMark) Done(error) {}

// Done does nothing.
func (deathSeen) Done(error) {}

// Done does nothing.
func (tickMark) Done(error) {}

// Done does nothing.
func (tickSeen) Done(error) {}

// Done does nothing.
func (*pipeMark) Done(error) {}

// mark is done without a context around it.
func (e *envelope) mark() Completion {
	if d, ok := e.done.(*carried); ok {
		return d.inner
	}
	return e.done
}

// own says whether the envelope is a signal of the runtime's own: never lost to a bound, never a dead letter. The result
// of PipeToSelf is an ordinary message in both respects.
func (e *envelope) own() bool {
	switch e.mark().(type) {
	case *idleMark, deathMark, deathSeen, tickMark, tickSeen:
		return true
	}
	return false
}

// droppable says which envelopes the bound of a mailbox applies to. Signals are never lost to it.
func (e *envelope) droppable() bool {
	switch e.msg.(type) {
	case PoisonPill, Kill:
		return false
	}
	return e.done == nil || !e.own()
}

// counts says whether handling the envelope is activity in the sense of the receive timeout.
func (e *envelope) counts() bool {
	if e.done != nil {
		switch e.mark().(type) {
		case *idleMark, deathMark, deathSeen:
			return false
		}
	}
	switch e.msg.(type) {
	case ReceiveTimeout, PoisonPill, Kill, Terminated, NotInfluenceReceiveTimeout:
		return false
	}
	return true
}

func counts(e *envelope) bool { return e.counts() }

// seen makes the envelope one that has been looked at when it was stashed.
func (e *envelope) seen() {
	switch d := e.done.(type) {
	case *idleMark:
		e.done = &idleMark{gen: d.gen, replayed: true}
	case deathMark:
		e.done = deathSeen{}
	case tickMark:
		e.done = tickSeen{}
	}
}
