package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

// The invariants one by one, each where it would break first. TestModel checks I2 to I7 and I9 under random faults.

// TestI1_OneOwnerOfTheState calls everything a driver may call from many goroutines at once, on every link there ever was;
// under the race detector.
func TestI1_OneOwnerOfTheState(t *testing.T) {
	bubble(t, confirming, nil, func(w *world) {
		var wg sync.WaitGroup
		end := time.Now().Add(5 * time.Minute)
		for g := range 8 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 7))
				for time.Now().Before(end) {
					time.Sleep(rand.N(2 * time.Second))
					l := w.fake.Link(1 + r.IntN(max(1, w.fake.Connects())))
					switch r.IntN(6) {
					case 0:
						l.Lost(errGone)
					case 1:
						l.Settle(broker.Token{}, nil, errGone)
					case 2:
						_ = l.Push("x", g)
					case 3:
						w.ref.Tell(brokertest.Publish{Payload: fmt.Sprint(g)})
					case 4:
						w.ref.Tell(broker.Reconnect{})
					case 5:
						l.NoteInbound()
					}
				}
			})
		}
		wg.Wait()
		w.after(time.Hour)
		grammar(t, w.rec.Names())
		b := w.books()
		equal(t, "acked", b.Acked, b.Accepted)
	})
}

// TestI2_OneHookAtATime opens and closes as fast as it can; every bubble checks the overlaps at its end.
func TestI2_OneHookAtATime(t *testing.T) {
	slow := func(ctx context.Context, n int, l *broker.Link) error {
		brokertest.Jitter(20 * ms)
		if n%3 == 0 {
			l.Lost(errGone)
		}
		return nil
	}
	bubble(t, func(w *world) { w.fake.OnConnect = slow }, set(func(c *broker.Config) { c.ConnectTimeout = 10 * ms }), func(w *world) {
		for range 200 {
			w.fake.Drop(errGone)
			w.ref.Tell(broker.Reconnect{})
			time.Sleep(rand.N(100 * ms))
		}
		synctest.Wait()
	})
}

// TestI3_EveryEnvelopeEndsOnce is the account at a stop in the middle of everything.
func TestI3_EveryEnvelopeEndsOnce(t *testing.T) {
	bubble(t, holding, set(func(c *broker.Config) { c.OutboundBuffer, c.InFlight, c.FlushTimeout = 50, 10, 0 }), func(w *world) {
		for i := range 100 {
			w.publish(fmt.Sprint(i))
			if i%9 == 0 {
				w.fake.Confirm(2)
			}
			if i%31 == 30 {
				w.drop(errGone)
				w.after(time.Second)
			}
			if i == 50 {
				w.fake.Refuse(w.fake.Pending()[0])
			}
		}
		b := w.books()
		w.stop()
		ends := map[string]int{}
		for _, r := range w.reasons() {
			if !strings.HasSuffix(r, "!") {
				ends[r]++
			}
		}
		for r, n := range ends {
			if n != 1 {
				t.Errorf("%d dead letters %s", n, r)
			}
		}
		equal(t, "acked and dead letters", b.Acked+uint64(len(ends)), b.Accepted)
		equal(t, "accepted or refused", b.Accepted+b.Refused, 100)
	})
}

// TestI4_DeliveryOrder is order over ten losses.
func TestI4_DeliveryOrder(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		n := 0
		for range 10 {
			for range 30 {
				w.ref.Tell(brokertest.Publish{Payload: fmt.Sprintf("%04d", n)})
				n++
			}
			synctest.Wait()
			w.fake.Confirm(rand.IntN(20))
			w.drop(errGone)
			w.after(11 * time.Second)
		}
		for w.fake.Confirm(1) > 0 {
			synctest.Wait()
		}
		equal(t, "acked", w.books().Acked, uint64(n))
		last := ""
		for _, s := range w.fake.Sent() {
			if s.Resends == 0 && s.Payload < last {
				t.Fatalf("%s after %s", s.Payload, last)
			}
			last = max(last, s.Payload)
		}
	})
}

