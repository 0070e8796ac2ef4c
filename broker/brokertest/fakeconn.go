package brokertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/broker"
)

// fakeConn is one connection of a Fake.
type fakeConn struct {
	f    *Fake
	l    *broker.Link
	n    int
	dead chan error
	open atomic.Bool // has a handle: Connect came to its end
	gone atomic.Bool

	mu      sync.Mutex
	pending []pending // dispatched and not settled, in order
}

type pending struct {
	token   broker.Token
	payload string
}

// The connection as the base sees it: which optional interfaces it has depends on the settings of the Fake.
type (
	plainConn   struct{ *fakeConn }
	flushConn   struct{ *fakeConn }
	confirmConn struct{ *fakeConn }
	batchConn   struct{ confirmConn }
	keepConn    struct { // cannot revoke
		broker.Conn[string]
		broker.Subscriber[string]
		broker.Acknowledger
		broker.Confirmer
	}
)

func (c confirmConn) ConfirmWindow() int { return c.f.Window }

func (c flushConn) Flush(context.Context) error { return nil }

func (c *fakeConn) dress() broker.Conn[string] {
	switch {
	case c.f.NoRevoke:
		return keepConn{c, c, c, confirmConn{c}}
	case c.f.Batch:
		return batchConn{confirmConn{c}}
	case c.f.Mode == ModeConfirm:
		return confirmConn{c}
	case c.f.Mode == ModeFlush:
		return flushConn{c}
	}
	return plainConn{c}
}

// Serve waits for Drop.
func (c *fakeConn) Serve(ctx context.Context) error {
	select {
	case err := <-c.dead:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Dispatch records the payload.
func (c *fakeConn) Dispatch(ctx context.Context, env broker.Envelope[string]) error {
	if err := c.f.DispatchGate.Pass(ctx); err != nil {
		return err
	}
	if c.f.OnEnvelope != nil {
		c.f.OnEnvelope(env)
	}
	if c.gone.Load() {
		return fmt.Errorf("brokertest: dispatch on connection %d after its end", c.n)
	}
	s := Sent{c.n, env.Payload, env.Resends}
	if c.f.OnDispatch != nil {
		if err := c.f.OnDispatch(ctx, s); err != nil {
			return err
		}
	}
	c.f.mu.Lock()
	fail := c.f.failSend > 0
	if fail {
		c.f.failSend--
	} else {
		c.f.sent = append(c.f.sent, s)
	}
	c.f.mu.Unlock()
	switch {
	case fail:
		return ErrRefused
	case c.f.HoldConfirms:
		c.mu.Lock()
		c.pending = append(c.pending, pending{env.Token, env.Payload})
		c.mu.Unlock()
	case c.f.Mode == ModeConfirm:
		c.l.Settle(env.Token, nil, nil)
	}
	return nil
}

// Disconnect closes the handle.
func (c *fakeConn) Disconnect(ctx context.Context) error {
	c.f.enter()
	defer c.f.leave()
	c.f.mu.Lock()
	c.f.disconnects++
	c.f.mu.Unlock()
	err := c.f.pass(ctx, &c.f.DisconnectGate)
	if c.f.OnDisconnect != nil {
		err = errors.Join(err, c.f.OnDisconnect(ctx, c.n))
	}
	c.gone.Store(true)
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if c.open.Load() {
		c.f.closed = append(c.f.closed, c.n)
	}
	c.f.applied = nil
	return err
}

// Acknowledge records the verdicts.
func (c *fakeConn) Acknowledge(_ context.Context, acks []broker.Ack) error {
	vs := make([]Verdict, len(acks))
	for i, a := range acks {
		vs[i] = Verdict{c.n, a.ID, a.Err, a.Delay, a.Dropped}
		if c.f.OnVerdict != nil {
			c.f.OnVerdict(vs[i])
		}
	}
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.verdicts = append(c.f.verdicts, vs...)
	return nil
}

// DelaysRedelivery implements broker.Delayer.
func (c *fakeConn) DelaysRedelivery() bool { return !c.f.NoDelay }

// ApplySubscription records the key.
func (c *fakeConn) ApplySubscription(ctx context.Context, key, label string) error {
	if err := c.f.ApplyGate.Pass(ctx); err != nil {
		return err
	}
	if c.f.OnApply != nil {
		if err := c.f.OnApply(ctx, key); err != nil {
			return err
		}
	}
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if err := c.f.refuseKeys[key]; err != nil {
		return err
	}
	c.f.applied = append(slices.DeleteFunc(c.f.applied, func(s string) bool { return strings.HasPrefix(s, key+"=") }), key+"="+label)
	c.f.appliedEver = append(c.f.appliedEver, key+"="+label)
	return nil
}

// RevokeSubscription records the key.
func (c *fakeConn) RevokeSubscription(_ context.Context, key string) error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.applied = slices.DeleteFunc(c.f.applied, func(s string) bool { return strings.HasPrefix(s, key+"=") })
	c.f.revoked = append(c.f.revoked, key)
	return nil
}

// ApplySubscriptions applies one after the other.
func (c batchConn) ApplySubscriptions(ctx context.Context, subs []broker.Subscription[string]) []error {
	errs := make([]error, len(subs))
	for i, s := range subs {
		errs[i] = c.ApplySubscription(ctx, s.Key, s.Sub)
	}
	return errs
}

// Pending are the payloads that were dispatched on the current connection and are not settled, in order.
func (f *Fake) Pending() []string {
	c := f.current()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, p := range c.pending {
		out = append(out, p.payload)
	}
	return out
}

// Confirm settles the oldest n pending payloads of the current connection, one by one, and returns how many there were.
func (f *Fake) Confirm(n int) int {
	done := 0
	for ; done < n && f.settle("", nil); done++ {
	}
	return done
}

// ConfirmThrough settles everything up to and including payload at once.
func (f *Fake) ConfirmThrough(payload string, err error) bool {
	c := f.current()
	c.mu.Lock()
	i := slices.IndexFunc(c.pending, func(p pending) bool { return p.payload == payload })
	if i < 0 {
		c.mu.Unlock()
		return false
	}
	t := c.pending[i].token
	c.pending = slices.Delete(c.pending, 0, i+1)
	c.mu.Unlock()
	c.l.SettleThrough(t, err)
	return true
}

// Refuse settles one pending payload as rejected, LeaveOpen with an unknown outcome.
func (f *Fake) Refuse(payload string) bool { return f.settle(payload, broker.Rejected(ErrRefused)) }

// LeaveOpen is described at Refuse.
func (f *Fake) LeaveOpen(payload string) bool { return f.settle(payload, ErrRefused) }

// settle settles a pending payload, the oldest if payload is empty.
func (f *Fake) settle(payload string, err error) bool {
	c := f.current()
	if c == nil {
		return false
	}
	c.mu.Lock()
	i := slices.IndexFunc(c.pending, func(p pending) bool { return payload == "" || p.payload == payload })
	if i < 0 {
		c.mu.Unlock()
		return false
	}
	p := c.pending[i]
	c.pending = slices.Delete(c.pending, i, i+1)
	c.mu.Unlock()
	c.l.Settle(p.token, nil, err)
	return true
}

// Token returns the token of a pending payload of the n-th connection, for late outcomes.
func (f *Fake) Token(n int, payload string) (t broker.Token, ok bool) {
	f.mu.Lock()
	c := f.conns[n-1]
	f.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pending {
		if p.payload == payload {
			return p.token, true
		}
	}
	return t, false
}
