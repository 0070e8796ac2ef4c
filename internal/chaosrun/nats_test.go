package chaosrun

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/broker/nats"
	"github.com/troupe-go/troupe/internal/chaos"
	"github.com/troupe-go/troupe/internal/natstest"
)

// link is a server with a fault proxy in front of it.
type link struct {
	t     *testing.T
	srv   *natstest.Server
	proxy *chaos.Proxy
}

func newLink(t *testing.T) *link {
	srv := natstest.Start(t)
	proxy, err := chaos.New(srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return &link{t, srv, proxy}
}

func (l *link) tune(c *broker.Config) {
	c.OutboundBuffer, c.InboundWindow, c.FlushTimeout = 300, 64, 2*time.Second
	c.Reconnect.InitialDelay, c.Reconnect.MaxDelay, c.Reconnect.StableAfter = 10*time.Millisecond, 200*time.Millisecond, 500*time.Millisecond
	c.Redelivery.InitialDelay, c.Redelivery.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	c.IdleTimeout, c.ConnectTimeout = 600*time.Millisecond, 2*time.Second
	c.Overflow = broker.Overflow(rand.IntN(int(broker.RejectNewest) + 1))
}

func (l *link) calm() {
	l.proxy.Hole(false)
	l.proxy.Silent(false)
	l.proxy.Split(false)
	l.proxy.Latency(0)
	l.accept()
	l.proxy.Reset()
}

func (l *link) accept() {
	if err := l.proxy.Accept(); err != nil {
		l.t.Error(err)
	}
}

func wait(r *rand.Rand, most time.Duration) { <-time.After(time.Duration(r.Int64N(int64(most)))) }

// faults of the link; each of them is over, or can be lifted by calm, when it returns.
func (l *link) faults() []func(*rand.Rand) {
	return []func(*rand.Rand){
		func(*rand.Rand) { l.proxy.Reset() },
		func(r *rand.Rand) { l.proxy.Refuse(); l.proxy.Reset(); wait(r, time.Second); l.accept() },
		func(r *rand.Rand) { l.proxy.Hole(true); wait(r, 2*time.Second); l.proxy.Hole(false) },
		func(r *rand.Rand) { l.proxy.Hole(true); wait(r, 2*time.Second); l.proxy.Hole(false); l.proxy.Reset() },
		func(r *rand.Rand) {
			l.proxy.Silent(true)
			l.proxy.Reset()
			wait(r, 2*time.Second)
			l.proxy.Silent(false)
			l.proxy.Reset()
		},
		func(r *rand.Rand) { l.proxy.ResetAfterHandshake(1 + r.IntN(5)); l.proxy.Reset() },
		func(r *rand.Rand) { l.proxy.CutAfter(int64(r.IntN(20000))); wait(r, time.Second); l.proxy.CutAfter(0) },
		func(r *rand.Rand) {
			l.proxy.Split(true)
			l.proxy.Reset()
			wait(r, time.Second)
			l.proxy.Split(false)
			l.proxy.Reset()
		},
		func(r *rand.Rand) {
			l.proxy.Latency(time.Duration(r.IntN(40)) * time.Millisecond)
			wait(r, time.Second)
			l.proxy.Latency(0)
		},
	}
}

// TestJetStream is the run over a stream, whose consumer handles what the publishers have stored. The server is killed
// now and then.
func TestJetStream(t *testing.T) {
	t.Parallel()
	l := newLink(t)
	drive(t, func(t *testing.T, sys *actor.System) *subject {
		id := func(msg any) string {
			m, _ := msg.(jetstream.Message)
			return m.ID()
		}
		h, to, err := spawnTarget(sys, id)
		if err != nil {
			t.Fatal(err)
		}
		kill := func(r *rand.Rand) { l.srv.Kill(); wait(r, time.Second); l.srv.Restart() }
		return &subject{
			factory: func(int) func() actor.Actor {
				return jetstream.New(func(c *jetstream.Config) {
					c.Servers = []string{l.proxy.Addr()}
					c.Stream.Name, c.Stream.Subjects = "CHAOS", []string{"chaos.>"}
					c.Consumer.Name, c.Target, c.Consumer.AckWait = "TARGET", to, 2*time.Second
					c.PublishTimeout = 2 * time.Second
					l.tune(&c.Config)
				})
			},
			born:    func(actor.Ref) {},
			publish: func(id string) any { return jetstream.Publish{Subject: "chaos.x", Data: []byte(id), ID: id} },
			id: func(payload any) string {
				m, _ := payload.(jetstream.Publish)
				return m.ID
			},
			faults:    append(l.faults(), kill),
			calm:      l.calm,
			sink:      l.stream,
			stored:    true,
			missing:   func(g *grammar) (int, string) { return l.missing(h, g) },
			inboundID: id,
		}
	})
}

// stream lists the ids in the stream, in order.
func (l *link) stream() (ids []string) {
	api, end := l.api()
	defer end()
	c, err := api.OrderedConsumer(l.t.Context(), "CHAOS", js.OrderedConsumerConfig{})
	if err != nil {
		l.t.Fatal(err)
	}
	info, err := c.Info(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	left := info.NumPending
	if left == 0 {
		return nil
	}
	messages, err := c.Messages(js.PullMaxMessages(1000))
	if err != nil {
		l.t.Fatal(err)
	}
	defer messages.Stop()
	for left > 0 {
		m, err := messages.Next(js.NextMaxWait(patience))
		if err != nil {
			l.t.Fatalf("read the stream after %d messages: %v", len(ids), err)
		}
		meta, err := m.Metadata()
		if err != nil {
			l.t.Fatal(err)
		}
		left = meta.NumPending
		ids = append(ids, string(m.Data()))
	}
	return ids
}

func (l *link) api() (js.JetStream, func()) {
	nc, err := natsgo.Connect(l.srv.URL())
	if err != nil {
		l.t.Fatal(err)
	}
	api, err := js.New(nc)
	if err != nil {
		l.t.Fatal(err)
	}
	return api, nc.Close
}

func (l *link) missing(h *target, g *grammar) (n int, what string) {
	h.release()
	api, end := l.api()
	defer end()
	c, err := api.Consumer(l.t.Context(), "CHAOS", "TARGET")
	if err != nil {
		return 1, err.Error()
	}
	if i := c.CachedInfo(); i.NumPending > 0 || i.NumAckPending > 0 {
		return int(i.NumPending) + i.NumAckPending, fmt.Sprintf("%d pending, %d without a verdict", i.NumPending, i.NumAckPending)
	}
	for _, id := range l.stream() {
		if !h.has(id) && !g.givenUp(id) {
			n++
			what = id
		}
	}
	return n, what
}

// TestNats is the run over core NATS: a subscriber that is connected all the time hears what was confirmed.
func TestNats(t *testing.T) {
	t.Parallel()
	l := newLink(t)
	var mu sync.Mutex
	var heard []string
	direct := l.srv.Conn()
	sub, err := direct.Subscribe("chaos.x", func(m *natsgo.Msg) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, string(m.Data))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		t.Fatal(err)
	}
	if err := direct.Flush(); err != nil {
		t.Fatal(err)
	}
	drive(t, func(t *testing.T, sys *actor.System) *subject {
		return &subject{
			factory: func(int) func() actor.Actor {
				return nats.New(func(c *nats.Config) {
					c.Servers = []string{l.proxy.Addr()}
					l.tune(&c.Config)
				})
			},
			born:    func(actor.Ref) {},
			publish: func(id string) any { return nats.Publish{Subject: "chaos.x", Data: []byte(id)} },
			id: func(payload any) string {
				m, _ := payload.(nats.Publish)
				return string(m.Data)
			},
			faults: l.faults(),
			calm:   l.calm,
			sink: func() []string {
				if err := direct.Flush(); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				return append([]string(nil), heard...)
			},
			stored:    true,
			missing:   func(*grammar) (int, string) { return 0, "" },
			inboundID: func(any) string { return "" },
		}
	})
}
