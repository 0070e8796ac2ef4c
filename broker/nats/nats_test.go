package nats_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/nats"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/chaos"
	"github.com/troupe-go/troupe/internal/natstest"
)

func chaosProxy(t *testing.T, srv *natstest.Server) *chaos.Proxy {
	t.Helper()
	p, err := chaos.New(srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// A publish is written when the server has read it, and arrives with everything it carries.
func TestPublishedMessageArrives(t *testing.T) {
	srv := natstest.Start(t)
	sys := newSystem(t)
	s := newSink(nil)
	ref := spawn(t, sys, "nats", nats.New(fast(srv.URL()), subscribed("greet.*", "", spawn(t, sys, "sink", s.actor))))
	connected(t, ref)
	publish(t, ref, nats.Publish{Subject: "greet.x", Reply: "back", Data: []byte("hello"), Header: map[string][]string{"Kind": {"a", "b"}}})
	eventually(t, "arrived", func() bool { return s.count() == 1 })
	if m := s.messages()[0]; m.Subject != "greet.x" || m.Reply != "back" || string(m.Data) != "hello" || len(m.Header["Kind"]) != 2 {
		t.Errorf("message %+v", m)
	}
}

func subscribed(subject, queue string, target actor.Ref) func(*nats.Config) {
	return func(c *nats.Config) {
		c.Subscriptions = append(c.Subscriptions, nats.Subscribe{Subject: subject, Queue: queue, Target: target})
	}
}

// One subscription on the wire per subject, however many targets; the last one to go ends it. What is subscribed while
// offline lands on the next connect, what is unsubscribed while offline does not come back.
func TestSubscriptionsOnTheWire(t *testing.T) {
	srv := natstest.Start(t)
	proxy := chaosProxy(t, srv)
	sys := newSystem(t)
	a, b := newSink(nil), newSink(nil)
	refA, refB := spawn(t, sys, "a", a.actor), spawn(t, sys, "b", b.actor)
	ref := spawn(t, sys, "nats", nats.New(fast(proxy.Addr()), subscribed("one", "", refA), named("ours")))
	ref.Tell(nats.Subscribe{Subject: "one", Target: refB})
	ref.Tell(nats.Subscribe{Subject: "one", Target: refB}) // again: no effect
	ref.Tell(nats.Subscribe{Subject: "two", Target: refB})
	wire := func(want string) {
		t.Helper()
		eventually(t, "on the wire: "+want, func() bool { return fmt.Sprint(srv.Subjects("ours")) == want })
	}
	wire("[one two]")
	nc := srv.Conn()
	if err := nc.Publish("one", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both targets have it", func() bool { return a.count() == 1 && b.count() == 1 })

	ref.Tell(nats.Unsubscribe{Subject: "one", Target: refA})
	status(t, ref) // the command before is done
	if err := nc.Publish("one", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one target has it", func() bool { return b.count() == 2 })
	wire("[one two]")

	proxy.Refuse()
	proxy.Reset()
	eventually(t, "offline", func() bool { return status(t, ref).State == broker.StateDisconnected })
	ref.Tell(nats.Unsubscribe{Subject: "one", Target: refB})
	ref.Tell(nats.Subscribe{Subject: "three", Target: refB})
	if err := proxy.Accept(); err != nil {
		t.Fatal(err)
	}
	wire("[three two]")
	if a.count() != 1 || b.count() != 2 {
		t.Errorf("%d and %d messages, want 1 and 2", a.count(), b.count())
	}
}

func named(name string) func(*nats.Config) { return func(c *nats.Config) { c.Name = name } }

// A target that stops is taken out of everything, and a subscription without a target ends on the wire.
func TestDeadTargetEndsItsSubscriptions(t *testing.T) {
	srv := natstest.Start(t)
	sys := newSystem(t)
	a, b := newSink(nil), newSink(nil)
	refA, refB := spawn(t, sys, "a", a.actor), spawn(t, sys, "b", b.actor)
	ref := spawn(t, sys, "nats", nats.New(fast(srv.URL()), named("ours"),
		subscribed("one", "", refA), subscribed("two", "", refA), subscribed("two", "", refB)))
	eventually(t, "subscribed", func() bool { return fmt.Sprint(srv.Subjects("ours")) == "[one two]" })
	refA.Tell(actor.PoisonPill{})
	eventually(t, "the lone one ended", func() bool { return fmt.Sprint(srv.Subjects("ours")) == "[two]" })
	if n := status(t, ref).State; n != broker.StateConnected {
		t.Errorf("state %v: the death of a target cost the connection", n)
	}
}

// Of a queue group one member gets each message, over actors and servers' clients alike; a plain subscription to the same
// subject gets them all.
func TestQueueGroupSplitsMessages(t *testing.T) {
	srv := natstest.Start(t)
	sys := newSystem(t)
	var sinks [3]*sink
	for i := range sinks {
		sinks[i] = newSink(nil)
		target := spawn(t, sys, fmt.Sprint("sink", i), sinks[i].actor)
		queue := "workers"
		if i == 2 {
			queue = ""
		}
		ref := spawn(t, sys, fmt.Sprint("nats", i), nats.New(fast(srv.URL()), subscribed("jobs", queue, target)))
		connected(t, ref)
	}
	nc := srv.Conn()
	for range 200 {
		if err := nc.Publish("jobs", nil); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all arrived", func() bool { return sinks[0].count()+sinks[1].count() == 200 && sinks[2].count() == 200 })
	if sinks[0].count() == 0 || sinks[1].count() == 0 {
		t.Errorf("%d and %d of 200: one member got nothing", sinks[0].count(), sinks[1].count())
	}
}

func ask(ref actor.Ref, r nats.Request) (nats.Message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return actor.Ask[nats.Message](ctx, ref, r)
}

// A request is answered by whoever listens, an actor through its broker included.
func TestRequestIsAnswered(t *testing.T) {
	srv := natstest.Start(t)
	sys := newSystem(t)
	echo := spawn(t, sys, "echo", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			if m, ok := msg.(nats.Message); ok {
				ctx.Reply(m.Response(append([]byte("re: "), m.Data...)))
			}
			return nil
		})
	})
	server := spawn(t, sys, "server", nats.New(fast(srv.URL()), subscribed("echo", "", echo)))
	client := spawn(t, sys, "client", nats.New(fast(srv.URL())))
	connected(t, server)
	connected(t, client)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			want := fmt.Sprint("re: ", i)
			if m, err := ask(client, nats.Request{Subject: "echo", Data: fmt.Append(nil, i)}); err != nil || string(m.Data) != want {
				t.Errorf("got %q, %v; want %q", m.Data, err, want)
			}
		})
	}
	wg.Wait()
}

