package broker_test

import (
	"context"
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

var errGone = errors.New("gone")

// TestW01_ReturnedInOrder loses a window of three and finds them at the head, in order, before what came later.
func TestW01_ReturnedInOrder(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		w.publish("a", "b", "c")
		equal(t, "in flight", w.fake.Pending(), []string{"a", "b", "c"})
		w.drop(errGone)
		w.publish("d", "e")
		w.after(time.Second)
		equal(t, "sent", w.fake.Payloads(), []string{"a", "b", "c", "a", "b", "c", "d", "e"})
		equal(t, "resends", w.fake.Sent()[3].Resends, 1)
		w.fake.Confirm(5)
		equal(t, "acked", w.books().Acked, 5)
	})
	t.Run("one of them confirmed", func(t *testing.T) {
		bubble(t, holding, nil, func(w *world) {
			w.publish("a", "b", "c")
			w.fake.Confirm(1)
			w.drop(errGone)
			w.after(time.Second)
			equal(t, "sent", w.fake.Payloads(), []string{"a", "b", "c", "b", "c"})
		})
	})
}

// TestW02_BoundHoldsWhileConnected fills the buffer of a slow server.
func TestW02_BoundHoldsWhileConnected(t *testing.T) {
	bubble(t, holding, set(func(c *broker.Config) { c.OutboundBuffer, c.InFlight = 10, 4 }), func(w *world) {
		for i := range 50 {
			w.publish(fmt.Sprint(i))
			b := w.books()
			if b.Queued+b.InFlight > 10 {
				t.Fatalf("unsettled %d + %d", b.Queued, b.InFlight)
			}
		}
		equal(t, "in flight", w.fake.Pending(), []string{"0", "1", "2", "3"})
		equal(t, "evicted first", w.reasons()[0], "4=overflow")
		equal(t, "evicted", len(w.reasons()), 40)
		w.after(ms)
		n := 0
		for _, e := range w.rec.Events() {
			if o, ok := e.(broker.BufferOverflow); ok {
				n += o.Count
				equal(t, "limit", o.Limit, 10)
			}
		}
		equal(t, "overflow events", n, 40)
	})
	t.Run("all in flight refuses the newcomer", func(t *testing.T) {
		bubble(t, holding, set(func(c *broker.Config) { c.OutboundBuffer, c.InFlight = 3, 3 }), func(w *world) {
			for _, p := range []string{"a", "b", "c", "d"} {
				w.publish(p) // one by one, so that each is in flight before the next
			}
			equal(t, "dead letters", w.reasons(), []string{"d=overflow!"})
			equal(t, "refused", w.books().Refused, 1)
			_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "e"})
			if !errors.Is(err, broker.ErrBufferFull) {
				t.Errorf("ask ended with %v", err)
			}
			equal(t, "an asked one is no dead letter", len(w.reasons()), 1)
		})
	})
	t.Run("rejectNewest", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.DialGate.Close() }, set(func(c *broker.Config) {
			c.OutboundBuffer, c.Overflow = 2, broker.RejectNewest
		}), func(w *world) {
			w.publish("a", "b", "c")
			equal(t, "dead letters", w.reasons(), []string{"c=overflow!"})
			w.events()
			w.fake.DialGate.Open()
			synctest.Wait()
			equal(t, "sent", w.fake.Payloads(), []string{"a", "b"})
		})
	})
}

func TestOverflowEvictsOldest(t *testing.T) {
	bubble(t, func(w *world) { w.fake.DialGate.Close() }, set(func(c *broker.Config) { c.OutboundBuffer = 2 }), func(w *world) {
		w.publish("m1", "m2", "m3")
		w.events("Overflow(1)")
		equal(t, "dead letters", w.reasons(), []string{"m1=overflow"})
		w.fake.DialGate.Open()
		synctest.Wait()
		equal(t, "sent", w.fake.Payloads(), []string{"m2", "m3"})
		b := w.books()
		equal(t, "accepted", b.Accepted, 3)
		equal(t, "undelivered", b.Undelivered, 1)
	})
}

