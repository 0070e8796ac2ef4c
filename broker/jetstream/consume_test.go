package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/internal/natstest"
)

var errHandler = errors.New("handler failed")

// fill stores n messages in ORDERS, ids 0 to n-1.
func fill(t *testing.T, api js.JetStream, n int) {
	t.Helper()
	_, err := api.CreateStream(t.Context(), js.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
	if err != nil && !errors.Is(err, js.ErrStreamNameAlreadyInUse) {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := api.Publish(t.Context(), "orders.a", []byte(fmt.Sprint(i)), js.WithMsgID(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
}

func consumerInfo(t *testing.T, api js.JetStream) *js.ConsumerInfo {
	t.Helper()
	c, err := api.Consumer(t.Context(), "ORDERS", "WORKER")
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo()
}

// settled waits until every message of the stream has a verdict.
func settled(t *testing.T, api js.JetStream) {
	t.Helper()
	eventually(t, "nothing pending at the server", func() bool {
		i := consumerInfo(t, api)
		return i.NumAckPending == 0 && i.NumPending == 0
	})
}

// What the handler returns decides: nil acknowledges, an error brings the message back after redelivery.initialDelay, RetryAfter after
// its own delay, Discard never.
func TestVerdictsOfTheHandler(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		again bool
		after time.Duration
	}{
		{"an error", errHandler, true, 300 * time.Millisecond},
		{"Reject", actor.Reject(errHandler), true, 300 * time.Millisecond},
		{"RetryAfter", actor.Reject(broker.RetryAfter(errHandler, 100*time.Millisecond)), true, 100 * time.Millisecond},
		{"Discard", actor.Reject(broker.Discard(errHandler)), false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := natstest.Start(t)
			api := srv.JetStream()
			fill(t, api, 1)
			sys := newSystem(t)
			var mu sync.Mutex
			var came []time.Time
			s := newSink(func(*actor.Context, jetstream.Message) error {
				mu.Lock()
				defer mu.Unlock()
				came = append(came, time.Now())
				if len(came) == 1 {
					return c.err
				}
				return nil
			})
			spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor)), func(c *jetstream.Config) {
				c.Redelivery.InitialDelay = 300 * time.Millisecond
			}))
			eventually(t, "delivered", func() bool { return s.count() > 0 })
			settled(t, api)
			mu.Lock()
			defer mu.Unlock()
			if !c.again {
				if len(came) != 1 {
					t.Errorf("delivered %d times, want once", len(came))
				}
				return
			}
			if len(came) != 2 || s.messages()[1].Deliveries != 2 {
				t.Fatalf("delivered %d times, want twice", len(came))
			}
			if d := came[1].Sub(came[0]); d < c.after || d > c.after+time.Second {
				t.Errorf("came again after %v, want %v", d, c.after)
			}
		})
	}
}

// W28: a handler that takes many times ackWait is not run a second time meanwhile, because the wait is extended.
func TestSlowHandlerIsNotRedelivered(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			srv := kind.start(t)
			api := srv.JetStream()
			fill(t, api, 5)
			sys := newSystem(t)
			var held []actor.Completion
			var mu sync.Mutex
			s := newSink(func(ctx *actor.Context, _ jetstream.Message) error {
				mu.Lock()
				defer mu.Unlock()
				held = append(held, ctx.Hold())
				return nil
			})
			spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor)), func(c *jetstream.Config) {
				c.Consumer.AckWait = 300 * time.Millisecond
			}))
			eventually(t, "all delivered", func() bool { return s.count() == 5 })
			<-time.After(5 * 300 * time.Millisecond)
			mu.Lock()
			for _, done := range held {
				done.Done(nil)
			}
			mu.Unlock()
			settled(t, api)
			if n := s.count(); n != 5 {
				t.Errorf("%d deliveries of 5 messages", n)
			}
		})
	}
}

// In manual mode the message's own Ack and Nack decide, from any goroutine and once.
func TestManualVerdicts(t *testing.T) {
	srv := natstest.Start(t)
	api := srv.JetStream()
	fill(t, api, 3)
	sys := newSystem(t)
	s := newSink(func(_ *actor.Context, m jetstream.Message) error {
		go func() {
			if m.ID() == "1" && m.Deliveries == 1 {
				m.Nack(broker.RetryAfter(errHandler, 10*time.Millisecond))
				m.Ack() // too late
				return
			}
			m.Ack()
			m.Ack()
		}()
		return nil
	})
	spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor)), func(c *jetstream.Config) {
		c.AckMode = broker.Manual
	}))
	eventually(t, "delivered", func() bool { return s.count() == 4 })
	settled(t, api)
	if got := s.ids(); got["0"] != 1 || got["1"] != 2 || got["2"] != 1 {
		t.Errorf("deliveries %v, want message 1 twice and the others once", got)
	}
}

