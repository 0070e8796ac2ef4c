package actor

// kind tells the runtime's own envelopes from those that were told.
type kind uint8

const (
	told    kind = iota // by anybody
	timeout             // receive timeout, see timeout.go
	death               // Terminated; the watcher's registration decides what is delivered
	tick                // of a timer, see timers.go
	piped               // result of PipeToSelf
)

// envelope is one entry of the user lane.
type envelope struct {
	msg      any
	sender   Ref
	done     Completion
	timer    *timer // tick
	gen      uint32 // timeout: generation of the window; piped: of the instance
	kind     kind
	replayed bool   // came out of the stash
	marker   uint16 // timeout: see idleWindow
}

// droppable says which envelopes the bound of a mailbox applies to. Signals are never lost to it.
func (e *envelope) droppable() bool {
	switch e.kind {
	case timeout, death, tick:
		return false
	}
	switch e.msg.(type) {
	case PoisonPill, Kill:
		return false
	}
	return true
}

// counts says whether handling the envelope is activity in the sense of the receive timeout.
func (e *envelope) counts() bool {
	if e.kind == timeout || e.kind == death {
		return false
	}
	switch e.msg.(type) {
	case ReceiveTimeout, PoisonPill, Kill, Terminated, NotInfluenceReceiveTimeout:
		return false
	}
	return true
}

func counts(e *envelope) bool { return e.counts() }
