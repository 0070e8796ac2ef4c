package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

// silentPeer accepts and says nothing.
func silentPeer(_ context.Context, _ int, l *broker.Link) error {
	ours, theirs := net.Pipe()
	context.AfterFunc(l.Context(), func() { _ = theirs.Close() })
	nc, err := l.Adopt(ours)
	if err == nil {
		_, err = nc.Read(make([]byte, 1))
	}
	return err
}

// TestStopMoments stops at each moment of a connection's life. At the end of a bubble nothing may be left running: a
// goroutine would be reported as a deadlock.
func TestStopMoments(t *testing.T) {
	noFlush := func(c *broker.Config) { c.FlushTimeout = 0 }
	type moment struct {
		prepare func(w *world)
		config  func(c *broker.Config)
		reach   func(w *world)
		flush   time.Duration
	}
	moments := map[string]moment{
		"dial":           {prepare: func(w *world) { w.fake.DialGate.Close() }},
		"silent accept":  {prepare: func(w *world) { w.fake.OnConnect = silentPeer }},
		"authentication": {prepare: func(w *world) { w.fake.ConnectGate.Close() }},
		"replay":         {prepare: func(w *world) { w.fake.Initial = []string{"a", "1"}; w.fake.ApplyGate.Close() }},
		"idle":           {},
		"in flight":      {prepare: holding, reach: func(w *world) { w.publish("p") }},
		"flush": {
			prepare: holding, reach: func(w *world) { w.publish("p") }, flush: time.Second,
			config: func(c *broker.Config) { c.FlushTimeout = time.Second },
		},
		"dispatch":   {prepare: func(w *world) { w.fake.DispatchGate.Close() }, reach: func(w *world) { w.publish("p") }},
		"backoff":    {prepare: func(w *world) { w.fake.FailConnects(math.MaxInt32) }, reach: func(w *world) { w.after(50 * ms) }},
		"teardown":   {prepare: func(w *world) { w.fake.DisconnectGate.Close() }, reach: func(w *world) { w.drop(errGone) }},
		"disconnect": {prepare: func(w *world) { w.fake.DisconnectGate.Close() }},
		"breaker open": {
			prepare: func(w *world) { w.fake.FailConnects(math.MaxInt32) },
			config:  func(c *broker.Config) { c.CircuitBreaker = broker.BreakerConfig{FailureThreshold: 1, Reset: time.Hour} },
			reach:   func(w *world) { w.after(10 * time.Second) },
		},
		"given up": {
			prepare: func(w *world) { w.fake.FailConnects(1) },
			config:  func(c *broker.Config) { c.Reconnect.Off = true },
		},
	}
	for name, m := range moments {
		for _, stubborn := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stubborn=%v", name, stubborn), func(t *testing.T) {
				prepare := func(w *world) {
					if w.fake.Stubborn = stubborn; m.prepare != nil {
						m.prepare(w)
					}
				}
				config := func(c *broker.Config) {
					if noFlush(c); m.config != nil {
						m.config(c)
					}
				}
				bubble(t, prepare, set(config), func(w *world) {
					if m.reach != nil {
						m.reach(w)
					}
					before, connects := len(w.rec.Names()), w.fake.Connects()
					if took := w.stop(); took > m.flush+100*ms {
						t.Errorf("stop took %s", took)
					}
					after := len(w.rec.Names())
					if after != before {
						t.Errorf("a stop published %v", w.rec.Names()[before:])
					}
					for _, g := range []*brokertest.Gate{&w.fake.DialGate, &w.fake.ConnectGate, &w.fake.DispatchGate, &w.fake.ApplyGate, &w.fake.DisconnectGate} {
						g.Open()
					}
					w.after(2 * time.Hour)
					equal(t, "events after stop", len(w.rec.Names()), after)
					equal(t, "connects", w.fake.Connects(), connects)
					if d := w.fake.Disconnects(); d > connects {
						t.Errorf("%d disconnects for %d connects", d, connects)
					}
				})
			})
		}
	}
}

