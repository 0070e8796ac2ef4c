package redisstream_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/broker/redisstream"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/servertest"
)

// account publishes and knows how each message ended.
type account struct {
	mu     sync.Mutex
	failed []error
	left   atomic.Int64
}

type outcome struct {
	a *account
}

func (o outcome) Done(err error) {
	if err != nil {
		o.a.mu.Lock()
		o.a.failed = append(o.a.failed, err)
		o.a.mu.Unlock()
	}
	o.a.left.Add(-1)
}

// send publishes n messages, at most 200 of them unanswered, with a fault every so many.
func (a *account) send(t *testing.T, ref actor.Ref, n, every int, fault func()) {
	t.Helper()
	for i := range n {
		eventually(t, "room", func() bool { return a.left.Load() < 200 })
		a.left.Add(1)
		actor.Send(ref, actor.Envelope{
			Msg: redisstream.Publish{Stream: "s", Fields: map[string]string{"n": fmt.Sprint(i)}, ID: id(i)}, Done: outcome{a},
		})
		if i%every == every/2 {
			fault()
		}
	}
	eventually(t, "every message has ended", func() bool { return a.left.Load() == 0 })
}

// check holds the account against the stream and the sink: all confirmed are stored and handled, in order.
func (a *account) check(t *testing.T, c *redis.Client, s *sink, n int) {
	t.Helper()
	for _, err := range a.failed {
		t.Errorf("a message ended with %v", err)
	}
	eventually(t, "everything is handled", func() bool { return len(s.ids()) == n })
	settled(t, c)
	entries, err := c.XRange(t.Context(), "s", "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, e := range entries {
		if v, _ := e.Values["_id"].(string); !slices.Contains(stored, v) {
			stored = append(stored, v)
		}
	}
	if len(stored) != n || !slices.IsSorted(stored) {
		t.Errorf("%d of %d stored, in order: %v", len(stored), n, slices.IsSorted(stored))
	}
	if !slices.IsSorted(s.ids()) {
		t.Error("handled out of order, by first occurrence")
	}
	t.Logf("%d messages: %d entries stored, %d deliveries", n, len(entries), s.count())
}

// world is a publisher and a consumer on one real server.
func world(t *testing.T, srv *servertest.Server, opts ...func(*redisstream.Config)) (*actor.System, actor.Ref, *sink) {
	t.Helper()
	sys := newSystem(t)
	s := &sink{}
	with := func(more ...func(*redisstream.Config)) []func(*redisstream.Config) {
		return append(append([]func(*redisstream.Config){fast(srv.Addr()), short}, more...), opts...)
	}
	spawn(t, sys, "consumer", redisstream.New(with(consuming(spawn(t, sys, "sink", s.actor), "one"))...))
	ref := spawn(t, sys, "publisher", redisstream.New(with()...))
	connected(t, sys, ref)
	return sys, ref, s
}

// Faults of a real server in the middle of the flow: nothing confirmed is lost, and everything is confirmed in the end.
func TestOutages(t *testing.T) {
	const n = 1500
	idle := func(c *redisstream.Config) { c.IdleTimeout = 500 * time.Millisecond }
	for name, c := range map[string]struct {
		fault func(t *testing.T, srv *servertest.Server)
		opts  []func(*redisstream.Config)
	}{
		"SIGKILL and restart": {fault: func(_ *testing.T, srv *servertest.Server) { srv.Kill(); srv.Start() }},
		"SIGSTOP longer than the deadline": {
			fault: func(_ *testing.T, srv *servertest.Server) {
				srv.Freeze(true)
				<-time.After(800 * time.Millisecond)
				srv.Freeze(false)
			},
			opts: []func(*redisstream.Config){idle},
		},
		"CLIENT KILL": {fault: func(t *testing.T, srv *servertest.Server) {
			if err := plain(t, srv.Addr()).ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := servertest.Redis(t)
			sys, ref, s := world(t, srv, c.opts...)
			a := &account{}
			a.send(t, ref, n, n/3, func() { c.fault(t, srv) })
			a.check(t, plain(t, srv.Addr()), s, n)
			if st := status(t, sys, ref); st.Losses == 0 || st.Books.Acked != n {
				t.Errorf("%d losses, books %+v", st.Losses, st.Books)
			}
		})
	}
}

