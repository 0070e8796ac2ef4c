package router

import (
	"errors"
	"sync"

	"github.com/troupe-go/troupe/actor"
)

// tally is the completion of each of the copies of one message: it ends the completion of that message when the last of
// them has ended. It is shared by all copies, so that it costs one allocation however many there are.
type tally struct {
	whole actor.Completion

	mu   sync.Mutex
	left int
	errs []error
}

// Done notes the end of one copy.
func (t *tally) Done(err error) {
	if t.note(err) {
		t.whole.Done(errors.Join(t.errs...))
	}
}

// note reports whether this was the last one. After that nobody writes errs.
func (t *tally) note(err error) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.errs = append(t.errs, err)
	}
	t.left--
	return t.left == 0
}

// askTally is the tally of an ask. A reply goes to the asker directly and ends the ask, so that whatever is done to it
// afterwards does nothing. What the last copy ends is an ask that nobody replied to. It must be ended, because the router
// holds it until then.
type askTally struct{ tally }

// Done notes the end of one copy.
func (t *askTally) Done(err error) {
	if t.note(err) {
		t.whole.Done(errors.Join(append([]error{ErrNoReply}, t.errs...)...))
	}
}

// Answer is the reply by a routee that held its copy.
func (t *askTally) Answer(v any) {
	if a, ok := t.whole.(actor.Answerer); ok {
		a.Answer(v)
	}
	t.Done(nil)
}

// split makes the completion for n copies of what whole is the completion of.
func split(whole actor.Completion, n int) actor.Completion {
	switch whole.(type) {
	case nil:
		return nil
	case actor.Answerer:
		return &askTally{tally{whole: whole, left: n}}
	}
	return &tally{whole: whole, left: n}
}
