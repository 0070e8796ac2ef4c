package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

const ms = time.Millisecond

func TestConnectPublishStop(t *testing.T) {
	bubble(t, confirming, nil, func(w *world) {
		w.publish("a", "b", "c")
		equal(t, "sent", w.fake.Payloads(), []string{"a", "b", "c"})
		equal(t, "acked", w.books().Acked, uint64(3))
		equal(t, "stop took", w.stop(), 0)
		w.events("Connected")
		equal(t, "disconnects", w.fake.Disconnects(), 1)
	})
}

func TestEventSequence(t *testing.T) {
	t.Run("down at start", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(2) }, nil, func(w *world) {
			w.after(time.Hour)
			w.events("Attempt(1)", "Attempt(2)", "Connected")
			equal(t, "delays", w.attempts(), []time.Duration{200 * ms, 400 * ms})
		})
	})
	t.Run("live loss", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			w.drop(errors.New("gone"))
			w.after(time.Hour)
			w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
			d := w.rec.Events()[1].(broker.Disconnected)
			equal(t, "path", d.Path, "troupe://test/user/broker")
			equal(t, "cause", d.Cause.Error(), "gone")
		})
	})
	t.Run("maxAttempts", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(100) }, set(func(c *broker.Config) { c.Reconnect.MaxAttempts = 2 }), func(w *world) {
			w.after(time.Hour)
			w.events("Attempt(1)", "Attempt(2)", "Failed(2)")
			equal(t, "connects", w.fake.Connects(), 3)
		})
	})
	t.Run("maxAttempts 1 is one retry", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(100) }, set(func(c *broker.Config) { c.Reconnect.MaxAttempts = 1 }), func(w *world) {
			w.after(time.Hour)
			w.events("Attempt(1)", "Failed(1)")
		})
	})
	t.Run("attempt is published when the retry starts", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(1) }, nil, func(w *world) {
			w.after(200*ms - 1)
			w.events()
			equal(t, "next attempt", w.status().NextAttempt, time.Now().Add(1))
			w.fake.DialGate.Close()
			w.after(1)
			w.events("Attempt(1)")
			equal(t, "state", w.status().State, broker.StateConnecting)
			w.fake.DialGate.Open()
		})
	})
	t.Run("a finite maxAttempts is not used up by connects that succeeded", func(t *testing.T) {
		bubble(t, nil, set(func(c *broker.Config) { c.Reconnect.MaxAttempts = 2 }), func(w *world) {
			for range 5 {
				w.drop(errors.New("flap"))
				w.after(9 * time.Second)
			}
			if s := strings.Join(w.rec.Names(), " "); strings.Contains(s, "Failed") || strings.Contains(s, "Attempt(2)") {
				t.Errorf("events %s", s)
			}
		})
	})
}

func TestReconnectCommand(t *testing.T) {
	t.Run("after giving up", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(1) }, set(func(c *broker.Config) { c.Reconnect.Off = true }), func(w *world) {
			w.after(time.Hour)
			w.events("Failed(0)")
			w.ref.Tell(broker.Reconnect{})
			synctest.Wait()
			w.events("Failed(0)", "Connected")
			w.publish("a")
			equal(t, "sent", w.fake.Sent(), []brokertest.Sent{{Link: 2, Payload: "a"}})
		})
	})
	t.Run("during the wait", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(1) }, nil, func(w *world) {
			w.ref.Tell(broker.Reconnect{})
			synctest.Wait()
			w.events("Attempt(1)", "Connected")
			w.ref.Tell(broker.Reconnect{}) // connected: nothing
			synctest.Wait()
			w.drop(errors.New("gone"))
			w.after(199 * ms)
			equal(t, "connects", w.fake.Connects(), 2)
		})
	})
}

func TestF504a_NewLinkHasEverything(t *testing.T) {
	bubble(t, func(w *world) { w.fake.Initial = []string{"k", "1"} }, nil, func(w *world) {
		w.ref.Tell(brokertest.Remember{Key: "l", Label: "2"})
		synctest.Wait()
		w.drop(errors.New("gone"))
		equal(t, "closed before the next attempt", w.fake.Closed(), []int{1})
		w.after(time.Second)
		equal(t, "applied", w.fake.Applied(), []string{"k=1", "l=2"})
		equal(t, "ever", w.fake.AppliedEver(), []string{"k=1", "l=2", "k=1", "l=2"})
	})
}

