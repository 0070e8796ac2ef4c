package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/chaos"
	"github.com/troupe-go/troupe/internal/natstest"
)

// A refusal that repeating would not change ends the message with the reason, and costs neither the connection nor the
// messages behind it.
func TestRefusalIsFinalAndCostsNothingElse(t *testing.T) {
	srv := natstest.Start(t, func(o *natstest.Options) { o.Config = "max_payload: 4096\n" })
	sys := newSystem(t)
	j := record(t, sys)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(actor.Ref{})))
	publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "first"})

	wrong := uint64(77)
	for _, c := range []struct {
		name string
		p    jetstream.Publish
		is   func(error) bool
	}{
		{"no stream takes the subject", jetstream.Publish{Subject: "elsewhere"}, func(err error) bool { return errors.Is(err, jetstream.ErrNoStream) }},
		{"larger than max_payload", jetstream.Publish{Subject: "orders.a", Data: make([]byte, 5000)}, func(err error) bool { return err != nil }},
		{"wrong last sequence", jetstream.Publish{Subject: "orders.a", ExpectedLastSequence: &wrong}, apiError(10071)},
		{"wrong last sequence of the subject", jetstream.Publish{Subject: "orders.a", ExpectedLastSubjectSequence: &wrong}, apiError(10071)},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := refused(t, ref, c.p)
			if u.Reason != broker.ReasonRejected || !c.is(u) {
				t.Errorf("ended with reason %v, cause %v", u.Reason, u.Err)
			}
			publish(t, ref, jetstream.Publish{Subject: "orders.a"})
		})
	}
	if n := len(find[broker.Disconnected](j)); n != 0 {
		t.Errorf("%d connections lost", n)
	}
	b := status(t, ref).Books
	if b.Accepted != 9 || b.Acked != 5 || b.Undelivered != 4 {
		t.Errorf("books %+v, want 9 accepted, 5 acked, 4 undelivered", b)
	}
}

func apiError(code js.ErrorCode) func(error) bool {
	return func(err error) bool {
		var e *js.APIError
		return errors.As(err, &e) && e.ErrorCode == code
	}
}

// A stream that is full and was told to refuse is final as well; one with discard old takes the message.
func TestFullStreamRefuses(t *testing.T) {
	srv := natstest.Start(t)
	ref := spawn(t, newSystem(t), "js", jetstream.New(fast(srv.URL()), orders(actor.Ref{}), func(c *jetstream.Config) {
		c.Stream.MaxMessages, c.Stream.Discard = 1, jetstream.DiscardNew
	}))
	publish(t, ref, jetstream.Publish{Subject: "orders.a"})
	if u := refused(t, ref, jetstream.Publish{Subject: "orders.a"}); u.Reason != broker.ReasonRejected {
		t.Errorf("reason %v (%v), want rejected", u.Reason, u.Err)
	}
}

// A bad command is refused before it is accepted: the books do not know it.
func TestBadCommandIsRefused(t *testing.T) {
	srv := natstest.Start(t)
	sys := newSystem(t)
	j := record(t, sys)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(actor.Ref{})))
	for _, p := range []jetstream.Publish{
		{}, {Subject: "orders.*"}, {Subject: "orders.>"}, {Subject: "orders..a"}, {Subject: ".a"}, {Subject: "a b"}, {Subject: "a\r\nPUB x"},
		{Subject: "orders.a", Header: map[string][]string{"bad key": {"v"}}},
		{Subject: "orders.a", Header: map[string][]string{"Key": {"v\r\nX: y"}}},
		{Subject: "orders.a", ID: "two\nlines"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := actor.Ask[broker.Receipt](ctx, ref, p)
		cancel()
		var u *broker.UndeliveredError
		if err == nil || errors.As(err, &u) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v: error %v, want a refusal", p, err)
		}
		ref.Tell(p)
	}
	eventually(t, "each told one is a dead letter", func() bool { return len(find[actor.DeadLetter](j)) == 10 })
	if b := status(t, ref).Books; b.Accepted != 0 {
		t.Errorf("books %+v, want nothing accepted", b)
	}
}