// A full server refuses for now: nothing is lost, and all of it is stored when there is room again.
func TestServerFull(t *testing.T) {
	srv := servertest.Redis(t)
	c := plain(t, srv.Addr())
	_, ref, s := world(t, srv)
	if err := c.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	a := &account{}
	a.left.Add(1)
	actor.Send(ref, actor.Envelope{Msg: redisstream.Publish{Stream: "s", Fields: map[string]string{"k": "v"}, ID: id(0)}, Done: outcome{a}})
	<-time.After(300 * time.Millisecond)
	if a.left.Load() != 1 {
		t.Error("it has ended, and the server is full")
	}
	if err := c.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "stored", func() bool { return a.left.Load() == 0 })
	a.check(t, c, s, 1)
}

// A server that is too full to make the group is tried again, with the delays of the reconnect: the actor is not deaf when
// there is room.
func TestServerFullAtTheStart(t *testing.T) {
	srv := servertest.Redis(t)
	c := plain(t, srv.Addr())
	fill(t, c, 3)
	if err := c.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	sys := newSystem(t)
	s := &sink{}
	ref := spawn(t, sys, "redis", redisstream.New(fast(srv.Addr()), short, consuming(spawn(t, sys, "sink", s.actor), "one")))
	eventually(t, "refused", func() bool { return status(t, sys, ref).LastError != nil })
	if err := c.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all three", func() bool { return len(s.ids()) == 3 })
}

// What the server refuses for good is a dead letter and costs no connection; the messages around it are stored.
func TestRejectedKeepsTheConnection(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		sys := newSystem(t)
		c := plain(t, addr)
		if err := c.Set(t.Context(), "string", "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		ref := spawn(t, sys, "redis", redisstream.New(fast(addr)))
		publish := func(stream string) error {
			_, err := actor.Ask[broker.Receipt](t.Context(), ref, redisstream.Publish{Stream: stream, Fields: map[string]string{"k": "v"}})
			return err
		}
		var u *broker.UndeliveredError
		if err := errors.Join(publish("s")); err != nil {
			t.Error(err)
		}
		if err := publish("string"); !errors.As(err, &u) || u.Reason != broker.ReasonRejected {
			t.Errorf("publish to a key that is no stream: %v", err)
		}
		if err := publish("s"); err != nil {
			t.Error(err)
		}
		if n := status(t, sys, ref).Losses; n != 0 {
			t.Errorf("%d losses", n)
		}
	})
}

// A wrong password is a reason of its own and waits for the longest delay; with the right one everything is sent.
func TestWrongCredentialThenRight(t *testing.T) {
	srv := servertest.Redis(t, "--requirepass", secret)
	sys := newSystem(t)
	rec, err := brokertest.Record(sys)
	if err != nil {
		t.Fatal(err)
	}
	ref := spawn(t, sys, "redis", redisstream.New(fast(srv.Addr()), func(c *redisstream.Config) { c.Password = hocon.NewSecret("wr0ng-one") }))
	ref.Tell(redisstream.Publish{Stream: "s", Fields: map[string]string{"k": "v"}, ID: id(0)})
	eventually(t, "refused", func() bool { return errors.Is(status(t, sys, ref).LastError, broker.ErrUnauthorized) })
	c := redis.NewClient(&redis.Options{Addr: srv.Addr(), Password: secret, Protocol: 2, DisableIdentity: true})
	defer c.Close()
	if err := c.ConfigSet(t.Context(), "requirepass", "wr0ng-one").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "sent", func() bool { return status(t, sys, ref).Books.Acked == 1 })
	for _, e := range rec.Events() {
		if a, ok := e.(broker.ReconnectAttempt); ok && a.Delay < 80*time.Millisecond {
			t.Errorf("a retry after %s, maxDelay is 100ms", a.Delay)
		}
	}
}

// A stop in the middle of a read that waits at the server takes no longer than any other.
func TestStopInABlockingRead(t *testing.T) {
	srv := servertest.Redis(t)
	var worst time.Duration
	for i := range 10 {
		sys := newSystem(t)
		ref := spawn(t, sys, fmt.Sprint("redis", i), redisstream.New(fast(srv.Addr()), consuming(spawn(t, sys, "sink", (&sink{}).actor), "one")))
		connected(t, sys, ref)
		brokertest.Jitter(20 * time.Millisecond)
		began := time.Now()
		stop(t, ref)
		worst = max(worst, time.Since(began))
	}
	t.Logf("at most %s", worst.Round(10*time.Microsecond))
	if worst > time.Second {
		t.Errorf("a stop took %s", worst)
	}
}
