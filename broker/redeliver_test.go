package broker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

var errNo = errors.New("no")

// heard is one delivery to a subscriber.
type heard struct {
	id uint64
	at time.Duration
}

// moody refuses a message as often as its plan says.
type moody struct {
	began  time.Time
	heard  []heard
	refuse map[uint64]int
	err    error
}

func (m *moody) Receive(_ *actor.Context, msg any) error {
	id := msg.(inboundMsg).ID
	m.heard = append(m.heard, heard{id, time.Since(m.began)})
	if m.refuse[id] != 0 {
		m.refuse[id]--
		if m.err != nil {
			return m.err
		}
		return actor.Reject(errNo)
	}
	return nil
}

func (m *moody) String() string {
	var out []string
	for _, h := range m.heard {
		out = append(out, fmt.Sprintf("%d@%s", h.id, h.at))
	}
	return strings.Join(out, " ")
}

func (w *world) moody(topic string, refuse map[uint64]int) *moody {
	w.t.Helper()
	m := &moody{began: time.Now(), refuse: refuse}
	ref, err := w.sys.Spawn("moody", func() actor.Actor { return m })
	if err != nil {
		w.t.Fatal(err)
	}
	w.subscribe(topic, ref)
	return m
}

// into delivers one message as the next of a sequence.
func (w *world) into(s *broker.Sequence, l *broker.Link, id uint64, topic string) broker.Delivery {
	w.t.Helper()
	d, err := s.Accept(nil, id)
	if err != nil {
		w.t.Fatalf("accept %d: %v", id, err)
	}
	l.Deliver(d, inboundMsg{d, id}, topic)
	synctest.Wait()
	return d
}

func (w *world) dropped() (out []string) {
	for _, l := range w.rec.DeadLetters() {
		if d, ok := l.Msg.(broker.Dropped); ok {
			id := uint64(0)
			if m, ok := d.Message.(inboundMsg); ok {
				id = m.ID
			}
			out = append(out, fmt.Sprintf("%d %s %d %v", id, d.Reason, d.Deliveries, d.Cause))
			if d.Path != w.ref.Path() || d.Endpoint == "" {
				w.t.Errorf("dead letter of %q at %q", d.Path, d.Endpoint)
			}
		}
	}
	return out
}

// TestRedeliveryFromTheWindow: a peer that cannot redeliver hears once, of the outcome; the delays double.
func TestRedeliveryFromTheWindow(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		m := w.moody("x", map[uint64]int{1: -1, 2: 1})
		l := w.fake.Link(1)
		s := l.Sequence(broker.HoldNothing)
		d := w.into(s, l, 1, "x")
		w.into(s, l, 2, "x")
		w.into(s, l, 3, "x")
		equal(t, "deliveries so far", d.Deliveries(), 1)
		equal(t, "verdicts", w.verdicts(), []string{"3 ack"})
		equal(t, "in the window", w.status().Inbound.Unhandled, 2)
		w.after(time.Minute)
		equal(t, "heard", m.String(), "1@0s 2@0s 3@0s 1@1s 2@1s 1@3s 1@7s 1@15s")
		equal(t, "verdicts", w.verdicts(), []string{"3 ack", "2 ack", "1 drop"})
		equal(t, "given up", w.dropped(), []string{"1 maxDeliveries 5 no"})
		equal(t, "in the window", w.status().Inbound.Unhandled, 0)
		equal(t, "settled", d.Deliveries(), 0)
	})
}

