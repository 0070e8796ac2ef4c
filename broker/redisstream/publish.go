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

// Dispatch implements broker.Conn: it adds to the run that Flush sends.
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
	c.adds = append(c.adds, c.pipe.XAdd(ctx, add))
	c.run = append(c.run, env.Token)
	return nil
}

// Flush implements broker.Flusher: one round trip for the whole run. Each entry has an outcome of its own.
func (c *conn) Flush(ctx context.Context) error {
	run, adds := c.run, c.adds
	c.run, c.adds = c.run[:0], nil
	_, err := c.pipe.Exec(ctx)
	if err != nil && !isAnswer(err) {
		return fmt.Errorf("redisstream: publish: %w", err)
	}
	for i, add := range adds {
		switch err := add.Err(); {
		case err == nil:
			c.link.Settle(run[i], Receipt{add.Val()}, nil)
		case !isAnswer(err):
			return fmt.Errorf("redisstream: publish: %w", err)
		case passing(err):
			c.link.Settle(run[i], nil, err)
		case serverSays(err, "READONLY"):
			return fmt.Errorf("redisstream: publish: %w", err) // another server is the one to talk to
		default:
			c.link.Settle(run[i], nil, broker.Rejected(fmt.Errorf("redisstream: %w", err)))
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
