package jetstream_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/internal/natstest"
)

// The server is killed and restarted in the middle of everything, on both sides at once: every message that was accepted
// is confirmed, every confirmed one is handled, and the books balance.
func TestKilledServerLosesNothing(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			const n, kills = 6000, 3
			srv := kind.start(t)
			sys := newSystem(t)
			j := record(t, sys)
			s := newSink(nil)
			small := func(c *jetstream.Config) {
				c.OutboundBuffer = n
				c.Redelivery.InitialDelay, c.Consumer.AckWait = 10*time.Millisecond, 2*time.Second
			}
			consumer := spawn(t, sys, "consumer", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor)), small))
			publisher := spawn(t, sys, "publisher", jetstream.New(fast(srv.URL()), orders(actor.Ref{}), small))

			var sent atomic.Int64
			go func() { // a steady flow, so that each kill meets some
				tick := time.NewTicker(time.Millisecond)
				defer tick.Stop()
				for i := range n {
					if i%5 == 0 {
						<-tick.C
					}
					publisher.Tell(jetstream.Publish{Subject: "orders.a", ID: fmt.Sprint(i), Data: []byte("order")})
					sent.Add(1)
				}
			}()
			for k := range kills {
				connected(t, consumer)
				connected(t, publisher)
				eventually(t, "some sent", func() bool { return sent.Load() >= int64((k+1)*n/(kills+2)) })
				srv.Kill()
				<-time.After(20 * time.Millisecond)
				srv.Restart()
			}
			eventually(t, "all acked", func() bool { return status(t, publisher).Books.Acked == n })
			eventually(t, "all handled", func() bool { return len(s.ids()) == n })
			settled(t, srv.JetStream())

			b := status(t, publisher).Books
			if b.Accepted != b.Acked+b.Written+b.Undelivered || b.Undelivered != 0 || b.Refused != 0 {
				t.Errorf("books %+v do not balance without a loss", b)
			}
			if l := len(find[actor.DeadLetter](j)); l != 0 {
				t.Errorf("%d dead letters", l)
			}
			inOrder(t, srv, n)
			losses := len(find[broker.Disconnected](j))
			t.Logf("%d kills, %d losses, books %+v, %d deliveries of %d messages", kills, losses, b, s.count(), n)
			if losses < 2*kills {
				t.Errorf("%d losses for %d kills of two connections: the test shows too little", losses, kills)
			}
		})
	}
}

// inOrder checks that the stream has the messages 0 to n-1 in the order of their ids, each once.
func inOrder(t *testing.T, srv *natstest.Server, n int) {
	t.Helper()
	c, err := srv.JetStream().OrderedConsumer(t.Context(), "ORDERS", js.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	it, err := c.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer it.Stop()
	for i := range n {
		m, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if id := m.Headers().Get("Nats-Msg-Id"); id != fmt.Sprint(i) {
			t.Fatalf("message %d of the stream has the id %s", i, id)
		}
	}
	if s, err := srv.JetStream().Stream(t.Context(), "ORDERS"); err != nil || s.CachedInfo().State.Msgs != uint64(n) {
		t.Fatalf("stream %+v, %v; want %d messages", s.CachedInfo().State, err, n)
	}
}

// A server that does nothing any more while its sockets stay open is noticed within idleTimeout, with messages in flight
// and with none, and nothing is lost when it goes on.
func TestFrozenServerIsNoticed(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy=%v", busy), func(t *testing.T) {
			const idle = 600 * time.Millisecond
			srv := natstest.StartProcess(t)
			sys := newSystem(t)
			j := record(t, sys)
			s := newSink(nil)
			ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor)), func(c *jetstream.Config) {
				c.IdleTimeout = idle
				c.Consumer.AckWait = 2 * time.Second
			}))
			publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "before"})
			<-time.After(2 * idle)
			if n := len(find[broker.Disconnected](j)); n != 0 {
				t.Fatalf("%d losses of an idle connection to a healthy server", n)
			}
			srv.Freeze(true)
			start := time.Now()
			want := 1
			if busy {
				for i := range 500 {
					ref.Tell(jetstream.Publish{Subject: "orders.a", ID: fmt.Sprint(i), Data: make([]byte, 20_000)})
				}
				want += 500
			}
			eventually(t, "loss", func() bool { return len(find[broker.Disconnected](j)) > 0 })
			d := firstAt[broker.Disconnected](j).Sub(start)
			t.Logf("noticed after %v with idleTimeout %v, the bound is %v", d, idle, idle*3/2)
			if d > 10*idle*3/2 {
				t.Errorf("noticed after %v, the bound is %v", d, idle*3/2)
			}
			srv.Freeze(false)
			eventually(t, "all handled", func() bool { return len(s.ids()) == want })
		})
	}
}