// A request ends with what went wrong, soon: nobody listens, no answer in time, no connection, the connection lost, too
// many, no permission.
func TestRequestEndsWithTheReason(t *testing.T) {
	srv := natstest.Start(t, func(o *natstest.Options) {
		o.Config = `authorization { users = [
			{ user: u, password: longpassword, permissions: { publish: { deny: ["secret"] } } },
			{ user: plain, password: longpassword } ] }` + "\n"
	})
	proxy := chaosProxy(t, srv)
	sys := newSystem(t)
	nc := srv.Conn(natsgo.UserInfo("plain", "longpassword"))
	var heard atomic.Int32
	if _, err := nc.Subscribe("mute", func(*natsgo.Msg) { heard.Add(1) }); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ref := spawn(t, sys, "nats", nats.New(fast(proxy.Addr()), func(c *nats.Config) {
		c.User, c.Password, c.MaxRequests = "u", hocon.NewSecret("longpassword"), 2
	}))
	connected(t, ref)
	expect := func(r nats.Request, want error, within time.Duration) {
		t.Helper()
		start := time.Now()
		if _, err := ask(ref, r); !errors.Is(err, want) {
			t.Errorf("request to %s: %v, want %v", r.Subject, err, want)
		}
		if d := time.Since(start); d > within {
			t.Errorf("request to %s took %v", r.Subject, d)
		}
	}
	expect(nats.Request{Subject: "nobody"}, nats.ErrNoResponders, 2*time.Second)
	expect(nats.Request{Subject: "mute", Timeout: 50 * time.Millisecond}, nats.ErrRequestTimeout, 2*time.Second)
	expect(nats.Request{Subject: "secret", Timeout: time.Minute}, natsgo.ErrPermissionViolation, 2*time.Second)

	before := heard.Load()
	ends := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := ask(ref, nats.Request{Subject: "mute", Timeout: time.Minute})
			ends <- err
		}()
	}
	eventually(t, "both wait", func() bool { return heard.Load() == before+2 })
	expect(nats.Request{Subject: "mute"}, broker.ErrBufferFull, 2*time.Second)
	proxy.Refuse()
	proxy.Reset()
	for range 2 {
		if err := <-ends; !errors.Is(err, broker.ErrLinkClosed) {
			t.Errorf("request through a lost connection: %v, want %v", err, broker.ErrLinkClosed)
		}
	}
	eventually(t, "offline", func() bool { return status(t, ref).State == broker.StateDisconnected })
	expect(nats.Request{Subject: "mute"}, broker.ErrNotConnected, 2*time.Second)
}

