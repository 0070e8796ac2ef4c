package broker_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

// arrive delivers one message with id to topic on link n.
func (w *world) arrive(n int, id uint64, topic string) broker.Delivery {
	w.t.Helper()
	l := w.fake.Link(n)
	d, err := l.Accept(nil, id)
	if err != nil {
		w.t.Fatalf("accept %d: %v", id, err)
	}
	l.Deliver(d, inboundMsg{d, id}, topic)
	synctest.Wait()
	return d
}

type inboundMsg struct {
	broker.Delivery
	ID uint64
}

func (w *world) verdicts() (out []string) {
	for _, v := range w.fake.Verdicts() {
		s := fmt.Sprintf("%d ack", v.ID)
		switch {
		case v.Err != nil && v.Delay > 0:
			s = fmt.Sprintf("%d retry %s", v.ID, v.Delay)
		case v.Err != nil:
			s = fmt.Sprintf("%d nack", v.ID)
		case broker.IsDiscard(v.Dropped):
			s = fmt.Sprintf("%d discard", v.ID)
		case v.Dropped != nil:
			s = fmt.Sprintf("%d drop", v.ID)
		}
		out = append(out, s)
	}
	return out
}

// TestAckAfterHandling is the default: the verdict is that of the handler.
func TestAckAfterHandling(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		r, ref := w.receiver("r")
		var gate brokertest.Gate
		r.gate = &gate
		w.subscribe("x", ref)
		gate.Close()
		w.arrive(1, 1, "x")
		equal(t, "before it is handled", len(w.verdicts()), 0)
		gate.Open()
		synctest.Wait()
		equal(t, "after", w.verdicts(), []string{"1 ack"})
		for i, err := range []error{
			actor.Reject(errors.New("no")), actor.Reject(broker.RetryAfter(errors.New("later"), time.Minute)), actor.Reject(broker.Discard(errors.New("never"))),
		} {
			r.refuse = err
			w.arrive(1, uint64(i)+2, "x")
		}
		equal(t, "verdicts", w.verdicts(), []string{"1 ack", "2 retry 1s", "3 retry 1m0s", "4 discard"})
		equal(t, "in the window", w.status().Inbound.Unhandled, 0)
	})
	t.Run("forwarded", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			worker, to := w.receiver("worker")
			var gate brokertest.Gate
			gate.Close()
			worker.gate = &gate
			front, err := w.sys.Spawn("front", func() actor.Actor {
				return actor.Func(func(ctx *actor.Context, _ any) error { ctx.Forward(to); return nil })
			})
			if err != nil {
				t.Fatal(err)
			}
			w.subscribe("x", front)
			w.arrive(1, 1, "x")
			equal(t, "the forwarder's return does not count", len(w.verdicts()), 0)
			gate.Open()
			synctest.Wait()
			equal(t, "verdicts", w.verdicts(), []string{"1 ack"})
		})
	})
	t.Run("the target dies with it in the mailbox", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			r, ref := w.receiver("r")
			var gate brokertest.Gate
			gate.Close()
			r.gate = &gate
			w.subscribe("x", ref)
			w.arrive(1, 1, "x")
			ref.Tell(actor.PoisonPill{})
			w.arrive(1, 2, "x")
			gate.Open()
			synctest.Wait()
			equal(t, "verdicts", w.verdicts(), []string{"1 ack", "2 retry 1s"})
		})
	})
	t.Run("a full mailbox", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			var gate brokertest.Gate
			gate.Close()
			r := &receiver{gate: &gate}
			ref, err := w.sys.Spawn("small", func() actor.Actor { return r }, func(c *actor.SpawnConfig) {
				c.Mailbox = actor.Mailbox{Capacity: 1, Overflow: actor.RejectNewest}
			})
			if err != nil {
				t.Fatal(err)
			}
			w.subscribe("x", ref)
			for id := range uint64(3) {
				w.arrive(1, id+1, "x")
			}
			equal(t, "verdicts", w.verdicts(), []string{"3 retry 1s"})
			gate.Open()
			synctest.Wait()
			equal(t, "verdicts", w.verdicts(), []string{"3 retry 1s", "1 ack", "2 ack"})
		})
	})
}

