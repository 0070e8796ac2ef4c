package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// session is one attempt to connect and the connection it leads to, from Connect to the end of the teardown. It belongs
// to the engine's goroutine, except for what mu guards and for the goroutines it starts.
type session[O, S any] struct {
	e       *engine[O, S]
	link    *Link
	conn    Conn[O]
	timer   *time.Timer    // connectTimeout, for the connect and the replay; nil without one
	hooks   sync.WaitGroup // goroutines that call the protocol
	closing atomic.Bool    // the end of a hook is no loss any more
	acked   chan struct{}  // closed when the verdicts are out; nil without an Acknowledger

	mu       sync.Mutex
	replayed chan struct{} // closed at the end of the replay; nil before it begins
	shut     bool          // no goroutine may be started any more
}

func newSession[O, S any](e *engine[O, S]) *session[O, S] {
	s := &session[O, S]{e: e}
	l := &Link{epoch: e.epoch, host: s, in: e.in, self: e.self, cfg: &e.cfg, label: e.label, log: e.log}
	l.ctx, l.end = context.WithCancelCause(e.root)
	l.socks.start = time.Now()
	s.link = l
	e.in.begin(l)
	if d := e.cfg.ConnectTimeout; d > 0 {
		s.timer = time.NewTimer(d)
	}
	return s
}

func (s *session[O, S]) deadline() <-chan time.Time {
	if s.timer == nil {
		return nil
	}
	return s.timer.C
}

type connectResult[O any] struct {
	conn Conn[O]
	err  error
}

// connect runs the hook on a goroutine of its own. Its result changes hands exactly once: to this goroutine, or, when
// this one has given up before, it stays with the hook's own, which then releases it.
func (s *session[O, S]) connect() error {
	e, l := s.e, s.link
	var res connectResult[O]
	var owned atomic.Bool
	came := make(chan struct{})
	go func() {
		defer close(came)
		var r connectResult[O]
		r.err = s.e.guarded("connect", func() (err error) {
			r.conn, err = e.p.Connect(l.ctx, l)
			return err
		})
		if owned.CompareAndSwap(false, true) {
			res = r
		} else if r.conn != nil {
			s.releaseLate(r.conn)
		}
	}()
	var cause error
	select {
	case <-came:
	case <-l.ctx.Done():
		cause = context.Cause(l.ctx)
	case <-s.deadline():
		cause = ErrConnectTimeout
	case <-e.stopc:
		cause = ErrStopping
	}
	if cause != nil {
		l.end(cause)
		l.socks.close()
		if !e.within(came, e.bound(stopConnect)) && owned.CompareAndSwap(false, true) {
			e.abandon("Connect")
			s.finish(cause)
			return cause
		}
		<-came
	}
	return s.judge(res, cause)
}

// judge says what a Connect that returned has led to.
func (s *session[O, S]) judge(res connectResult[O], cause error) error {
	if cause == nil {
		cause = res.err
	}
	if cause == nil && res.conn == nil {
		cause = errNoConn
	}
	if cause == nil {
		cause = context.Cause(s.link.ctx) // Lost inside Connect
	}
	s.conn = res.conn
	if cause == nil {
		return nil
	}
	s.finish(cause)
	return cause
}

// finish ends an attempt that led to no connection; a half-open one is released.
func (s *session[O, S]) finish(cause error) {
	s.link.end(cause)
	if s.conn != nil {
		s.e.setState(StateDisconnecting)
	}
	s.teardown()
}

