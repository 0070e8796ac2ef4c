package redisstream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/troupe-go/troupe/broker"
)

// ConfirmWindow implements broker.Confirmer: the configuration decides.
func (c *conn) ConfirmWindow() int { return 0 }

// batch is a run of entries that goes out in one round trip.
type batch struct {
	tokens []broker.Token
	pipe   redis.Pipeliner
	adds   []*redis.StringCmd
}

// Dispatch implements broker.Conn: it adds to the run. Half a window is sent while the other half is filled.
func (c *conn) Dispatch(ctx context.Context, env broker.Envelope[Publish]) error {
	m := env.Payload
	id := m.ID
	if id == "" {
		id = env.ID()
	}
	values := make([]any, 0, 2*len(m.Fields)+2)
	if f := c.p.cfg.IDField; f != "" {
		values = append(values, f, id)
	}
	names := make([]string, 0, len(m.Fields))
	for name := range m.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		values = append(values, name, m.Fields[name])
	}
	add := &redis.XAddArgs{Stream: m.Stream, ID: "*", Values: values}
	if c.p.cfg.MaxLen > 0 {
		add.MaxLen, add.Approx = c.p.cfg.MaxLen, true
	}
	if c.run == nil {
		c.run = &batch{pipe: c.writer.Pipeline()}
	}
	c.run.adds = append(c.run.adds, c.run.pipe.XAdd(ctx, add))
	c.run.tokens = append(c.run.tokens, env.Token)
	if len(c.run.tokens) >= c.half {
		return c.Flush(ctx)
	}
	return nil
}

// Flush implements broker.Flusher: it hands the run to the sender, and waits while that has one.
func (c *conn) Flush(ctx context.Context) error {
	if c.run == nil {
		return nil
	}
	run := c.run
	c.run = nil
	select {
	case c.runs <- run:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send makes one round trip per run. Each entry has an outcome of its own.
func (c *conn) send(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case run := <-c.runs:
			if err := c.exec(ctx, run); err != nil {
				return fmt.Errorf("redisstream: publish: %w", err)
			}
		}
	}
}

func (c *conn) exec(ctx context.Context, run *batch) error {
	if _, err := run.pipe.Exec(ctx); err != nil && !isAnswer(err) {
		return err
	}
	for i, add := range run.adds {
		switch err := add.Err(); {
		case err == nil:
			c.link.Settle(run.tokens[i], Receipt{add.Val()}, nil)
		case passing(err):
			c.link.Settle(run.tokens[i], nil, err)
		case !isAnswer(err), serverSays(err, "READONLY"): // another server is the one to talk to
			return err
		default:
			c.link.Settle(run.tokens[i], nil, broker.Rejected(fmt.Errorf("redisstream: %w", err)))
		}
	}
	return nil
}

// passing says that an error will pass, as a full memory: the entry is sent again, and the third time in a row costs the connection, so that the
// delays of the reconnect apply.
func passing(err error) bool {
	for _, word := range []string{"OOM", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS", "BUSY", "MISCONF"} {
		if serverSays(err, word) {
			return true
		}
	}
	return errors.Is(err, redis.TxFailedErr)
}