// TestW03_StaleCallbacks lets everything a dead connection could still say arrive while the next one is up.
func TestW03_StaleCallbacks(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		w.publish("a", "b")
		ta, _ := w.fake.Token(1, "a")
		tb, _ := w.fake.Token(1, "b")
		w.drop(errGone)
		w.after(time.Second)
		old := w.fake.Link(1)
		old.Lost(errors.New("late close callback"))
		old.Settle(tb, nil, errors.New("late failure"))
		old.SettleThrough(tb, nil)
		old.Settle(ta, nil, nil) // in flight again: its business is the new connection's
		if err := old.Push("t", "x"); !errors.Is(err, broker.ErrLinkClosed) {
			t.Errorf("push: %v", err)
		}
		if _, err := old.Room(); !errors.Is(err, broker.ErrLinkClosed) {
			t.Errorf("room: %v", err)
		}
		if _, err := old.Dial(w.t.Context(), "tcp", "127.0.0.1:1"); !errors.Is(err, broker.ErrLinkClosed) {
			t.Errorf("dial: %v", err)
		}
		if err := old.Replay(w.t.Context(), nil); err == nil {
			t.Error("replay on a dead link")
		}
		w.after(time.Hour)
		w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
		equal(t, "in flight", w.fake.Pending(), []string{"a", "b"})
		w.fake.Confirm(2)
		equal(t, "acked", w.books().Acked, 2)
	})
}

// TestLateConfirmationCounts spares the resend when the outcome of the old connection arrives during the wait.
func TestLateConfirmationCounts(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		w.publish("a", "b")
		ta, _ := w.fake.Token(1, "a")
		w.drop(errGone)
		w.fake.Link(1).Settle(ta, nil, nil)
		w.fake.Link(1).Settle(ta, nil, nil)
		w.after(time.Second)
		equal(t, "sent", w.fake.Payloads(), []string{"a", "b", "b"})
		equal(t, "acked", w.books().Acked, 1)
	})
}

// TestW04_TwoDrains holds the old connection's dispatch while the next one is up.
func TestW04_TwoDrains(t *testing.T) {
	release := make(chan struct{})
	stuck := func(_ context.Context, s brokertest.Sent) error {
		if s.Link == 1 && s.Payload == "a" {
			<-release // a write that ignores everything
			return errors.New("write failed at last")
		}
		return nil
	}
	bubble(t, func(w *world) { confirming(w); w.fake.OnDispatch = stuck; release = make(chan struct{}) }, nil, func(w *world) {
		w.publish("a", "b", "c")
		w.drop(errGone)
		w.after(10 * time.Second) // teardown gives up on the hook after 5 s
		equal(t, "sent", w.fake.Sent(), []brokertest.Sent{{Link: 2, Payload: "a", Resends: 1}, {Link: 2, Payload: "b"}, {Link: 2, Payload: "c"}})
		close(release)
		w.publish("d")
		w.after(time.Minute)
		equal(t, "sent", w.fake.Payloads(), []string{"a", "b", "c", "d"})
		w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
		equal(t, "acked", w.books().Acked, 4)
		equal(t, "abandoned", w.status().Abandoned, 1)
	})
}

// TestO987_NoOvertaking is the reported input: a slow first send, new messages during the last send of the backlog, and
// that send fails.
func TestO987_NoOvertaking(t *testing.T) {
	var failed atomic.Bool
	slow := func(ctx context.Context, s brokertest.Sent) error {
		switch {
		case s.Payload == "1":
			<-time.After(20 * ms)
		case s.Payload == "3" && failed.CompareAndSwap(false, true):
			<-time.After(20 * ms)
			return errors.New("broken pipe")
		}
		return nil
	}
	bubble(t, func(w *world) { w.fake.OnDispatch = slow; w.fake.DialGate.Close() }, nil, func(w *world) {
		w.publish("1", "2", "3")
		w.fake.DialGate.Open()
		w.after(30 * ms) // 3 is being sent and the buffer looks empty
		w.publish("4", "5")
		w.after(time.Second)
		equal(t, "wire", w.fake.Payloads(), []string{"1", "2", "3", "4", "5"})
		w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
	})
}

