package actor

import (
	"context"
	"sync"
)

// heldList is the held completions of a cell, a list so that ending one costs no search.
type heldList struct {
	mu    sync.Mutex
	first *held
}

// held is one completion that was taken out. Whoever takes it off the list ends it.
type held struct {
	list       *heldList
	prev, next *held
	done       Completion
}

// heldAsk is a held completion of an ask.
type heldAsk struct{ held }

func (l *heldList) hold(d Completion) Completion {
	if a, ok := d.(Answerer); ok {
		h := &heldAsk{held{list: l, done: a}}
		l.link(&h.held)
		return h
	}
	h := &held{list: l, done: d}
	l.link(h)
	return h
}

func (l *heldList) link(h *held) {
	l.mu.Lock()
	h.next = l.first
	if l.first != nil {
		l.first.prev = h
	}
	l.first = h
	l.mu.Unlock()
}

// take unlinks h and returns its completion, nil when somebody was faster.
func (h *held) take() Completion {
	l := h.list
	l.mu.Lock()
	defer l.mu.Unlock()
	d := h.done
	if d == nil {
		return nil
	}
	h.done = nil
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		l.first = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	h.prev, h.next = nil, nil
	return d
}

// Done ends the completion.
func (h *held) Done(err error) {
	if d := h.take(); d != nil {
		d.Done(err)
	}
}

// Answer ends the ask with a reply.
func (h *heldAsk) Answer(v any) {
	if d := h.take(); d != nil {
		d.(Answerer).Answer(v)
	}
}

// handOn takes a held completion off its holder's list: sent on, it belongs to the message it travels with, like one
// that Forward hands over. It would stay on the list for as long as its holder lives if it is an ask that is answered by
// a reply, since nobody calls Done then.
func handOn(d Completion) Completion {
	switch h := d.(type) {
	case *held:
		return h.take()
	case *heldAsk:
		return h.take()
	}
	return d
}

// end ends everything that is still held.
func (l *heldList) end(err error) {
	for {
		l.mu.Lock()
		h := l.first
		l.mu.Unlock()
		if h == nil {
			return
		}
		h.Done(err)
	}
}

// lifetime is the context of one instance.
type lifetime struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (l *lifetime) end(cause error) {
	if l != nil {
		l.cancel(cause)
	}
}

// lifetime is made when it is first asked for. A stop may be asked for at the same moment by another goroutine: it
// first sets its mark and then cancels what it finds, here it is stored first and then the mark is looked at; one of
// the two sees the other.
func (c *cell) lifetime() context.Context {
	at := &c.rare().life
	for {
		if l := at.Load(); l != nil {
			return l.ctx
		}
		l := new(lifetime)
		// The actor's own life is the root of this context: nothing above it could cancel it.
		l.ctx, l.cancel = context.WithCancelCause(context.Background()) // no parent, see above
		if at.CompareAndSwap(nil, l) && c.mb.Marked(markStopping) {
			l.cancel(ErrStopped)
		}
	}
}

// endLifetime cancels the context of the outgoing instance.
func (c *cell) endLifetime(cause error) {
	if r := c.look(); r != &c.sys.none {
		r.life.Swap(nil).end(cause)
	}
}

// endHolds ends what the instance held.
func (c *cell) endHolds(cause error) {
	if r := c.look(); r != &c.sys.none {
		r.held.end(cause)
	}
}