// A reset is told within 50 ms.
func TestResetIsToldAtOnce(t *testing.T) {
	srv := natstest.Start(t)
	proxy := chaosProxy(t, srv)
	sys := newSystem(t)
	j := record(t, sys)
	ref := spawn(t, sys, "js", jetstream.New(fast(proxy.Addr()), orders(actor.Ref{})))
	connected(t, ref)
	start := time.Now()
	proxy.Reset()
	eventually(t, "loss", func() bool { return len(find[broker.Disconnected](j)) > 0 })
	d := firstAt[broker.Disconnected](j).Sub(start)
	t.Logf("told after %v", d)
	if d > 50*time.Millisecond {
		t.Errorf("told after %v, want 50ms", d)
	}
}

// Stop against a server that accepts and never answers, and against one that froze under a live connection: within
// 100 ms, which is measured; none takes a second.
func TestStopAgainstSilentServer(t *testing.T) {
	srv := natstest.Start(t)
	for _, c := range []struct {
		name   string
		silent bool
		size   int
	}{{"while connecting", true, 0}, {"connected", false, 0}, {"connected, socket full", false, 500_000}} {
		t.Run(c.name, func(t *testing.T) {
			var worst time.Duration
			late := 0
			for i := range 20 {
				d := stopOnce(t, srv, i, c.silent, c.size)
				worst = max(worst, d)
				if d > 100*time.Millisecond {
					late++
				}
				if d > time.Second {
					t.Fatalf("stop took %v", d)
				}
			}
			t.Logf("stop took at most %v in 20 rounds, %d of them beyond 100ms", worst, late)
		})
	}
}

// stopOnce measures one stop against a server that does not answer, in the middle of connecting or with size bytes in
// each of many messages on their way.
func stopOnce(t *testing.T, srv *natstest.Server, i int, silent bool, size int) time.Duration {
	t.Helper()
	sys := newSystem(t)
	proxy := chaosProxy(t, srv)
	proxy.Silent(silent)
	s := newSink(nil)
	ref := spawn(t, sys, fmt.Sprint("js", i), jetstream.New(fast(proxy.Addr()), orders(spawn(t, sys, "sink", s.actor)), func(c *jetstream.Config) {
		c.FlushTimeout = 0
	}))
	if silent {
		eventually(t, "dialled", func() bool { return proxy.Dials() > 0 })
	} else {
		connected(t, ref)
		proxy.Hole(true)
		data := make([]byte, size)
		for range 1 + size/10_000 {
			ref.Tell(jetstream.Publish{Subject: "orders.a", Data: data})
		}
		status(t, ref)
	}
	d := stop(t, ref)
	end(t, sys)
	proxy.Close()
	return d
}

// A refused credential waits for maxDelay, and shows up nowhere.
func TestRefusedCredential(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			srv := kind.start(t, signIn)
			sys := newSystem(t)
			j := record(t, sys)
			proxy := chaosProxy(t, srv)
			ref := spawn(t, sys, "js", jetstream.New(fast("nats://svc:wrong-p4ss@"+proxy.Addr()), func(c *jetstream.Config) {
				c.Reconnect.MaxDelay = time.Minute
			}))
			eventually(t, "refused, and the next attempt scheduled", func() bool {
				st := status(t, ref)
				return st.LastError != nil && !st.NextAttempt.IsZero()
			})
			st := status(t, ref)
			if wait := time.Until(st.NextAttempt); wait < 30*time.Second {
				t.Errorf("next attempt in %v, want maxDelay", wait)
			}
			if text := fmt.Sprintf("%+v %v %+v", st, st.LastError, j.entries()); strings.Contains(text, "wrong-p4ss") {
				t.Errorf("the password is in %s", text)
			}
			if n := proxy.Dials(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
		})
	}
}

// An expired or withdrawn permission to use JetStream is a failed connect that says what is missing.
func TestServerWithoutJetStreamFailsTheConnect(t *testing.T) {
	srv := natstest.Start(t, func(o *natstest.Options) { o.NoJetStream = true })
	sys := newSystem(t)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(actor.Ref{})))
	eventually(t, "failed", func() bool { return status(t, ref).LastError != nil })
	if text := status(t, ref).LastError.Error(); !strings.Contains(text, "ORDERS") || !strings.Contains(text, "is it enabled") {
		t.Errorf("error %q, want one that names the stream and JetStream", text)
	}
}