func TestRedeliveryDelays(t *testing.T) {
	opts := set(func(c *broker.Config) {
		c.MaxDeliveries = 0
		c.Redelivery = broker.RedeliveryConfig{InitialDelay: 100 * time.Millisecond, MaxDelay: time.Second, Factor: 3}
	})
	bubble(t, nil, opts, func(w *world) {
		m := w.moody("x", map[uint64]int{1: 5})
		l := w.fake.Link(1)
		w.into(l.Sequence(broker.HoldNothing), l, 1, "x")
		w.after(time.Minute)
		equal(t, "capped", m.String(), "1@0s 1@100ms 1@400ms 1@1.3s 1@2.3s 1@3.3s")
	})
	bubble(t, nil, opts, func(w *world) {
		m := w.moody("x", map[uint64]int{1: 2})
		m.err = actor.Reject(broker.RetryAfter(errNo, time.Hour))
		l := w.fake.Link(1)
		w.into(l.Sequence(broker.HoldNothing), l, 1, "x")
		w.after(3 * time.Hour)
		equal(t, "the handler's own", m.String(), "1@0s 1@1h0m0s 1@2h0m0s")
	})
	bubble(t, nil, nil, func(w *world) {
		m := w.moody("x", map[uint64]int{1: 1})
		m.err = actor.Reject(broker.RetryAfter(errNo, 0))
		l := w.fake.Link(1)
		w.into(l.Sequence(broker.HoldNothing), l, 1, "x")
		equal(t, "at once", m.String(), "1@0s 1@0s")
	})
}

// TestRedeliveryByThePeer: one that waits by itself is told how long; for one that does not, the base waits.
func TestRedeliveryByThePeer(t *testing.T) {
	noDelay := func(w *world) { w.fake.NoDelay = true }
	bubble(t, noDelay, nil, func(w *world) {
		w.moody("x", map[uint64]int{1: -1})
		l := w.fake.Link(1)
		w.arrive(1, 1, "x")
		w.after(time.Second - 1)
		equal(t, "before the delay", len(w.verdicts()), 0)
		equal(t, "its place is taken", w.status().Inbound.Unhandled, 1)
		w.after(1)
		equal(t, "then", w.verdicts(), []string{"1 nack"})
		equal(t, "in the window", w.status().Inbound.Unhandled, 0)
		d, _ := l.Accept(nil, 1)
		d.SetDeliveries(4)
		l.Deliver(d, inboundMsg{d, 1}, "x")
		w.after(8*time.Second - 1)
		equal(t, "the peer's count makes the delay", len(w.verdicts()), 1)
		w.after(1)
		equal(t, "then", w.verdicts(), []string{"1 nack", "1 nack"})
	})
	bubble(t, nil, nil, func(w *world) {
		w.moody("x", map[uint64]int{1: -1})
		l := w.fake.Link(1)
		for n := 1; n <= 5; n++ {
			d, _ := l.Accept(nil, 1)
			d.SetDeliveries(n)
			l.Deliver(d, inboundMsg{d, 1}, "x")
			synctest.Wait()
		}
		equal(t, "verdicts", w.verdicts(), []string{"1 retry 1s", "1 retry 2s", "1 retry 4s", "1 retry 8s", "1 drop"})
		equal(t, "given up", w.dropped(), []string{"1 maxDeliveries 5 no"})
	})
}

// TestInnocentIsNotGivenUp: that nobody is there says nothing about the message.
func TestInnocentIsNotGivenUp(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		l := w.fake.Link(1)
		w.into(l.Sequence(broker.HoldMessages), l, 1, "x")
		w.after(time.Hour)
		equal(t, "given up", len(w.dropped()), 0)
		m := w.moody("x", nil)
		w.after(time.Second)
		equal(t, "heard", len(m.heard), 1)
		equal(t, "verdicts", w.verdicts(), []string{"1 ack"})
	})
	bubble(t, nil, nil, func(w *world) {
		for range 10 {
			l := w.fake.Link(1)
			d, _ := l.Accept(nil, 1)
			d.SetDeliveries(100)
			l.Deliver(d, inboundMsg{d, 1}, "x")
		}
		synctest.Wait()
		equal(t, "given up", len(w.dropped()), 0)
	})
}