// W28, poison by size: the message that the server would cut the connection for is set aside, and the ones around it
// arrive.
func TestPoisonBySizeIsSetAside(t *testing.T) {
	srv := natstest.Start(t, func(o *natstest.Options) { o.Config = "max_payload: 1024\n" })
	proxy := chaosProxy(t, srv)
	proxy.Refuse() // queued while offline: the limit is not known yet
	sys := newSystem(t)
	j := record(t, sys)
	ref := spawn(t, sys, "js", jetstream.New(fast(proxy.Addr()), orders(actor.Ref{})))
	for i := range 9 {
		p := jetstream.Publish{Subject: "orders.a", ID: fmt.Sprint(i)}
		if i == 4 {
			p.Data = make([]byte, 2000)
		}
		ref.Tell(p)
	}
	eventually(t, "tried to connect", func() bool { return len(find[broker.ReconnectAttempt](j)) > 0 })
	accept(t, proxy)
	eventually(t, "all but one acked", func() bool { return status(t, ref).Books.Acked == 8 })
	letters := find[actor.DeadLetter](j)
	if len(letters) != 1 {
		t.Fatalf("dead letters %+v, want one", letters)
	}
	u, _ := letters[0].Msg.(broker.Undelivered)
	if p, _ := u.Payload.(jetstream.Publish); u.Reason != broker.ReasonRejected || p.ID != "4" {
		t.Errorf("dead letter %+v, want message 4 rejected", u)
	}
	if n := proxy.Dials(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// A message without an id gets one that it keeps: the confirmation lost with the connection, it is sent again and stored
// once.
func TestResentMessageIsStoredOnce(t *testing.T) {
	srv := natstest.Start(t)
	proxy := chaosProxy(t, srv)
	sys := newSystem(t)
	ref := spawn(t, sys, "js", jetstream.New(fast(proxy.Addr()), orders(actor.Ref{})))
	const n = 200
	for range 5 { // cut somewhere in the middle of what follows, five times
		connected(t, ref)
		proxy.CutAfter(9000)
		for range n / 5 {
			ref.Tell(jetstream.Publish{Subject: "orders.a", Data: make([]byte, 200)})
		}
		eventually(t, "cut", func() bool {
			return proxy.Live() == 0 || status(t, ref).Books.InFlight+status(t, ref).Books.Queued == 0
		})
		proxy.CutAfter(0)
	}
	eventually(t, "all acked", func() bool { return status(t, ref).Books.Acked == n })
	b := status(t, ref).Books
	if b.Resent == 0 {
		t.Errorf("books %+v: nothing was sent again, so the test shows nothing", b)
	}
	stream, err := srv.JetStream().Stream(t.Context(), "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	if stored := stream.CachedInfo().State.Msgs; stored != n {
		t.Errorf("%d messages stored, want %d; books %+v", stored, n, b)
	}
}

// A condition on the last sequence does not turn against a message that is sent again: the stream knows its id first.
func TestConditionalPublishSurvivesLostConfirmation(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			srv := kind.start(t)
			proxy := chaosProxy(t, srv)
			ref := spawn(t, newSystem(t), "js", jetstream.New(fast(proxy.Addr()), orders(actor.Ref{})))
			connected(t, ref)
			proxy.Latency(100 * time.Millisecond) // the confirmation is on its way when the link falls
			zero := uint64(0)
			type result struct {
				r   broker.Receipt
				err error
			}
			done := make(chan result, 1)
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				r, err := actor.Ask[broker.Receipt](ctx, ref, jetstream.Publish{Subject: "orders.a", ID: "once", ExpectedLastSequence: &zero})
				done <- result{r, err}
			}()
			plain := srv.JetStream()
			eventually(t, "stored", func() bool {
				s, err := plain.Stream(t.Context(), "ORDERS")
				return err == nil && s.CachedInfo().State.Msgs == 1
			})
			proxy.Reset()
			proxy.Latency(0)
			got := <-done
			if r, ok := got.r.Detail.(jetstream.Receipt); got.err != nil || !ok || !r.Duplicate || r.Sequence != 1 || got.r.Resends == 0 {
				t.Errorf("answered %+v, %v; want the receipt of sequence 1 as a duplicate, after a resend", got.r, got.err)
			}
		})
	}
}