// W25: what is not handled is bounded by inboundWindow, here and at the server: the rest stays in the stream.
func TestWindowBoundsWhatIsFetched(t *testing.T) {
	const window = 8
	srv := natstest.Start(t)
	api := srv.JetStream()
	fill(t, api, 100)
	sys := newSystem(t)
	release := make(chan struct{})
	s := newSink(func(ctx *actor.Context, _ jetstream.Message) error {
		select {
		case <-release:
			return nil
		default:
		}
		done := ctx.Hold()
		go func() { <-release; done.Done(nil) }()
		return nil
	})
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor)), func(c *jetstream.Config) {
		c.InboundWindow = window
	}))
	eventually(t, "window full", func() bool { return s.count() == window })
	for range 5 {
		<-time.After(20 * time.Millisecond)
		if n, i := s.count(), consumerInfo(t, api); n > window || i.NumAckPending > window {
			t.Fatalf("%d messages at the target and %d fetched, want at most %d", n, i.NumAckPending, window)
		}
	}
	if in := status(t, ref).Inbound.Unhandled; in != window {
		t.Errorf("status says %d unhandled messages, want %d", in, window)
	}
	close(release)
	eventually(t, "all delivered", func() bool { return s.count() == 100 })
	settled(t, api)
	for i, m := range s.messages() {
		if m.ID() != fmt.Sprint(i) {
			t.Fatalf("message %d has the id %s: order is lost", i, m.ID())
		}
	}
}

// Somebody deletes the consumer: within a second there is an event and a new consumer, and messages go on arriving.
func TestDeletedConsumerIsMadeAgain(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			srv := kind.start(t)
			api := srv.JetStream()
			fill(t, api, 3)
			sys := newSystem(t)
			j := record(t, sys)
			s := newSink(nil)
			ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor))))
			eventually(t, "consuming", func() bool { return s.count() == 3 })
			settled(t, api)

			start := time.Now()
			if err := api.DeleteConsumer(t.Context(), "ORDERS", "WORKER"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "event", func() bool { return len(find[broker.SubscriptionFailed](j)) > 0 })
			event := firstAt[broker.SubscriptionFailed](j).Sub(start)
			eventually(t, "consumer is back", func() bool {
				_, err := api.Consumer(t.Context(), "ORDERS", "WORKER")
				return err == nil
			})
			back := time.Since(start)
			t.Logf("event after %v, consumer back after %v", event, back)
			if event > time.Second || back > time.Second {
				t.Errorf("event after %v, consumer back after %v; want both within 1s", event, back)
			}
			e := find[broker.SubscriptionFailed](j)[0]
			if e.Key != "ORDERS/WORKER" || !errors.Is(e.Cause, jetstream.ErrConsumerGone) || e.Path != ref.Path() || e.Endpoint == "" {
				t.Errorf("event %+v", e)
			}
			publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "after"})
			eventually(t, "delivered by the new consumer", func() bool { return s.ids()["after"] > 0 })
			settled(t, api)
			if n := len(find[broker.SubscriptionFailed](j)); n != 1 {
				t.Errorf("%d events, want 1", n)
			}
			if n := len(find[broker.Disconnected](j)); n != 0 {
				t.Errorf("%d connections lost, want none", n)
			}
		})
	}
}

// The same while the window is full and no request is open, and when the consumer may not be made again: then the
// connection is declared lost, and the state says so.
func TestDeletedConsumerThatMayNotBeMadeAgain(t *testing.T) {
	srv := natstest.Start(t)
	api := srv.JetStream()
	fill(t, api, 1)
	if _, err := api.CreateConsumer(t.Context(), "ORDERS", js.ConsumerConfig{Durable: "WORKER", AckPolicy: js.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	sys := newSystem(t)
	j := record(t, sys)
	s := newSink(nil)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor)), func(c *jetstream.Config) {
		c.Consumer.Create = false
	}))
	eventually(t, "consuming", func() bool { return s.count() == 1 })
	start := time.Now()
	if err := api.DeleteConsumer(t.Context(), "ORDERS", "WORKER"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "declared lost", func() bool { return len(find[broker.Disconnected](j)) == 1 })
	if d := firstAt[broker.Disconnected](j).Sub(start); d > time.Second {
		t.Errorf("declared lost after %v, want within 1s", d)
	}
	if e := find[broker.Disconnected](j)[0]; !errors.Is(e.Cause, jetstream.ErrConsumerGone) {
		t.Errorf("cause %v", e.Cause)
	}
	if _, err := api.CreateConsumer(t.Context(), "ORDERS", js.ConsumerConfig{Durable: "WORKER", AckPolicy: js.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "connected again when somebody made it", func() bool { return s.count() == 2 })
	connected(t, ref)
}