// TestInnocentDoesNotCountAsADelivery: what waited for a subscriber has all its deliveries before it.
func TestInnocentDoesNotCountAsADelivery(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		l := w.fake.Link(1)
		w.into(l.Sequence(broker.HoldVerdicts), l, 1, "x")
		w.after(time.Hour)
		m := w.moody("x", map[uint64]int{1: -1})
		w.after(time.Hour)
		equal(t, "deliveries", len(m.heard), 5)
		equal(t, "given up", w.dropped(), []string{"1 maxDeliveries 5 no"})
	})
}

// TestHoldVerdicts: later messages go on, their verdicts wait.
func TestHoldVerdicts(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		m := w.moody("x", map[uint64]int{1: 2, 3: 1})
		l := w.fake.Link(1)
		s := l.Sequence(broker.HoldVerdicts)
		for id := range uint64(4) {
			w.into(s, l, id+1, "x")
		}
		equal(t, "held", s.Held(), false)
		equal(t, "verdicts", len(w.verdicts()), 0)
		equal(t, "places", w.status().Inbound.Unhandled, 4)
		w.after(time.Minute)
		equal(t, "heard", m.String(), "1@0s 2@0s 3@0s 4@0s 1@1s 3@1s 1@3s")
		equal(t, "verdicts", w.verdicts(), []string{"1 ack", "2 ack", "3 ack", "4 ack"})
		equal(t, "places", w.status().Inbound.Unhandled, 0)
	})
}

// TestHoldMessages: what was not delivered waits, in that sequence only.
func TestHoldMessages(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		m := w.moody("x", map[uint64]int{1: 2, 3: 1})
		l := w.fake.Link(1)
		s, other := l.Sequence(broker.HoldMessages), l.Sequence(broker.HoldMessages)
		for id := range uint64(4) {
			w.into(s, l, id+1, "x")
			w.into(other, l, id+11, "x")
		}
		equal(t, "held", [2]bool{s.Held(), other.Held()}, [2]bool{true, false})
		equal(t, "verdicts", w.verdicts(), []string{"11 ack", "12 ack", "13 ack", "14 ack"})
		w.after(time.Minute)
		equal(t, "heard", m.String(), "1@0s 11@0s 12@0s 13@0s 14@0s 1@1s 1@3s 2@3s 3@3s 4@3s 3@4s")
		equal(t, "verdicts", w.verdicts()[4:], []string{"1 ack", "2 ack", "3 ack", "4 ack"})
		equal(t, "held", s.Held(), false)
	})
	t.Run("several refused at once come again in order", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			m := &moody{began: time.Now(), refuse: map[uint64]int{1: 2, 2: 1}}
			var gate brokertest.Gate
			gate.Close()
			ref, err := w.sys.Spawn("gated", func() actor.Actor {
				return actor.Func(func(ctx *actor.Context, msg any) error { gate.Await(); return m.Receive(ctx, msg) })
			})
			if err != nil {
				t.Fatal(err)
			}
			w.subscribe("x", ref)
			l := w.fake.Link(1)
			s := l.Sequence(broker.HoldMessages)
			for id := range uint64(3) {
				w.into(s, l, id+1, "x")
			}
			gate.Open()
			synctest.Wait()
			w.into(s, l, 4, "x")
			w.after(time.Minute)
			equal(t, "heard", m.String(), "1@0s 2@0s 3@0s 1@1s 1@3s 2@3s 4@3s")
			equal(t, "verdicts", w.verdicts(), []string{"1 ack", "2 ack", "3 ack", "4 ack"})
		})
	})
}

