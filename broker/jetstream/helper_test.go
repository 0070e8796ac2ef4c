package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
)

// TestMain leaves out two goroutines of the embedded server: a stream that is made in the moment of its shutdown keeps them.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

// patience bounds every wait of these tests.
const patience = 20 * time.Second

func newSystem(t testing.TB) *actor.System {
	t.Helper()
	sys, err := actor.NewSystem("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, sys) })
	return sys
}

func end(t testing.TB, sys *actor.System) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := sys.Terminate(ctx); err != nil {
		t.Errorf("terminate: %v", err)
	}
}

func spawn(t testing.TB, sys *actor.System, name string, new func() actor.Actor) actor.Ref {
	t.Helper()
	ref, err := sys.Spawn(name, new)
	if err != nil {
		t.Fatalf("spawn %s: %v", name, err)
	}
	return ref
}

// fast makes retries quick; tests add their own.
func fast(url string) func(*jetstream.Config) {
	return func(c *jetstream.Config) {
		c.Servers = []string{url}
		c.Reconnect.InitialDelay, c.Reconnect.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	}
}

// orders makes the stream ORDERS with orders.>, and with a target the consumer WORKER.
func orders(target actor.Ref) func(*jetstream.Config) {
	return func(c *jetstream.Config) {
		c.Stream.Name, c.Stream.Subjects = "ORDERS", []string{"orders.>"}
		if !target.IsZero() {
			c.Consumer.Name, c.Target = "WORKER", target
		}
	}
}

// publish asks and fails the test if the message is not confirmed.
func publish(t testing.TB, ref actor.Ref, p jetstream.Publish) jetstream.Receipt {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := actor.Ask[broker.Receipt](ctx, ref, p)
	if err != nil {
		t.Fatalf("publish %s: %v", p.ID, err)
	}
	receipt, ok := r.Detail.(jetstream.Receipt)
	if r.Outcome != broker.Acked || !ok {
		t.Fatalf("receipt %+v, want Acked with a jetstream.Receipt", r)
	}
	return receipt
}

// refused asks and returns the error.
func refused(t testing.TB, ref actor.Ref, p jetstream.Publish) *broker.UndeliveredError {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := actor.Ask[broker.Receipt](ctx, ref, p)
	var u *broker.UndeliveredError
	if !errors.As(err, &u) {
		t.Fatalf("got receipt %+v, error %v; want an UndeliveredError", r, err)
	}
	return u
}

func status(t testing.TB, ref actor.Ref) broker.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := actor.Ask[broker.Status](ctx, ref, broker.QueryStatus{})
	if err != nil {
		t.Fatalf("status: %v", err)
	}
	return s
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

func connected(t testing.TB, ref actor.Ref) {
	t.Helper()
	eventually(t, "connected", func() bool { return status(t, ref).State == broker.StateConnected })
}

// sink is a target that notes what it got.
type sink struct {
	mu     sync.Mutex
	got    []jetstream.Message
	handle func(*actor.Context, jetstream.Message) error
}

func newSink(handle func(*actor.Context, jetstream.Message) error) *sink {
	return &sink{handle: handle}
}

func (s *sink) actor() actor.Actor {
	return actor.Func(func(ctx *actor.Context, msg any) error {
		m, ok := msg.(jetstream.Message)
		if !ok {
			return fmt.Errorf("got a %T", msg)
		}
		s.mu.Lock()
		s.got = append(s.got, m)
		s.mu.Unlock()
		if s.handle != nil {
			return s.handle(ctx, m)
		}
		return nil
	})
}

func (s *sink) messages() []jetstream.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]jetstream.Message(nil), s.got...)
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

// ids is how often each message id came.
func (s *sink) ids() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for _, m := range s.got {
		out[m.ID()]++
	}
	return out
}

// journal collects events and dead letters.
type journal struct {
	mu   sync.Mutex
	all  []any
	when []time.Time
}

func record(t testing.TB, sys *actor.System) *journal {
	t.Helper()
	j := &journal{}
	ref := spawn(t, sys, "journal", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.all, j.when = append(j.all, msg), append(j.when, time.Now())
			return nil
		})
	})
	actor.Subscribe[broker.Event](sys.EventStream(), ref)
	actor.Subscribe[actor.DeadLetter](sys.EventStream(), ref)
	return j
}

func (j *journal) entries() []any {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]any(nil), j.all...)
}

// find returns the entries of one type, oldest first.
func find[T any](j *journal) (out []T) {
	for _, e := range j.entries() {
		if v, ok := e.(T); ok {
			out = append(out, v)
		}
	}
	return out
}

// firstAt is when the first entry of one type came; zero if none did.
func firstAt[T any](j *journal) time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, e := range j.all {
		if _, ok := e.(T); ok {
			return j.when[i]
		}
	}
	return time.Time{}
}

func streamWithLimits() js.StreamConfig {
	return js.StreamConfig{Name: "ORDERS", Subjects: []string{"old.>"}, MaxMsgs: 1234, Description: "keep me"}
}

func ackNone() js.ConsumerConfig {
	return js.ConsumerConfig{Durable: "WORKER", AckPolicy: js.AckNonePolicy}
}
