package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"

	natsgo "github.com/nats-io/nats.go"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// requests are those of one connection that wait for a reply, one goroutine each: the driver's request blocks.
type requests struct {
	c    *conn
	nc   *natsgo.Conn
	work sync.WaitGroup // Add only under mu while open

	mu     sync.Mutex
	active map[*pending]struct{}
	closed bool
}

type pending struct {
	Request
	cancel context.CancelCauseFunc
}

func newRequests(c *conn) *requests {
	return &requests{c: c, active: map[*pending]struct{}{}, closed: true}
}

func (r *requests) open(nc *natsgo.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nc, r.closed = nc, false
}

// start sends a request and answers the asker later. An error means that nothing was started.
func (r *requests) start(m Request, asker actor.Answerer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return broker.ErrNotConnected
	case len(r.active) >= r.c.p.cfg.MaxRequests:
		return fmt.Errorf("nats: request to %s: %d are waiting for a reply: %w", m.Subject, len(r.active), broker.ErrBufferFull)
	}
	ctx, cancel := context.WithCancelCause(r.c.link.Context())
	p := &pending{m, cancel}
	r.active[p] = struct{}{}
	r.work.Go(func() {
		reply, err := r.do(ctx, p)
		r.mu.Lock()
		delete(r.active, p)
		r.mu.Unlock()
		cancel(nil)
		if err != nil {
			asker.Done(fmt.Errorf("nats: request to %s: %w", m.Subject, err))
			return
		}
		asker.Answer(reply)
	})
	return nil
}

func (r *requests) do(ctx context.Context, p *pending) (Message, error) {
	timed, stop := context.WithTimeoutCause(ctx, p.Timeout, ErrRequestTimeout)
	defer stop()
	m, err := r.nc.RequestMsgWithContext(timed, &natsgo.Msg{Subject: p.Subject, Data: p.Data, Header: p.Header})
	switch {
	case err == nil:
		return Message{Subject: m.Subject, Reply: m.Reply, Data: m.Data, Header: m.Header}, nil
	case errors.Is(err, natsgo.ErrNoResponders):
		return Message{}, ErrNoResponders
	case r.c.link.Context().Err() != nil, errors.Is(err, natsgo.ErrConnectionClosed):
		return Message{}, broker.ErrLinkClosed
	case timed.Err() != nil:
		return Message{}, context.Cause(timed) // no reply in time, or the permission was refused
	}
	return Message{}, err
}

// deny ends the requests to a subject that we may not publish to.
func (r *requests) deny(subject string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.active {
		if p.Subject == subject {
			p.cancel(err)
		}
	}
}

// close refuses new requests; those that wait end by the link's context.
func (r *requests) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// wait waits until all have ended.
func (r *requests) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		r.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
