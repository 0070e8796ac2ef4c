package redisstream_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/broker/redisstream"
	"github.com/troupe-go/troupe/internal/servertest"
)

var errHandler = errors.New("handler")

// each runs a test on both kinds of server.
func each(t *testing.T, test func(t *testing.T, addr string)) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { test(t, k.start(t)) })
	}
}

func short(c *redisstream.Config) { c.Block = 50 * time.Millisecond }

// What is published is an entry with its fields and an id, and comes to the target with all of them.
func TestRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		sys := newSystem(t)
		s := &sink{}
		target := spawn(t, sys, "sink", s.actor)
		ref := spawn(t, sys, "redis", redisstream.New(fast(addr), short, consuming(target, "one")))
		fields := map[string]string{"bytes": "\x00\xff\r\n", "text": "ä", "empty": ""}
		r, err := actor.Ask[broker.Receipt](t.Context(), ref, redisstream.Publish{Stream: "s", Fields: fields})
		if err != nil {
			t.Fatal(err)
		}
		receipt, ok := r.Detail.(redisstream.Receipt)
		if r.Outcome != broker.Acked || !ok || receipt.Entry == "" {
			t.Errorf("receipt %+v", r)
		}
		if _, err := actor.Ask[broker.Receipt](t.Context(), ref, redisstream.Publish{Stream: "s", Fields: fields, ID: "mine"}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "both delivered", func() bool { return s.count() == 2 })
		m := s.messages()
		if m[0].Entry != receipt.Entry || m[0].Stream != "s" || m[0].Deliveries != 1 || m[0].ID == "" || m[1].ID != "mine" {
			t.Errorf("messages %+v", m)
		}
		if fmt.Sprint(m[0].Fields) != fmt.Sprint(fields) {
			t.Errorf("fields %q, want %q", m[0].Fields, fields)
		}
		settled(t, plain(t, addr))
	})
}

// A refused entry comes again with the server's count, and is given up at maxDeliveries; Discard gives up at once.
func TestRefusedEntries(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		sys := newSystem(t)
		rec, err := brokertest.Record(sys)
		if err != nil {
			t.Fatal(err)
		}
		s := &sink{answer: func(_ *actor.Context, m redisstream.Message) error {
			switch m.ID {
			case id(0):
				return actor.Reject(errHandler)
			case id(1):
				return actor.Reject(broker.Discard(errHandler))
			}
			return nil
		}}
		target := spawn(t, sys, "sink", s.actor)
		fill(t, plain(t, addr), 3)
		spawn(t, sys, "redis", redisstream.New(fast(addr), short, consuming(target, "one"), func(c *redisstream.Config) { c.MaxDeliveries = 3 }))
		eventually(t, "all three", func() bool { return len(s.ids()) == 3 })
		settled(t, plain(t, addr))
		var counts []int
		for _, m := range s.messages() {
			if m.ID == id(0) {
				counts = append(counts, m.Deliveries)
			}
		}
		if !slices.Equal(counts, []int{1, 2, 3}) {
			t.Errorf("deliveries %v, want 1, 2, 3", counts)
		}
		eventually(t, "two dead letters", func() bool {
			var reasons []broker.Reason
			for _, l := range rec.DeadLetters() {
				if d, ok := l.Msg.(broker.Dropped); ok {
					reasons = append(reasons, d.Reason)
				}
			}
			slices.Sort(reasons)
			return slices.Equal(reasons, []broker.Reason{broker.ReasonDiscarded, broker.ReasonMaxDeliveries})
		})
	})
}

// holding answers nothing until it is released.
type holding struct {
	sink
	mu   sync.Mutex
	held []actor.Completion
}

func newHolding() *holding {
	h := &holding{}
	h.answer = func(ctx *actor.Context, _ redisstream.Message) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held = append(h.held, ctx.Hold())
		return nil
	}
	return h
}

func (h *holding) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.held {
		d.Done(nil)
	}
	h.held = nil
}

