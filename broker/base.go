package broker

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Base is the protocol's side of the base on the actor's goroutine: it is valid inside Command, Start and Terminated
// only, and never blocks.
type Base[O, S any] struct {
	e        *engine[O, S]
	ctx      *actor.Context
	topics   topics
	reported bool // the current command's sender knows of the error already
}

// Context is the actor's own context.
func (b *Base[O, S]) Context() *actor.Context { return b.ctx }

// Label is the redacted endpoint label; use it in log lines.
func (b *Base[O, S]) Label() string { return b.e.label }

// State is the state of the connection now.
func (b *Base[O, S]) State() State { return b.e.state() }

// Depth returns how many envelopes wait and how many are in flight.
func (b *Base[O, S]) Depth() (queued, inFlight int) {
	bk := b.e.out.books()
	return bk.Queued, bk.InFlight
}

// Enqueue accepts one outbound payload, to be sent in the order of acceptance. Nil means accepted, not sent: the
// envelope will end once, as Acked, Written or a dead letter. ErrNotConnected, ErrBufferFull, ErrTooLarge and
// ErrStopping mean dropped. The payload belongs to the base until its end.
//
// The completion of the current message travels with the envelope: an ask is answered with the Receipt, and a message
// bridged from another broker is acknowledged, when the envelope ends. A second Enqueue for the same message carries
// none. When Enqueue fails, the completion gets the error; without one the payload becomes a dead letter.
func (b *Base[O, S]) Enqueue(payload O) error { return b.EnqueueFor(payload, 0) }

// EnqueueFor is Enqueue for a payload that is worth something for maxAge only: if it has not been sent by then, it becomes
// a dead letter with ReasonExpired. 0 takes Config.MaxAge.
func (b *Base[O, S]) EnqueueFor(payload O, maxAge time.Duration) error {
	done := b.ctx.Hold()
	size := 0
	if b.e.sizer != nil {
		size = max(0, b.e.sizer.Size(payload))
	}
	var err error
	switch {
	case maxAge < 0:
		err = fmt.Errorf("broker: the maximum age of a message is %v, must not be negative", maxAge)
	case maxAge == 0:
		err = b.e.out.enqueue(payload, done, size, b.e.cfg.MaxAge)
	default:
		err = b.e.out.enqueue(payload, done, size, maxAge)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrNotConnected) {
		b.e.publish(NotConnected{b.e.path, b.e.label})
	}
	b.reported = true
	if done != nil {
		done.Done(err)
		return err
	}
	b.e.deadLetter(Undelivered{Reason: refusal(err), Payload: payload, Refused: true, Cause: err})
	return err
}

func refusal(err error) Reason {
	switch {
	case errors.Is(err, ErrNotConnected), errors.Is(err, ErrPaused):
		return ReasonNotConnected
	case errors.Is(err, ErrStopping):
		return ReasonStopped
	case errors.Is(err, ErrBufferFull), errors.Is(err, ErrTooLarge):
		return ReasonOverflow
	}
	return ReasonRejected
}

// Remember adds a subscription to the desired set, or replaces it. It is applied now if there is a connection, and after
// every connect. It returns at once.
func (b *Base[O, S]) Remember(key string, sub S) { b.e.subs.remember(key, sub) }

// Forget removes a subscription from the desired set; an unknown key does nothing. It returns at once.
func (b *Base[O, S]) Forget(key string) { b.e.subs.forget(key) }

// Remembered is the number of desired subscriptions.
func (b *Base[O, S]) Remembered() int { return b.e.subs.count() }

// AddSubscriber makes ref a receiver of topic and watches it. Repeating it does nothing; a new incarnation at the same
// path takes the place of the old one. The zero Ref is ignored.
func (b *Base[O, S]) AddSubscriber(topic string, ref actor.Ref) {
	if ref.IsZero() {
		return
	}
	watch, unwatch := b.topics.add(topic, ref)
	for _, r := range unwatch {
		b.ctx.Unwatch(r)
	}
	if watch && ref != b.ctx.Self() {
		b.ctx.Watch(ref)
	}
	b.e.fan.set(&b.topics)
	b.e.in.setDeserted(false)
}

// RemoveSubscriber takes the actor at ref's path out of topic, so that another ref to the same actor works too. With its
// last topic the watch ends.
func (b *Base[O, S]) RemoveSubscriber(topic string, ref actor.Ref) {
	if gone := b.topics.remove(topic, ref.Path()); !gone.IsZero() {
		b.ctx.Unwatch(gone)
	}
	b.e.fan.set(&b.topics)
}

// PruneSubscriber takes the actor at ref's path out of every topic and reports whether it was in any. It does not end
// the watch.
func (b *Base[O, S]) PruneSubscriber(ref actor.Ref) bool {
	pruned := b.topics.prune(func(r actor.Ref) bool { return r.Path() == ref.Path() })
	b.e.fan.set(&b.topics)
	return pruned
}

// SubscriberCount is the number of receivers of topic.
func (b *Base[O, S]) SubscriberCount(topic string) int { return len(b.e.fan.get(topic)) }

// FanOut tells msg to every subscriber of topic. The completion of the current message goes with it: it ends when all of
// them are done, with the first error; without a subscriber it ends with ErrNoSubscriber, to be tried again after a
// second.
func (b *Base[O, S]) FanOut(topic string, msg any) {
	fanOut(b.ctx.Hold(), b.ctx.Self(), msg, b.e.fan.get(topic), b.e.in)
}

// Reconnect starts the next attempt now instead of at the end of its delay, also after ReconnectFailed. It does nothing
// while connecting or connected, and an open circuit breaker stays open.
func (b *Base[O, S]) Reconnect() { b.e.wake() }

// Books returns the account of the outbound side.
func (b *Base[O, S]) Books() Books { return b.e.out.books() }

// Books is the account of the outbound side: Accepted = Acked + Written + Undelivered + Queued + InFlight at any time,
// and after a stop both of the last are 0.
type Books struct {
	Accepted, Acked, Written, Undelivered uint64
	// Refused counts what Enqueue returned an error for; it is in none of the others.
	Refused uint64
	// Resent counts dispatches of envelopes that had been dispatched before.
	Resent uint64
	// Queued and InFlight are the unsettled envelopes, Bytes the size of their payloads where the protocol knows it.
	Queued, InFlight, Bytes int
}
