package redisstream

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/troupe-go/troupe/broker"
)

// Acknowledge implements broker.Acknowledger, on the writing connection: the other one waits in a read. A refused entry,
// for which the base has waited already, is claimed and delivered once more.
func (c *conn) Acknowledge(ctx context.Context, acks []broker.Ack) error {
	done := map[string][]string{}
	c.mu.Lock()
	for i := range acks {
		e, ok := acks[i].Ref.(*entry)
		if !ok {
			continue
		}
		delete(c.held, e)
		if acks[i].Err != nil {
			c.redo = append(c.redo, e)
			signal(c.again)
			continue
		}
		done[e.stream] = append(done[e.stream], e.id)
	}
	c.mu.Unlock()
	if len(done) == 0 {
		return nil
	}
	pipe := c.writer.Pipeline()
	for name, ids := range done {
		pipe.XAck(ctx, name, c.p.cfg.Group, ids...)
	}
	if _, err := pipe.Exec(ctx); err != nil && !isAnswer(err) {
		return fmt.Errorf("redisstream: acknowledge: %w", err)
	}
	return nil
}

// redeliver delivers refused entries once more. It is not Acknowledge that does so, because a delivery may have to wait
// for room.
func (c *conn) redeliver(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.again:
		}
		c.mu.Lock()
		redo := c.redo
		c.redo = nil
		c.mu.Unlock()
		for _, e := range redo {
			got, err := c.writer.XClaim(ctx, &redis.XClaimArgs{
				Stream: e.stream, Group: c.p.cfg.Group, Consumer: c.p.name, Messages: []string{e.id},
			}).Result()
			switch {
			case err != nil && ctx.Err() != nil:
				return nil //nolint:nilerr // it was ended on purpose
			case err != nil && !isAnswer(err):
				return fmt.Errorf("redisstream: claim: %w", err)
			case err != nil: // the group is gone; read makes it again, and the entry comes with the others
				c.link.Log().Warn("a refused entry could not be claimed", "stream", e.stream, "entry", e.id, "error", err)
				continue
			}
			if err := c.deliverAgain(ctx, c.writer, e.stream, got); err != nil {
				return err
			}
		}
	}
}

// claim takes over what consumers that are gone have left.
func (c *conn) claim(ctx context.Context) error {
	idle := c.p.cfg.ClaimIdle
	if idle == 0 {
		return nil
	}
	return repeat(ctx, max(idle/2, minClaimIdle/2), func() error {
		for _, s := range c.consumed() {
			if err := c.claimFrom(ctx, s.name); err != nil && ctx.Err() == nil {
				return err
			}
		}
		return nil
	})
}

func (c *conn) claimFrom(ctx context.Context, name string) error {
	for start := "0-0"; ; {
		room, err := c.link.Room()
		if err != nil {
			return nil //nolint:nilerr // the link is over
		}
		got, next, err := c.writer.XAutoClaim(ctx, &redis.XAutoClaimArgs{
			Stream: name, Group: c.p.cfg.Group, Consumer: c.p.name, MinIdle: c.p.cfg.ClaimIdle, Start: start, Count: int64(min(room, 100)),
		}).Result()
		switch {
		case err != nil && !isAnswer(err):
			return fmt.Errorf("redisstream: claim: %w", err)
		case err != nil:
			return nil //nolint:nilerr // no group: read makes it again
		}
		if err := c.deliverAgain(ctx, c.writer, name, got); err != nil {
			return err
		}
		if start = next; start == "0-0" || start == "" {
			return nil
		}
	}
}

// keepAlive shows the others that entries are being handled here, so that a slow handler's are not taken over.
func (c *conn) keepAlive(ctx context.Context) error {
	if c.p.cfg.ClaimIdle == 0 {
		return nil
	}
	return repeat(ctx, third(c.p.cfg.ClaimIdle), func() error {
		ids := map[string][]string{}
		c.mu.Lock()
		for e := range c.held {
			ids[e.stream] = append(ids[e.stream], e.id)
		}
		c.mu.Unlock()
		for name, held := range ids {
			err := c.writer.XClaimJustID(ctx, &redis.XClaimArgs{
				Stream: name, Group: c.p.cfg.Group, Consumer: c.p.name, Messages: held,
			}).Err()
			if err != nil && !isAnswer(err) && ctx.Err() == nil {
				return fmt.Errorf("redisstream: keep alive: %w", err)
			}
		}
		return nil
	})
}
