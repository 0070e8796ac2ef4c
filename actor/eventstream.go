package actor

import (
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
)

// EventStream carries the events of one system to every actor that subscribed to their type: DeadLetter, ActorStarted,
// ActorStopped, ActorRestarted, the events of brokers, and whatever users publish. There is no authorisation on it.
// All methods may be called from any goroutine and do not block.
type EventStream struct {
	sys  *System
	mu   sync.Mutex // serialises changes of subs
	subs atomic.Pointer[[]*subscription]

	letters letters
}

// subscription is one ref's interest in one type.
type subscription struct {
	to      Ref
	typ     reflect.Type
	match   func(any) bool
	foreign bool // match runs a predicate of the subscriber's
}

// Subscribe makes to receive every event that is a T, from now on: T is a concrete type or an interface. Events arrive
// as ordinary messages and count as activity. Subscribing the same ref to the same T again changes nothing. The
// subscription ends with the ref, or by cancel, which may be called from any goroutine and more than once. A ref that has
// stopped, is an ask or the zero Ref is not subscribed.
func Subscribe[T any](ev *EventStream, to Ref) (cancel func()) {
	return ev.subscribe(to, reflect.TypeFor[T](), false, func(v any) bool {
		_, ok := v.(T)
		return ok
	})
}

// SubscribeIf is Subscribe for those events for which pred is true. Every call adds a subscription, because two
// predicates cannot be compared: an event that satisfies several arrives as often. pred runs on the publisher's
// goroutine, on several at once if need be, and sees the event before it arrives anywhere: it must be quick, must not
// publish or tell, and must not change the event. If it panics the event does not match, which is logged. A nil pred is
// true for every event.
func SubscribeIf[T any](ev *EventStream, to Ref, pred func(T) bool) (cancel func()) {
	return ev.subscribe(to, reflect.TypeFor[T](), true, func(v any) bool {
		t, ok := v.(T)
		return ok && (pred == nil || pred(t))
	})
}

func (ev *EventStream) subscribe(to Ref, typ reflect.Type, foreign bool, match func(any) bool) (cancel func()) {
	if to.n == nil || to.n.ask {
		return func() {}
	}
	mine := &subscription{to, typ, match, foreign}
	c := to.n.cell()
	c.mb.Mark(markSubscribed)
	ev.change(func(subs []*subscription) []*subscription {
		same := func(s *subscription) bool { return s.to == to && s.typ == typ && !s.foreign }
		if i := slices.IndexFunc(subs, same); i >= 0 && !foreign {
			mine = subs[i]
			return subs
		}
		return append(subs, mine)
	})
	// A cancel that is called again must not end a subscription which the same ref has made later.
	cancel = func() {
		ev.change(func(subs []*subscription) []*subscription {
			return slices.DeleteFunc(subs, func(s *subscription) bool { return s == mine })
		})
	}
	// The actor may have ended meanwhile. Its end closes the mailbox first and then looks at subscribed; either it saw
	// our mark or we see the closed mailbox.
	if c.mb.Closed() {
		cancel()
	}
	return cancel
}

// Publish tells event to its subscribers, in the order they subscribed. Who is subscribed is fixed when it begins.
func (ev *EventStream) Publish(event any) {
	subs := ev.subs.Load()
	if subs == nil {
		return
	}
	for _, s := range *subs {
		switch {
		case s.foreign && !s.accepts(ev, event), !s.foreign && !s.match(event):
		case s.to.n.cell().mb.Closed(): // its end has taken it off its own system's stream, and this is another's, or later
			ev.removeRef(s.to)
		default:
			s.to.n.deliver(envelope{msg: event}, nil)
		}
	}
}

// accepts asks a predicate. One that fails must hit neither the publisher nor the other subscribers.
func (s *subscription) accepts(ev *EventStream, event any) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			ok = false
			ev.sys.report(slog.LevelError, "a predicate of the event stream panicked; the event does not match",
				"subscriber", s.to.Path(), "type", s.typ.String(), "error", newPanicError(v))
		}
	}()
	return s.match(event)
}

// change replaces the list by an edited copy, so that Publish reads it without a lock.
func (ev *EventStream) change(edit func([]*subscription) []*subscription) {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	var old []*subscription
	if p := ev.subs.Load(); p != nil {
		old = *p
	}
	subs := edit(slices.Clone(old))
	if len(subs) == 0 {
		ev.subs.Store(nil)
		return
	}
	ev.subs.Store(&subs)
}

func (ev *EventStream) removeRef(r Ref) {
	ev.change(func(subs []*subscription) []*subscription {
		return slices.DeleteFunc(subs, func(s *subscription) bool { return s.to == r })
	})
}

// publishLifecycle spares the boxing of the event while nobody listens, which is the usual case.
func (ev *EventStream) publishLifecycle(event any) {
	if ev.subs.Load() != nil {
		ev.Publish(event)
	}
}

// ActorStarted is published when an actor's first PreStart has succeeded.
type ActorStarted struct{ Ref Ref }

// ActorRestarted is published when a new instance has taken over after a failure.
type ActorRestarted struct {
	Ref   Ref
	Cause error
}

// ActorStopped is published when an actor has ended. Cause is nil for an orderly stop.
type ActorStopped struct {
	Ref   Ref
	Cause error
}
