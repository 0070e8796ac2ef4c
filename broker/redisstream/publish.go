package redisstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/troupe-go/troupe/broker"
)

// ConfirmWindow implements broker.Confirmer: the configuration decides.
func (c *conn) ConfirmWindow() int { return 0 }

// batch is a run of entries that goes out in one round trip.
type batch struct {
	pipe redis.Pipeliner
	adds []added
}

type added struct {
	cmd   *redis.StringCmd
	token broker.Token
	asked bool // somebody wants the receipt
}

// Dispatch implements broker.Conn: it adds to the run. What comes while one round trip is under way goes out in the next, so
// that the runs are as long as the server is slow. Half a window does not wait for Flush.
func (c *conn) Dispatch(ctx context.Context, env broker.Envelope[Publish]) error {
	cmd := redis.NewStringCmd(ctx, c.words(&env)...)
	c.filling.Lock()
	defer c.filling.Unlock()
	if c.run == nil {
		c.run = &batch{pipe: c.writer.Pipeline()}
	}
	if err := c.run.pipe.Process(ctx, cmd); err != nil {
		return fmt.Errorf("redisstream: publish: %w", err)
	}
	c.run.adds = append(c.run.adds, added{cmd, env.Token, env.Asked()})
	if len(c.run.adds) >= c.half {
		signal(c.filled)
	}
	return nil
}

// words are XADD and its arguments.
func (c *conn) words(env *broker.Envelope[Publish]) []any {
	m := &env.Payload
	args := make([]any, 0, 8+2*len(m.Fields))
	args = append(args, "xadd", m.Stream)
	if c.p.cfg.MaxLen > 0 {
		args = append(args, "maxlen", "~", c.p.cfg.MaxLen)
	}
	args = append(args, "*")
	if f := c.p.cfg.IDField; f != "" {
		id := m.ID
		if id == "" {
			id = env.ID()
		}
		args = append(args, f, id)
	}
	if len(m.Fields) == 1 {
		for name, value := range m.Fields {
			args = append(args, name, value)
		}
		return args
	}
	for _, name := range slices.Sorted(maps.Keys(m.Fields)) {
		args = append(args, name, m.Fields[name])
	}
	return args
}

// Flush implements broker.Flusher: it wakes the sender. The outcomes come by Link.Settle.
func (c *conn) Flush(context.Context) error {
	signal(c.filled)
	return nil
}

// take takes the run that is there; nil for none.
func (c *conn) take() *batch {
	c.filling.Lock()
	defer c.filling.Unlock()
	run := c.run
	c.run = nil
	return run
}

// send makes one round trip per run. Each entry has an outcome of its own.
func (c *conn) send(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.filled:
		}
		if run := c.take(); run != nil {
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
	for i := range run.adds {
		add := &run.adds[i]
		switch err := add.cmd.Err(); {
		case err == nil && add.asked:
			c.link.Settle(add.token, Receipt{add.cmd.Val()}, nil)
		case err == nil:
			c.link.Settle(add.token, nil, nil)
		case passing(err):
			c.link.Settle(add.token, nil, err)
		case !isAnswer(err), serverSays(err, "READONLY"): // another server is the one to talk to
			return err
		default:
			c.link.Settle(add.token, nil, broker.Rejected(fmt.Errorf("redisstream: %w", err)))
		}
	}
	return nil
}

// passing says that an error will pass, as a full memory: the entry is sent again, and the third time in a row costs the connection, so that the
// delays of the reconnect apply.
func passing(err error) bool {
	for _, word := range []string{"OOM", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS", "BUSY ", "MISCONF"} {
		if serverSays(err, word) {
			return true
		}
	}
	return errors.Is(err, redis.TxFailedErr)
}