// TestSequenceClosed is a revoked partition.
func TestSequenceClosed(t *testing.T) {
	bubble(t, nil, set(func(c *broker.Config) { c.AckMode = broker.Manual }), func(w *world) {
		m := w.moody("x", map[uint64]int{2: 1})
		l := w.fake.Link(1)
		s := l.Sequence(broker.HoldMessages)
		one := w.into(s, l, 1, "x")
		w.into(s, l, 2, "x")
		w.into(s, l, 3, "x")
		s.Close()
		s.Close()
		if _, err := s.Accept(nil, 4); !errors.Is(err, broker.ErrLinkClosed) {
			t.Errorf("accept after the close: %v", err)
		}
		one.Ack()
		one.Ack()
		w.after(time.Hour)
		equal(t, "heard", m.String(), "1@0s 2@0s")
		equal(t, "verdicts", len(w.verdicts()), 0)
		st := w.status()
		equal(t, "stale, places", [2]int{int(st.Inbound.Stale), st.Inbound.Unhandled}, [2]int{1, 0})
		w.arrive(1, 9, "x").Ack()
		synctest.Wait()
		equal(t, "the link goes on", w.verdicts(), []string{"9 ack"})
	})
}

// TestSequenceClosedUnderTheDriver: between Accept and Deliver, and while Accept waits for room.
func TestSequenceClosedUnderTheDriver(t *testing.T) {
	bubble(t, nil, set(func(c *broker.Config) { c.InboundWindow = 1 }), func(w *world) {
		m := w.moody("x", nil)
		l := w.fake.Link(1)
		s, other := l.Sequence(broker.HoldMessages), l.Sequence(broker.HoldNothing)
		d, err := s.Accept(nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() { _, err := other.Accept(nil, 2); waited <- err }()
		synctest.Wait()
		other.Close()
		if err := <-waited; !errors.Is(err, broker.ErrLinkClosed) {
			t.Errorf("an Accept that waited: %v", err)
		}
		s.Close()
		l.Deliver(d, inboundMsg{d, 1}, "x")
		synctest.Wait()
		equal(t, "told", len(m.heard), 0)
		equal(t, "places", w.status().Inbound.Unhandled, 0)
		if _, err := s.TryAccept(nil, 3); !errors.Is(err, broker.ErrLinkClosed) {
			t.Errorf("TryAccept after the close: %v", err)
		}
	})
}

// TestRedeliveryEndsWithTheLink: what waits is let go, because the peer delivers it on the next connection.
func TestRedeliveryEndsWithTheLink(t *testing.T) {
	for _, hold := range []broker.Hold{broker.HoldNothing, broker.HoldVerdicts, broker.HoldMessages} {
		t.Run(fmt.Sprint(hold), func(t *testing.T) {
			bubble(t, nil, nil, func(w *world) {
				m := w.moody("x", map[uint64]int{1: -1})
				l := w.fake.Link(1)
				s := l.Sequence(hold)
				w.into(s, l, 1, "x")
				w.into(s, l, 2, "x")
				w.drop(errGone)
				w.after(time.Hour)
				for _, h := range m.heard {
					if h.at > 0 {
						t.Errorf("message %d was told after %s, and its connection was over", h.id, h.at)
					}
				}
				equal(t, "places", w.status().Inbound.Unhandled, 0)
				equal(t, "given up", len(w.dropped()), 0)
				if _, err := s.Accept(nil, 3); !errors.Is(err, broker.ErrLinkClosed) {
					t.Errorf("accept: %v", err)
				}
			})
		})
	}
}

// TestAckTimeout counts from the return of the handler, and is exact.
func TestAckTimeout(t *testing.T) {
	manual := set(func(c *broker.Config) { c.AckMode = broker.Manual })
	bubble(t, nil, manual, func(w *world) {
		r, ref := w.receiver("r")
		var gate brokertest.Gate
		gate.Close()
		r.gate = &gate
		w.subscribe("x", ref)
		d := w.arrive(1, 1, "x")
		w.after(time.Hour)
		equal(t, "while the handler runs", len(w.verdicts()), 0)
		gate.Open()
		w.after(10 * time.Second)
		w.arrive(1, 2, "x")
		w.after(20*time.Second - 1)
		equal(t, "just before", len(w.verdicts()), 0)
		w.after(1)
		equal(t, "then", w.verdicts(), []string{"1 retry 1s"})
		w.after(10 * time.Second)
		equal(t, "and the other", w.verdicts(), []string{"1 retry 1s", "2 retry 1s"})
		d.Ack()
		equal(t, "late", len(w.verdicts()), 2)
		equal(t, "places", w.status().Inbound.Unhandled, 0)
	})
	t.Run("off", func(t *testing.T) {
		bubble(t, nil, set(func(c *broker.Config) { c.AckMode, c.AckTimeout = broker.Manual, 0 }), func(w *world) {
			_, ref := w.receiver("r")
			w.subscribe("x", ref)
			w.arrive(1, 1, "x")
			w.after(1000 * time.Hour)
			equal(t, "verdicts", len(w.verdicts()), 0)
		})
	})
	t.Run("until it is given up", func(t *testing.T) {
		bubble(t, nil, manual, func(w *world) {
			r, ref := w.receiver("r")
			w.subscribe("x", ref)
			l := w.fake.Link(1)
			w.into(l.Sequence(broker.HoldVerdicts), l, 1, "x")
			w.after(time.Hour)
			equal(t, "deliveries", len(r.got), 5)
			equal(t, "given up", w.dropped(), []string{"1 maxDeliveries 5 " + broker.ErrAckTimeout.Error()})
		})
	})
	t.Run("an answer after the timeout spares the redelivery", func(t *testing.T) {
		bubble(t, nil, manual, func(w *world) {
			r, ref := w.receiver("r")
			w.subscribe("x", ref)
			l := w.fake.Link(1)
			d := w.into(l.Sequence(broker.HoldVerdicts), l, 1, "x")
			w.after(30*time.Second + time.Millisecond)
			d.Ack()
			w.after(time.Hour)
			equal(t, "deliveries", len(r.got), 1)
			equal(t, "verdicts", w.verdicts(), []string{"1 ack"})
		})
	})
}

// TestManualTargetGone: an actor that stops without an answer has refused.
func TestManualTargetGone(t *testing.T) {
	bubble(t, nil, set(func(c *broker.Config) { c.AckMode, c.AckTimeout = broker.Manual, 0 }), func(w *world) {
		_, a := w.receiver("a")
		_, b := w.receiver("b")
		w.subscribe("x", a)
		w.subscribe("y", a, b)
		w.arrive(1, 1, "x")
		two := w.arrive(1, 2, "y")
		w.kill(a)
		equal(t, "its own", w.verdicts(), []string{"1 retry 1s"})
		two.Ack()
		synctest.Wait()
		equal(t, "the other may answer", w.verdicts(), []string{"1 retry 1s", "2 ack"})
		w.arrive(1, 3, "y")
		w.kill(b)
		equal(t, "the last of them", w.verdicts()[2:], []string{"3 retry 1s"})
		equal(t, "places", w.status().Inbound.Unhandled, 0)
	})
}

// TestRefusedWhereNothingComesAgain: a peer that wants no verdict cannot redeliver, so the refusal is a dead letter.
func TestRefusedWhereNothingComesAgain(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		w.moody("x", map[uint64]int{7: -1})
		l := w.fake.Link(1)
		if err := l.Push("x", inboundMsg{ID: 7}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		equal(t, "given up", w.dropped(), []string{"7 refused 1 no"})
		equal(t, "places", w.status().Inbound.Unhandled, 0)
	})
}

// TestNackBeforeDeliver is a driver that cannot read what came.
func TestNackBeforeDeliver(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		l := w.fake.Link(1)
		s := l.Sequence(broker.HoldVerdicts)
		for id, err := range map[uint64]error{1: errNo, 2: broker.Discard(errNo)} {
			d, _ := s.Accept(nil, id)
			d.Nack(err)
			l.Deliver(d, "too late", "x")
		}
		w.after(time.Hour)
		equal(t, "places", w.status().Inbound.Unhandled, 0)
		equal(t, "given up", len(w.dropped()), 2)
		equal(t, "verdicts", len(w.verdicts()), 2)
	})
}
