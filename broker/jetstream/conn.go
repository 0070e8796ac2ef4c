package jetstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/internal/natsconn"
)

// timing are the intervals of the protocol that are nobody's business but a test's.
type timing struct {
	pullExpires time.Duration // life of one pull; the server then says that it is over
	heartbeat   time.Duration // an idle pull is heard of so often
	refused     time.Duration // wait before a message that was refused for now is sent again
	deleting    time.Duration // for the server to get done with deleting a consumer: it tells of it first
	unheard     time.Duration // wait before a pull that nobody took is tried again
	restore     time.Duration // for making a deleted consumer again
	farewell    time.Duration // for the last verdicts of a stop to arrive; below what the base leaves for it
}

func defaultTiming() timing {
	return timing{
		pullExpires: 30 * time.Second, heartbeat: 2 * time.Second, refused: 250 * time.Millisecond,
		deleting: 200 * time.Millisecond, unheard: 50 * time.Millisecond, restore: 700 * time.Millisecond, farewell: 40 * time.Millisecond,
	}
}

// conn is one connection: an outbound half that publishes, and an inbound half if there is a consumer.
type conn struct {
	p    *protocol
	link *broker.Link
	nc   *natsgo.Conn
	js   js.JetStream
	out  *outbound
	in   *intake // nil without a consumer

	consuming atomic.Pointer[intake] // in, for the driver's callbacks, which may come before Connect has returned
}

// Connect implements broker.Protocol.
func (p *protocol) Connect(ctx context.Context, link *broker.Link) (broker.Conn[Publish], error) {
	c := &conn{p: p, link: link}
	c.out = newOutbound(p, link)
	nc, err := natsconn.Connect(link, p.cfg.connection(), c.asyncError)
	if err != nil {
		return nil, err
	}
	c.nc, c.out.nc = nc, nc
	if err := c.prepare(ctx); err != nil {
		nc.SetClosedHandler(nil) // this end is not news, and would hide the reason
		nc.Close()
		return nil, err
	}
	return c, nil
}

// prepare makes sure of stream and consumer, and listens.
func (c *conn) prepare(ctx context.Context) (err error) {
	if c.p.cfg.Domain != "" {
		c.js, err = js.NewWithDomain(c.nc, c.p.cfg.Domain)
	} else {
		c.js, err = js.New(c.nc)
	}
	if err != nil {
		return err
	}
	c.out.js = c.js
	if c.p.cfg.Stream.Name != "" {
		if err := ensureStream(ctx, c.js, &c.p.cfg.Stream); err != nil {
			return err
		}
	}
	if err := c.out.listen(); err != nil {
		return err
	}
	if c.p.cfg.Consumer.Name == "" {
		return nil
	}
	info, err := ensureConsumer(ctx, c.js, c.p.cfg.Stream.Name, &c.p.cfg.Consumer)
	if err != nil {
		return err
	}
	c.in = newIntake(c, &info.Config)
	c.consuming.Store(c.in)
	return c.in.listen()
}

// asyncError gets what the driver can tell nobody else: it settles a publish that lacked the permission, which would
// otherwise wait for an answer that never comes.
func (c *conn) asyncError(_ *natsgo.Subscription, err error) {
	if subject, ok := natsconn.DeniedPublish(err); ok && (c.out.deny(subject, err) || c.consuming.Load().denied(subject, err)) {
		return
	}
	if _, ok := natsconn.DeniedSubscription(err); ok {
		c.link.Lost(err) // without its inbox the connection would wait for ever
		return
	}
	c.link.Log().Warn("nats reported an error", "error", broker.Redact(err.Error()))
}

// ConfirmWindow implements broker.Confirmer: the configuration decides.
func (c *conn) ConfirmWindow() int { return 0 }

// Dispatch implements broker.Conn.
func (c *conn) Dispatch(_ context.Context, env broker.Envelope[Publish]) error {
	return c.out.dispatch(env)
}

// DelaysRedelivery implements broker.Delayer: a nak carries its delay.
func (c *conn) DelaysRedelivery() bool { return true }

// Acknowledge implements broker.Acknowledger.
func (c *conn) Acknowledge(_ context.Context, acks []broker.Ack) error {
	if c.in == nil {
		return nil
	}
	return c.in.acknowledge(acks)
}

// Serve implements broker.Conn. The end of the connection itself is reported by the driver's callback.
func (c *conn) Serve(ctx context.Context) error {
	hooks := []func(context.Context) error{c.out.expire, c.out.inquire}
	if c.in != nil {
		hooks = append(hooks, c.in.pull, c.in.touch, c.in.watch)
	}
	return together(ctx, hooks)
}

// together runs the hooks until ctx ends or one of them fails, and waits for all.
func together(ctx context.Context, hooks []func(context.Context) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	for _, hook := range hooks {
		all.Go(func() {
			if err := hook(ctx); err != nil {
				fail(err)
			}
		})
	}
	<-ctx.Done()
	all.Wait()
	return context.Cause(ctx)
}

// Disconnect implements broker.Conn. In an orderly end the verdicts that were written arrive before the socket closes,
// and what was fetched but not handled is given back, so that nobody has to wait for ackWait to get it.
func (c *conn) Disconnect(ctx context.Context) error {
	if errors.Is(context.Cause(c.link.Context()), broker.ErrLinkClosed) {
		ctx, cancel := context.WithTimeout(ctx, c.p.timing.farewell)
		defer cancel()
		if c.in != nil {
			c.in.giveBack(ctx)
		}
		_ = c.nc.FlushWithContext(ctx) // a silent server: the base does not wait for it, and neither do we
	}
	c.nc.Close()
	return nil
}
