package redisstream_test

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/redisstream"
	"github.com/troupe-go/troupe/internal/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = 20 * time.Second

// kind is one kind of server.
type kind struct {
	name  string
	start func(t testing.TB) (addr string)
}

func kinds() []kind {
	return []kind{
		{"embedded", func(t testing.TB) string { return miniredis.RunT(t).Addr() }},
		{"real", func(t testing.TB) string { return servertest.Redis(t).Addr() }},
	}
}

// plain is a client without troupe.
func plain(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { c.Close() })
	return c
}

func newSystem(t testing.TB) *actor.System {
	t.Helper()
	sys, err := actor.NewSystem("test", func(c *actor.SystemConfig) {
		level := slog.LevelError
		if testing.Verbose() {
			level = slog.LevelInfo
		}
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := sys.Terminate(ctx); err != nil {
			t.Errorf("terminate: %v", err)
		}
	})
	return sys
}

func spawn(t testing.TB, sys *actor.System, name string, new func() actor.Actor) actor.Ref {
	t.Helper()
	ref, err := sys.Spawn(name, new)
	if err != nil {
		t.Fatalf("spawn %s: %v", name, err)
	}
	return ref
}

// fast makes retries quick.
func fast(addr string) func(*redisstream.Config) {
	return func(c *redisstream.Config) {
		c.URL = broker.Endpoint("redis://" + addr)
		c.Reconnect.InitialDelay, c.Reconnect.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
		c.Redelivery.InitialDelay = 20 * time.Millisecond
	}
}

// consuming makes an actor of group g read stream s from its first entry.
func consuming(target actor.Ref, name string) func(*redisstream.Config) {
	return func(c *redisstream.Config) {
		c.Group, c.Consumer, c.Streams, c.Target, c.Start = "g", name, []string{"s"}, target, "0"
	}
}

// sink is a target that remembers, and answers as it is told.
type sink struct {
	mu     sync.Mutex
	got    []redisstream.Message
	answer func(ctx *actor.Context, m redisstream.Message) error
}

func (s *sink) actor() actor.Actor {
	return actor.Func(func(ctx *actor.Context, msg any) error {
		m, ok := msg.(redisstream.Message)
		if !ok {
			return nil
		}
		s.mu.Lock()
		s.got = append(s.got, m)
		answer := s.answer
		s.mu.Unlock()
		if answer != nil {
			return answer(ctx, m)
		}
		return nil
	})
}

func (s *sink) messages() []redisstream.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]redisstream.Message(nil), s.got...)
}

func (s *sink) count() int { return len(s.messages()) }

// ids are the different message ids, in the order in which they came first.
func (s *sink) ids() (out []string) {
	seen := map[string]bool{}
	for _, m := range s.messages() {
		if !seen[m.ID] {
			seen[m.ID] = true
			out = append(out, m.ID)
		}
	}
	return out
}

func status(t testing.TB, sys *actor.System, ref actor.Ref) broker.Status {
	t.Helper()
	s, _ := broker.StatusOf(sys, ref.Path())
	return s
}

func connected(t testing.TB, sys *actor.System, ref actor.Ref) {
	t.Helper()
	eventually(t, "connected", func() bool { return status(t, sys, ref).State == broker.StateConnected })
}

// eventually polls until ok is true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// settled waits until the group has nothing without a verdict.
func settled(t testing.TB, c *redis.Client) {
	t.Helper()
	eventually(t, "nothing pending", func() bool {
		p, err := c.XPending(t.Context(), "s", "g").Result()
		return err == nil && p.Count == 0
	})
}

func fill(t testing.TB, c *redis.Client, n int) {
	t.Helper()
	for i := range n {
		if err := c.XAdd(t.Context(), &redis.XAddArgs{Stream: "s", Values: []any{"_id", id(i), "n", i}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
}