// TestI5_EventGrammar is flapping with failures in between.
func TestI5_EventGrammar(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		for i := range 50 {
			w.fake.FailConnects(i % 4)
			w.drop(errGone)
			w.after(time.Duration(i) * time.Second)
		}
		w.after(time.Hour)
		names := w.rec.Names()
		grammar(t, names)
		equal(t, "last", names[len(names)-1], "Connected")
		w.stop()
		equal(t, "a stop ends without Disconnected", len(w.rec.Names()), len(names))
	})
}

// TestI6_NothingAfterStop keeps calling from outside after the stop.
func TestI6_NothingAfterStop(t *testing.T) {
	bubble(t, confirming, nil, func(w *world) {
		w.publish("a")
		w.stop()
		l := w.fake.Link(1)
		l.Lost(errGone)
		l.Settle(broker.Token{}, nil, nil)
		if err := l.Push("x", 1); !errors.Is(err, broker.ErrLinkClosed) {
			t.Errorf("push: %v", err)
		}
		w.after(time.Hour)
		w.events("Connected")
		equal(t, "connects, disconnects", [2]int{w.fake.Connects(), w.fake.Disconnects()}, [2]int{1, 1})
	})
}

// TestI7_DesiredIsOnTheWire: see also TestSubscriptionRace.
func TestI7_DesiredIsOnTheWire(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		want := map[string]bool{}
		for i := range 300 {
			key := fmt.Sprint(rand.IntN(10))
			if rand.IntN(3) == 0 {
				delete(want, key)
				w.ref.Tell(brokertest.Forget{Key: key})
			} else {
				want[key] = true
				w.ref.Tell(brokertest.Remember{Key: key, Label: fmt.Sprint(i)})
			}
			if i%40 == 0 {
				w.fake.Drop(errGone)
			}
		}
		w.after(time.Hour)
		on := map[string]bool{}
		for _, s := range w.fake.Applied() {
			key, _, _ := strings.Cut(s, "=")
			on[key] = true
		}
		equal(t, "on the wire", on, want)
	})
}

// TestI9_Bound holds in every state.
func TestI9_Bound(t *testing.T) {
	bubble(t, func(w *world) { holding(w); w.fake.DialGate.Close() }, set(func(c *broker.Config) { c.OutboundBuffer, c.InFlight = 5, 3 }), func(w *world) {
		peak := 0
		look := func() {
			for i := range 12 {
				w.publish(fmt.Sprint(i))
				b := w.books()
				peak = max(peak, b.Queued+b.InFlight)
			}
		}
		look() // connecting
		w.fake.DialGate.Open()
		synctest.Wait()
		look() // connected
		w.fake.DisconnectGate.Close()
		w.drop(errGone)
		look() // disconnecting
		w.fake.DisconnectGate.Open()
		synctest.Wait()
		look() // disconnected
		equal(t, "peak", peak, 5)
	})
}

// TestI10_HookContextEnds by each of the three.
func TestI10_HookContextEnds(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"stop":            func(w *world) { w.stop() },
		"shutdown":        func(w *world) { _ = w.sys.Terminate(w.t.Context()) },
		"connectTimeout":  func(w *world) { w.after(time.Minute) },
		"loss in Connect": func(w *world) { w.fake.Link(1).Lost(errGone); synctest.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			var ended atomic.Int32
			wait := func(ctx context.Context, n int, _ *broker.Link) error {
				if n > 1 {
					return errGone
				}
				<-ctx.Done()
				ended.Add(1)
				return context.Cause(ctx)
			}
			bubble(t, func(w *world) { w.fake.OnConnect = wait }, set(func(c *broker.Config) { c.ConnectTimeout = time.Minute }), func(w *world) {
				end(w)
				equal(t, "ended", ended.Load(), 1)
			})
		})
	}
}
