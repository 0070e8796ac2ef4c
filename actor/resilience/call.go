package resilience

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Permit is the leave for one call that Breaker.Allow gave. Its holder says what became of the call, once, by Done or
// Release; what is said later, and after CallTimeout, does not count. Both may be called from any goroutine and do not
// block. A Permit is an actor.Completion: sent along with a message, it counts what becomes of the message.
type Permit struct {
	b       *Breaker
	epoch   uint64
	settled atomic.Bool
	timer   *time.Timer   // nil without CallTimeout
	fired   chan struct{} // closed when the timer's goroutine has done its work
}

// Done says that the call has ended with err, which IsFailure judges, or with success if err is nil. If IsFailure panics
// the call counts as failed, and the panic goes on.
func (p *Permit) Done(err error) {
	if p.settled.Load() {
		return
	}
	o := failed
	defer func() { p.settle(o) }()
	o = p.b.cfg.failure(err)
}

// Release gives the permit back without an outcome: the call did not take place, or proved nothing.
func (p *Permit) Release() { p.settle(inconclusive) }

// settle counts the first outcome. It reports whether the timer is sure not to be at work.
func (p *Permit) settle(o outcome) (quiet bool) {
	if p.settled.Swap(true) {
		return p.timer == nil
	}
	quiet = p.timer == nil || p.timer.Stop()
	p.b.record(p.epoch, o)
	return quiet
}

// expire is the timer's function. It must not touch p.timer, which Allow may be about to set.
func (p *Permit) expire() {
	defer close(p.fired)
	if !p.settled.Swap(true) {
		p.b.record(p.epoch, failed)
	}
}

// end is settle that waits for the timer's goroutine, for a holder that is the only one.
func (p *Permit) end(o outcome) {
	if !p.settle(o) {
		<-p.fired
	}
}

// Do calls f if the breaker lets it and counts the outcome; else it returns an *OpenError at once. f runs on the caller's
// goroutine, with ctx, which has CallTimeout as its deadline if there is one: Do returns when f does, so f must heed its
// context. See the function Do for what is returned and for panics.
func (b *Breaker) Do(ctx context.Context, f func(context.Context) error) error {
	_, err := Do(ctx, b, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// Do is Breaker.Do for a function with a result. It returns what f returned. An error of a call that took longer than
// CallTimeout is wrapped together with ErrCallTimeout; a result that f still has by then is returned all the same, but for
// the breaker the call has failed. If ctx has ended already its cause is returned and nothing is called or counted. A
// panic in f counts as a failure and goes on, as does the end of its goroutine by runtime.Goexit.
func Do[T any](ctx context.Context, b *Breaker, f func(context.Context) (T, error)) (T, error) {
	var zero T
	if ctx.Err() != nil {
		return zero, context.Cause(ctx)
	}
	p, err := b.Allow()
	if err != nil {
		return zero, err
	}
	o := failed // and stays it, should f or IsFailure not return
	defer func() { p.end(o) }()
	var expired error
	if d := b.cfg.CallTimeout; d > 0 {
		expired = fmt.Errorf("%w after %v", ErrCallTimeout, d)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, expired)
		defer cancel()
	}
	v, err := f(ctx)
	// Compared by identity: the same kind of cause may come from a call around this one.
	if expired != nil && context.Cause(ctx) == expired {
		if err != nil && !errors.Is(err, expired) {
			err = &timedOutError{cause: expired, err: err}
		}
		return v, err
	}
	o = b.cfg.failure(err)
	return v, err
}

// timedOutError is what f returned after its time.
type timedOutError struct{ cause, err error }

func (e *timedOutError) Error() string   { return e.cause.Error() + ": " + e.err.Error() }
func (e *timedOutError) Unwrap() []error { return []error{e.cause, e.err} }
