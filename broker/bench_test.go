package broker

import (
	"sync/atomic"
	"testing"

	"github.com/troupe-go/troupe/actor"
)

// cycle is what one published envelope costs in the outbox: acceptance, dispatch, confirmation.
func cycle(o *outbox[string], l *Link) {
	_ = o.enqueue("payload", nil, 0, 0)
	env, _ := o.take(l, false)
	o.settle(l, env.Token, nil, nil)
}

func TestEnqueueToSettleDoesNotAllocate(t *testing.T) {
	o, l := testOutbox(1000, 256)
	cycle(o, l)
	if n := testing.AllocsPerRun(1000, func() { cycle(o, l) }); n != 0 {
		t.Errorf("%v allocations per envelope", n)
	}
	run := make([]Token, 0, 64)
	if n := testing.AllocsPerRun(1000, func() {
		run = run[:0]
		for range 64 {
			_ = o.enqueue("payload", nil, 0, 0)
			env, _ := o.take(l, false)
			run = append(run, env.Token)
		}
		o.settleRun(l, run, Acked)
	}); n != 0 {
		t.Errorf("%v allocations per run", n)
	}
}

func BenchmarkEnqueueToSettle(b *testing.B) {
	o, l := testOutbox(1000, 256)
	b.ReportAllocs()
	for b.Loop() {
		cycle(o, l)
	}
}

// drain is an actor that handles everything.
func drain(tb testing.TB) (*inbound, *Link, *atomic.Int64) {
	tb.Helper()
	sys, err := actor.NewSystem("bench")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = sys.Terminate(tb.Context()) })
	var n atomic.Int64
	ref, err := sys.Spawn("target", func() actor.Actor {
		return actor.Func(func(*actor.Context, any) error { n.Add(1); return nil })
	})
	if err != nil {
		tb.Fatal(err)
	}
	c := DefaultConfig()
	fan := &fanout{}
	fan.set(&topics{refs: map[string][]actor.Ref{"x": {ref}}})
	in := newInbound(&c, actor.Ref{}, fan, func(d Dropped) { tb.Errorf("dropped %+v", d) })
	l := &Link{epoch: 1, in: in}
	in.begin(l)
	return in, l, &n
}

// deliverAll is what inbound messages cost: a place, the way through the mailbox, the verdict.
func deliverAll(in *inbound, l *Link, n int) {
	msg := any("message")
	for acked := 0; n > 0 || acked > 0; {
		for range min(n, 128) {
			d, err := in.accept(l, nil, nil, 1, 1, true)
			if err != nil {
				return
			}
			in.deliver(d, msg, "x", nil)
			acked++
			n--
		}
		for acked > 0 {
			acks, ok := in.takeAcks(l)
			if !ok {
				return
			}
			acked -= len(acks)
		}
	}
}

func TestDeliverToAckDoesNotAllocate(t *testing.T) {
	in, l, _ := drain(t)
	deliverAll(in, l, 1000)
	const n = 1280
	if per := testing.AllocsPerRun(20, func() { deliverAll(in, l, n) }) / n; per > 0.1 {
		t.Errorf("%.2f allocations per message", per)
	}
}

func BenchmarkDeliverToAck(b *testing.B) {
	in, l, _ := drain(b)
	b.ReportAllocs()
	b.ResetTimer()
	deliverAll(in, l, b.N)
}
