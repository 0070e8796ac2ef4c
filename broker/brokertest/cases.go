package brokertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

func id(i int) string { return fmt.Sprintf("m%06d", i) }

func caseConnect(b *bench) {
	ref := b.publisher()
	b.connected(ref)
	b.until("Connected published", func() bool { return b.events(ref, isConnected) == 1 })
	s := b.status(ref)
	if s.Path != ref.Path() || s.Endpoint == "" {
		b.Errorf("status names path %q and endpoint %q", s.Path, s.Endpoint)
	}
}

func caseReceipts(b *bench) {
	ref := b.publisher()
	for i := range 20 {
		r, err := actor.Ask[broker.Receipt](b.Context(), ref, b.p.Publish(id(i)))
		if err != nil {
			b.Fatalf("publish %d: %v", i, err)
		}
		if r.Outcome != b.f.Outcome {
			b.Fatalf("publish %d ended as %s, want %s", i, r.Outcome, b.f.Outcome)
		}
	}
	b.settled(ref, 20)
}

func caseRefused(b *bench) {
	b.proxy.Refuse()
	ref := b.publisher()
	for i := range 10 {
		ref.Tell(b.p.Publish(id(i)))
	}
	b.until("three attempts", func() bool {
		return b.events(ref, func(e broker.Event) bool { _, ok := e.(broker.ReconnectAttempt); return ok }) >= 3
	})
	if n := b.events(ref, isDisconnected); n != 0 {
		b.Errorf("%d Disconnected for connects that failed", n)
	}
	b.accept()
	if k := b.settled(ref, 10); k.Undelivered != 0 {
		b.Errorf("%d of 10 not delivered", k.Undelivered)
	}
}

func (b *bench) accept() {
	b.Helper()
	if err := b.proxy.Accept(); err != nil {
		b.Fatal(err)
	}
}

// listener starts a target that gets what is published, connected without the proxy. It returns nil without a consumer.
func (b *bench) listener() *target {
	b.Helper()
	if b.p.NewConsumer == nil {
		return nil
	}
	t, to := b.target(nil)
	b.connected(b.spawn("listener", b.p.NewConsumer(b.p.Addr, to, all(nil))))
	return t
}

func caseOrder(b *bench) {
	const n = 3000
	heard := b.listener()
	ref := b.publisher()
	b.connected(ref)
	for i := range n {
		ref.Tell(b.p.Publish(id(i)))
		if i%300 == 299 { // reset in the middle of what was just told, and go on telling while it is away
			b.connected(ref)
			Jitter(3 * time.Millisecond)
			b.proxy.Reset()
		}
	}
	k := b.settled(ref, n)
	b.Logf("%d losses, books %+v", b.events(ref, isDisconnected), k)
	if k.Undelivered != 0 {
		b.Errorf("%d of %d not delivered, %s", k.Undelivered, n, b.reasons())
	}
	if heard == nil {
		return
	}
	if b.f.Outcome == broker.Acked {
		b.until("everything confirmed is heard", func() bool { return heard.distinct() == n })
	}
	if ids := heard.firsts(); !slices.IsSorted(ids) {
		b.Error("first occurrences are not in the order of acceptance")
	}
}

func caseResets(b *bench) {
	const n = 300
	b.proxy.ResetAfterHandshake(20)
	ref := b.publisher(func(c *broker.Config) {
		c.Reconnect.InitialDelay, c.Reconnect.MaxDelay = time.Millisecond, 5*time.Millisecond
	})
	for i := range n {
		ref.Tell(b.p.Publish(id(i)))
	}
	if k := b.settled(ref, n); k.Undelivered != 0 {
		b.Errorf("%d of %d not delivered", k.Undelivered, n)
	}
}