// TestStopFlush has the four ends of a flush.
func TestStopFlush(t *testing.T) {
	t.Run("settled", func(t *testing.T) {
		bubble(t, holding, nil, func(w *world) {
			w.publish("a", "b")
			time.AfterFunc(500*ms, func() { w.fake.Confirm(2) })
			equal(t, "stop took", w.stop(), 500*ms)
			equal(t, "dead letters", len(w.reasons()), 0)
		})
	})
	t.Run("queued are sent", func(t *testing.T) {
		slow := func(context.Context, brokertest.Sent) error { <-time.After(10 * ms); return nil }
		bubble(t, func(w *world) { w.fake.OnDispatch = slow }, nil, func(w *world) {
			for i := range 10 {
				w.ref.Tell(brokertest.Publish{Payload: fmt.Sprint(i)})
			}
			synctest.Wait()
			equal(t, "stop took", w.stop(), 100*ms)
			equal(t, "sent", len(w.fake.Sent()), 10)
		})
	})
	t.Run("out of time", func(t *testing.T) {
		bubble(t, holding, set(func(c *broker.Config) { c.InFlight = 1 }), func(w *world) {
			w.publish("a", "b")
			if took := w.stop(); took < 2*time.Second || took > 2100*ms {
				t.Errorf("stop took %s", took)
			}
			equal(t, "dead letters", w.reasons(), []string{"a=unknown", "b=stopped"})
			w.events("Connected")
		})
	})
	t.Run("link lost", func(t *testing.T) {
		bubble(t, holding, nil, func(w *world) {
			w.publish("a")
			time.AfterFunc(300*ms, func() { w.fake.Drop(errGone) })
			equal(t, "stop took", w.stop(), 300*ms)
			equal(t, "dead letters", w.reasons(), []string{"a=unknown"})
			w.events("Connected")
			equal(t, "connects", w.fake.Connects(), 1)
		})
	})
	t.Run("an outcome reported in Disconnect counts", func(t *testing.T) {
		bubble(t, holding, set(func(c *broker.Config) { c.FlushTimeout = 0 }), func(w *world) {
			w.publish("a", "b")
			token, _ := w.fake.Token(1, "a")
			w.fake.DisconnectGate.Close()
			time.AfterFunc(20*ms, func() {
				w.fake.Link(1).Settle(token, nil, nil)
				w.fake.DisconnectGate.Open()
			})
			w.stop()
			equal(t, "dead letters", w.reasons(), []string{"b=unknown"})
		})
	})
}

// TestVerdictsGoOutDuringTheFlush: what is handled while a stop flushes is still acknowledged.
func TestVerdictsGoOutDuringTheFlush(t *testing.T) {
	bubble(t, holding, nil, func(w *world) {
		r, ref := w.receiver("r")
		var gate brokertest.Gate
		gate.Close()
		r.gate = &gate
		w.subscribe("x", ref)
		w.arrive(1, 1, "x")
		w.publish("a")
		time.AfterFunc(100*ms, gate.Open)
		time.AfterFunc(500*ms, func() { w.fake.Confirm(1) })
		w.stop()
		equal(t, "verdicts", w.verdicts(), []string{"1 ack"})
	})
}

// startPanics panics in Start, once.
type startPanics struct {
	*brokertest.Fake
	left *int
}

func (p startPanics) Start(b *brokertest.Base) error {
	if *p.left--; *p.left >= 0 {
		b.Remember("k", "1")
		panic("start")
	}
	return nil
}

// TestStartThatPanics is a failed start like any other: nothing hangs, and the restart works.
func TestStartThatPanics(t *testing.T) {
	fake, left := &brokertest.Fake{}, 2
	bubble(t, nil, nil, func(w *world) {
		def := fake.Definition()
		def.New = func(brokertest.Config) (broker.Protocol[string, string], error) { return startPanics{fake, &left}, nil }
		if _, err := w.sys.Spawn("panics", broker.New(def)); err != nil {
			t.Fatal(err)
		}
		w.after(time.Minute)
		equal(t, "connects", fake.Connects(), 1)
		equal(t, "applied", len(fake.Applied()), 0)
	})
}