// Deleting the whole stream is found as well; it is made again with the consumer.
func TestDeletedStreamIsMadeAgain(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			srv := kind.start(t)
			api := srv.JetStream()
			sys := newSystem(t)
			j := record(t, sys)
			s := newSink(nil)
			ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", s.actor))))
			publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "before"})
			eventually(t, "consuming", func() bool { return s.count() == 1 })
			start := time.Now()
			if err := api.DeleteStream(t.Context(), "ORDERS"); err != nil {
				t.Fatal(err)
			}
			// A server that drops the stream may drop its own message about it as well; then the missing heartbeats tell.
			eventually(t, "noticed", func() bool {
				return len(find[broker.SubscriptionFailed](j))+len(find[broker.Disconnected](j)) > 0
			})
			if d := time.Since(start); d > 6*time.Second {
				t.Errorf("noticed after %v, want at once, or at the latest after 5s", d)
			}
			eventually(t, "made again", func() bool {
				_, err := api.Consumer(t.Context(), "ORDERS", "WORKER")
				return err == nil
			})
			publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "after"})
			eventually(t, "delivered", func() bool { return s.ids()["after"] > 0 })
		})
	}
}

// A stop loses no verdict that fell before it, and gives back what it had fetched: the next actor gets exactly the rest,
// long before ackWait is over. A stop has 100 ms for it, so on a busy machine one round of three may not make it.
func TestStopKeepsVerdictsAndGivesBackTheRest(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			bad := 0
			for range 3 {
				again, missing, took := stopInTheMiddle(t, kind)
				t.Logf("%d came again, %d are missing, the rest took %v", again, missing, took)
				if missing > 0 {
					t.Errorf("%d messages never came", missing)
				}
				if again > 0 || took > shortAckWait {
					bad++
				}
			}
			if bad > 1 {
				t.Errorf("%d of 3 rounds were not clean", bad)
			}
		})
	}
}

// shortAckWait is how long a message is stuck that a stop did not give back.
const shortAckWait = 5 * time.Second

// stopInTheMiddle stops an actor after some of its messages, starts another, and returns what came again although it was
// handled, what never came, and how long the rest took.
func stopInTheMiddle(t *testing.T, kind kind) (again, missing int, took time.Duration) {
	t.Helper()
	const n, handled = 300, 123
	srv := kind.start(t)
	api := srv.JetStream()
	fill(t, api, n)
	sys := newSystem(t)
	var count atomic.Int32
	full := make(chan struct{})
	first := newSink(func(ctx *actor.Context, _ jetstream.Message) error {
		switch c := count.Add(1); {
		case c < handled:
		case c == handled:
			close(full)
		default:
			ctx.Hold() // never done
		}
		return nil
	})
	wait := func(c *jetstream.Config) { c.Consumer.AckWait = shortAckWait }
	ref := spawn(t, sys, "js1", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "first", first.actor)), wait))
	<-full
	stop(t, ref)

	start := time.Now()
	second := newSink(nil)
	spawn(t, sys, "js2", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "second", second.actor)), wait))
	settled(t, api)
	took = time.Since(start)
	got := second.ids()
	for _, m := range first.messages()[:handled-1] { // the handler of the last one may have been at work still
		if got[m.ID()] > 0 {
			again++
		}
		got[m.ID()]++
	}
	got[first.messages()[handled-1].ID()]++
	return again, n - len(got), took
}

func stop(t *testing.T, ref actor.Ref) time.Duration {
	t.Helper()
	start := time.Now()
	ref.Tell(actor.PoisonPill{})
	eventually(t, "stopped", func() bool { return errors.Is(ref.TryTell(struct{}{}), actor.ErrStopped) })
	return time.Since(start)
}

