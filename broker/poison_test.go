package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

// killer makes the server drop the link whenever it reads payload bad, with what was read before it confirmed.
func killer(bad ...string) func(w *world) {
	return func(w *world) {
		w.fake.Mode = brokertest.ModeConfirm
		w.fake.OnDispatch = func(_ context.Context, s brokertest.Sent) error {
			if slices.Contains(bad, s.Payload) {
				return errors.New("connection reset by peer")
			}
			return nil
		}
	}
}

// TestW06_Poison is the first reported input: a, bad, b.
func TestW06_Poison(t *testing.T) {
	bubble(t, killer("bad"), nil, func(w *world) {
		w.publish("a", "bad", "b")
		w.after(time.Hour)
		equal(t, "sent", w.fake.Payloads(), []string{"a", "b"})
		equal(t, "dead letters", w.reasons(), []string{"bad=poison"})
		if n := w.fake.Connects(); n > 8 {
			t.Errorf("%d dials", n)
		}
		b := w.books()
		equal(t, "books", [2]uint64{b.Acked, b.Undelivered}, [2]uint64{2, 1})
		w.publish("c", "d")
		equal(t, "the window is open again", w.fake.Payloads(), []string{"a", "b", "c", "d"})
	})
	t.Run("asked", func(t *testing.T) {
		bubble(t, killer("bad"), nil, func(w *world) {
			go w.publish("b")
			_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "bad"})
			if !errors.Is(err, broker.ErrPoison) {
				t.Errorf("ask ended with %v", err)
			}
		})
	})
	t.Run("nothing else to confirm, so a stable link convicts", func(t *testing.T) {
		bubble(t, killer("bad"), nil, func(w *world) {
			w.publish("bad")
			w.after(time.Hour)
			equal(t, "dead letters", w.reasons(), []string{"bad=poison"})
			if n := w.fake.Connects(); n > 8 {
				t.Errorf("%d dials", n)
			}
		})
	})
	t.Run("two of them", func(t *testing.T) {
		bubble(t, killer("bad1", "bad2"), nil, func(w *world) {
			w.publish("a", "bad1", "bad2", "b", "c")
			w.after(time.Hour)
			equal(t, "sent", w.fake.Payloads(), []string{"a", "b", "c"})
			rs := w.reasons()
			slices.Sort(rs)
			equal(t, "dead letters", rs, []string{"bad1=poison", "bad2=poison"})
		})
	})
	t.Run("outcomes left open by the driver at the loss", func(t *testing.T) {
		open := func(w *world) {
			w.fake.Mode, w.fake.HoldConfirms = brokertest.ModeConfirm, true
		}
		bubble(t, open, nil, func(w *world) {
			w.publish("bad", "b")
			for range 60 {
				for _, p := range w.fake.Pending() {
					if p == "bad" { // the driver says first what is open, and then that the link is gone
						w.fake.LeaveOpen(p)
						w.fake.Drop(errGone)
						break
					}
					if !slices.Contains(w.fake.Pending(), "bad") {
						w.fake.Confirm(1)
					}
				}
				w.after(30 * time.Second)
			}
			equal(t, "dead letters", w.reasons(), []string{"bad=poison"})
			equal(t, "acked", w.books().Acked, 1)
		})
	})
}