// establish starts what the connection needs to be called connected.
func (s *session[O, S]) establish() error {
	e, l := s.e, s.link
	delayer, ok := s.conn.(Delayer)
	delays := ok && delayer.DelaysRedelivery()
	if acker, ok := s.conn.(Acknowledger); ok {
		e.in.setPeer(l, true, delays)
		s.acked = make(chan struct{})
		s.spawn("acknowledge", func() error { return s.acknowledge(acker) })
	} else {
		e.in.setPeer(l, false, false)
	}
	s.spawn("serve", func() error {
		if err := s.conn.Serve(l.ctx); err != nil {
			return err
		}
		return ErrServeReturned
	})
	if sub, ok := s.conn.(Subscriber[S]); ok {
		done, err := s.startReplay(sub)
		if err != nil {
			return err
		}
		select {
		case <-done:
		case <-l.ctx.Done():
		case <-e.stopc:
			return ErrStopping
		case <-s.deadline():
			l.end(ErrConnectTimeout)
		}
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	if e.stopping() {
		return ErrStopping
	}
	return context.Cause(l.ctx)
}

// spawn runs a hook that lasts as long as the connection; its error is the loss of the connection.
func (s *session[O, S]) spawn(hook string, f func() error) {
	s.hooks.Go(func() {
		if err := s.e.guarded(hook, f); err != nil && !s.closing.Load() {
			s.link.Lost(err)
		}
	})
}

func (s *session[O, S]) acknowledge(acker Acknowledger) error {
	defer close(s.acked)
	for {
		acks, ok := s.e.in.takeAcks(s.link)
		if !ok {
			return nil
		}
		if err := acker.Acknowledge(s.link.ctx, acks); err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
	}
}

// settle implements linkHost.
func (s *session[O, S]) settle(l *Link, t Token, receipt any, err error) {
	if lost := s.e.out.settle(l, t, receipt, err); lost != nil {
		l.Lost(lost)
	}
}

// settleThrough implements linkHost.
func (s *session[O, S]) settleThrough(l *Link, t Token, err error) {
	if lost := s.e.out.settleThrough(l, t, err); lost != nil {
		l.Lost(lost)
	}
}

// replay implements linkHost.
func (s *session[O, S]) replay(ctx context.Context, l *Link, conn any) error {
	sub, ok := conn.(Subscriber[S])
	if !ok {
		return fmt.Errorf("broker: replay: %T has no ApplySubscription for this protocol", conn)
	}
	done, err := s.startReplay(sub)
	if err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	}
}

// startReplay starts the goroutine that keeps the connection in line with the desired set, once; done is closed at the
// end of its first pass.
func (s *session[O, S]) startReplay(sub Subscriber[S]) (done <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replayed != nil {
		return s.replayed, nil
	}
	if s.shut {
		return nil, ErrLinkClosed
	}
	passed := make(chan struct{})
	s.replayed = passed
	r := newReconciler(s.e.subs, sub)
	r.failed, r.warn = s.subscriptionFailed, s.revokeFailed
	s.spawn("subscriptions", func() error {
		end := sync.OnceFunc(func() { close(passed) })
		defer end()
		r.pass(s.link.ctx)
		end()
		for {
			select {
			case <-s.e.subs.dirty:
				r.settle(s.link.ctx)
			case <-s.link.ctx.Done():
				return nil
			}
		}
	})
	return passed, nil
}

func (s *session[O, S]) subscriptionFailed(key string, err error) {
	err = s.e.scrub.error(err)
	s.e.log.Warn("subscription failed", "key", s.e.scrub.text(key), "error", err)
	s.e.note(func(st *Status) { st.FailedSubscriptions++ })
	s.e.publish(SubscriptionFailed{s.e.path, s.e.label, s.e.scrub.text(key), err})
}

func (s *session[O, S]) revokeFailed(key string, err error) {
	s.e.log.Warn("subscription not revoked", "key", s.e.scrub.text(key), "error", s.e.scrub.error(err))
}

// beginWriting opens the outbox for the connection and starts its only writer.
func (s *session[O, S]) beginWriting() {
	_, confirms := s.conn.(Confirmer)
	flusher, _ := s.conn.(Flusher)
	window := s.e.cfg.InFlight
	if window == 0 {
		if window = 1; confirms || flusher != nil {
			window = 256
		}
	}
	if c, ok := s.conn.(Confirmer); ok {
		if w := c.ConfirmWindow(); w > 0 {
			window = min(window, w)
		}
	}
	s.e.out.begin(s.link, window)
	s.spawn("dispatch", func() error { return s.write(confirms, flusher) })
}