// TestAsksAtStop: nobody who asked is left without an answer.
func TestAsksAtStop(t *testing.T) {
	bubble(t, func(w *world) { w.fake.FailConnects(1) }, nil, func(w *world) {
		got := make(chan error, 1)
		go func() {
			_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "a"})
			got <- err
		}()
		synctest.Wait()
		w.stop()
		err := <-got
		var u *broker.UndeliveredError
		if !errors.As(err, &u) || u.Reason != broker.ReasonStopped {
			t.Errorf("ask ended with %v", err)
		}
	})
}

// TestW11_StartReturnsAtOnce: the mailbox works while the first connect hangs.
func TestW11_StartReturnsAtOnce(t *testing.T) {
	bubble(t, func(w *world) { w.fake.DialGate.Close() }, nil, func(w *world) {
		ran := false
		w.do(func(*brokertest.Base) error { ran = true; return nil })
		equal(t, "command ran", ran, true)
		equal(t, "state", w.status().State, broker.StateConnecting)
	})
}

// TestW13_TeardownIsNow: not at the next attempt.
func TestW13_TeardownIsNow(t *testing.T) {
	bubble(t, nil, set(func(c *broker.Config) { c.Reconnect.InitialDelay = 30 * time.Second }), func(w *world) {
		w.drop(errGone)
		equal(t, "closed", w.fake.Closed(), []int{1})
		equal(t, "link is over", w.fake.Link(1).Context().Err() != nil, true)
	})
}

// TestW14_HungTeardownIsBounded reconnects although Disconnect never returns.
func TestW14_HungTeardownIsBounded(t *testing.T) {
	bubble(t, func(w *world) { w.fake.Stubborn, w.overlap = true, true; w.fake.DisconnectGate.Close() }, nil, func(w *world) {
		w.drop(errGone)
		equal(t, "state", w.status().State, broker.StateDisconnecting)
		w.after(6 * time.Second)
		w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
		equal(t, "abandoned", w.status().Abandoned, 1)
		if took := w.stop(); took > 100*ms {
			t.Errorf("stop took %s", took)
		}
		w.fake.DisconnectGate.Open()
	})
}

// TestW38_SingleFlight: a manual reconnect, a timer and a loss report at once lead to one attempt.
func TestW38_SingleFlight(t *testing.T) {
	bubble(t, func(w *world) { w.fake.FailConnects(1) }, nil, func(w *world) {
		w.fake.DialGate.Close()
		time.Sleep(200 * ms)
		for range 5 {
			w.ref.Tell(broker.Reconnect{})
		}
		w.fake.Link(1).Lost(errGone)
		synctest.Wait()
		equal(t, "connects", w.fake.Connects(), 2)
		w.fake.DialGate.Open()
		w.after(time.Minute)
		equal(t, "connects", w.fake.Connects(), 2)
		w.events("Attempt(1)", "Connected")
	})
}

// TestW47_DispatchThatNeverSettles: the writer is not wedged by a write that blocks for ever.
func TestW47_DispatchThatNeverSettles(t *testing.T) {
	bubble(t, func(w *world) { w.fake.DispatchGate.Close() }, nil, func(w *world) {
		w.publish("a")
		w.drop(errGone) // O981: the loss ends the wait
		w.fake.DispatchGate.Open()
		w.after(time.Second)
		equal(t, "sent", w.fake.Payloads(), []string{"a"})
	})
}

// TestKillIsARestart accounts for the buffer of the old instance and starts a new one.
func TestKillIsARestart(t *testing.T) {
	bubble(t, func(w *world) { w.fake.FailConnects(1) }, nil, func(w *world) {
		w.publish("a")
		w.ref.Tell(actor.Kill{})
		w.after(time.Second)
		equal(t, "dead letters", w.reasons(), []string{"a=stopped"})
		w.publish("b")
		equal(t, "sent", w.fake.Payloads(), []string{"b"})
	})
}
