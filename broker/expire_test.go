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

func down(w *world) { w.fake.DialGate.Close() }

// age publishes with a maximum age.
func (w *world) age(payload string, d time.Duration) {
	w.ref.Tell(brokertest.Publish{Payload: payload, MaxAge: d})
	synctest.Wait()
}

// TestW17_MaxAge: what is worth something for a while only does not go out hours later. Times are exact.
func TestW17_MaxAge(t *testing.T) {
	tenSeconds := set(func(c *broker.Config) { c.MaxAge = 10 * time.Second })
	t.Run("while there is no connection", func(t *testing.T) {
		bubble(t, down, tenSeconds, func(w *world) {
			w.age("a", 0)
			w.age("b", 5*time.Second)
			w.age("c", time.Hour)
			w.after(5*time.Second - 1)
			equal(t, "before", len(w.reasons()), 0)
			w.after(1)
			equal(t, "after 5s", w.reasons(), []string{"b=expired"})
			w.after(5*time.Second - 1)
			equal(t, "before", len(w.reasons()), 1)
			w.after(1)
			equal(t, "after 10s", w.reasons(), []string{"b=expired", "a=expired"})
			w.fake.DialGate.Open()
			w.after(time.Minute)
			equal(t, "sent", w.fake.Payloads(), []string{"c"})
			b := w.books()
			equal(t, "undelivered", b.Undelivered, 2)
		})
	})
	t.Run("whoever asked hears of it", func(t *testing.T) {
		bubble(t, down, tenSeconds, func(w *world) {
			began := time.Now()
			_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "a"})
			var u *broker.UndeliveredError
			if !errors.As(err, &u) || u.Reason != broker.ReasonExpired || !errors.Is(err, broker.ErrExpired) {
				t.Errorf("ask ended with %v", err)
			}
			equal(t, "after", time.Since(began), 10*time.Second)
		})
	})
	t.Run("in flight it is not cut, behind it things grow old", func(t *testing.T) {
		bubble(t, holding, set(func(c *broker.Config) { c.InFlight, c.MaxAge = 1, time.Second }), func(w *world) {
			w.publish("a", "b")
			w.after(time.Hour)
			equal(t, "dead letters", w.reasons(), []string{"b=expired"})
			w.fake.Confirm(1)
			synctest.Wait()
			equal(t, "acked", w.books().Acked, 1)
		})
	})
	t.Run("sent and returned, it may have arrived", func(t *testing.T) {
		prepare := func(w *world) { holding(w); w.fake.Initial = nil }
		bubble(t, prepare, tenSeconds, func(w *world) {
			w.publish("a")
			w.after(11 * time.Second)
			w.fake.DialGate.Close()
			w.drop(errGone)
			equal(t, "dead letters", w.reasons(), []string{"a=unknown"})
			if cause := w.rec.Undelivered()[0].Cause; !errors.Is(cause, broker.ErrExpired) || !errors.Is(cause, broker.ErrUnknown) {
				t.Errorf("cause %v", cause)
			}
		})
	})
	t.Run("during the flush of a stop", func(t *testing.T) {
		bubble(t, holding, set(func(c *broker.Config) { c.InFlight = 1 }), func(w *world) {
			w.publish("a")
			w.age("b", time.Second)
			time.AfterFunc(1500*ms, func() { w.fake.Confirm(1) })
			equal(t, "stop took", w.stop(), 1500*ms)
			equal(t, "dead letters", w.reasons(), []string{"b=expired"})
		})
	})
	t.Run("a negative one is refused", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "a", MaxAge: -1})
			if err == nil || !strings.Contains(err.Error(), "must not be negative") {
				t.Errorf("ask ended with %v", err)
			}
		})
	})
}

// TestOutboundBytes bounds the payloads beside their number.
func TestOutboundBytes(t *testing.T) {
	bytes := func(policy broker.Overflow) []func(*brokertest.Config) {
		return set(func(c *broker.Config) { c.OutboundBytes, c.Overflow = 10, policy })
	}
	for policy, want := range map[broker.Overflow][]string{
		broker.EvictOldest:  {"aaaa=overflow", "bbbb=overflow", "too-large-for-it=overflow!"},
		broker.EvictNewest:  {"cc=overflow", "bbbb=overflow", "too-large-for-it=overflow!"},
		broker.RejectNewest: {"dddddd=overflow!", "too-large-for-it=overflow!"},
	} {
		t.Run(policy.String(), func(t *testing.T) {
			bubble(t, down, bytes(policy), func(w *world) {
				w.publish("aaaa", "bbbb", "cc")
				equal(t, "bytes", w.books().Bytes, 10)
				w.publish("dddddd", "too-large-for-it")
				equal(t, "dead letters", w.reasons(), want)
				if b := w.books().Bytes; b > 10 {
					t.Errorf("%d bytes", b)
				}
				_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "too-large-for-it"})
				if !errors.Is(err, broker.ErrTooLarge) {
					t.Errorf("ask ended with %v", err)
				}
				w.fake.DialGate.Open()
				w.after(time.Second)
				equal(t, "bytes", w.books().Bytes, 0)
			})
		})
	}
	t.Run("nobody is evicted in vain", func(t *testing.T) {
		bubble(t, holding, set(func(c *broker.Config) { c.OutboundBytes, c.InFlight = 10, 1 }), func(w *world) {
			w.publish("aaaaaaaa") // in flight
			w.publish("b")
			w.publish("cccc")
			equal(t, "dead letters", w.reasons(), []string{"cccc=overflow!"})
		})
	})
	t.Run("a protocol without sizes", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			def := broker.Definition[brokertest.Config, string, string]{
				Key: "troupe.broker.sizeless",
				New: func(brokertest.Config) (broker.Protocol[string, string], error) {
					return struct {
						broker.Protocol[string, string]
					}{&brokertest.Fake{}}, nil
				},
			}
			ref, err := w.sys.Spawn("sizeless", broker.New(def, func(c *brokertest.Config) { c.OutboundBytes = 1 }))
			if err != nil {
				t.Fatal(err)
			}
			var cause error
			if _, err := w.sys.SpawnAnonymous(func() actor.Actor { return &mourner{ref, &cause} }); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if cause == nil || !strings.Contains(cause.Error(), "troupe.broker.sizeless.outboundBytes") {
				t.Errorf("started: %v", cause)
			}
		})
	})
}

