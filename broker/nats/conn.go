package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/internal/natsconn"
)

// farewell bounds the wait for the server at an orderly end; it is below what the base leaves for it.
const farewell = 35 * time.Millisecond

// conn is one connection.
type conn struct {
	p        *protocol
	link     *broker.Link
	nc       *natsgo.Conn
	denials  *denials
	drops    *drops
	requests *requests

	msg  natsgo.Msg // used by Dispatch only, which has one caller
	run  []sent     // dispatched since the last flush
	subs map[string]*natsgo.Subscription
}

// sent is one dispatch that the server has not been seen to have read.
type sent struct {
	token   broker.Token
	subject string
}

// Connect implements broker.Protocol.
func (p *protocol) Connect(_ context.Context, link *broker.Link) (broker.Conn[Publish], error) {
	c := &conn{p: p, link: link, denials: newDenials(), subs: map[string]*natsgo.Subscription{}}
	c.drops = newDrops(c)
	c.requests = newRequests(c)
	nc, err := natsconn.Connect(link, p.cfg.connection(), c.asyncError)
	if err != nil {
		return nil, err
	}
	c.nc = nc
	c.requests.open(nc)
	p.live.Store(c)
	return c, nil
}

// asyncError gets what the driver can tell nobody else.
func (c *conn) asyncError(sub *natsgo.Subscription, err error) {
	switch {
	case errors.Is(err, natsgo.ErrSlowConsumer) && sub != nil:
		c.drops.begin(sub)
		return
	case errors.Is(err, natsgo.ErrPermissionViolation):
		if subject, ok := natsconn.DeniedPublish(err); ok {
			c.requests.deny(subject, err)
		}
		c.denials.add(err)
	}
	c.link.Log().Warn("nats reported an error", "error", broker.Redact(err.Error()))
}

// Serve implements broker.Conn. The end of the connection itself is reported by the driver's callback.
func (c *conn) Serve(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// ConfirmWindow implements broker.Confirmer: the configuration decides.
func (c *conn) ConfirmWindow() int { return 0 }

// Dispatch implements broker.Conn. The message is in the driver's buffer then; Flush says when the server has it.
func (c *conn) Dispatch(_ context.Context, env broker.Envelope[Publish]) error {
	m := &env.Payload
	c.msg.Subject, c.msg.Reply, c.msg.Data, c.msg.Header = m.Subject, m.Reply, m.Data, natsgo.Header(m.Header)
	err := c.nc.PublishMsg(&c.msg)
	c.msg.Data, c.msg.Header = nil, nil
	if err == nil {
		c.run = append(c.run, sent{env.Token, m.Subject})
		return nil
	}
	for _, e := range []error{natsgo.ErrMaxPayload, natsgo.ErrBadSubject, natsgo.ErrBadHeaderMsg, natsgo.ErrHeadersNotSupported} {
		if errors.Is(err, e) {
			return broker.Rejected(fmt.Errorf("nats: publish to %s: %w", m.Subject, err))
		}
	}
	return err
}

// Flush implements broker.Flusher: it waits for the server's answer to a ping sent behind the messages. The server has
// read them then, and has complained of those that lacked the permission.
func (c *conn) Flush(context.Context) error {
	if len(c.run) == 0 {
		return nil
	}
	if err := c.nc.FlushTimeout(c.p.cfg.PublishTimeout); err != nil {
		return fmt.Errorf("nats: waiting for the server to read: %w", err)
	}
	denied := c.denials.before(c.nc, natsconn.DeniedPublish)
	for _, s := range c.run {
		if err := denied[s.subject]; err != nil {
			c.link.Settle(s.token, nil, broker.Rejected(fmt.Errorf("nats: publish to %s: %w", s.subject, err)))
		} else {
			c.link.Settle(s.token, broker.Written, nil)
		}
	}
	c.run = c.run[:0]
	return nil
}

// ApplySubscription implements broker.Subscriber.
func (c *conn) ApplySubscription(ctx context.Context, key string, s subscription) error {
	return c.ApplySubscriptions(ctx, []broker.Subscription[subscription]{{Key: key, Sub: s}})[0]
}

// ApplySubscriptions implements broker.BatchSubscriber: all of them, and one round trip that shows the refused ones.
func (c *conn) ApplySubscriptions(_ context.Context, subs []broker.Subscription[subscription]) []error {
	errs := make([]error, len(subs))
	for i, s := range subs {
		errs[i] = c.listen(s.Key, s.Sub)
	}
	if err := c.nc.FlushTimeout(c.p.cfg.PublishTimeout); err != nil {
		c.link.Lost(fmt.Errorf("nats: waiting for the server to take subscriptions: %w", err))
		return errs
	}
	denied := c.denials.before(c.nc, natsconn.DeniedSubscription)
	for i, s := range subs {
		if errs[i] == nil && denied[s.Sub.subject] != nil {
			errs[i] = denied[s.Sub.subject]
			delete(c.subs, s.Key)
		}
	}
	return errs
}

// listen makes one subscription. Its callback runs on a goroutine of the subscription's own and waits there while the
// inbound window is full: what comes meanwhile is kept by the driver, up to the pending bounds.
func (c *conn) listen(key string, s subscription) error {
	var account *dropped // set by the first message
	sub, err := c.nc.QueueSubscribe(s.subject, s.queue, func(m *natsgo.Msg) {
		// The only error is that the link is over, and then there is nobody to tell.
		_ = c.link.Push(key, Message{Subject: m.Subject, Reply: m.Reply, Data: m.Data, Header: m.Header})
		if account == nil {
			account = c.drops.of(m.Sub)
		}
		c.drops.handled(m.Sub, account)
	})
	if err != nil {
		return err
	}
	c.subs[key] = sub
	return sub.SetPendingLimits(c.p.cfg.PendingMessages, int(c.p.cfg.PendingBytes))
}

// RevokeSubscription implements broker.Revoker.
func (c *conn) RevokeSubscription(_ context.Context, key string) error {
	sub := c.subs[key]
	if sub == nil {
		return nil
	}
	delete(c.subs, key)
	c.drops.report(sub)
	return sub.Unsubscribe()
}

// Disconnect implements broker.Conn.
func (c *conn) Disconnect(ctx context.Context) error {
	c.p.live.CompareAndSwap(c, nil)
	c.requests.close()
	c.drops.end()
	if errors.Is(context.Cause(c.link.Context()), broker.ErrLinkClosed) {
		ctx, cancel := context.WithTimeout(ctx, farewell)
		defer cancel()
		_ = c.nc.FlushWithContext(ctx) // a silent server: the base does not wait for it, and neither do we
	}
	c.nc.Close()
	return c.requests.wait(ctx)
}
