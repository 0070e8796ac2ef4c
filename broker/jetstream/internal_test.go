package jetstream

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/internal/chaos"
	"github.com/troupe-go/troupe/internal/natstest"
)

// The metadata of a message is in its reply subject, in a short form and in a long one.
func TestMessageReadsItsMetadata(t *testing.T) {
	want := Message{Subject: "a.b", Stream: "S", Consumer: "C", Deliveries: 2, Sequence: 30, ConsumerSequence: 41, Pending: 5, Time: time.Unix(0, 1700000000123456789)}
	for _, reply := range []string{
		"$JS.ACK.S.C.2.30.41.1700000000123456789.5",
		"$JS.ACK.domain.acc0unt.S.C.2.30.41.1700000000123456789.5",
		"$JS.ACK._.acc0unt.S.C.2.30.41.1700000000123456789.5.rand0m",
	} {
		if got := newMessage(broker.Delivery{}, &natsgo.Msg{Subject: "a.b", Reply: reply}); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n got %+v\nwant %+v", reply, got, want)
		}
	}
	for _, reply := range []string{"", "x", "$JS.ACK.S.C.2", "$JS.ACK.........", "$JS.ACK.S.C.x.y.z.t.p"} {
		_ = newMessage(broker.Delivery{}, &natsgo.Msg{Reply: reply}) // no panic
	}
}

// Reading a message and its verdict costs one allocation: the message in the interface it travels in.
func TestConsumePathAllocations(t *testing.T) {
	m := &natsgo.Msg{Subject: "a.b", Reply: "$JS.ACK.S.C.2.30.41.1700000000123456789.5"}
	var sink any
	if n := testing.AllocsPerRun(100, func() { sink = newMessage(broker.Delivery{}, m) }); n > 1 {
		t.Errorf("%v allocations per message, want 1", n)
	}
	in := &intake{words: newWords(), hungry: make(chan struct{}, 1), holding: make(chan struct{}, 1)}
	in.c = &conn{p: newProtocol(DefaultConfig())}
	var id uint64
	hold := func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		id = in.hold(m)
	}
	if n := testing.AllocsPerRun(100, func() { hold(); in.drop(id); _ = in.verdict(&broker.Ack{}) }); n > 0 {
		t.Errorf("%v allocations per verdict, want 0", n)
	}
	_ = sink
}

// The usual confirmation is recognised without reading it in full, and nothing else is taken for one.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		data   string
		header natsgo.Header
		ok     bool
		later  bool
	}{
		{data: `{"stream":"S","seq":3}`, ok: true},
		{data: `{"stream":"S", "domain":"d","seq":3,"duplicate":true}`, ok: true},
		{data: `{"seq":3,"stream":"S"}`, ok: true},
		{data: `{"stream":"S","seq":0,"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"}}`},
		{data: `{"error":{"code":400,"err_code":10060,"description":"expected stream does not match"},"stream":"S","seq":0}`},
		{data: `{"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"}}`},
		{data: `{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"},"stream":"S","seq":0}`},
		{data: `{"error":{"code":503,"err_code":10077,"description":"disk is full"},"stream":"S","seq":0}`, later: true},
		{data: `{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`, later: true},
		{data: `{"error":{"code":500,"err_code":10118,"description":"stream is offline"}}`, later: true},
		{data: `{"error":{"code":500,"err_code":10047,"description":"insufficient storage resources available"}}`, later: true},
		{header: natsgo.Header{"Status": {"503"}}, later: true},
		{data: `not json`, later: true},
		{data: `{}`, later: true},
		{data: ``, later: true},
	} {
		for _, asked := range []bool{false, true} {
			a := readAnswer(&natsgo.Msg{Data: []byte(c.data), Header: c.header}, asked)
			if (a.err == nil) != c.ok || a.later != c.later {
				t.Errorf("%s (asked %v): error %v, later %v", c.data, asked, a.err, a.later)
			}
			if asked && c.ok && (a.receipt.Stream != "S" || a.receipt.Sequence != 3) {
				t.Errorf("%s: receipt %+v", c.data, a.receipt)
			}
		}
	}
}