func stop(t *testing.T, ref actor.Ref) {
	t.Helper()
	if err := ref.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// #462: what a consumer was given and did not acknowledge goes to its successor of the same name at once, and to another
// name after claimIdle. Nothing stays pending.
func TestO462_EntriesOfAConsumerThatIsGone(t *testing.T) {
	for _, name := range []string{"one", "another"} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, addr string) {
				sys := newSystem(t)
				lazy := newHolding()
				fill(t, plain(t, addr), 3)
				claim := func(c *redisstream.Config) { c.ClaimIdle = 400 * time.Millisecond }
				first := spawn(t, sys, "first", redisstream.New(fast(addr), short, claim, consuming(spawn(t, sys, "lazy", lazy.actor), "one")))
				eventually(t, "three given", func() bool { return lazy.count() == 3 })
				stop(t, first)
				began := time.Now()
				s := &sink{}
				spawn(t, sys, "second", redisstream.New(fast(addr), short, claim, consuming(spawn(t, sys, "sink", s.actor), name)))
				eventually(t, "three again", func() bool { return len(s.ids()) == 3 })
				t.Logf("after %s", time.Since(began).Round(time.Millisecond))
				for _, m := range s.messages() {
					if m.Deliveries != 2 {
						t.Errorf("%s has %d deliveries, want 2", m.ID, m.Deliveries)
					}
				}
				settled(t, plain(t, addr))
			})
		})
	}
}

// A handler that takes longer than claimIdle keeps its entries: nobody else gets them meanwhile.
func TestSlowHandlerKeepsItsEntries(t *testing.T) {
	addr := servertest.Redis(t).Addr()
	sys := newSystem(t)
	slow, other := newHolding(), &sink{}
	fill(t, plain(t, addr), 3)
	claim := func(c *redisstream.Config) { c.ClaimIdle = 300 * time.Millisecond }
	spawn(t, sys, "slow", redisstream.New(fast(addr), short, claim, consuming(spawn(t, sys, "s", slow.actor), "slow")))
	eventually(t, "three given", func() bool { return slow.count() == 3 })
	spawn(t, sys, "other", redisstream.New(fast(addr), short, claim, consuming(spawn(t, sys, "o", other.actor), "other")))
	<-time.After(1500 * time.Millisecond)
	if n := other.count(); n != 0 {
		t.Errorf("%d entries were taken away", n)
	}
	slow.release()
	settled(t, plain(t, addr))
	if n := slow.count(); n != 3 {
		t.Errorf("%d deliveries of 3 entries", n)
	}
}

// Somebody removes the group, or everything: within a second there is an event, a new group, and what comes is consumed,
// on the same connection.
func TestGroupRemovedWhileInUse(t *testing.T) {
	for what, remove := range map[string]func(t *testing.T, c *redis.Client) error{
		"group":      func(t *testing.T, c *redis.Client) error { return c.XGroupDestroy(t.Context(), "s", "g").Err() },
		"everything": func(t *testing.T, c *redis.Client) error { return c.FlushAll(t.Context()).Err() },
	} {
		t.Run(what, func(t *testing.T) {
			each(t, func(t *testing.T, addr string) {
				sys := newSystem(t)
				rec, err := brokertest.Record(sys)
				if err != nil {
					t.Fatal(err)
				}
				s := &sink{}
				c := plain(t, addr)
				fill(t, c, 2)
				ref := spawn(t, sys, "redis", redisstream.New(fast(addr), short, consuming(spawn(t, sys, "sink", s.actor), "one")))
				eventually(t, "two", func() bool { return len(s.ids()) == 2 })
				settled(t, c)
				began := time.Now()
				if err := remove(t, c); err != nil {
					t.Fatal(err)
				}
				eventually(t, "told", func() bool { return slices.Contains(rec.Names(), "SubscriptionFailed(s)") })
				t.Logf("told after %s", time.Since(began).Round(time.Millisecond))
				if err := c.XAdd(t.Context(), &redis.XAddArgs{Stream: "s", Values: []any{"_id", "later"}}).Err(); err != nil {
					t.Fatal(err)
				}
				eventually(t, "the next one", func() bool { return slices.Contains(s.ids(), "later") })
				if n := status(t, sys, ref).Losses; n != 0 {
					t.Errorf("%d losses: the connection should stay", n)
				}
				settled(t, c)
			})
		})
	}
}