func TestO989_StopAccountsForTheBuffer(t *testing.T) {
	bubble(t, func(w *world) { w.fake.FailConnects(1000) }, nil, func(w *world) {
		for i := range 800 {
			w.ref.Tell(brokertest.Publish{Payload: fmt.Sprint(i)})
		}
		synctest.Wait()
		w.stop()
		rs := w.reasons()
		equal(t, "dead letters", len(rs), 800)
		equal(t, "first", rs[0], "0=stopped")
		equal(t, "last", rs[799], "799=stopped")
	})
}

// TestW18_BufferZero: nothing waits.
func TestW18_BufferZero(t *testing.T) {
	zero := set(func(c *broker.Config) { c.OutboundBuffer, c.InFlight = 0, 2 })
	t.Run("not connected", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.DialGate.Close() }, zero, func(w *world) {
			w.publish("a")
			w.events("NotConnected")
			equal(t, "dead letters", w.reasons(), []string{"a=notConnected!"})
			_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "b"})
			if !errors.Is(err, broker.ErrNotConnected) {
				t.Errorf("ask ended with %v", err)
			}
		})
	})
	t.Run("what is unconfirmed at a loss is dropped", func(t *testing.T) {
		bubble(t, holding, zero, func(w *world) {
			for _, p := range []string{"a", "b", "c"} {
				w.publish(p)
			}
			equal(t, "refused", w.reasons(), []string{"c=overflow!"})
			w.drop(errGone)
			equal(t, "dead letters", w.reasons()[1:], []string{"a=unknown", "b=unknown"})
			w.after(time.Second)
			w.publish("d")
			equal(t, "in flight", w.fake.Pending(), []string{"d"})
			w.books()
		})
	})
	t.Run("an outcome left open is dropped", func(t *testing.T) {
		bubble(t, holding, zero, func(w *world) {
			w.publish("a")
			w.fake.LeaveOpen("a")
			synctest.Wait()
			equal(t, "dead letters", w.reasons(), []string{"a=unknown"})
			w.publish("b")
			equal(t, "in flight", w.fake.Pending(), []string{"b"})
		})
	})
}

// TestW19_NothingIsAcceptedWhileStopping tells messages during the flush of a shutdown.
func TestW19_NothingIsAcceptedWhileStopping(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		w.publish("a")
		ended := make(chan error, 1)
		go func() { ended <- w.sys.Terminate(w.t.Context()) }()
		w.after(time.Second) // the flush takes 2 s, because nothing is confirmed
		w.publish("b")
		equal(t, "dead letters", w.reasons(), []string{"b=stopped!"})
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// TestW20_AcceptedIsNotSent shows the difference, and that an ask gets the end.
func TestW20_AcceptedIsNotSent(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		var accepted error
		w.do(func(b *brokertest.Base) error { accepted = b.Enqueue("a"); return nil })
		equal(t, "Enqueue", accepted, nil)
		type answer struct {
			r   broker.Receipt
			err error
		}
		got := make(chan answer, 1)
		go func() {
			r, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "b"})
			got <- answer{r, err}
		}()
		synctest.Wait()
		w.fake.Confirm(1)
		synctest.Wait()
		select {
		case a := <-got:
			t.Fatalf("answered before the confirmation: %+v", a)
		default:
		}
		w.drop(errGone)
		w.after(time.Second)
		w.fake.Confirm(1)
		a := <-got
		equal(t, "receipt", a, answer{broker.Receipt{Outcome: broker.Acked, Resends: 1}, nil})
	})
}

func TestReceiptsOfEachMode(t *testing.T) {
	for mode, want := range map[brokertest.Mode]broker.Outcome{
		brokertest.ModeWritten: broker.Written, brokertest.ModeConfirm: broker.Acked, brokertest.ModeFlush: broker.Acked,
	} {
		bubble(t, func(w *world) { w.fake.Mode = mode }, nil, func(w *world) {
			r, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "a"})
			if err != nil || r.Outcome != want {
				t.Errorf("mode %d: %+v, %v", mode, r, err)
			}
			w.books()
		})
	}
}