// Two actors that share a consumer share its messages: each goes to one of them.
func TestSharedConsumerSplitsMessages(t *testing.T) {
	srv := natstest.Start(t)
	api := srv.JetStream()
	sys := newSystem(t)
	a, b := newSink(nil), newSink(nil)
	small := func(c *jetstream.Config) { c.InboundWindow = 4 }
	ref := spawn(t, sys, "js1", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "a", a.actor)), small))
	ref2 := spawn(t, sys, "js2", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "b", b.actor)), small))
	connected(t, ref)
	connected(t, ref2)
	for i := range 200 {
		publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: fmt.Sprint(i)})
	}
	eventually(t, "all delivered", func() bool { return a.count()+b.count() >= 200 })
	settled(t, api)
	if a.count() == 0 || b.count() == 0 || a.count()+b.count() != 200 {
		t.Errorf("%d and %d of 200 messages", a.count(), b.count())
	}
}

// A target that has stopped for good does not drain the stream into dead letters: consuming pauses, and a new target
// gets everything.
func TestStoppedTargetPausesConsuming(t *testing.T) {
	srv := natstest.Start(t)
	api := srv.JetStream()
	sys := newSystem(t)
	s := newSink(nil)
	target := spawn(t, sys, "sink", s.actor)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(target), func(c *jetstream.Config) {
		c.Redelivery.InitialDelay, c.InboundWindow = 20*time.Millisecond, 16
	}))
	publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "before"})
	eventually(t, "delivered", func() bool { return s.count() == 1 })
	stop(t, target)
	for i := range 100 {
		publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: fmt.Sprint(i)})
	}
	if i := consumerInfo(t, api); i.NumPending < 100-2*16 {
		t.Errorf("%d of 100 messages left in the stream, want all but what was fetched", i.NumPending)
	}
	s2 := newSink(nil)
	ref.Tell(jetstream.Subscribe{Target: spawn(t, sys, "sink2", s2.actor)})
	eventually(t, "all delivered", func() bool { return len(s2.ids()) == 100 })
	settled(t, api)
}

// Subscribe without a consumer, or with nobody, is refused.
func TestSubscribeNeedsConsumerAndTarget(t *testing.T) {
	srv := natstest.Start(t)
	sys := newSystem(t)
	s := newSink(nil)
	sink := spawn(t, sys, "sink", s.actor)
	without := spawn(t, sys, "without", jetstream.New(fast(srv.URL())))
	with := spawn(t, sys, "with", jetstream.New(fast(srv.URL()), orders(sink)))
	for _, c := range []struct {
		ref actor.Ref
		cmd jetstream.Subscribe
	}{{without, jetstream.Subscribe{Target: sink}}, {with, jetstream.Subscribe{}}} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := actor.Ask[any](ctx, c.ref, c.cmd)
		cancel()
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want a refusal", c.ref, err)
		}
	}
}

// The same in the middle of a fast flow, again and again: what was handled before the stop began does not come again.
func TestStopInFullFlowKeepsVerdicts(t *testing.T) {
	const rounds, n = 20, 1000
	srv := natstest.Start(t)
	api := srv.JetStream()
	fill(t, api, 0)
	sys := newSystem(t)
	data := make([]byte, 4000)
	publisher := spawn(t, sys, "publisher", jetstream.New(fast(srv.URL()), orders(actor.Ref{}), func(c *jetstream.Config) {
		c.OutboundBuffer = n
	}))
	wait := func(c *jetstream.Config) { c.Consumer.AckWait = shortAckWait }
	bad := 0
	for round := range rounds {
		for i := range n {
			publisher.Tell(jetstream.Publish{Subject: "orders.a", Data: data, ID: fmt.Sprint(round, "-", i)})
		}
		eventually(t, "published", func() bool { return status(t, publisher).Books.Acked == uint64(n*(round+1)) })
		first, second := newSink(nil), newSink(nil)
		js1 := spawn(t, sys, fmt.Sprint("js-a", round), jetstream.New(fast(srv.URL()), orders(spawn(t, sys, fmt.Sprint("a", round), first.actor)), wait))
		eventually(t, "flowing", func() bool { return first.count() > n/10 })
		handled := first.messages()
		stop(t, js1)
		start := time.Now()
		js2 := spawn(t, sys, fmt.Sprint("js-b", round), jetstream.New(fast(srv.URL()), orders(spawn(t, sys, fmt.Sprint("b", round), second.actor)), wait))
		settled(t, api)
		took := time.Since(start)
		stop(t, js2)
		came, again := second.ids(), 0
		for _, m := range handled[:len(handled)-1] { // the handler of the last one may have been at work still
			again += came[m.ID()]
		}
		if again > 0 || took > shortAckWait {
			bad++
			t.Logf("round %d: %d messages were handled before the stop and came again, the rest took %v", round, again, took)
		}
	}
	if bad > 1 {
		t.Errorf("%d of %d stops were not clean", bad, rounds)
	}
}