// A request that was told has no way back: it is a dead letter that says so.
func TestToldRequestIsRefused(t *testing.T) {
	srv := natstest.Start(t)
	sys := newSystem(t)
	j := record(t, sys)
	ref := spawn(t, sys, "nats", nats.New(fast(srv.URL())))
	connected(t, ref)
	ref.Tell(nats.Request{Subject: "x"})
	eventually(t, "dead letter", func() bool { return len(find[actor.DeadLetter](j)) == 1 })
	if l := find[actor.DeadLetter](j)[0]; !errors.Is(l.Reason, nats.ErrNotAsked) {
		t.Errorf("dead letter %+v", l)
	}
}

// Refusals are final and cost nothing else: too large is known before sending, a missing permission when the server has
// read the message.
func TestRefusedPublish(t *testing.T) {
	for _, start := range []func(testing.TB, ...func(*natstest.Options)) *natstest.Server{natstest.Start, natstest.StartProcess} {
		srv := start(t, func(o *natstest.Options) {
			o.Config = "max_payload: 1024\n" +
				`authorization { users = [ { user: u, password: longpassword, permissions: { publish: { deny: ["secret.>"] }, subscribe: { deny: ["hidden"] } } } ] }` + "\n"
		})
		sys := newSystem(t)
		j := record(t, sys)
		s := newSink(nil)
		sink := spawn(t, sys, "sink", s.actor)
		ref := spawn(t, sys, "nats", nats.New(fast(srv.URL()), subscribed("open", "", sink), subscribed("hidden", "", sink), func(c *nats.Config) {
			c.User, c.Password = "u", hocon.NewSecret("longpassword")
		}))
		connected(t, ref)

		// W44's kind: a subscription that is refused is an event, the other one lives.
		eventually(t, "an event", func() bool { return len(find[broker.SubscriptionFailed](j)) > 0 })
		failed := find[broker.SubscriptionFailed](j)
		if len(failed) != 1 || failed[0].Key != "hidden" || !errors.Is(failed[0].Cause, natsgo.ErrPermissionViolation) {
			t.Errorf("events %+v, want one for hidden", failed)
		}
		for _, p := range []nats.Publish{{Subject: "open", Data: make([]byte, 2000)}, {Subject: "secret.a"}} {
			if u := refused(t, ref, p); u.Reason != broker.ReasonRejected {
				t.Errorf("publish to %s ended as %v (%v), want rejected", p.Subject, u.Reason, u.Err)
			}
		}
		for range 10 { // among others, only the culprit
			ref.Tell(nats.Publish{Subject: "open"})
			ref.Tell(nats.Publish{Subject: "secret.b"})
		}
		eventually(t, "all ended", func() bool { b := status(t, ref).Books; return b.Written == 10 && b.Undelivered == 12 })
		eventually(t, "all arrived", func() bool { return s.count() == 10 })
		if n := len(find[broker.Disconnected](j)); n != 0 {
			t.Errorf("%d connections lost", n)
		}
	}
}