func TestF504b_HalfOpenIsClosed(t *testing.T) {
	bubble(t, func(w *world) { w.fake.ConnectGate.Close() }, set(func(c *broker.Config) { c.ConnectTimeout = time.Second }), func(w *world) {
		w.after(time.Second)
		equal(t, "disconnects", w.fake.Disconnects(), 1)
		equal(t, "connects", w.fake.Connects(), 1)
		w.fake.ConnectGate.Open()
		w.after(time.Second)
		equal(t, "disconnects", w.fake.Disconnects(), 1)
		w.events("Attempt(1)", "Connected")
	})
}

func TestF504c_StopInBackoffAfterLoss(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		w.drop(errors.New("gone"))
		equal(t, "disconnects", w.fake.Disconnects(), 1)
		equal(t, "stop took", w.stop(), 0)
		equal(t, "disconnects", w.fake.Disconnects(), 1)
		w.after(time.Hour)
		equal(t, "connects", w.fake.Connects(), 1)
		w.events("Connected", "Disconnected")
	})
}

// TestF652_CrowdSpreads: five hundred actors that lose one server at the same moment come back spread over the window, at
// the first retry, at later ones, and when their breakers are probed.
func TestF652_CrowdSpreads(t *testing.T) {
	const crowd = 500
	bubble(t, nil, nil, func(w *world) {
		var fakes []*brokertest.Fake
		for i := range crowd {
			fake := &brokertest.Fake{Label: "fake://crowd"}
			fakes = append(fakes, fake)
			breaker := func(c *brokertest.Config) {
				c.CircuitBreaker = broker.BreakerConfig{FailureThreshold: 3, Reset: time.Minute}
			}
			if _, err := w.sys.Spawn(fmt.Sprintf("crowd%d", i), fake.New(breaker)); err != nil {
				t.Fatal(err)
			}
		}
		w.after(time.Minute) // stable
		for _, fake := range fakes {
			fake.FailConnects(math.MaxInt32)
			fake.Drop(errGone)
		}
		w.after(3 * time.Minute)
		at := map[int][]time.Duration{} // by attempt
		for _, e := range w.rec.Events() {
			if a, ok := e.(broker.ReconnectAttempt); ok && a.Endpoint == "fake://crowd" {
				at[a.Attempt] = append(at[a.Attempt], a.Delay)
			}
		}
		for attempt, window := range map[int][2]time.Duration{
			1: {160 * ms, 240 * ms}, 2: {320 * ms, 480 * ms}, 3: {640 * ms, 960 * ms}, 4: {58 * time.Second, 72 * time.Second},
		} {
			spread(t, attempt, at[attempt], crowd, window)
		}
	})
}

// spread checks that the delays fill their window: of fifty slices of it, none has more than a twelfth of the crowd. With
// ten expected in each, chance makes that of one slice in a million millions.
func spread(t *testing.T, attempt int, delays []time.Duration, crowd int, window [2]time.Duration) {
	t.Helper()
	if len(delays) != crowd {
		t.Errorf("attempt %d: %d of %d came back", attempt, len(delays), crowd)
	}
	var slices [50]int
	for _, d := range delays {
		if d < window[0] || d > window[1] {
			t.Errorf("attempt %d after %s, the window is %v", attempt, d, window)
			continue
		}
		slices[min(49, int(50*(d-window[0])/(window[1]-window[0])))]++
	}
	for i, n := range slices {
		if n > crowd/12 {
			t.Errorf("attempt %d: %d of %d in slice %d of 50: %v", attempt, n, crowd, i, slices)
			return
		}
	}
}

func TestF708a_StopWhileConnectSucceedsLate(t *testing.T) {
	bubble(t, func(w *world) { w.fake.Stubborn = true; w.fake.ConnectGate.Close() }, nil, func(w *world) {
		w.publish("a")
		if took := w.stop(); took > 100*ms {
			t.Errorf("stop took %s", took)
		}
		w.fake.ConnectGate.Open()
		w.after(time.Hour)
		equal(t, "closed", w.fake.Closed(), []int{1})
		equal(t, "connects", w.fake.Connects(), 1)
		equal(t, "disconnects", w.fake.Disconnects(), 1)
		equal(t, "sent", len(w.fake.Sent()), 0)
		w.events()
		equal(t, "dead letters", w.reasons(), []string{"a=stopped"})
	})
}

func TestF708b_StopWhileConnectFailsLate(t *testing.T) {
	bubble(t, func(w *world) { w.fake.Stubborn = true; w.fake.DialGate.Close(); w.fake.FailConnects(1) }, nil, func(w *world) {
		if took := w.stop(); took > 100*ms {
			t.Errorf("stop took %s", took)
		}
		w.fake.DialGate.Open()
		w.after(time.Hour)
		w.events()
		equal(t, "connects", w.fake.Connects(), 1)
	})
}