func TestEvictNewest(t *testing.T) {
	bubble(t, holding, set(func(c *broker.Config) { c.OutboundBuffer, c.InFlight, c.Overflow = 3, 1, broker.EvictNewest }), func(w *world) {
		for i := range 5 {
			w.publish(fmt.Sprint(i))
		}
		equal(t, "dead letters", w.reasons(), []string{"2=overflow", "3=overflow"})
	})
}

// TestW16_OverflowsShareAnEvent: ten thousand evictions are not ten thousand events, and none is left out.
func TestW16_OverflowsShareAnEvent(t *testing.T) {
	count := func(w *world) (events, evictions int) {
		for _, e := range w.rec.Events() {
			if o, ok := e.(broker.BufferOverflow); ok {
				events++
				evictions += o.Count
			}
		}
		return events, evictions
	}
	one := set(func(c *broker.Config) { c.OutboundBuffer = 1 })
	bubble(t, down, one, func(w *world) {
		w.publish("a", "b")
		events, evictions := count(w)
		equal(t, "the first is told at once", [2]int{events, evictions}, [2]int{1, 1})
		for range 10000 {
			w.ref.Tell(brokertest.Publish{Payload: "x"})
		}
		w.after(ms)
		events, evictions = count(w)
		equal(t, "the others a millisecond later", [2]int{events, evictions}, [2]int{2, 10001})
		equal(t, "dead letters", len(w.reasons()), 10001)
		w.after(time.Hour)
		w.publish("y")
		events, evictions = count(w)
		equal(t, "later ones", [2]int{events, evictions}, [2]int{3, 10002})
	})
	t.Run("at a stop", func(t *testing.T) {
		bubble(t, down, one, func(w *world) {
			w.publish("a", "b", "c", "d")
			w.stop()
			_, evictions := count(w)
			equal(t, "told when it has stopped", evictions, 3)
			n := len(w.rec.Names())
			w.after(time.Hour)
			equal(t, "and nothing after", len(w.rec.Names()), n)
		})
	})
}

// TestW12_FailFast: after giving up, messages are refused instead of waiting for somebody who knows that he has to act.
func TestW12_FailFast(t *testing.T) {
	twice := func(fast bool) []func(*brokertest.Config) {
		return set(func(c *broker.Config) { c.Reconnect.MaxAttempts, c.FailFast = 1, fast })
	}
	bubble(t, func(w *world) { w.fake.FailConnects(2) }, twice(true), func(w *world) {
		w.publish("a")
		w.after(time.Minute)
		equal(t, "what waited", w.reasons(), []string{"a=notConnected"})
		_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "b"})
		if !errors.Is(err, broker.ErrNotConnected) {
			t.Errorf("ask ended with %v", err)
		}
		w.ref.Tell(broker.Reconnect{})
		w.after(time.Second)
		w.publish("c")
		equal(t, "sent", w.fake.Payloads(), []string{"c"})
		w.events("Attempt(1)", "Failed(1)", "NotConnected", "Connected")
	})
	bubble(t, func(w *world) { w.fake.FailConnects(2) }, twice(false), func(w *world) {
		w.after(time.Minute)
		w.publish("a")
		equal(t, "kept", len(w.reasons()), 0)
		w.ref.Tell(broker.Reconnect{})
		w.after(time.Second)
		equal(t, "sent", w.fake.Payloads(), []string{"a"})
	})
}

// TestIDs: an envelope has one id however often it is sent, and no other envelope has it, of no other instance either.
func TestIDs(t *testing.T) {
	ids := map[string]map[string]bool{} // by payload
	identify := func(w *world) {
		holding(w)
		w.fake.OnEnvelope = func(env broker.Envelope[string]) {
			if ids[env.Payload] == nil {
				ids[env.Payload] = map[string]bool{}
			}
			ids[env.Payload][env.ID()] = true
		}
	}
	for round := range 2 {
		bubble(t, identify, nil, func(w *world) {
			w.publish(fmt.Sprint("a", round), fmt.Sprint("b", round))
			w.drop(errGone)
			w.after(time.Second)
			w.fake.Confirm(2)
			w.ref.Tell(actor.Kill{})
			w.after(time.Second)
			w.publish(fmt.Sprint("c", round))
			w.fake.Confirm(1)
		})
	}
	all := map[string]bool{}
	for payload, of := range ids {
		if len(of) != 1 {
			t.Errorf("%s was sent with the ids %v", payload, of)
		}
		for id := range of {
			all[id] = true
		}
	}
	equal(t, "different ids", len(all), 6)
}