// A bad command is refused before it is accepted.
func TestBadCommandIsRefused(t *testing.T) {
	srv := natstest.Start(t)
	sys := newSystem(t)
	sink := spawn(t, sys, "sink", newSink(nil).actor)
	ref := spawn(t, sys, "nats", nats.New(fast(srv.URL())))
	for _, cmd := range []any{
		nats.Publish{}, nats.Publish{Subject: "a.*"}, nats.Publish{Subject: "a\r\nPING"}, nats.Publish{Subject: "a", Reply: "b c"},
		nats.Publish{Subject: "a", Header: map[string][]string{"k:": nil}},
		nats.Subscribe{Target: sink}, nats.Subscribe{Subject: "a.>.b", Target: sink}, nats.Subscribe{Subject: "a", Queue: "b c", Target: sink},
		nats.Subscribe{Subject: "a"}, nats.Request{Subject: "a", Timeout: -1}, nats.Message{Subject: "x"}.Response(nil),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := actor.Ask[any](ctx, ref, cmd)
		cancel()
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%T %+v: error %v, want a refusal", cmd, cmd, err)
		}
	}
	if b := status(t, ref).Books; b.Accepted != 0 {
		t.Errorf("books %+v, want nothing accepted", b)
	}
}

// A target that is slower than the flow: while the bounds hold nothing is dropped and the order is kept; beyond them what
// is dropped is counted exactly and told by events.
func TestSlowTarget(t *testing.T) {
	for _, c := range []struct {
		name  string
		bound int
		drops bool
	}{{"within the bounds", 10_000, false}, {"beyond the bounds", 100, true}} {
		t.Run(c.name, func(t *testing.T) {
			const n, window = 5000, 16
			srv := natstest.Start(t)
			sys := newSystem(t)
			j := record(t, sys)
			release := make(chan struct{})
			s := newSink(func(*actor.Context, nats.Message) error { <-release; return nil })
			ref := spawn(t, sys, "nats", nats.New(fast(srv.URL()), subscribed("fast", "", spawn(t, sys, "sink", s.actor)), func(cfg *nats.Config) {
				cfg.InboundWindow, cfg.PendingMessages = window, c.bound
			}))
			connected(t, ref)
			nc := srv.Conn()
			for i := range n {
				if err := nc.Publish("fast", fmt.Append(nil, i)); err != nil {
					t.Fatal(err)
				}
			}
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			publish(t, ref, nats.Publish{Subject: "other"}) // its PONG is behind everything that was sent to us
			if in := status(t, ref).Inbound.Unhandled; in != window {
				t.Errorf("%d unhandled messages, want the window of %d", in, window)
			}
			close(release)
			dropped := func() (d int) {
				for _, e := range find[nats.MessagesDropped](j) {
					d += e.Count
				}
				return d
			}
			eventually(t, "all accounted for", func() bool { return s.count()+dropped() == n })
			if d := dropped(); c.drops != (d > 0) {
				t.Errorf("%d messages dropped", d)
			}
			last := -1
			for _, m := range s.messages() {
				var i int
				if _, err := fmt.Sscan(string(m.Data), &i); err != nil || i <= last {
					t.Fatalf("message %q after %d: %v", m.Data, last, err)
				}
				last = i
			}
			t.Logf("%d handled, %d dropped in %d events", s.count(), dropped(), len(find[nats.MessagesDropped](j)))
		})
	}
}