func TestAckManual(t *testing.T) {
	bubble(t, nil, set(func(c *broker.Config) { c.AckMode = broker.Manual }), func(w *world) {
		r, ref := w.receiver("r")
		w.subscribe("x", ref)
		one, two := w.arrive(1, 1, "x"), w.arrive(1, 2, "x")
		equal(t, "handled, but not answered", len(w.verdicts()), 0)
		equal(t, "in the window", w.status().Inbound.Unhandled, 2)
		two.Nack(broker.RetryAfter(errors.New("x"), time.Second))
		two.Ack()
		one.Ack()
		one.Ack()
		one.Nack(nil)
		broker.Delivery{}.Ack()
		synctest.Wait()
		equal(t, "verdicts", w.verdicts(), []string{"2 retry 1s", "1 ack"})
		equal(t, "in the window", w.status().Inbound.Unhandled, 0)
		r.refuse = actor.Reject(errors.New("failed"))
		w.arrive(1, 3, "x").Ack()
		synctest.Wait()
		equal(t, "a failure refuses", w.verdicts()[2:], []string{"3 retry 1s"})
	})
	t.Run("answered while copies are out", func(t *testing.T) {
		bubble(t, nil, set(func(c *broker.Config) { c.AckMode = broker.Manual }), func(w *world) {
			a, ra := w.receiver("a")
			_, rb := w.receiver("b")
			var gate brokertest.Gate
			gate.Close()
			a.gate = &gate
			w.subscribe("x", ra, rb)
			d := w.arrive(1, 1, "x")
			d.Ack()
			synctest.Wait()
			equal(t, "its place is taken until all copies are back", w.status().Inbound.Unhandled, 1)
			gate.Open()
			synctest.Wait()
			equal(t, "in the window", w.status().Inbound.Unhandled, 0)
			for i := range 5 {
				w.arrive(1, uint64(i)+2, "x").Ack()
			}
			d.Nack(errors.New("late, and its place belongs to another now"))
			synctest.Wait()
			equal(t, "verdicts", w.verdicts(), []string{"1 ack", "2 ack", "3 ack", "4 ack", "5 ack", "6 ack"})
		})
	})
}

func TestAckOnDelivery(t *testing.T) {
	bubble(t, nil, set(func(c *broker.Config) { c.AckMode = broker.OnDelivery }), func(w *world) {
		r, ref := w.receiver("r")
		var gate brokertest.Gate
		gate.Close()
		r.gate = &gate
		w.subscribe("x", ref)
		w.arrive(1, 1, "x")
		equal(t, "verdicts", w.verdicts(), []string{"1 ack"})
		equal(t, "still bounded", w.status().Inbound.Unhandled, 1)
		gate.Open()
		synctest.Wait()
		equal(t, "verdicts", w.verdicts(), []string{"1 ack"})
	})
}

// TestFanOutVerdict: all subscribers have to be done, the first error counts, each gets it once.
func TestFanOutVerdict(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		a, ra := w.receiver("a")
		b, rb := w.receiver("b")
		var gate brokertest.Gate
		gate.Close()
		b.gate = &gate
		w.subscribe("x", ra, rb)
		w.subscribe("y", ra)
		l := w.fake.Link(1)
		d, _ := l.Accept(nil, 1)
		l.Deliver(d, "m", "y", "x", "z")
		synctest.Wait()
		equal(t, "a got it once", len(a.got), 1)
		equal(t, "b is not done", len(w.verdicts()), 0)
		gate.Open()
		synctest.Wait()
		equal(t, "verdicts", w.verdicts(), []string{"1 ack"})
		a.refuse = actor.Reject(errors.New("no"))
		w.arrive(1, 2, "x")
		equal(t, "verdicts", w.verdicts(), []string{"1 ack", "2 retry 1s"})
	})
}

func TestNoSubscriberIsRefusedWithDelay(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		w.arrive(1, 1, "x")
		equal(t, "verdicts", w.verdicts(), []string{"1 retry 1s"})
		equal(t, "unwanted", w.status().Inbound.Unwanted, 1)
	})
}

// TestLastTargetGonePausesReading: the broker is not drained into refusals when its target has stopped for good.
func TestLastTargetGonePausesReading(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		_, ref := w.receiver("r")
		w.subscribe("x", ref)
		w.kill(ref)
		l := w.fake.Link(1)
		if _, err := l.TryAccept(nil, 1); !errors.Is(err, broker.ErrBufferFull) {
			t.Errorf("accepted: %v", err)
		}
		var room atomic.Int32
		go func() {
			n, _ := l.Room()
			room.Store(int32(n))
		}()
		synctest.Wait()
		equal(t, "waits", room.Load(), 0)
		_, young := w.receiver("r")
		w.subscribe("x", young)
		equal(t, "goes on", room.Load(), 256)
	})
}

// TestW25_WindowStopsTheReader floods a slow target.
func TestW25_WindowStopsTheReader(t *testing.T) {
	bubble(t, nil, set(func(c *broker.Config) { c.InboundWindow = 8 }), func(w *world) {
		r, ref := w.receiver("r")
		var gate brokertest.Gate
		gate.Close()
		r.gate = &gate
		w.subscribe("x", ref)
		l := w.fake.Link(1)
		var read atomic.Int32
		go func() {
			for i := range 1000 {
				d, err := l.Accept(nil, uint64(i)+1)
				if err != nil {
					return
				}
				read.Add(1)
				l.Deliver(d, inboundMsg{d, uint64(i)}, "x")
			}
		}()
		synctest.Wait()
		equal(t, "read", read.Load(), 8)
		if _, err := l.TryAccept(nil, 1); !errors.Is(err, broker.ErrBufferFull) {
			t.Errorf("TryAccept: %v", err)
		}
		gate.Open()
		synctest.Wait()
		equal(t, "read", read.Load(), 1000)
		equal(t, "got", len(r.got), 1000)
		for i, m := range r.got {
			if m.(inboundMsg).ID != uint64(i) {
				t.Fatalf("message %d has id %d", i, m.(inboundMsg).ID)
			}
		}
		equal(t, "acked", len(w.verdicts()), 1000)
	})
	t.Run("batches and resume at three quarters", func(t *testing.T) {
		bubble(t, nil, set(func(c *broker.Config) { c.InboundWindow, c.AckMode = 8, broker.Manual }), func(w *world) {
			_, ref := w.receiver("r")
			w.subscribe("x", ref)
			l := w.fake.Link(1)
			d, _ := l.AcceptBatch(nil, 1, 7)
			l.Deliver(d, "m", "x")
			one := w.arrive(1, 2, "x")
			var room atomic.Int32
			go func() { n, _ := l.Room(); room.Store(int32(n)) }()
			synctest.Wait()
			one.Ack()
			synctest.Wait()
			equal(t, "one place is not enough after the window was full", room.Load(), 0)
			d.Ack()
			synctest.Wait()
			equal(t, "room", room.Load(), 8)
		})
	})
}

