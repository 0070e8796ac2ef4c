package broker_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/broker"
)

// TestBackoff has the inputs (a) to (d) for back-off that does not back off; (b) is TestDelayBounds.
func TestBackoff(t *testing.T) {
	t.Run("a_slow_failures_still_grow", func(t *testing.T) {
		slow := func(ctx context.Context, _ int, _ *broker.Link) error {
			select {
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
			}
			return errors.New("slow")
		}
		bubble(t, func(w *world) { w.fake.OnConnect = slow }, set(func(c *broker.Config) { c.Reconnect.InitialDelay = 100 * ms }), func(w *world) {
			w.after(40 * time.Second)
			equal(t, "delays", w.attempts(), []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms})
		})
	})
	t.Run("c_accept_and_close_backs_off", TestW07_Flapping)
	t.Run("d_stable_link_starts_over", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(4) }, nil, func(w *world) {
			w.after(10 * time.Minute)
			n := len(w.attempts())
			w.drop(errors.New("gone"))
			w.after(time.Second)
			equal(t, "delay", w.attempts()[n:], []time.Duration{200 * ms})
		})
	})
	t.Run("stable means ten seconds, not less", func(t *testing.T) {
		for up, want := range map[time.Duration]time.Duration{10*time.Second - 1: 400 * ms, 10 * time.Second: 200 * ms} {
			bubble(t, func(w *world) { w.fake.FailConnects(1) }, nil, func(w *world) {
				w.after(200 * ms)
				w.after(up)
				w.drop(errors.New("gone"))
				w.after(time.Second)
				equal(t, "delay after "+up.String(), w.attempts()[1], want)
			})
		}
	})
}

// TestW07_Flapping: a peer that accepts and closes at once is met with growing delays.
func TestW07_Flapping(t *testing.T) {
	drop := func(_ context.Context, _ int, l *broker.Link) error {
		time.AfterFunc(time.Millisecond, func() { l.Lost(errors.New("closed at once")) })
		return nil
	}
	bubble(t, func(w *world) { w.fake.OnConnect = drop }, nil, func(w *world) {
		w.after(10 * time.Minute)
		// 0.2 + 0.4 + … + 25.6 = 51 s for 8 retries, then one each 30 s
		want := 1 + 8 + int((10*time.Minute-51*time.Second)/(30*time.Second))
		if n := w.fake.Connects(); n > want+1 {
			t.Errorf("%d dials in 10 minutes, the schedule allows %d", n, want)
		}
		for _, e := range w.rec.Events() {
			if a, ok := e.(broker.ReconnectAttempt); ok && a.Attempt != 1 {
				t.Errorf("attempt %d, but every connect before it succeeded", a.Attempt)
			}
		}
	})
}

func TestJitterOnTheFirstRetryToo(t *testing.T) {
	for r, want := range map[float64]time.Duration{0: 160 * ms, 0.5: 200 * ms, 0.75: 220 * ms} {
		bubble(t, func(w *world) { w.fake.FailConnects(1) }, set(func(c *broker.Config) {
			c.Reconnect.Random = func() float64 { return r }
		}), func(w *world) {
			w.after(time.Second)
			equal(t, "delays", w.attempts(), []time.Duration{want})
		})
	}
	bubble(t, func(w *world) { w.fake.FailConnects(2) }, set(func(c *broker.Config) {
		c.Reconnect.InitialDelay, c.Reconnect.Factor, c.Reconnect.RandomFactor = 40*ms, 3, 0
	}), func(w *world) {
		w.after(time.Second)
		equal(t, "delays", w.attempts(), []time.Duration{40 * ms, 120 * ms})
	})
}

// breakerConfig opens after two failures, for 400 ms.
func breakerConfig(random func() float64, factor float64) func(c *broker.Config) {
	return func(c *broker.Config) {
		c.CircuitBreaker = broker.BreakerConfig{FailureThreshold: 2, Reset: 400 * ms}
		c.Reconnect.InitialDelay, c.Reconnect.RandomFactor, c.Reconnect.Random = 10*ms, factor, random
	}
}