// write is the one writer of the connection.
func (s *session[O, S]) write(confirms bool, flusher Flusher) error {
	out, l := s.e.out, s.link
	var run []Token // dispatched since the last flush
	for {
		env, t := out.take(l, len(run) == 0)
		switch t {
		case takenOver:
			return nil
		case takenNone:
			if err := flusher.Flush(l.ctx); err != nil {
				return fmt.Errorf("flush: %w", err)
			}
			if !confirms {
				out.settleRun(l, run, Acked)
			}
			run = run[:0]
			continue
		}
		err := s.conn.Dispatch(l.ctx, env)
		switch {
		case err == nil && flusher != nil:
			run = append(run, env.Token)
		case err == nil && confirms:
		case err == nil:
			s.settle(l, env.Token, Written, nil)
		case IsRejected(err):
			s.settle(l, env.Token, nil, err)
		default:
			return fmt.Errorf("dispatch: %w", err)
		}
	}
}

// watch sleeps until the link ends or a stop begins, waking only when a deadline is due.
func (s *session[O, S]) watch() {
	e, l := s.e, s.link
	steady := time.NewTimer(e.cfg.Reconnect.StableAfter)
	defer steady.Stop()
	var idle *time.Timer
	var idleC <-chan time.Time
	since := l.socks.now()
	if d := e.cfg.IdleTimeout; d > 0 {
		idle = time.NewTimer(d)
		defer idle.Stop()
		idleC = idle.C
	}
	due := time.NewTimer(0) // of the inbound side
	defer due.Stop()
	for {
		if d, ok := e.in.next(time.Now()); ok {
			due.Reset(d)
		} else {
			due.Stop()
		}
		select {
		case <-l.ctx.Done():
			return
		case <-e.stopc:
			return
		case <-e.in.clock:
		case <-due.C:
			e.in.work(l)
		case <-steady.C: // only now the delays start over
			e.failures = 0
			e.breaker.reset()
			e.out.stable(l)
		case <-idleC:
			if left := e.cfg.IdleTimeout - l.socks.quiet(since); left > 0 {
				idle.Reset(left)
			} else {
				l.end(ErrIdle)
			}
		}
	}
}

// flush waits until everything is settled, the link is lost or flushTimeout is over. Inbound messages still come in: a
// driver may read confirmations and messages in one loop, which must not be held up.
func (s *session[O, S]) flush() {
	defer s.e.beginTeardown()
	if s.e.cfg.FlushTimeout <= 0 || !s.e.out.end() {
		return
	}
	t := time.NewTimer(s.e.cfg.FlushTimeout)
	defer t.Stop()
	select {
	case <-s.e.out.idle:
	case <-s.link.ctx.Done():
	case <-t.C:
	}
}

// teardown ends the session; when it returns, no hook of it runs any more, or the hook was given up. On a link that is
// still alive the verdicts go out first; on a dead one the sockets are closed first, so that nothing blocks on the peer.
func (s *session[O, S]) teardown() {
	e, l := s.e, s.link
	alive := l.ctx.Err() == nil
	s.closing.Store(true)
	if s.timer != nil {
		s.timer.Stop()
	}
	e.out.pause(l)
	e.in.drain(l, !alive)
	if alive && s.acked != nil {
		e.within(s.acked, stopAcks)
	}
	l.end(ErrLinkClosed)
	e.in.close(l)
	if !alive {
		l.socks.close()
	}
	if s.conn != nil {
		s.release()
	}
	l.socks.close()
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.hooks.Wait()
		close(done)
	}()
	if !e.within(done, e.bound(stopRest)) {
		e.abandon("Serve, Dispatch, Acknowledge or a subscription")
	}
}

// release calls Disconnect, waits for it within its bound, and then closes the sockets under it.
func (s *session[O, S]) release() {
	e := s.e
	bound := e.bound(stopDisconnect)
	ctx, cancel := context.WithTimeout(e.root, bound)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.disconnect(ctx, s.conn)
	}()
	if e.within(done, bound) {
		return
	}
	cancel()
	s.link.socks.close()
	if !e.within(done, stopRest) {
		e.abandon("Disconnect")
	}
}

// releaseLate is for a connection that came when nobody waited for it any more.
func (s *session[O, S]) releaseLate(conn Conn[O]) {
	ctx, cancel := context.WithTimeout(s.e.root, teardownTimeout)
	defer cancel()
	s.disconnect(ctx, conn)
	s.link.socks.close()
}

func (s *session[O, S]) disconnect(ctx context.Context, conn Conn[O]) {
	err := s.e.guarded("disconnect", func() error { return conn.Disconnect(ctx) })
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		s.e.log.Warn("disconnect failed", "error", s.e.scrub.error(err))
	}
}
