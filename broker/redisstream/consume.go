package redisstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/troupe-go/troupe/broker"
)

// stream is one that is consumed on this connection.
type stream struct {
	name string
	// pending is where the entries that this consumer was given before are read from; empty when all of them were.
	pending string
}

// entry is one message without a verdict; it is the Ref of its broker.Ack.
type entry struct{ stream, id string }

// ApplySubscription implements broker.Subscriber.
func (c *conn) ApplySubscription(ctx context.Context, name string, _ struct{}) error {
	start := c.p.cfg.Start
	if c.p.used(name) {
		start = "0" // it was there, and what came since it is gone must not be skipped
	}
	if err := c.ensureGroup(ctx, name, start); err != nil {
		if passing(err) { // a connection without it would be deaf until somebody noticed
			c.link.Lost(err)
		}
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(name)
	c.streams = append(c.streams, &stream{name: name, pending: "0"})
	signal(c.changed)
	return nil
}

// RevokeSubscription implements broker.Revoker.
func (c *conn) RevokeSubscription(_ context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(name)
	signal(c.changed)
	return nil
}

// drop takes a stream out, under mu. The slice is not changed in place: read may hold it.
func (c *conn) drop(name string) {
	var rest []*stream
	for _, s := range c.streams {
		if s.name != name {
			rest = append(rest, s)
		}
	}
	c.streams = rest
}

func (c *conn) consumed() []*stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams
}

// ensureGroup makes the group if it is missing and may be made.
func (c *conn) ensureGroup(ctx context.Context, name, start string) error {
	if !c.p.cfg.CreateGroup {
		groups, err := c.writer.XInfoGroups(ctx, name).Result()
		if err != nil {
			return fmt.Errorf("redisstream: stream %s: %w", name, err)
		}
		for _, g := range groups {
			if g.Name == c.p.cfg.Group {
				return nil
			}
		}
		return fmt.Errorf("redisstream: stream %s has no group %s, and createGroup is false", name, c.p.cfg.Group)
	}
	err := c.writer.XGroupCreateMkStream(ctx, name, c.p.cfg.Group, start).Err()
	if err != nil && !serverSays(err, "BUSYGROUP") { // it is there
		return fmt.Errorf("redisstream: group %s of stream %s: %w", c.p.cfg.Group, name, err)
	}
	return nil
}

// read is the consumer's loop: first what this name was given before, then what is new.
func (c *conn) read(ctx context.Context) error {
	for {
		room, err := c.link.Room()
		if err != nil {
			return nil //nolint:nilerr // the link is over, and its cause is known already
		}
		streams := c.consumed()
		if len(streams) == 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-c.changed:
			}
			continue
		}
		if err := c.round(ctx, streams, room); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the read was ended on purpose
			}
			return err
		}
	}
}

// round makes one read.
func (c *conn) round(ctx context.Context, streams []*stream, room int) error {
	for _, s := range streams {
		if s.pending == "" {
			continue
		}
		return c.readPending(ctx, s, room)
	}
	keys := make([]string, 0, 2*len(streams))
	for _, s := range streams {
		keys = append(keys, s.name)
	}
	for range streams {
		keys = append(keys, ">")
	}
	got, err := c.reader.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: c.p.cfg.Group, Consumer: c.p.name, Streams: keys,
		Count: int64(max(1, room/len(streams))), Block: c.p.cfg.block(),
	}).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil
	case serverSays(err, "NOGROUP"), serverSays(err, "UNBLOCKED"):
		return c.restore(ctx, streams)
	case err != nil:
		return fmt.Errorf("redisstream: read: %w", err)
	}
	for _, s := range got {
		for _, m := range s.Messages {
			if err := c.deliver(s.Stream, m, 1); err != nil {
				return nil //nolint:nilerr // the link is over; what was read stays pending for this name
			}
		}
	}
	return nil
}