// A group that is removed while there is no connection begins with the first entry, too: "$" would skip what came since.
func TestGroupRemovedDuringAnOutage(t *testing.T) {
	srv := servertest.Redis(t)
	sys := newSystem(t)
	s := &sink{}
	c := plain(t, srv.Addr())
	ref := spawn(t, sys, "redis", redisstream.New(fast(srv.Addr()), short, consuming(spawn(t, sys, "sink", s.actor), "one"), func(c *redisstream.Config) {
		c.Start = "$"
		c.Reconnect.InitialDelay, c.Reconnect.MaxDelay = 500*time.Millisecond, 500*time.Millisecond
	}))
	connected(t, sys, ref)
	eventually(t, "the group is there", func() bool { return c.XInfoGroups(t.Context(), "s").Err() == nil })
	if err := c.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "lost", func() bool { return status(t, sys, ref).Losses == 1 })
	if err := c.XGroupDestroy(t.Context(), "s", "g").Err(); err != nil {
		t.Fatal(err)
	}
	fill(t, c, 3)
	eventually(t, "all three", func() bool { return len(s.ids()) == 3 })
}

// Streams come and go at runtime, and those that are wanted are there again after a reconnect.
func TestSubscribeAtRuntime(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		sys := newSystem(t)
		s := &sink{}
		target := spawn(t, sys, "sink", s.actor)
		c := plain(t, addr)
		ref := spawn(t, sys, "redis", redisstream.New(fast(addr), short, func(c *redisstream.Config) {
			c.Group, c.Target, c.Start = "g", target, "0"
		}))
		add := func(stream, id string) {
			t.Helper()
			if err := c.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: []any{"_id", id}}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		ref.Tell(redisstream.Subscribe{Stream: "a"})
		ref.Tell(redisstream.Subscribe{Stream: "b"})
		add("a", "a1")
		add("b", "b1")
		eventually(t, "both", func() bool { return len(s.ids()) == 2 })
		ref.Tell(redisstream.Unsubscribe{Stream: "b"})
		eventually(t, "one wanted", func() bool { return status(t, sys, ref).Subscriptions == 1 })
		<-time.After(200 * time.Millisecond) // the read that was under way
		add("b", "b2")
		add("a", "a2")
		eventually(t, "a2", func() bool { return slices.Contains(s.ids(), "a2") })
		if slices.Contains(s.ids(), "b2") {
			t.Error("b is still consumed")
		}
	})
}

// A slow target is not flooded: no more than the window is with it, and order is kept.
func TestBacklogOfASlowTarget(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		const n = 1000
		sys := newSystem(t)
		slow := newHolding()
		c := plain(t, addr)
		fill(t, c, n)
		ref := spawn(t, sys, "redis", redisstream.New(fast(addr), short, consuming(spawn(t, sys, "slow", slow.actor), "one"), func(c *redisstream.Config) {
			c.InboundWindow = 16
		}))
		eventually(t, "the window is full", func() bool { return slow.count() == 16 })
		<-time.After(150 * time.Millisecond)
		p, err := c.XPending(t.Context(), "s", "g").Result()
		if err != nil {
			t.Fatal(err)
		}
		if slow.count() != 16 || p.Count > 32 {
			t.Errorf("%d with the target and %d read, the window is 16", slow.count(), p.Count)
		}
		eventually(t, "all", func() bool { slow.release(); return slow.count() >= n })
		slow.release()
		settled(t, c)
		if ids := slow.ids(); len(ids) != n || !slices.IsSorted(ids) {
			t.Errorf("%d ids, in order: %v", len(ids), slices.IsSorted(ids))
		}
		if status(t, sys, ref).Losses != 0 {
			t.Error("the connection was lost")
		}
	})
}