func TestF708c_StopDuringTeardown(t *testing.T) {
	bubble(t, func(w *world) { w.fake.DisconnectGate.Close() }, nil, func(w *world) {
		w.drop(errors.New("gone"))
		equal(t, "waiting in Disconnect", w.fake.DisconnectGate.Waiting(), 1)
		w.after(time.Second)
		if took := w.stop(); took > 100*ms {
			t.Errorf("stop took %s", took)
		}
		w.fake.DisconnectGate.Open()
		w.after(time.Hour)
		equal(t, "connects", w.fake.Connects(), 1)
		equal(t, "disconnects", w.fake.Disconnects(), 1)
		w.events("Connected", "Disconnected")
	})
}

// TestO1223_ShutdownDuringConnect runs the brokers' phase while an attempt is inside Connect.
func TestO1223_ShutdownDuringConnect(t *testing.T) {
	for name, stubborn := range map[string]bool{"honours its context": false, "ignores it": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) { w.fake.Stubborn = stubborn; w.fake.ConnectGate.Close() }, nil, func(w *world) {
				began := time.Now()
				if err := w.sys.Terminate(w.t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 100*ms {
					t.Errorf("terminate took %s", took)
				}
				w.fake.ConnectGate.Open()
				w.after(time.Hour)
				equal(t, "connects", w.fake.Connects(), 1)
				equal(t, "disconnects", w.fake.Disconnects(), 1)
				w.events()
			})
		})
	}
}

func TestF549_ShutdownOrder(t *testing.T) {
	bubble(t, confirming, nil, func(w *world) {
		at := -1
		if _, err := w.sys.OnShutdown(actor.PhaseCluster, "look", func(context.Context) error {
			at = w.fake.Disconnects()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		w.publish("a")
		if err := w.sys.Terminate(w.t.Context()); err != nil {
			t.Error(err)
		}
		equal(t, "disconnects before the cluster phase", at, 1)
		equal(t, "disconnects", w.fake.Disconnects(), 1)
		w.events("Connected")
	})
}

// TestO1257_OneTeardownAtATime also rests on the overlap count that every bubble checks at its end.
func TestO1257_OneTeardownAtATime(t *testing.T) {
	bubble(t, func(w *world) { w.fake.DisconnectGate.Close() }, nil, func(w *world) {
		w.drop(errors.New("gone"))
		w.after(4900 * ms)
		equal(t, "connects while Disconnect runs", w.fake.Connects(), 1)
		w.after(600 * ms) // out of time at 5 s, then the delay of 200 ms
		equal(t, "connects", w.fake.Connects(), 2)
		w.fake.DisconnectGate.Open()
	})
}

func TestO988_GivingUpClosesEverything(t *testing.T) {
	for name, change := range map[string]func(c *broker.Config){
		"off":         func(c *broker.Config) { c.Reconnect.Off = true },
		"maxAttempts": func(c *broker.Config) { c.Reconnect.MaxAttempts = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, set(change), func(w *world) {
				w.fake.FailConnects(10)
				w.drop(errors.New("gone"))
				equal(t, "closed at once", w.fake.Closed(), []int{1})
				w.after(time.Hour)
				names := w.rec.Names()
				if last := names[len(names)-1]; !strings.HasPrefix(last, "Failed") {
					t.Errorf("events %v", names)
				}
				n := w.fake.Connects()
				w.after(time.Hour)
				equal(t, "dials are frozen", w.fake.Connects(), n)
				equal(t, "state", w.status().State, broker.StateDisconnected)
			})
		})
	}
}

func TestO1316_OffAndFirstConnectFails(t *testing.T) {
	bubble(t, func(w *world) { w.fake.FailConnects(1) }, set(func(c *broker.Config) { c.Reconnect.Off = true }), func(w *world) {
		w.after(time.Hour)
		w.events("Failed(0)")
		f := w.rec.Events()[0].(broker.ReconnectFailed)
		if !errors.Is(f.Cause, brokertest.ErrRefused) {
			t.Errorf("cause %v", f.Cause)
		}
		if !strings.Contains(w.logs.String(), "level=ERROR") {
			t.Errorf("no error is logged: %s", w.logs)
		}
	})
}

func TestUnauthorizedWaitsMaxDelay(t *testing.T) {
	refuse := func(context.Context, int, *broker.Link) error { return broker.Unauthorized(errors.New("no")) }
	bubble(t, func(w *world) { w.fake.OnConnect = refuse }, nil, func(w *world) {
		w.after(61 * time.Second)
		equal(t, "delays", w.attempts(), []time.Duration{30 * time.Second, 30 * time.Second})
	})
}
