package actor

// Ref addresses one incarnation of an actor. Refs are comparable: == means the same incarnation, and an actor that is
// spawned anew under the same name has another one. A Ref may be copied and used from any goroutine, also after its
// actor has stopped. The zero Ref is nobody.
type Ref struct{ n *node }

// node is what a ref points to: the first field of a cell or of a promise, with a pointer back to it.
type node struct {
	cell *cell
	ask  *promise
}

// Tell puts msg into the actor's mailbox. It never blocks and never fails; a message that nobody takes becomes a
// DeadLetter on the event stream. Told to the zero Ref it does nothing.
func (r Ref) Tell(msg any) {
	if r.n != nil {
		r.n.deliver(envelope{msg: msg})
	}
}

// TryTell is Tell that says what happened: ErrMailboxFull, ErrStopped or ErrNoRecipient when the message was not taken,
// and then no dead letter is made. A nil error means that it is in the mailbox. It never blocks.
func (r Ref) TryTell(msg any) error {
	switch {
	case r.n == nil:
		return ErrNoRecipient
	case r.n.cell == nil:
		r.n.deliver(envelope{msg: msg})
		return nil
	}
	return r.n.cell.push(&envelope{msg: msg})
}

// Send tells e.Msg with a sender and a completion. It may be called from any goroutine and never blocks. e.Done is
// called exactly once, also when nobody takes the message.
func Send(to Ref, e Envelope) {
	env := envelope{msg: e.Msg, sender: e.Sender, done: e.Done}
	if to.n == nil {
		if e.Done != nil {
			e.Done.Done(ErrNoRecipient)
		}
		return
	}
	to.n.deliver(env)
}

// Pending is about how many messages wait in the actor's mailbox: messages that were handled a moment ago may still be
// counted. ok is false for an actor that is stopping or has stopped, for an ask and for the zero Ref. It may be called
// from any goroutine and does not block.
func (r Ref) Pending() (n int, ok bool) {
	if r.n == nil || r.n.cell == nil || r.n.cell.stopping.Load() {
		return 0, false
	}
	return r.n.cell.mb.Len(), true
}

// IsZero reports whether r is the zero Ref.
func (r Ref) IsZero() bool { return r.n == nil }

// Name is the last element of the path: the name the actor was spawned with. It is empty for the zero Ref.
func (r Ref) Name() string {
	switch {
	case r.n == nil:
		return ""
	case r.n.cell == nil:
		return "ask"
	}
	return r.n.cell.name
}

// Path is the actor's address, as in troupe://shop/user/orders/42. Another incarnation has the same path. It is empty
// for the zero Ref.
func (r Ref) Path() string {
	switch {
	case r.n == nil:
		return ""
	case r.n.cell == nil:
		return "troupe://" + r.n.ask.sys.name + "/temp/ask"
	}
	return r.n.cell.path()
}

// String is the path, and "nobody" for the zero Ref.
func (r Ref) String() string {
	if r.n == nil {
		return "nobody"
	}
	return r.Path()
}

// deliver hands an envelope to whatever the node belongs to and settles it when it is not taken.
func (n *node) deliver(e envelope) {
	if n.cell == nil {
		err := error(nil)
		if !n.ask.resolve(e.msg, nil) {
			err = ErrDeadLetter // too late; whoever acknowledges after this answer must know
		}
		n.ask.sys.finish(&e, err)
		return
	}
	if err := n.cell.push(&e); err != nil {
		n.cell.sys.undelivered(&e, Ref{n}, err)
	}
}
