package broker

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
)

// topics is the many-to-many relation of topics and subscribers, on the actor's goroutine. Two refs are the same
// subscriber when their paths are equal; which incarnation it is decides about a death.
type topics struct {
	refs map[string][]actor.Ref // per topic, in the order of subscription; the slices are never changed in place
}

// add puts ref into topic. watch says that ref was in no topic before; unwatch are older incarnations at the same path,
// which ref has replaced everywhere.
func (t *topics) add(topic string, ref actor.Ref) (watch bool, unwatch []actor.Ref) {
	if t.refs == nil {
		t.refs = map[string][]actor.Ref{}
	}
	path, known := ref.Path(), false
	for k, rs := range t.refs {
		for i, r := range rs {
			switch {
			case r == ref:
				known = true
			case r.Path() == path:
				if !slices.Contains(unwatch, r) {
					unwatch = append(unwatch, r)
				}
				rs = slices.Clone(rs)
				rs[i] = ref
				t.refs[k] = rs
			}
		}
	}
	if !slices.Contains(t.refs[topic], ref) {
		t.refs[topic] = append(slices.Clone(t.refs[topic]), ref)
	}
	return !known, unwatch
}

// remove takes the actor at path out of topic and returns its ref if that was its last topic.
func (t *topics) remove(topic, path string) (last actor.Ref) {
	at := func(r actor.Ref) bool { return r.Path() == path }
	i := slices.IndexFunc(t.refs[topic], at)
	if i < 0 {
		return last
	}
	ref := t.refs[topic][i]
	t.cut(topic, at)
	for _, rs := range t.refs {
		if slices.Contains(rs, ref) {
			return last
		}
	}
	return ref
}

// prune takes every matching ref out of every topic and reports whether there was one.
func (t *topics) prune(match func(actor.Ref) bool) (found bool) {
	for k, rs := range t.refs {
		if slices.ContainsFunc(rs, match) {
			found = true
			t.cut(k, match)
		}
	}
	return found
}

func (t *topics) cut(topic string, match func(actor.Ref) bool) {
	rs := slices.DeleteFunc(slices.Clone(t.refs[topic]), match)
	if len(rs) == 0 {
		delete(t.refs, topic)
		return
	}
	t.refs[topic] = rs
}

// fanout is a snapshot of topics for the goroutines of drivers.
type fanout struct {
	m atomic.Pointer[map[string][]actor.Ref]
}

func (f *fanout) get(topic string) []actor.Ref {
	if m := f.m.Load(); m != nil {
		return (*m)[topic]
	}
	return nil
}

func (f *fanout) set(t *topics) {
	m := make(map[string][]actor.Ref, len(t.refs))
	for k, rs := range t.refs {
		m[k] = rs
	}
	f.m.Store(&m)
}

// fanOut tells msg to refs; done, if there is one, ends when all copies have.
func fanOut(done actor.Completion, sender actor.Ref, msg any, refs []actor.Ref, in *inbound) {
	if len(refs) == 0 {
		in.mu.Lock()
		in.count.Unwanted++
		in.mu.Unlock()
		if done != nil {
			done.Done(RetryAfter(ErrNoSubscriber, noSubscriberDelay))
		}
		return
	}
	var each actor.Completion
	if done != nil {
		each = &join{done: done, left: len(refs)}
	}
	for _, r := range refs {
		actor.Send(r, actor.Envelope{Msg: msg, Sender: sender, Done: each})
	}
}

// join ends one completion when several copies have ended, with the first error.
type join struct {
	done actor.Completion
	mu   sync.Mutex
	left int
	err  error
}

// Done implements actor.Completion for one copy.
func (j *join) Done(err error) {
	j.mu.Lock()
	if j.err == nil {
		j.err = err
	}
	j.left--
	last := j.left == 0
	j.mu.Unlock()
	if last {
		j.done.Done(j.err)
	}
}
