package jetstream_test

import (
	"io"
	"log/slog"
	"sync/atomic"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/internal/natstest"
)

// The benchmarks share one process and its processors with the server. Each has the plain driver beside it.

func benchSystem(b *testing.B) *actor.System {
	b.Helper()
	sys, err := actor.NewSystem("bench", func(c *actor.SystemConfig) {
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { end(b, sys) })
	return sys
}

func memory(c *jetstream.Config) { c.Stream.Storage = jetstream.Memory }

func perSecond(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s") }

// finished is told that one message was confirmed, and says when all were.
type finished struct {
	left atomic.Int64
	done chan struct{}
}

func newFinished(n int) *finished {
	f := &finished{done: make(chan struct{})}
	f.left.Store(int64(n))
	return f
}

func (f *finished) Done(error) {
	if f.left.Add(-1) == 0 {
		close(f.done)
	}
}

func BenchmarkPublish(b *testing.B) {
	data := make([]byte, 100)
	b.Run("troupe", func(b *testing.B) {
		srv := natstest.Start(b)
		ref := spawn(b, benchSystem(b), "js", jetstream.New(fast(srv.URL()), orders(actor.Ref{}), memory, func(c *jetstream.Config) {
			c.OutboundBuffer = b.N + 1
		}))
		connected(b, ref)
		all := newFinished(b.N)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			actor.Send(ref, actor.Envelope{Msg: jetstream.Publish{Subject: "orders.a", Data: data}, Done: all})
		}
		<-all.done
		perSecond(b)
	})
	b.Run("driver", func(b *testing.B) {
		api := natstest.Start(b).JetStream()
		create(b, api)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := api.PublishAsync("orders.a", data, js.WithMsgID(natsgo.NewInbox()), js.WithStallWait(patience)); err != nil {
				b.Fatal(err)
			}
		}
		<-api.PublishAsyncComplete()
		perSecond(b)
	})
}

func create(b *testing.B, api js.JetStream) {
	b.Helper()
	_, err := api.CreateStream(b.Context(), js.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, Storage: js.MemoryStorage})
	if err != nil {
		b.Fatal(err)
	}
}

func stored(b *testing.B, api js.JetStream, n int) {
	b.Helper()
	create(b, api)
	data := make([]byte, 100)
	for range n {
		if _, err := api.PublishAsync("orders.a", data, js.WithStallWait(patience)); err != nil {
			b.Fatal(err)
		}
	}
	<-api.PublishAsyncComplete()
}

func BenchmarkConsume(b *testing.B) {
	b.Run("troupe", func(b *testing.B) {
		srv := natstest.Start(b)
		stored(b, srv.JetStream(), b.N)
		sys := benchSystem(b)
		all := newFinished(b.N)
		target := spawn(b, sys, "sink", func() actor.Actor {
			return actor.Func(func(*actor.Context, any) error { all.Done(nil); return nil })
		})
		b.ReportAllocs()
		b.ResetTimer()
		spawn(b, sys, "js", jetstream.New(fast(srv.URL()), orders(target), memory, func(c *jetstream.Config) {
			c.InboundWindow = 500
		}))
		<-all.done
		perSecond(b)
	})
	b.Run("driver", func(b *testing.B) {
		api := natstest.Start(b).JetStream()
		stored(b, api, b.N)
		c, err := api.CreateConsumer(b.Context(), "ORDERS", js.ConsumerConfig{Durable: "WORKER", AckPolicy: js.AckExplicitPolicy})
		if err != nil {
			b.Fatal(err)
		}
		all := newFinished(b.N)
		b.ReportAllocs()
		b.ResetTimer()
		cc, err := c.Consume(func(m js.Msg) {
			_ = m.Ack()
			all.Done(nil)
		}, js.PullMaxMessages(500))
		if err != nil {
			b.Fatal(err)
		}
		<-all.done
		perSecond(b)
		cc.Stop()
	})
}
