package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
)

const (
	// teardownTimeout bounds the hooks that end a lost connection.
	teardownTimeout = 5 * time.Second
	// The parts of the 100 ms that a stop may take after its flush.
	stopConnect    = 35 * time.Millisecond // for a Connect in progress, its context cancelled and its sockets closed
	stopAcks       = 10 * time.Millisecond // for the verdicts that are there
	stopDisconnect = 50 * time.Millisecond // for Disconnect
	stopRest       = 30 * time.Millisecond // for what remains when all sockets are closed
	stopBudget     = 90 * time.Millisecond // for all of it together
)

// engine drives one protocol. One goroutine, run, owns the connection: it connects, waits for the loss, tears down, waits
// and begins again, so that no two of these ever overlap. Everything else talks to it through link contexts and channels.
type engine[O, S any] struct {
	p     Protocol[O, S]
	sizer Sizer[O] // nil if the protocol is none
	cfg   Config
	sys   *actor.System
	self  actor.Ref
	path  string
	label string
	log   *slog.Logger
	scrub *scrubber
	root  context.Context
	out   *outbox[O]
	in    *inbound
	subs  *subscriptions[S]
	fan   fanout

	stopOnce sync.Once
	stopc    chan struct{} // closed when the stop begins
	done     chan struct{} // closed when run has returned
	kick     chan struct{} // attempt now
	unhook   func()        // takes the shutdown task back

	mu  sync.Mutex
	now Status

	// owned by run
	epoch    uint64
	attempts int // failures since the last success: the number in the events
	failures int // failures since the last stable connection: the exponent
	breaker  breaker
	stopBy   time.Time // the end of the teardown of a stop; zero before it begins
}

func newEngine[O, S any](p Protocol[O, S], cfg Config, ctx *actor.Context) *engine[O, S] {
	e := &engine[O, S]{
		p: p, cfg: cfg, sys: ctx.System(), self: ctx.Self(), path: ctx.Self().Path(),
		subs:  newSubscriptions[S](),
		stopc: make(chan struct{}), done: make(chan struct{}), kick: make(chan struct{}, 1),
		breaker: breaker{cfg: cfg.CircuitBreaker},
		now:     Status{Since: time.Now()},
	}
	// The actor's context ends before PostStop, but a stop still flushes: what runs for the engine ends with the links.
	e.root = context.WithoutCancel(ctx.Context())
	var secrets []string
	if h, ok := p.(SecretHolder); ok {
		secrets = h.Secrets()
	}
	e.scrub = newScrubber(p.EndpointLabel(), secrets)
	e.label = e.scrub.label
	e.log = ctx.Log().With("endpoint", e.label)
	e.in = newInbound(&e.cfg, e.self, &e.fan, e.droppedInbound)
	e.out = newOutbox[O](&e.cfg)
	e.out.scrub = e.scrub.error
	e.out.evicted = func(n int) { e.publish(BufferOverflow{e.path, e.label, e.cfg.OutboundBuffer, n}) }
	e.sizer, _ = p.(Sizer[O])
	e.out.dropped = func(payload O, r Reason, cause error) {
		e.deadLetter(Undelivered{Reason: r, Payload: payload, Cause: cause})
	}
	return e
}

// droppedInbound makes the dead letter of an inbound message that was given up.
func (e *engine[O, S]) droppedInbound(d Dropped) {
	d.Path, d.Endpoint, d.Cause = e.path, e.label, e.scrub.error(d.Cause)
	e.publish(actor.DeadLetter{Msg: d, To: e.self, Reason: d.Cause})
}

func (e *engine[O, S]) publish(event any) { e.sys.EventStream().Publish(event) }

func (e *engine[O, S]) deadLetter(u Undelivered) {
	u.Path, u.Endpoint = e.path, e.label
	e.publish(actor.DeadLetter{Msg: u, To: e.self, Reason: u.Cause})
}