func TestW23_Breaker(t *testing.T) {
	config := breakerConfig
	t.Run("one-sided", func(t *testing.T) {
		// Two failures: the first at 0, the second after its jittered delay; that opens the breaker.
		for r, bounds := range map[float64][2]time.Duration{0: {399 * ms, 401 * ms}, 0.999999: {600 * ms, 801 * ms}} {
			bubble(t, func(w *world) { w.fake.FailConnects(2) }, set(config(func() float64 { return r }, 1)), func(w *world) {
				began := time.Now()
				w.after(25 * ms)
				equal(t, "connects before it opened", w.fake.Connects(), 2)
				w.after(2 * time.Second)
				equal(t, "connects", w.fake.Connects(), 3)
				opened := w.rec.Events()[0].(broker.ReconnectAttempt).Delay
				up := w.status().Since.Sub(began) - opened
				if up < bounds[0] || up > bounds[1] {
					t.Errorf("random %v: probed %s after opening, want %v", r, up, bounds)
				}
			})
		}
	})
	t.Run("silent while open, and the probe counts", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(2) }, set(config(func() float64 { return 0.5 }, 0)), func(w *world) {
			w.after(10*ms + 399*ms)
			w.events("Attempt(1)")
			w.ref.Tell(broker.Reconnect{}) // a wake while it is open
			w.after(0)
			w.events("Attempt(1)")
			w.after(time.Second)
			w.events("Attempt(1)", "Attempt(2)", "Connected")
			if !strings.Contains(w.logs.String(), "circuit breaker open") {
				t.Error("W23: the open breaker is not logged")
			}
		})
	})
	t.Run("a wake while it is open is not kept for the next wait", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(3) }, set(config(func() float64 { return 0.5 }, 0)), func(w *world) {
			w.after(50 * ms)
			w.ref.Tell(broker.Reconnect{})
			w.after(360 * ms) // the probe at 410 ms fails, the next attempt comes 40 ms later
			equal(t, "connects", w.fake.Connects(), 3)
			w.after(40*ms - 1)
			equal(t, "connects", w.fake.Connects(), 3)
			w.after(1)
			equal(t, "connects", w.fake.Connects(), 4)
		})
	})
}

// TestBreakerCounts has what counts for the breaker and what does not.
func TestBreakerCounts(t *testing.T) {
	config := breakerConfig
	t.Run("a live loss does not count", func(t *testing.T) {
		bubble(t, nil, set(config(func() float64 { return 0.5 }, 0)), func(w *world) {
			for range 5 {
				w.drop(errors.New("gone"))
				w.after(20 * time.Second)
			}
			for _, d := range w.attempts() {
				equal(t, "delay", d, 10*ms)
			}
		})
	})
	t.Run("a probe that fails does not open it alone", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(3) }, set(config(func() float64 { return 0.5 }, 0)), func(w *world) {
			w.after(time.Minute)
			equal(t, "delays", w.attempts(), []time.Duration{10 * ms, 380 * ms, 40 * ms})
		})
	})
	t.Run("a probe that hangs is ended by connectTimeout", func(t *testing.T) {
		with := config(func() float64 { return 0.5 }, 0)
		bubble(t, func(w *world) { w.fake.FailConnects(2) }, set(func(c *broker.Config) { with(c); c.ConnectTimeout = time.Second }), func(w *world) {
			w.after(100 * ms)
			w.fake.DialGate.Close()
			w.after(time.Minute)
			if n := w.fake.Connects(); n < 10 {
				t.Errorf("only %d connects in a minute", n)
			}
			w.fake.DialGate.Open()
			w.after(time.Minute)
			equal(t, "state", w.status().State, broker.StateConnected)
		})
	})
}

func TestMaxDelayBelowInitialClamps(t *testing.T) {
	bubble(t, func(w *world) { w.fake.FailConnects(2) }, set(func(c *broker.Config) { c.Reconnect.MaxDelay = 50 * ms }), func(w *world) {
		w.after(time.Second)
		equal(t, "delays", w.attempts(), []time.Duration{50 * ms, 50 * ms})
	})
}

func TestW36_MonotonicClock(t *testing.T) {
	// In a bubble there is one clock; what matters is that a wait is measured by Sub of two readings, which is monotonic.
	bubble(t, func(w *world) { w.fake.FailConnects(math.MaxInt32) }, set(func(c *broker.Config) {
		c.CircuitBreaker = broker.BreakerConfig{FailureThreshold: 1, Reset: time.Hour}
	}), func(w *world) {
		w.after(time.Hour - 1)
		equal(t, "connects", w.fake.Connects(), 1)
		w.after(12*time.Minute + 2)
		equal(t, "connects", w.fake.Connects(), 2)
	})
}