// W47: a server that does not answer a publish does not hold it for ever; the outcome is unknown and it is sent again.
func TestUnansweredPublishIsSentAgain(t *testing.T) {
	srv := natstest.Start(t)
	ref := spawn(t, newSystem(t), "js", jetstream.New(fast(srv.URL()), func(c *jetstream.Config) {
		c.PublishTimeout = 50 * time.Millisecond
	}))
	connected(t, ref)
	nc := srv.Conn()
	sub, err := nc.SubscribeSync("mute.>") // takes messages and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ref.Tell(jetstream.Publish{Subject: "mute.a", ID: "q"})
	for i := range 2 {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatalf("transmission %d: %v", i+1, err)
		}
		if id := m.Header.Get("Nats-Msg-Id"); id != "q" {
			t.Fatalf("transmission %d has the id %q", i+1, id)
		}
		if i == 1 {
			if err := m.Respond([]byte(`{"stream":"X","seq":9}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "acked", func() bool { return status(t, ref).Books.Acked == 1 })
	if b := status(t, ref).Books; b.Resent != 1 {
		t.Errorf("books %+v, want sent again once", b)
	}
}

// A refusal that may pass is not final: the message is sent again until it is taken.
func TestTemporaryRefusalIsSentAgain(t *testing.T) {
	srv := natstest.Start(t)
	ref := spawn(t, newSystem(t), "js", jetstream.New(fast(srv.URL())))
	connected(t, ref)
	nc := srv.Conn()
	answers := []string{
		`{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`,
		`{"stream":"X","seq":0,"error":{"code":503,"err_code":10077,"description":"no space left on device"}}`,
		`{"stream":"X","seq":3}`,
	}
	sub, err := nc.SubscribeSync("flaky.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ref.Tell(jetstream.Publish{Subject: "flaky.a"})
	for _, a := range answers {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Respond([]byte(a)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "acked", func() bool { return status(t, ref).Books.Acked == 1 })
}

// A publish without permission is told by the server beside the conversation; it must not wait for an answer.
func TestDeniedPublishIsRejected(t *testing.T) {
	srv := natstest.Start(t, func(o *natstest.Options) {
		o.Config = `authorization { users = [ { user: u, password: longpassword, permissions: { publish: { deny: ["orders.secret"] } } } ] }` + "\n"
	})
	ref := spawn(t, newSystem(t), "js", jetstream.New(fast(srv.URL()), orders(actor.Ref{}), func(c *jetstream.Config) {
		c.User, c.Password = "u", hocon.NewSecret("longpassword")
	}))
	start := time.Now()
	u := refused(t, ref, jetstream.Publish{Subject: "orders.secret"})
	if u.Reason != broker.ReasonRejected || time.Since(start) > 5*time.Second {
		t.Errorf("ended after %v with reason %v, cause %v; want rejected at once", time.Since(start), u.Reason, u.Err)
	}
	publish(t, ref, jetstream.Publish{Subject: "orders.open"})
}

// The window is the configured one, and with 1 every message waits for the one before.
func TestInFlightBoundsUnconfirmed(t *testing.T) {
	srv := natstest.Start(t)
	ref := spawn(t, newSystem(t), "js", jetstream.New(fast(srv.URL()), func(c *jetstream.Config) { c.InFlight = 1 }))
	connected(t, ref)
	nc := srv.Conn()
	sub, err := nc.SubscribeSync("one.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ref.Tell(jetstream.Publish{Subject: "one.a"})
	}
	for i := range 3 {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sub.NextMsg(30 * time.Millisecond); err == nil {
			t.Fatalf("a second message came before the answer to message %d", i+1)
		}
		if err := m.Respond(fmt.Appendf(nil, `{"stream":"X","seq":%d}`, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "acked", func() bool { return status(t, ref).Books.Acked == 3 })
}

func chaosProxy(t *testing.T, srv *natstest.Server) *chaos.Proxy {
	t.Helper()
	p, err := chaos.New(srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func accept(t *testing.T, p *chaos.Proxy) {
	t.Helper()
	if err := p.Accept(); err != nil {
		t.Fatal(err)
	}
}

type kind struct {
	name  string
	start func(testing.TB, ...func(*natstest.Options)) *natstest.Server
}

// kinds are the servers that a test should hold for.
func kinds() []kind {
	return []kind{{"embedded", natstest.Start}, {"installed", natstest.StartProcess}}
}
