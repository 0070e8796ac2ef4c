package demo

import (
	"context"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// drain waits until every accepted order has been handled and the stream's consumer has nothing left. It asks the server
// itself, over a connection of its own that bypasses troupe and the proxy, and gives up when there is no progress.
func (r *Run) drain(ctx context.Context, p *parts) error {
	nc, err := natsgo.Connect(p.server.Addr(), natsgo.Timeout(5*time.Second))
	if err != nil {
		return fmt.Errorf("looking at the stream: %w", err)
	}
	defer nc.Close()
	server, err := js.New(nc)
	if err != nil {
		return fmt.Errorf("looking at the stream: %w", err)
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	last, since := int64(-1), time.Now()
	for {
		left, err := pending(ctx, server)
		if err != nil && ctx.Err() == nil {
			return err
		}
		now := r.state.Snapshot()
		if left == 0 && err == nil {
			return nil // whatever is missing now is lost, and the result says so
		}
		if now.Delivered != last {
			last, since = now.Delivered, time.Now()
		} else if time.Since(since) > stallLimit {
			return fmt.Errorf("the stream is not drained: %d messages have been waiting for %v without progress", left, stallLimit)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pending is how many messages the consumer has not delivered or not had acknowledged.
func pending(ctx context.Context, server js.JetStream) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := server.Consumer(ctx, stream, consumerName)
	if err != nil {
		return 0, fmt.Errorf("looking at the stream: %w", err)
	}
	info := c.CachedInfo() // it was fetched by the call above
	return info.NumPending + uint64(info.NumAckPending), nil
}
