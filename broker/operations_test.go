package broker_test

import (
	"context"
	"encoding/json"
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

// O #659: what an operator can see.
func TestO659_Status(t *testing.T) {
	prepare := func(w *world) {
		holding(w)
		w.fake.Label = "fake://u:s3cret@server/path"
		w.fake.Initial = []string{"a", "1", "b", "2"}
		w.fake.RefuseKey("b", errors.New("no b"))
	}
	opts := set(func(c *broker.Config) {
		c.Required, c.CircuitBreaker = true, broker.BreakerConfig{FailureThreshold: 2, Reset: time.Minute}
	})
	bubble(t, prepare, opts, func(w *world) {
		began := time.Now()
		_, ref := w.receiver("r")
		w.subscribe("x", ref)
		w.publish("p", "q")
		w.fake.Confirm(1)
		w.arrive(1, 1, "x")
		s, ok := broker.StatusOf(w.sys, w.ref.Path())
		if !ok {
			t.Fatal("not in the registry")
		}
		equal(t, "path, endpoint", [2]string{s.Path, s.Endpoint}, [2]string{w.ref.Path(), "fake://server/path"})
		equal(t, "state", s.State, broker.StateConnected)
		equal(t, "since, last connected", [2]time.Time{s.Since, s.LastConnected}, [2]time.Time{began, began})
		equal(t, "required, paused, given up", [3]bool{s.Required, s.Paused, s.GivenUp}, [3]bool{true, false, false})
		equal(t, "connects, failures, losses", [3]uint64{s.Connects, s.Failures, s.Losses}, [3]uint64{1, 0, 0})
		equal(t, "subscriptions, failed", [2]int{s.Subscriptions, s.FailedSubscriptions}, [2]int{2, 1})
		equal(t, "books", s.Books, broker.Books{Accepted: 2, Acked: 1, InFlight: 1, Bytes: 1})
		equal(t, "inbound", s.Inbound, broker.Inbound{Window: 256, Delivered: 1, Handled: 1})
		asked, err := ask[broker.Status](w, broker.QueryStatus{})
		if err != nil || asked != s {
			t.Errorf("asked %+v, %v", asked, err)
		}
		w.fake.FailConnects(math.MaxInt32)
		w.drop(errors.New("lost fake://u:s3cret@server/path"))
		s, _ = broker.StatusOf(w.sys, w.ref.Path())
		equal(t, "next attempt", s.NextAttempt, time.Now().Add(200*ms))
		equal(t, "attempt, losses", [2]int{s.Attempt, int(s.Losses)}, [2]int{1, 1})
		equal(t, "last error", s.LastError.Error(), "lost fake://server/path")
		w.after(10 * time.Second)
		s, _ = broker.StatusOf(w.sys, w.ref.Path())
		if left := time.Until(s.BreakerOpenUntil); left <= 0 || left > time.Minute {
			t.Errorf("breaker open for %s", left)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{string(text), s.String(), fmt.Sprintf("%v", s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s)} {
			if strings.Contains(out, "s3cret") {
				t.Errorf("a secret in %s", out)
			}
		}
		for _, want := range []string{`"State":"disconnected"`, `"LastError":"brokertest: refused"`, `"Accepted":2`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
		if line := s.String(); !strings.Contains(line, "circuit breaker open until") || !strings.Contains(line, "1 queued") {
			t.Errorf("line %q", line)
		}
	})
}

func TestRegistry(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		other := &brokertest.Fake{}
		ref, err := w.sys.Spawn("another", other.New())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		paths := func() (out []string) {
			for _, s := range broker.Statuses(w.sys) {
				out = append(out, s.Path)
			}
			return out
		}
		equal(t, "sorted", paths(), []string{ref.Path(), w.ref.Path()})
		w.drop(errGone)
		w.ref.Tell(actor.Kill{})
		w.after(time.Second)
		equal(t, "after a restart", paths(), []string{ref.Path(), w.ref.Path()})
		s, _ := broker.StatusOf(w.sys, w.ref.Path())
		equal(t, "of the new instance", s.Losses, 0)
		w.stop()
		equal(t, "after a stop", paths(), []string{ref.Path()})
		if _, ok := broker.StatusOf(w.sys, w.ref.Path()); ok {
			t.Error("a stopped actor has a status")
		}
	})
	bubble(t, nil, nil, func(w *world) {
		if n := len(broker.Statuses(w.sys)); n != 1 {
			t.Errorf("%d in a system of its own", n)
		}
	})
}

func TestReady(t *testing.T) {
	required := set(func(c *broker.Config) { c.Required = true })
	bubble(t, down, required, func(w *world) {
		optional := &brokertest.Fake{}
		optional.FailConnects(math.MaxInt32)
		if _, err := w.sys.Spawn("optional", optional.New()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		err := broker.Ready(w.sys)
		var not *broker.NotReadyError
		if !errors.As(err, &not) || len(not.Brokers) != 1 || not.Brokers[0].Path != w.ref.Path() {
			t.Fatalf("ready: %v", err)
		}
		for _, want := range []string{w.ref.Path(), "fake://server", "connecting"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
		w.fake.DialGate.Open()
		synctest.Wait()
		if err := broker.Ready(w.sys); err != nil {
			t.Error(err)
		}
		w.ref.Tell(broker.Pause{})
		synctest.Wait()
		if err := broker.Ready(w.sys); err != nil {
			t.Errorf("paused: %v", err)
		}
		w.fake.FailConnects(math.MaxInt32)
		w.drop(errGone)
		if err := broker.Ready(w.sys); err == nil {
			t.Error("ready without a connection")
		}
	})
	t.Run("given up", func(t *testing.T) {
		off := set(func(c *broker.Config) { c.Required, c.Reconnect.Off = true, true })
		bubble(t, func(w *world) { w.fake.FailConnects(1) }, off, func(w *world) {
			if err := broker.Ready(w.sys); err == nil || !strings.Contains(err.Error(), "given up") {
				t.Errorf("ready: %v", err)
			}
			s, err := ask[broker.Status](w, broker.Reconnect{})
			if err != nil || s.Path != w.ref.Path() {
				t.Errorf("Reconnect answered %+v, %v", s, err)
			}
			synctest.Wait()
			if err := broker.Ready(w.sys); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestPause(t *testing.T) {
	bubble(t, confirming, nil, func(w *world) {
		r, ref := w.receiver("r")
		w.subscribe("x", ref)
		l := w.fake.Link(1)
		held, _ := l.Accept(nil, 1)
		s, err := ask[broker.Status](w, broker.Pause{})
		if err != nil || !s.Paused {
			t.Fatalf("%+v, %v", s, err)
		}
		w.ref.Tell(broker.Pause{})
		w.publish("a", "b")
		equal(t, "sent", len(w.fake.Sent()), 0)
		equal(t, "queued", w.books().Queued, 2)
		if _, err := l.TryAccept(nil, 2); !errors.Is(err, broker.ErrBufferFull) {
			t.Errorf("accepted: %v", err)
		}
		accepted := make(chan error, 1)
		go func() { accepted <- l.Push("x", inboundMsg{ID: 3}) }()
		l.Deliver(held, inboundMsg{held, 1}, "x") // it was accepted before
		synctest.Wait()
		equal(t, "verdicts go out", w.verdicts(), []string{"1 ack"})
		equal(t, "told", len(r.got), 1)

		w.fake.DialGate.Close()
		w.drop(errGone)
		equal(t, "the link is over", errors.Is(<-accepted, broker.ErrLinkClosed), true)
		w.fake.DialGate.Open()
		w.after(time.Second)
		s = w.status()
		equal(t, "connected again, and paused", fmt.Sprint(s.State, s.Paused), "connected true")
		equal(t, "sent", len(w.fake.Sent()), 0)
		w.ref.Tell(broker.Resume{})
		w.ref.Tell(broker.Resume{})
		synctest.Wait()
		equal(t, "sent", w.fake.Payloads(), []string{"a", "b"})
		w.arrive(2, 4, "x")
		equal(t, "told", len(r.got), 2)
		w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
		if log := w.logs.String(); strings.Count(log, "msg=paused") != 1 || strings.Count(log, "msg=resumed") != 1 {
			t.Errorf("log %s", log)
		}
	})
	t.Run("what is to be told again waits", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			m := w.moody("x", map[uint64]int{1: 1})
			l := w.fake.Link(1)
			w.into(l.Sequence(broker.HoldVerdicts), l, 1, "x")
			w.ref.Tell(broker.Pause{})
			w.after(time.Minute)
			w.ref.Tell(broker.Resume{})
			synctest.Wait()
			equal(t, "heard", m.String(), "1@0s 1@1m0s")
		})
	})
	t.Run("a stop sends what waits", func(t *testing.T) {
		bubble(t, confirming, nil, func(w *world) {
			w.ref.Tell(broker.Pause{})
			w.publish("a")
			w.stop()
			equal(t, "sent", w.fake.Payloads(), []string{"a"})
			equal(t, "dead letters", len(w.reasons()), 0)
		})
	})
	t.Run("without a buffer", func(t *testing.T) {
		bubble(t, nil, set(func(c *broker.Config) { c.OutboundBuffer = 0 }), func(w *world) {
			w.ref.Tell(broker.Pause{})
			_, err := ask[broker.Receipt](w, brokertest.Publish{Payload: "a"})
			if !errors.Is(err, broker.ErrPaused) {
				t.Errorf("ask ended with %v", err)
			}
		})
	})
}

// TestUnauthorizedIsAReasonOfItsOwn in events and in the status.
func TestUnauthorizedIsAReasonOfItsOwn(t *testing.T) {
	refuse := func(w *world) {
		w.fake.Label = "fake://u:s3cret@server"
		w.fake.OnConnect = func(context.Context, int, *broker.Link) error {
			return broker.Unauthorized(errors.New("403 for fake://u:s3cret@server"))
		}
	}
	bubble(t, refuse, set(func(c *broker.Config) { c.Reconnect.MaxAttempts = 1 }), func(w *world) {
		w.after(time.Minute)
		s, _ := broker.StatusOf(w.sys, w.ref.Path())
		if !errors.Is(s.LastError, broker.ErrUnauthorized) || strings.Contains(s.LastError.Error(), "s3cret") {
			t.Errorf("last error %v", s.LastError)
		}
		for _, e := range w.rec.Events() {
			if f, ok := e.(broker.ReconnectFailed); ok && !errors.Is(f.Cause, broker.ErrUnauthorized) {
				t.Errorf("cause %v", f.Cause)
			}
		}
		equal(t, "delays", w.attempts(), []time.Duration{30 * time.Second})
	})
}

// TestBreakerIsNeverStuck: whatever becomes of a probe, the next one is made at its time.
func TestBreakerIsNeverStuck(t *testing.T) {
	opts := set(func(c *broker.Config) {
		c.CircuitBreaker = broker.BreakerConfig{FailureThreshold: 1, Reset: time.Minute}
		c.ConnectTimeout, c.Reconnect.MaxDelay = 5*time.Second, time.Second
	})
	for name, probe := range map[string]func(ctx context.Context) error{
		"fails":         func(context.Context) error { return errGone },
		"panics":        func(context.Context) error { panic("probe") },
		"never returns": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"unauthorized":  func(context.Context) error { return broker.Unauthorized(errGone) },
	} {
		t.Run(name, func(t *testing.T) {
			prepare := func(w *world) {
				w.fake.OnConnect = func(ctx context.Context, n int, _ *broker.Link) error {
					switch n {
					case 1:
						return errGone
					case 2:
						return probe(ctx)
					}
					return nil
				}
			}
			bubble(t, prepare, opts, func(w *world) {
				w.after(80 * time.Second)
				equal(t, "the probe", w.fake.Connects(), 2)
				w.after(80 * time.Second)
				equal(t, "the next", w.fake.Connects(), 3)
				equal(t, "state", w.status().State, broker.StateConnected)
			})
		})
	}
	t.Run("cancelled by a restart", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.FailConnects(1) }, opts, func(w *world) {
			w.fake.DialGate.Close()
			w.after(80 * time.Second)
			w.ref.Tell(actor.Kill{})
			w.fake.DialGate.Open()
			w.after(time.Second)
			equal(t, "state", w.status().State, broker.StateConnected)
		})
	})
}