// What was told during an outage goes out after it, in order and before what comes later.
func TestOutageKeepsOrder(t *testing.T) {
	srv := natstest.Start(t)
	proxy := chaosProxy(t, srv)
	sys := newSystem(t)
	ref := spawn(t, sys, "nats", nats.New(fast(proxy.Addr())))
	connected(t, ref)
	nc := srv.Conn()
	sub, err := nc.SubscribeSync("out")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	proxy.Refuse()
	proxy.Reset()
	eventually(t, "offline", func() bool { return status(t, ref).State == broker.StateDisconnected })
	for i := range 500 {
		ref.Tell(nats.Publish{Subject: "out", Data: fmt.Append(nil, i)})
	}
	if err := proxy.Accept(); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if string(m.Data) != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, m.Data)
		}
	}
}

// Killing the server: what was told while it was away arrives at who listens afterwards; the books balance, and what the
// server had not read is sent again.
func TestKilledServer(t *testing.T) {
	srv := natstest.StartProcess(t)
	sys := newSystem(t)
	j := record(t, sys)
	s := newSink(nil)
	consumer := spawn(t, sys, "consumer", nats.New(fast(srv.URL()), subscribed("k", "", spawn(t, sys, "sink", s.actor))))
	publisher := spawn(t, sys, "publisher", nats.New(fast(srv.URL()), func(c *nats.Config) { c.OutboundBuffer = 10_000 }))
	n := 0
	for range 3 {
		connected(t, consumer)
		connected(t, publisher)
		for range 500 {
			publisher.Tell(nats.Publish{Subject: "k", Data: fmt.Append(nil, n)})
			n++
		}
		srv.Kill()
		for range 500 {
			publisher.Tell(nats.Publish{Subject: "k", Data: fmt.Append(nil, n)})
			n++
		}
		srv.Restart()
	}
	eventually(t, "all written", func() bool { return status(t, publisher).Books.Written == uint64(n) })
	b := status(t, publisher).Books
	if b.Accepted != uint64(n) || b.Undelivered != 0 || b.Refused != 0 {
		t.Errorf("books %+v, want %d accepted and written", b, n)
	}
	t.Logf("books %+v, %d losses, %d of %d delivered: core NATS is at most once", b, len(find[broker.Disconnected](j)), s.count(), n)
}

// A credential shows up nowhere, wherever it was given.
func TestCredentialsStaySecret(t *testing.T) {
	srv := natstest.Start(t, signIn)
	sys := newSystem(t)
	j := record(t, sys)
	for i, opt := range []func(*nats.Config){
		func(c *nats.Config) { c.Servers = []string{"nats://svc:wr0ng-pass@" + srv.Addr()} },
		func(c *nats.Config) {
			c.Servers = []string{"svc:wr0ng-pass@" + srv.Addr(), "nats://x:wr0ng-pass@127.0.0.1:1"}
		},
		func(c *nats.Config) {
			c.Servers, c.User, c.Password = []string{srv.Addr()}, "svc", hocon.NewSecret("wr0ng-pass")
		},
		func(c *nats.Config) { c.Servers, c.Token = []string{srv.Addr()}, hocon.NewSecret("wr0ng-pass") },
	} {
		ref := spawn(t, sys, fmt.Sprint("nats", i), nats.New(fast(""), opt))
		eventually(t, "refused", func() bool { return status(t, ref).LastError != nil })
		st := status(t, ref)
		if text := fmt.Sprintf("%+v %v %+v", st, st.LastError, j.entries()); strings.Contains(text, "wr0ng") {
			t.Errorf("case %d: the password is in %s", i, text)
		}
		if strings.Contains(st.Endpoint, "nats://nats://") || !strings.HasPrefix(st.Endpoint, "nats://") {
			t.Errorf("case %d: label %q", i, st.Endpoint)
		}
	}
}
