package main

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
)

func rows() []row {
	return []row{
		{"JetStream, publish confirmed", startNATS, publishBare, publishTroupe},
		{"JetStream, consume acknowledged", startNATS, consumeBare, consumeTroupe},
		{"Redis Streams, publish confirmed", startRedis, redisPublishBare, redisPublishTroupe},
		{"Redis Streams, consume acknowledged", startRedis, redisConsumeBare, redisConsumeTroupe},
	}
}

const (
	streamName = "BENCH"
	subject    = "bench.x"
)

// driver connects and makes the stream.
func driver(ctx context.Context, addr string, outstanding int) (*natsgo.Conn, js.JetStream, error) {
	nc, err := natsgo.Connect("nats://" + addr)
	if err != nil {
		return nil, nil, err
	}
	api, err := js.New(nc, js.WithPublishAsyncMaxPending(outstanding))
	if err == nil {
		_, err = api.CreateOrUpdateStream(ctx, js.StreamConfig{Name: streamName, Subjects: []string{"bench.>"}, Storage: js.MemoryStorage})
	}
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return nc, api, nil
}

// fill publishes with an id each, as troupe does.
func fill(ctx context.Context, api js.JetStream, s settings) error {
	data := make([]byte, s.size)
	for i := range s.messages {
		if _, err := api.PublishAsync(subject, data, js.WithMsgID("bench-"+strconv.Itoa(i)), js.WithStallWait(time.Minute)); err != nil {
			return err
		}
	}
	select {
	case <-api.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func publishBare(ctx context.Context, addr string, s settings) (time.Duration, error) {
	nc, api, err := driver(ctx, addr, s.outstanding)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	began := time.Now()
	err = fill(ctx, api, s)
	return time.Since(began), err
}

// countdown is told that one message is done with, and says when all are.
type countdown struct {
	left   atomic.Int64
	done   chan struct{}
	credit chan struct{} // of a publisher that keeps a bound
}

func newCountdown(n int) *countdown {
	c := &countdown{done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

// Done implements actor.Completion.
func (c *countdown) Done(error) {
	if c.credit != nil {
		<-c.credit
	}
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

// publish sends n messages, and keeps no more unanswered than fill the window and the next one.
func publish(ctx context.Context, ref actor.Ref, s settings, msg any) (time.Duration, error) {
	all := newCountdown(s.messages)
	all.credit = make(chan struct{}, 2*s.outstanding)
	began := time.Now()
	for range s.messages {
		select {
		case all.credit <- struct{}{}:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		actor.Send(ref, actor.Envelope{Msg: msg, Done: all})
	}
	err := all.wait(ctx)
	return time.Since(began), err
}

func (c *countdown) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// through starts a system with one JetStream actor, and waits until it is connected.
func through(ctx context.Context, addr string, opt func(*jetstream.Config)) (*actor.System, actor.Ref, error) {
	sys, err := newSystem()
	if err != nil {
		return nil, actor.Ref{}, err
	}
	ref, err := sys.Spawn("js", jetstream.New(func(c *jetstream.Config) {
		c.Servers = []string{addr}
		c.Stream.Name, c.Stream.Subjects, c.Stream.Storage = streamName, []string{"bench.>"}, jetstream.Memory
	}, opt))
	if err != nil {
		return nil, ref, err
	}
	return sys, ref, untilConnected(ctx, sys, ref)
}

func newSystem() (*actor.System, error) {
	return actor.NewSystem("bench", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
}

func untilConnected(ctx context.Context, sys *actor.System, ref actor.Ref) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if s, ok := broker.StatusOf(sys, ref.Path()); ok && s.State == broker.StateConnected {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func publishTroupe(ctx context.Context, addr string, s settings) (time.Duration, error) {
	sys, ref, err := through(ctx, addr, func(c *jetstream.Config) { c.OutboundBuffer, c.InFlight = 2*s.outstanding+1, s.outstanding })
	if err != nil {
		return 0, err
	}
	defer sys.Terminate(context.WithoutCancel(ctx))
	return publish(ctx, ref, s, jetstream.Publish{Subject: subject, Data: make([]byte, s.size)})
}

func consumeBare(ctx context.Context, addr string, s settings) (time.Duration, error) {
	nc, api, err := driver(ctx, addr, s.outstanding)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	if err := fill(ctx, api, s); err != nil {
		return 0, err
	}
	c, err := api.CreateConsumer(ctx, streamName, js.ConsumerConfig{Durable: "BENCH", AckPolicy: js.AckExplicitPolicy})
	if err != nil {
		return 0, err
	}
	all := newCountdown(s.messages)
	began := time.Now()
	cc, err := c.Consume(func(m js.Msg) {
		_ = m.Ack()
		all.Done(nil)
	}, js.PullMaxMessages(s.outstanding))
	if err != nil {
		return 0, err
	}
	defer cc.Stop()
	err = all.wait(ctx)
	return time.Since(began), err
}

func consumeTroupe(ctx context.Context, addr string, s settings) (time.Duration, error) {
	nc, api, err := driver(ctx, addr, s.outstanding)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	if err := fill(ctx, api, s); err != nil {
		return 0, err
	}
	sys, err := newSystem()
	if err != nil {
		return 0, err
	}
	defer sys.Terminate(context.WithoutCancel(ctx))
	all := newCountdown(s.messages)
	target, err := sys.Spawn("target", func() actor.Actor {
		return actor.Func(func(*actor.Context, any) error { all.Done(nil); return nil })
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	_, err = sys.Spawn("js", jetstream.New(func(c *jetstream.Config) {
		c.Servers = []string{addr}
		c.Stream.Name, c.Stream.Create = streamName, false
		c.Consumer.Name, c.Target, c.InboundWindow = "BENCH", target, s.outstanding
	}))
	if err != nil {
		return 0, err
	}
	err = all.wait(ctx)
	return time.Since(began), err
}