// spawnQuick is New with heartbeats fast enough for a test.
func spawnQuick(t *testing.T, sys *actor.System, heartbeat time.Duration, opts ...func(*Config)) actor.Ref {
	t.Helper()
	ref, err := sys.Spawn("js", broker.New(broker.Definition[Config, Publish, struct{}]{
		Key: Key, Default: DefaultConfig,
		New: func(cfg Config) (broker.Protocol[Publish, struct{}], error) {
			p := newProtocol(cfg)
			p.timing.heartbeat, p.timing.pullExpires = heartbeat, 10*heartbeat
			return p, nil
		},
	}, opts...))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func quickSystem(t *testing.T) *actor.System {
	t.Helper()
	sys, err := actor.NewSystem("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := sys.Terminate(ctx); err != nil {
			t.Error(err)
		}
	})
	return sys
}

func askStatus(t *testing.T, ref actor.Ref) broker.Status {
	t.Helper()
	s, err := actor.Ask[broker.Status](t.Context(), ref, broker.QueryStatus{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(d); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", d, what)
		}
	}
}

// A pull that is neither answered nor kept alive ends the connection, even without idleTimeout; while the server only has
// nothing to give, or may not give more before it gets verdicts, the connection stays.
func TestSilentConsumer(t *testing.T) {
	const heartbeat = 100 * time.Millisecond
	for _, start := range []func(testing.TB, ...func(*natstest.Options)) *natstest.Server{natstest.Start, natstest.StartProcess} {
		srv := start(t)
		proxy, err := chaos.New(srv.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(proxy.Close)
		sys := quickSystem(t)
		var open actor.Completion
		held := make(chan struct{}, 1)
		target, err := sys.Spawn("sink", func() actor.Actor {
			return actor.Func(func(ctx *actor.Context, _ any) error {
				open = ctx.Hold()
				held <- struct{}{}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		ref := spawnQuick(t, sys, heartbeat, func(c *Config) {
			c.Servers = []string{proxy.Addr()}
			c.Stream.Name, c.Stream.Subjects = "S", []string{"s"}
			c.Consumer.Name, c.Target = "C", target
			c.Consumer.MaxAckPending = 1
			c.Reconnect.InitialDelay = time.Hour
		})
		within(t, 10*time.Second, "connected", func() bool { return askStatus(t, ref).State == broker.StateConnected })
		<-time.After(12 * heartbeat) // nothing to give, and the first pull expires
		api := srv.JetStream()
		for range 2 { // the second one waits for the verdict on the first
			if _, err := api.Publish(t.Context(), "s", nil); err != nil {
				t.Fatal(err)
			}
		}
		<-held
		<-time.After(12 * heartbeat)
		if s := askStatus(t, ref); s.State != broker.StateConnected || s.LastError != nil {
			t.Fatalf("state %v, error %v of a healthy connection", s.State, s.LastError)
		}
		open.Done(nil)
		<-held
		open.Done(nil)
		proxy.Hole(true)
		within(t, 5*time.Second, "noticed", func() bool { return askStatus(t, ref).State == broker.StateDisconnected })
		if err := askStatus(t, ref).LastError; !errors.Is(err, ErrConsumerSilent) {
			t.Errorf("cause %v, want %v", err, ErrConsumerSilent)
		}
		proxy.Hole(false)
	}
}

// A consumer with limits on its pulls is served within them, and a pull that the server refuses is a loss with the
// server's words, not silence.
func TestPullLimits(t *testing.T) {
	srv := natstest.Start(t)
	api := srv.JetStream()
	if _, err := api.CreateStream(t.Context(), js.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.CreateConsumer(t.Context(), "S", js.ConsumerConfig{
		Durable: "C", AckPolicy: js.AckExplicitPolicy, MaxRequestBatch: 10, MaxRequestExpires: 300 * time.Millisecond,
	}); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := api.Publish(t.Context(), "s", nil); err != nil {
			t.Fatal(err)
		}
	}
	sys := quickSystem(t)
	done := make(chan struct{})
	n := 0
	target, err := sys.Spawn("sink", func() actor.Actor {
		return actor.Func(func(*actor.Context, any) error {
			if n++; n == 100 {
				close(done)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	ref := spawnQuick(t, sys, 100*time.Millisecond, func(c *Config) {
		c.Servers = []string{srv.Addr()}
		c.Stream.Name, c.Consumer.Name, c.Target = "S", "C", target
	})
	<-done
	<-time.After(time.Second) // several pulls expire
	if s := askStatus(t, ref); s.State != broker.StateConnected || s.LastError != nil {
		t.Errorf("state %v, error %v", s.State, s.LastError)
	}
}