// readPending delivers entries that this consumer was given before and did not acknowledge.
func (c *conn) readPending(ctx context.Context, s *stream, room int) error {
	got, err := c.reader.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: c.p.cfg.Group, Consumer: c.p.name, Streams: []string{s.name, s.pending}, Count: int64(room), Block: -1,
	}).Result()
	switch {
	case errors.Is(err, redis.Nil):
		s.pending = ""
		return nil
	case serverSays(err, "NOGROUP"):
		return c.restore(ctx, []*stream{s})
	case err != nil:
		return fmt.Errorf("redisstream: read pending entries: %w", err)
	}
	if len(got) == 0 || len(got[0].Messages) == 0 {
		s.pending = ""
		return nil
	}
	s.pending = got[0].Messages[len(got[0].Messages)-1].ID
	return c.deliverAgain(ctx, c.reader, s.name, got[0].Messages)
}

// deliverAgain delivers entries that were delivered before, with the server's count.
func (c *conn) deliverAgain(ctx context.Context, client *redis.Client, name string, messages []redis.XMessage) error {
	if len(messages) == 0 {
		return nil
	}
	counts := map[string]int{}
	pending, err := client.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: name, Group: c.p.cfg.Group, Consumer: c.p.name,
		Start: messages[0].ID, End: messages[len(messages)-1].ID, Count: int64(max(len(messages), 1000)),
	}).Result()
	if err != nil && !isAnswer(err) {
		return fmt.Errorf("redisstream: count deliveries: %w", err)
	}
	for _, p := range pending {
		counts[p.ID] = int(p.RetryCount)
	}
	for _, m := range messages {
		if m.Values == nil { // it was deleted or trimmed away
			c.link.Log().Warn("an entry that was not acknowledged is gone from its stream", "stream", name, "entry", m.ID)
			if err := client.XAck(ctx, name, c.p.cfg.Group, m.ID).Err(); err != nil && !isAnswer(err) {
				return fmt.Errorf("redisstream: acknowledge: %w", err)
			}
			continue
		}
		if c.isHeld(name, m.ID) {
			continue // it is being handled here
		}
		if err := c.deliver(name, m, max(1, counts[m.ID])); err != nil {
			return nil //nolint:nilerr // the link is over
		}
	}
	return nil
}

// deliver hands one entry to the target; an error says that the link is over.
func (c *conn) deliver(name string, m redis.XMessage, deliveries int) error {
	e := &entry{name, m.ID}
	c.mu.Lock()
	c.held[e] = true
	c.mu.Unlock()
	d, err := c.link.Accept(e, 0)
	if err != nil {
		return err
	}
	if deliveries > 1 {
		d.SetDeliveries(deliveries)
	}
	msg := Message{Delivery: d, Stream: name, Entry: m.ID, Deliveries: deliveries, Fields: make(map[string]string, len(m.Values))}
	for k, v := range m.Values {
		s, _ := v.(string)
		if k == c.p.cfg.IDField && k != "" {
			msg.ID = s
			continue
		}
		msg.Fields[k] = s
	}
	c.link.Deliver(d, msg, name)
	return nil
}

func (c *conn) isHeld(name, id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := range c.held {
		if e.id == id && e.stream == name {
			return true
		}
	}
	return false
}

// restore makes the groups again that somebody removed, from the first entry of the stream: what was not handled must not
// be skipped.
func (c *conn) restore(ctx context.Context, streams []*stream) error {
	for _, s := range streams {
		if c.has(ctx, s.name) {
			continue
		}
		c.link.Log().Warn("the consumer group is gone", "stream", s.name, "group", c.p.cfg.Group)
		c.p.events.Publish(broker.SubscriptionFailed{Path: c.p.path, Endpoint: c.link.Label(), Key: s.name, Cause: ErrGroupGone})
		if !c.p.cfg.CreateGroup {
			return fmt.Errorf("%w: stream %s, group %s", ErrGroupGone, s.name, c.p.cfg.Group)
		}
		if err := c.ensureGroup(ctx, s.name, "0"); err != nil {
			return err
		}
		s.pending = ""
	}
	return nil
}

func (c *conn) has(ctx context.Context, name string) bool {
	groups, err := c.writer.XInfoGroups(ctx, name).Result()
	if err != nil {
		return false
	}
	for _, g := range groups {
		if g.Name == c.p.cfg.Group {
			return true
		}
	}
	return false
}

// signal wakes whoever waits on a channel of length 1.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// third is a period that is safely within d.
func third(d time.Duration) time.Duration { return max(time.Millisecond, d/3) }