// TestStaleVerdict: a verdict for a connection that is over is counted and goes nowhere.
func TestStaleVerdict(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		r, ref := w.receiver("r")
		var gate brokertest.Gate
		gate.Close()
		r.gate = &gate
		w.subscribe("x", ref)
		w.arrive(1, 1, "x")
		w.drop(errGone)
		w.after(time.Second)
		gate.Open()
		synctest.Wait()
		equal(t, "verdicts", len(w.verdicts()), 0)
		equal(t, "stale", w.status().Inbound.Stale, 1)
		w.arrive(2, 2, "x")
		equal(t, "verdicts", w.verdicts(), []string{"2 ack"})
	})
}

// TestPoisonMessageCostsOneReject refuses without a restart of anybody.
func TestPoisonMessageCostsOneReject(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		r, ref := w.receiver("r")
		r.refuse = actor.Reject(broker.Discard(errors.New("not JSON")))
		w.subscribe("x", ref)
		w.arrive(1, 1, "x")
		r.refuse = nil
		w.arrive(1, 2, "x")
		equal(t, "verdicts", w.verdicts(), []string{"1 discard", "2 ack"})
		equal(t, "the same instance", len(r.got), 2)
	})
}

// TestBridge forwards from one broker to another: the first is acknowledged when the second has confirmed.
func TestBridge(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		source := &brokertest.Fake{Label: "fake://source"}
		src, err := w.sys.Spawn("source", source.New())
		if err != nil {
			t.Fatal(err)
		}
		to := w.ref
		bridge, err := w.sys.Spawn("bridge", func() actor.Actor {
			return actor.Func(func(ctx *actor.Context, msg any) error {
				m := msg.(inboundMsg)
				done := ctx.Hold()
				actor.Send(to, actor.Envelope{Msg: brokertest.Publish{Payload: fmt.Sprint(m.ID)}, Done: done})
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		src.Tell(brokertest.Do{Func: func(b *brokertest.Base) error { b.AddSubscriber("x", bridge); return nil }})
		synctest.Wait()
		l := source.Link(1)
		for id := range uint64(2) {
			d, _ := l.Accept(nil, id+1)
			l.Deliver(d, inboundMsg{d, id + 1}, "x")
		}
		synctest.Wait()
		equal(t, "published", w.fake.Pending(), []string{"1", "2"})
		equal(t, "nothing acknowledged yet", len(source.Verdicts()), 0)
		w.fake.Refuse("1")
		w.fake.Confirm(1)
		synctest.Wait()
		vs := source.Verdicts()
		if len(vs) != 2 || vs[0].Err == nil || vs[1].Err != nil {
			t.Errorf("verdicts %+v", vs)
		}
	})
}

// TestW37_TableChangesDuringFanOut: a fan-out works on a snapshot.
func TestW37_TableChangesDuringFanOut(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		a, ra := w.receiver("a")
		b, rb := w.receiver("b")
		w.subscribe("x", ra, rb)
		w.do(func(bs *brokertest.Base) error {
			bs.FanOut("x", 1)
			bs.RemoveSubscriber("x", ra)
			bs.FanOut("x", 2)
			return nil
		})
		equal(t, "a, b", [2]int{len(a.got), len(b.got)}, [2]int{1, 2})
	})
}

// TestDeliverAfterTheLoss: a message that was accepted before its connection was lost is left to the redelivery, unless
// the peer wants no verdicts and would not deliver it again.
func TestDeliverAfterTheLoss(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		r, ref := w.receiver("r")
		w.subscribe("x", ref)
		l := w.fake.Link(1)
		wanted, _ := l.Accept(nil, 1)
		mute, _ := l.Accept(nil, 0)
		w.drop(errGone)
		l.Deliver(wanted, "again", "x")
		l.Deliver(mute, "only once", "x")
		synctest.Wait()
		equal(t, "got", r.got, []any{"only once"})
		s := w.status()
		equal(t, "in the window", s.Inbound.Unhandled, 0)
		equal(t, "stale, unwanted", [2]uint64{s.Inbound.Stale, s.Inbound.Unwanted}, [2]uint64{1, 0})
	})
}