// TestPoisonNobody is the second input: 20 connections are reset before any confirmation, with 300 queued.
func TestPoisonNobody(t *testing.T) {
	for name, windowed := range map[string]int{"pipelined": 0, "one by one": 1} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) { w.fake.Mode, w.fake.HoldConfirms = brokertest.ModeConfirm, true }, set(func(c *broker.Config) { c.InFlight = windowed }), func(w *world) {
				var want []string
				for i := range 300 {
					want = append(want, fmt.Sprint(i))
				}
				w.publish(want...)
				for range 20 {
					if len(w.fake.Pending()) == 0 {
						t.Fatal("nothing in flight")
					}
					w.drop(errors.New("reset"))
					for w.status().State != broker.StateConnected {
						w.after(time.Second)
					}
				}
				equal(t, "dead letters", len(w.reasons()), 0)
				sent := len(w.fake.Sent())
				w.fake.HoldConfirms = false
				for w.fake.Confirm(1) > 0 {
					synctest.Wait()
				}
				equal(t, "acked", w.books().Acked, 300)
				first := map[string]bool{}
				var order []string
				for _, p := range w.fake.Payloads() {
					if !first[p] {
						first[p] = true
						order = append(order, p)
					}
				}
				equal(t, "order", order, want)
				t.Logf("%d dispatches before the first confirmation", sent)
			})
		})
	}
}

// TestSuspectReturnsToTheHead holds a suspect back and lets that link fall too.
func TestSuspectReturnsToTheHead(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		w.publish("a", "b", "c")
		for i := range 5 {
			equal(t, fmt.Sprintf("in flight on link %d", i+1), w.fake.Pending()[0], "a")
			w.drop(errGone)
			w.after(9 * time.Second) // below stableAfter
		}
		equal(t, "held back, and the window is closed", w.fake.Pending(), []string{"b"})
		w.drop(errGone)
		w.after(time.Minute)
		equal(t, "the link is to blame", w.fake.Pending(), []string{"a"})
		w.fake.Confirm(1)
		synctest.Wait()
		equal(t, "open again", w.fake.Pending(), []string{"b", "c"})
		equal(t, "dead letters", len(w.reasons()), 0)
	})
}

// TestUnluckyIsTriedBeforeItIsConvicted: a message that was alone at loss after loss for no fault of its own is sent once
// more on the link that has proved good, and lives.
func TestUnluckyIsTriedBeforeItIsConvicted(t *testing.T) {
	for falls := 1; falls <= 5; falls++ {
		t.Run(fmt.Sprint(falls), func(t *testing.T) {
			left := falls
			unlucky := func(w *world) {
				confirming(w)
				w.fake.OnDispatch = func(_ context.Context, s brokertest.Sent) error {
					if s.Payload == "unlucky" && left > 0 {
						left--
						return errGone
					}
					return nil
				}
			}
			bubble(t, unlucky, nil, func(w *world) {
				w.publish("unlucky", "b", "c")
				w.after(time.Hour)
				equal(t, "dead letters", len(w.reasons()), 0)
				sent := w.fake.Payloads()
				slices.Sort(sent)
				equal(t, "sent", sent, []string{"b", "c", "unlucky"})
				w.drop(errGone)
				w.after(time.Hour)
				w.publish("d")
				equal(t, "acked", w.books().Acked, 4)
			})
		})
	}
}

// TestStormConvictsNobody: connections fall every few milliseconds by themselves, and the one that holds the suspect back
// confirms something before it falls as well. The message at the head was alone in flight again and again, and is innocent.
func TestStormConvictsNobody(t *testing.T) {
	storm := func(w *world) {
		holding(w)
		w.fake.OnConnect = func(_ context.Context, n int, _ *broker.Link) error {
			if n%6 == 0 {
				time.AfterFunc(3*ms, func() { w.fake.Confirm(1) })
			}
			if n <= 30 {
				time.AfterFunc(5*ms, func() { w.fake.Drop(errGone) })
			}
			return nil
		}
	}
	fast := set(func(c *broker.Config) { c.Reconnect.InitialDelay, c.Reconnect.MaxDelay = 10*ms, 20*ms })
	bubble(t, storm, fast, func(w *world) {
		for i := range 50 {
			w.publish(fmt.Sprintf("%02d", i))
		}
		for range 40 {
			w.after(time.Second)
			w.fake.Confirm(50)
		}
		equal(t, "dead letters", len(w.reasons()), 0)
		equal(t, "acked", w.books().Acked, 50)
	})
}