// start begins to connect, beside the mailbox.
func (e *engine[O, S]) start() error {
	unhook, err := e.sys.OnShutdown(actor.PhaseBrokers, "broker-stop-"+e.path, func(ctx context.Context) error {
		e.beginStop()
		select {
		case <-e.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	e.unhook = unhook
	registryOf(e.sys).add(e.path, e)
	go e.run()
	return nil
}

func (e *engine[O, S]) beginStop() {
	e.stopOnce.Do(func() {
		e.out.end()
		close(e.stopc)
	})
}

// stop ends everything and waits for it.
func (e *engine[O, S]) stop() {
	e.beginStop()
	<-e.done
	registryOf(e.sys).remove(e.path, e)
	e.unhook()
}

// setPaused stops or resumes the traffic in both directions.
func (e *engine[O, S]) setPaused(on bool) {
	changed := false
	e.note(func(s *Status) { changed, s.Paused = s.Paused != on, on })
	if !changed {
		return
	}
	e.out.setPaused(on)
	e.in.setPaused(on)
	e.log.Info(map[bool]string{true: "paused", false: "resumed"}[on])
}

func (e *engine[O, S]) stopping() bool {
	select {
	case <-e.stopc:
		return true
	default:
		return false
	}
}

// wake ends the wait for the next attempt.
func (e *engine[O, S]) wake() {
	switch e.state() {
	case StateConnecting, StateConnected:
		return
	}
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

func (e *engine[O, S]) run() {
	defer close(e.done)
	defer e.setState(StateDisconnected)
	defer e.out.close()
	for {
		cause := e.attempt()
		if e.stopping() || !e.pause(cause) {
			return
		}
	}
}

// pause waits until the next attempt is due and announces it; false is a stop.
func (e *engine[O, S]) pause(cause error) bool {
	e.attempts++
	e.failures++
	unauthorized := marked(cause, markUnauthorized) != nil
	cause = e.scrub.error(cause)
	e.note(func(s *Status) { s.Attempt, s.LastError = e.attempts, cause })
	r := &e.cfg.Reconnect
	if r.Off || r.MaxAttempts > 0 && e.attempts > r.MaxAttempts {
		return e.giveUp(cause)
	}
	delay := r.delay(e.failures)
	if unauthorized {
		delay = r.jitter(float64(r.MaxDelay))
	}
	e.log.Warn("not connected", "error", cause, "attempt", e.attempts, "delay", delay)
	if !e.sleep(delay, e.kick) {
		return false
	}
	for {
		left := e.breaker.remaining(time.Now())
		if left == 0 {
			break
		}
		delay = r.late(left)
		if !e.sleep(delay, nil) {
			return false
		}
	}
	e.publish(ReconnectAttempt{e.path, e.label, e.attempts, delay})
	return true
}

// giveUp waits for a Reconnect command; false is a stop.
func (e *engine[O, S]) giveUp(cause error) bool {
	e.log.Error("not connected, and no retry will follow", "error", cause, "retries", e.attempts-1)
	e.publish(ReconnectFailed{e.path, e.label, e.attempts - 1, cause})
	e.note(func(s *Status) { s.GivenUp = true })
	defer e.note(func(s *Status) { s.GivenUp = false })
	if e.cfg.FailFast {
		e.out.fail(true)
		defer e.out.fail(false)
	}
	select {
	case <-e.kick:
	case <-e.stopc:
		return false
	}
	e.attempts, e.failures = 0, 0
	e.breaker.reset()
	return true
}

// sleep waits for d, for a wake, or for a stop, which is false.
func (e *engine[O, S]) sleep(d time.Duration, wake <-chan struct{}) bool {
	e.note(func(s *Status) { s.NextAttempt = time.Now().Add(d) })
	defer e.note(func(s *Status) { s.NextAttempt = time.Time{} })
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return !e.stopping()
	case <-wake:
		return !e.stopping()
	case <-e.stopc:
		return false
	}
}

// attempt makes one connection and lives through it. It returns why there is none any more, with nothing left open.
func (e *engine[O, S]) attempt() (cause error) {
	e.epoch++
	e.note(func(s *Status) { s.FailedSubscriptions = 0 })
	s := newSession(e)
	e.setState(StateConnecting)
	select {
	case <-e.kick: // for a wait that is over
	default:
	}
	err := s.connect()
	if err == nil {
		if err = s.establish(); err != nil {
			e.setState(StateDisconnecting)
			s.teardown()
		}
	}
	if err != nil {
		e.setState(StateDisconnected)
		e.note(func(s *Status) { s.Failures++ })
		if !e.stopping() && e.breaker.failed(time.Now()) {
			e.note(func(s *Status) { s.BreakerOpenUntil = e.breaker.until })
			e.log.Warn("circuit breaker open", "until", e.breaker.until, "error", e.scrub.error(err))
		}
		return err
	}
	return e.connected(s)
}

// connected lives through an established connection and returns why it ended.
func (e *engine[O, S]) connected(s *session[O, S]) error {
	e.attempts = 0
	e.note(func(st *Status) {
		st.Attempt, st.LastConnected, st.BreakerOpenUntil = 0, time.Now(), time.Time{}
		st.Connects++
	})
	e.setState(StateConnected)
	e.log.Info("connected")
	e.publish(Connected{e.path, e.label})
	s.beginWriting()
	s.watch()
	cause := context.Cause(s.link.ctx)
	if e.stopping() {
		s.flush()
		e.setState(StateDisconnecting)
		s.teardown()
		return ErrStopping
	}
	e.setState(StateDisconnecting)
	e.note(func(st *Status) { st.Losses++; st.LastLost = time.Now() })
	e.publish(Disconnected{e.path, e.label, e.scrub.error(cause)})
	s.teardown()
	e.out.lost(s.link)
	e.setState(StateDisconnected)
	return cause
}

// bound is how long a hook may take that ends something: short when the actor stops.
func (e *engine[O, S]) bound(stop time.Duration) time.Duration {
	if e.stopping() {
		return stop
	}
	return teardownTimeout
}

// beginTeardown fixes the end of a stop.
func (e *engine[O, S]) beginTeardown() {
	if e.stopBy.IsZero() {
		e.stopBy = time.Now().Add(stopBudget)
	}
}

// within waits for done, at most d. A stop that has begun or begins meanwhile cuts the wait: all waits of a stop together
// keep within its budget.
func (e *engine[O, S]) within(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	if !e.stopping() {
		select {
		case <-done:
			return true
		case <-t.C:
			return false
		case <-e.stopc:
			d = min(d, stopConnect)
		}
	}
	e.beginTeardown()
	t.Reset(min(d, time.Until(e.stopBy)))
	select {
	case <-done:
		return true
	case <-t.C:
	}
	select {
	case <-done: // both, and the hook should not be called late for the toss of a coin
		return true
	default:
		return false
	}
}

// abandon gives up on a hook. What it returns late is released, but nobody waits for it.
func (e *engine[O, S]) abandon(hook string) {
	e.note(func(s *Status) { s.Abandoned++ })
	e.log.Warn("a hook of the protocol did not return in time", "hook", hook)
}

// guarded calls a hook; a panic is logged with its stack and becomes an error.
func (e *engine[O, S]) guarded(hook string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: %w", hook, &actor.PanicError{Value: v, Stack: debug.Stack()})
			e.panicked("a hook of the protocol panicked", hook, v)
		}
	}()
	return f()
}

// panicked logs what a panic of the protocol said and where; it is called while the stack is still there.
func (e *engine[O, S]) panicked(what, hook string, v any) {
	e.log.Error(what, "hook", hook, "panic", e.scrub.text(fmt.Sprint(v)), "stack", e.scrub.text(string(debug.Stack())))
}

// errNoConn is what a Connect that returned nothing is taken for.
var errNoConn = errors.New("broker: Connect returned neither a connection nor an error")