// caseHole cuts the link without a sign: only a deadline can notice.
func caseHole(b *bench) {
	const idle = 600 * time.Millisecond
	ref := b.publisher(func(c *broker.Config) { c.IdleTimeout = idle })
	b.connected(ref)
	b.proxy.Hole(true)
	began := time.Now()
	for i := range 50 {
		ref.Tell(b.p.Publish(id(i)))
	}
	b.until("Disconnected published", func() bool { return b.events(ref, isDisconnected) > 0 })
	took := time.Since(began)
	b.Logf("noticed after %s with idleTimeout %s, the bound is %s", took.Round(time.Millisecond), idle, idle*3/2)
	if took > slack*idle*3/2 {
		b.Errorf("noticed after %s, the bound is %s", took, idle*3/2)
	}
	b.proxy.Hole(false)
	b.proxy.Reset()
	if k := b.settled(ref, 50); k.Undelivered != 0 {
		b.Errorf("%d of 50 not delivered", k.Undelivered)
	}
}

// caseIdle leaves a healthy connection alone for longer than the deadline.
func caseIdle(b *bench) {
	ref := b.publisher(func(c *broker.Config) { c.IdleTimeout = 600 * time.Millisecond })
	b.connected(ref)
	<-time.After(1500 * time.Millisecond)
	if n := b.events(ref, isDisconnected); n != 0 {
		b.Errorf("a healthy connection was cut %d times", n)
	}
}

// caseSubscriptions finds a driver that reconnects by itself (W35) as well: then subscriptions are there twice.
func caseSubscriptions(b *bench) {
	if b.p.NewConsumer == nil {
		b.Skip("no consumer")
	}
	t, to := b.target(nil)
	consumer := b.spawn("consumer", b.p.NewConsumer(b.proxy.Addr(), to, all(nil)))
	publisher := b.spawn("direct", b.p.New(b.p.Addr, all(nil)))
	b.connected(publisher)
	const cycles = 10
	for i := range cycles {
		b.until("connected again", func() bool { return b.events(consumer, isConnected) == i+1 })
		if _, err := actor.Ask[broker.Receipt](b.Context(), publisher, b.p.Publish(id(i))); err != nil {
			b.Fatalf("publish: %v", err)
		}
		b.until("delivered after reconnect "+fmt.Sprint(i), func() bool { return t.seen(id(i)) > 0 })
		b.until("handled", func() bool { return b.status(consumer).Inbound.Unhandled == 0 })
		<-time.After(20 * time.Millisecond) // a surplus delivery, or the acknowledgement on its way
		b.proxy.Reset()
	}
	for i := range cycles {
		if n := t.seen(id(i)); n != 1 {
			b.Errorf("message %d was delivered %d times", i, n)
		}
	}
}

func caseRedelivery(b *bench) {
	t, to := b.target(func(_ string, seen int) error {
		if seen == 1 {
			return actor.Reject(errors.New("not now"))
		}
		return nil
	})
	b.connected(b.spawn("consumer", b.p.NewConsumer(b.proxy.Addr(), to, all(nil))))
	ref := b.publisher()
	for i := range 5 {
		ref.Tell(b.p.Publish(id(i)))
	}
	b.until("each refused message came again", func() bool {
		for i := range 5 {
			if t.seen(id(i)) < 2 {
				return false
			}
		}
		return true
	})
}

// caseUnhandled loses the connection while messages wait to be handled.
func caseUnhandled(b *bench) {
	const n = 40
	ref := b.publisher()
	for i := range n {
		ref.Tell(b.p.Publish(id(i)))
	}
	b.settled(ref, n)
	t, to := b.target(func(_ string, seen int) error {
		if seen == 1 {
			Jitter(2 * time.Millisecond)
		}
		return nil
	})
	consumer := b.spawn("consumer", b.p.NewConsumer(b.proxy.Addr(), to, all([]func(*broker.Config){func(c *broker.Config) { c.InboundWindow = 8 }})))
	b.until("a few deliveries", func() bool { return t.distinct() > 3 })
	b.proxy.Reset()
	b.until("everything stored is delivered", func() bool { return t.distinct() == n })
	if used := b.status(consumer).Inbound.Unhandled; used > 8 {
		b.Errorf("%d messages unhandled, the window is 8", used)
	}
}

// reasons says why messages were not delivered, for a failure's text.
func (b *bench) reasons() string {
	var out []string
	for _, u := range b.rec.Undelivered() {
		if out = append(out, fmt.Sprintf("%s: %v", u.Reason, u.Cause)); len(out) == 5 {
			break
		}
	}
	return strings.Join(out, "; ")
}