// TestAckOutcomeMisread holds the confirms of 100, kills the link and accepts the redial.
func TestAckOutcomeMisread(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		var acked, failed atomic.Int32
		for i := range 100 {
			go func() {
				r, err := ask[broker.Receipt](w, brokertest.Publish{Payload: fmt.Sprint(i)})
				if err == nil && r.Outcome == broker.Acked {
					acked.Add(1)
				} else {
					failed.Add(1)
				}
			}()
		}
		synctest.Wait()
		equal(t, "in flight", len(w.fake.Pending()), 100)
		w.drop(errGone)
		w.after(time.Second)
		equal(t, "resent", len(w.fake.Pending()), 100)
		w.fake.Refuse(w.fake.Pending()[7]) // 1 of 100
		w.fake.ConfirmThrough(w.fake.Pending()[49], nil)
		w.fake.Confirm(100)
		synctest.Wait()
		equal(t, "acked", acked.Load(), 99)
		equal(t, "failed", failed.Load(), 1)
		equal(t, "rejected", len(w.reasons()), 1)
		b := w.books()
		equal(t, "books", [3]uint64{b.Accepted, b.Acked, b.Undelivered}, [3]uint64{100, 99, 1})
		w.publish("again")
		equal(t, "the window is free", w.fake.Pending(), []string{"again"})
		w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
	})
}

// TestRejectedKeepsTheLink refuses in each of the two ways.
func TestRejectedKeepsTheLink(t *testing.T) {
	refuse := func(_ context.Context, s brokertest.Sent) error {
		if s.Payload == "bad" {
			return broker.Rejected(errors.New("too large"))
		}
		return nil
	}
	for _, mode := range []brokertest.Mode{brokertest.ModeWritten, brokertest.ModeConfirm, brokertest.ModeFlush} {
		bubble(t, func(w *world) { w.fake.OnDispatch = refuse; w.fake.Mode = mode }, nil, func(w *world) {
			w.publish("a", "bad", "b")
			w.after(time.Hour)
			equal(t, "sent", w.fake.Payloads(), []string{"a", "b"})
			equal(t, "dead letters", w.reasons(), []string{"bad=rejected"})
			w.events("Connected")
			var u *broker.UndeliveredError
			_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "bad"})
			if !errors.As(err, &u) || u.Reason != broker.ReasonRejected {
				t.Errorf("ask ended with %v", err)
			}
			w.books()
		})
	}
}

// TestLeftOpenIsSentAgain: an outcome that is open without a loss is sent again, but not for ever on the same link.
func TestLeftOpenIsSentAgain(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		w.publish("a", "b")
		w.fake.LeaveOpen("a")
		synctest.Wait()
		equal(t, "in flight", w.fake.Pending(), []string{"b", "a"})
		w.fake.LeaveOpen("a")
		synctest.Wait()
		w.events("Connected")
		w.fake.LeaveOpen("a")
		synctest.Wait()
		w.events("Connected", "Disconnected")
		w.after(time.Second)
		equal(t, "in flight, in order", w.fake.Pending(), []string{"a", "b"})
	})
}

// TestW15_CommandFailure: an error or panic of a command is the end of that command only.
func TestW15_CommandFailure(t *testing.T) {
	bubble(t, func(w *world) { w.fake.FailConnects(1) }, nil, func(w *world) {
		w.publish("a")
		w.ref.Tell(brokertest.Remember{Key: "k", Label: "1"})
		boom := errors.New("boom")
		for _, f := range []func(*brokertest.Base) error{
			func(*brokertest.Base) error { return boom },
			func(*brokertest.Base) error { panic(boom) },
		} {
			_, err := ask[any](w, brokertest.Do{Func: f})
			if !errors.Is(err, boom) {
				t.Errorf("ask ended with %v", err)
			}
			w.do(f)
		}
		equal(t, "dead letters of the told ones", len(w.rec.DeadLetters()), 2)
		w.after(time.Second)
		equal(t, "sent", w.fake.Payloads(), []string{"a"})
		equal(t, "applied", w.fake.Applied(), []string{"k=1"})
		equal(t, "connects", w.fake.Connects(), 2)
	})
}

func TestUnhandledCommand(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		w.ref.Tell("what is this")
		synctest.Wait()
		ls := w.rec.DeadLetters()
		if len(ls) != 1 || !errors.Is(ls[0].Reason, actor.ErrUnhandled) {
			t.Errorf("dead letters %+v", ls)
		}
	})
}
