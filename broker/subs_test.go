package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

func (w *world) remember(key, label string) {
	w.ref.Tell(brokertest.Remember{Key: key, Label: label})
	synctest.Wait()
}

func (w *world) forget(key string) {
	w.ref.Tell(brokertest.Forget{Key: key})
	synctest.Wait()
}

func initial(pairs ...string) func(w *world) {
	return func(w *world) { w.fake.Initial = pairs }
}

func TestDesiredSubscriptions(t *testing.T) {
	bubble(t, initial("a", "1", "b", "1"), nil, func(w *world) {
		equal(t, "replayed", w.fake.Applied(), []string{"a=1", "b=1"})
		w.remember("c", "1")
		equal(t, "applied while connected", w.fake.Applied(), []string{"a=1", "b=1", "c=1"})
		w.remember("a", "2")
		equal(t, "the old one is revoked first", w.fake.Revoked(), []string{"a"})
		w.forget("b")
		w.forget("never heard of")
		w.drop(errGone)
		w.remember("d", "1")
		w.after(time.Second)
		equal(t, "after reconnect", w.fake.Applied(), []string{"a=2", "c=1", "d=1"})
		n := 0
		w.do(func(b *brokertest.Base) error { n = b.Remembered(); return nil })
		equal(t, "remembered", n, 3)
	})
	t.Run("one that fails is a warning and an event", func(t *testing.T) {
		refuse := func(w *world) {
			w.fake.Initial = []string{"a", "1", "bad", "1", "b", "1"}
			w.fake.RefuseKey("bad", errors.New("0x80"))
		}
		bubble(t, refuse, nil, func(w *world) {
			w.events("SubscriptionFailed(bad)", "Connected")
			equal(t, "applied", w.fake.Applied(), []string{"a=1", "b=1"})
			if !strings.Contains(w.logs.String(), "subscription failed") || !strings.Contains(w.logs.String(), "key=bad") {
				t.Error("the key is not logged")
			}
			w.remember("c", "1") // not tried again before the next connect
			w.events("SubscriptionFailed(bad)", "Connected")
			w.fake.RefuseKey("bad", nil)
			w.drop(errGone)
			w.after(time.Second)
			equal(t, "applied", w.fake.Applied(), []string{"a=1", "bad=1", "b=1", "c=1"})
		})
	})
	t.Run("without revoke", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.NoRevoke = true; w.fake.Initial = []string{"a", "1", "b", "1"} }, nil, func(w *world) {
			w.remember("a", "2")
			w.forget("b")
			equal(t, "replaced, and b is still there", w.fake.Applied(), []string{"b=1", "a=2"})
			w.drop(errGone)
			w.after(time.Second)
			equal(t, "after reconnect", w.fake.Applied(), []string{"a=2"})
		})
	})
	t.Run("in one batch", func(t *testing.T) {
		bubble(t, func(w *world) { w.fake.Batch = true; w.fake.Initial = []string{"a", "1", "b", "1"} }, nil, func(w *world) {
			w.fake.RefuseKey("c", errors.New("no"))
			w.remember("c", "1")
			w.drop(errGone)
			w.after(time.Second)
			equal(t, "applied", w.fake.AppliedEver(), []string{"a=1", "b=1", "a=1", "b=1"})
			w.events("Connected", "SubscriptionFailed(c)", "Disconnected", "Attempt(1)", "SubscriptionFailed(c)", "Connected")
		})
	})
}

// TestReplayPoint has the two points at which the replay can run.
func TestReplayPoint(t *testing.T) {
	for name, inConnect := range map[string]bool{"inside Connect": true, "after Serve has started": false} {
		t.Run(name, func(t *testing.T) {
			hold := func(w *world) {
				w.fake.ReplayInConnect = inConnect
				w.fake.Initial = []string{"a", "1"}
				w.fake.ApplyGate.Close()
			}
			bubble(t, hold, nil, func(w *world) {
				equal(t, "state during the replay", w.status().State, broker.StateConnecting)
				w.publish("x")
				w.events()
				equal(t, "sent", len(w.fake.Sent()), 0)
				w.fake.ApplyGate.Open()
				synctest.Wait()
				w.events("Connected")
				equal(t, "applied", w.fake.AppliedEver(), []string{"a=1"})
				equal(t, "sent", w.fake.Payloads(), []string{"x"})
			})
		})
	}
	t.Run("connectTimeout covers it", func(t *testing.T) {
		hold := func(w *world) { w.fake.Initial = []string{"a", "1"}; w.fake.ApplyGate.Close() }
		bubble(t, hold, set(func(c *broker.Config) { c.ConnectTimeout = time.Second }), func(w *world) {
			w.after(1500 * ms)
			w.events("Attempt(1)")
			equal(t, "closed", w.fake.Closed(), []int{1})
			if s := w.status(); !errors.Is(s.LastError, broker.ErrConnectTimeout) {
				t.Errorf("last error %v", s.LastError)
			}
			w.fake.ApplyGate.Open()
			w.after(time.Second)
			w.events("Attempt(1)", "Connected")
		})
	})
}

// TestF946727c1_AppliedAtTheConnectGate remembers after the replay pass and before the state is connected.
func TestF946727c1_AppliedAtTheConnectGate(t *testing.T) {
	hold := func(w *world) {
		w.fake.ReplayInConnect = true
		w.fake.Initial = []string{"a", "1"}
		w.fake.ConnectGate.Close()
	}
	bubble(t, hold, nil, func(w *world) {
		equal(t, "state", w.status().State, broker.StateConnecting)
		w.remember("b", "1")
		equal(t, "applied at once", w.fake.Applied(), []string{"a=1", "b=1"})
		w.fake.ConnectGate.Open()
		synctest.Wait()
		equal(t, "and not again", w.fake.AppliedEver(), []string{"a=1", "b=1"})
	})
}

// TestW08_ForgetDuringApply: no ghost stays on the server.
func TestW08_ForgetDuringApply(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		w.fake.ApplyGate.Close()
		w.remember("k", "1")
		equal(t, "applying", w.fake.ApplyGate.Waiting(), 1)
		w.forget("k")
		w.fake.ApplyGate.Open()
		synctest.Wait()
		equal(t, "applied", len(w.fake.Applied()), 0)
		equal(t, "revoked", w.fake.Revoked(), []string{"k"})
	})
	t.Run("and remembered anew", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			w.fake.ApplyGate.Close()
			w.remember("k", "1")
			w.forget("k")
			w.remember("k", "2")
			w.remember("k", "3")
			w.fake.ApplyGate.Open()
			synctest.Wait()
			equal(t, "applied", w.fake.Applied(), []string{"k=3"})
			equal(t, "ever", w.fake.AppliedEver(), []string{"k=1", "k=3"})
		})
	})
}

// TestW09_ChangeDuringTheReplay changes a key that the pass has behind it while it is at another.
func TestW09_ChangeDuringTheReplay(t *testing.T) {
	block := make(chan struct{})
	slow := func(_ context.Context, key string) error {
		if key == "b" {
			<-block
		}
		return nil
	}
	prepare := func(w *world) {
		block = make(chan struct{})
		w.fake.OnApply = slow
		w.fake.Initial = []string{"a", "1", "b", "1", "c", "1"}
	}
	bubble(t, prepare, nil, func(w *world) {
		w.remember("a", "2")
		w.forget("c")
		w.remember("d", "1")
		close(block)
		synctest.Wait()
		got := w.fake.Applied()
		slices.Sort(got)
		equal(t, "applied", got, []string{"a=2", "b=1", "d=1"})
		w.events("Connected")
	})
}

// TestW10_ForgottenBeforeTheFirstConnect is not brought back by anything.
func TestW10_ForgottenBeforeTheFirstConnect(t *testing.T) {
	bubble(t, func(w *world) { w.fake.Initial = []string{"a", "1", "b", "1"}; w.fake.FailConnects(2) }, nil, func(w *world) {
		w.forget("a")
		w.after(time.Hour)
		equal(t, "applied", w.fake.AppliedEver(), []string{"b=1"})
		w.drop(errGone)
		w.after(time.Hour)
		equal(t, "applied", w.fake.AppliedEver(), []string{"b=1", "b=1"})
	})
}

// TestSubscriptionRace subscribes and unsubscribes from 8 goroutines during the replay: what is on the server in the end
// is what is desired. It is also I7.
func TestSubscriptionRace(t *testing.T) {
	slow := func(context.Context, string) error { brokertest.Jitter(50 * time.Microsecond); return nil }
	bubble(t, func(w *world) { w.fake.OnApply = slow }, nil, func(w *world) {
		for round := range 10 {
			w.fake.Drop(errGone)
			var left atomic.Int32
			for g := range 8 {
				left.Add(1)
				go func() {
					defer left.Add(-1)
					for i := range 40 {
						brokertest.Jitter(20 * ms)
						key := fmt.Sprint((g + i) % 12)
						if i%3 == 0 {
							w.ref.Tell(brokertest.Forget{Key: key})
						} else {
							w.ref.Tell(brokertest.Remember{Key: key, Label: fmt.Sprint(round, "-", g, "-", i)})
						}
					}
				}()
			}
			w.after(time.Minute)
			if left.Load() != 0 {
				t.Fatal("still running")
			}
			n := 0
			w.do(func(b *brokertest.Base) error { n = b.Remembered(); return nil })
			on := w.fake.Applied()
			if len(on) != n {
				t.Fatalf("round %d: %d on the server, %d desired: %v", round, len(on), n, on)
			}
			ever := w.fake.AppliedEver()
			w.after(time.Minute)
			equal(t, "at rest", len(w.fake.AppliedEver()), len(ever))
		}
	})
}

// TestReplayOncePerTransport has 10 cycles with 3 failed attempts each.
func TestReplayOncePerTransport(t *testing.T) {
	bubble(t, initial("a", "1", "b", "1"), nil, func(w *world) {
		for range 10 {
			w.fake.FailConnects(3)
			w.drop(errGone)
			w.after(3 * time.Minute)
		}
		equal(t, "applied", len(w.fake.AppliedEver()), 22)
	})
}

// receiver is a subscriber that collects.
type receiver struct {
	got    []any
	refuse error
	gate   *brokertest.Gate
}

func (r *receiver) Receive(_ *actor.Context, msg any) error {
	r.got = append(r.got, msg)
	if r.gate != nil {
		r.gate.Await()
	}
	return r.refuse
}

func (w *world) receiver(name string) (*receiver, actor.Ref) {
	w.t.Helper()
	r := &receiver{}
	ref, err := w.sys.Spawn(name, func() actor.Actor { return r })
	if err != nil {
		w.t.Fatal(err)
	}
	return r, ref
}

func (w *world) subscribe(topic string, refs ...actor.Ref) {
	w.do(func(b *brokertest.Base) error {
		for _, r := range refs {
			b.AddSubscriber(topic, r)
		}
		return nil
	})
}

func (w *world) count(topic string) (n int) {
	w.do(func(b *brokertest.Base) error { n = b.SubscriberCount(topic); return nil })
	return n
}

func (w *world) kill(ref actor.Ref) {
	ref.Tell(actor.PoisonPill{})
	synctest.Wait()
}

// TestF1111_DeadSubscriberIsPrunedEverywhere and the bridge keeps running.
func TestF1111_DeadSubscriberIsPrunedEverywhere(t *testing.T) {
	var heard []actor.Terminated
	bubble(t, func(w *world) { w.fake.OnTerminated = func(d actor.Terminated) { heard = append(heard, d) } }, nil, func(w *world) {
		a, ra := w.receiver("a")
		b, rb := w.receiver("b")
		for _, topic := range []string{"x", "y", "z"} {
			w.subscribe(topic, ra, rb)
			w.subscribe(topic, ra)
		}
		equal(t, "count", w.count("x"), 2)
		w.do(func(bs *brokertest.Base) error { bs.FanOut("x", 1); bs.FanOut("nobody's", 2); return nil })
		equal(t, "a got", a.got, []any{1})
		w.kill(ra)
		for _, topic := range []string{"x", "y", "z"} {
			equal(t, "count", w.count(topic), 1)
		}
		w.do(func(bs *brokertest.Base) error { bs.FanOut("y", 3); return nil })
		equal(t, "b got", b.got, []any{1, 3})
		equal(t, "dead letters", len(w.rec.DeadLetters()), 0)
		equal(t, "connects", w.fake.Connects(), 1)
		equal(t, "F709: the protocol heard of it outside of Command", len(heard), 1)
	})
}

func TestUnsubscribe(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		_, ra := w.receiver("a")
		w.subscribe("x", ra)
		w.subscribe("y", ra)
		w.do(func(b *brokertest.Base) error { b.RemoveSubscriber("x", ra); return nil })
		equal(t, "x, y", [2]int{w.count("x"), w.count("y")}, [2]int{0, 1})
		w.kill(ra) // the watch is still there
		equal(t, "y", w.count("y"), 0)
	})
	t.Run("prune does not unwatch", func(t *testing.T) {
		var heard int
		bubble(t, func(w *world) { w.fake.OnTerminated = func(actor.Terminated) { heard++ } }, nil, func(w *world) {
			_, ra := w.receiver("a")
			w.subscribe("x", ra)
			w.subscribe("y", ra)
			var first, second bool
			w.do(func(b *brokertest.Base) error {
				first, second = b.PruneSubscriber(ra), b.PruneSubscriber(ra)
				return nil
			})
			equal(t, "pruned", [2]bool{first, second}, [2]bool{true, false})
			w.kill(ra)
			equal(t, "deaths", heard, 1)
		})
	})
	t.Run("the last topic ends the watch", func(t *testing.T) {
		var heard int
		bubble(t, func(w *world) { w.fake.OnTerminated = func(actor.Terminated) { heard++ } }, nil, func(w *world) {
			_, ra := w.receiver("a")
			w.subscribe("x", ra)
			w.do(func(b *brokertest.Base) error { b.RemoveSubscriber("x", ra); return nil })
			w.kill(ra)
			equal(t, "deaths", heard, 0)
		})
	})
}

// TestO1238_RespawnedUnderTheSamePath subscribes the new incarnation before the death of the old one is handled.
func TestO1238_RespawnedUnderTheSamePath(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		_, old := w.receiver("a")
		w.subscribe("x", old)
		var gate brokertest.Gate
		gate.Close()
		w.ref.Tell(brokertest.Do{Func: func(*brokertest.Base) error { gate.Await(); return nil }}) // holds the mailbox
		synctest.Wait()
		w.kill(old) // the death waits in the bridge's mailbox
		r, young := w.receiver("a")
		equal(t, "same path", young.Path(), old.Path())
		add := func(b *brokertest.Base) error { b.AddSubscriber("x", young); return nil }
		w.ref.Tell(brokertest.Do{Func: add})
		gate.Open()
		synctest.Wait()
		w.do(func(b *brokertest.Base) error { b.FanOut("x", 1); return nil })
		equal(t, "the new one got", r.got, []any{1})
		w.kill(young)
		equal(t, "count", w.count("x"), 0)
	})
	t.Run("the add comes before the death", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			_, old := w.receiver("a")
			w.subscribe("x", old)
			var gate brokertest.Gate
			gate.Close()
			young := make(chan actor.Ref, 1)
			w.ref.Tell(brokertest.Do{Func: func(b *brokertest.Base) error {
				gate.Await()
				b.AddSubscriber("x", <-young)
				equal(t, "the new one took the old one's place", b.SubscriberCount("x"), 1)
				return nil
			}})
			synctest.Wait()
			w.kill(old)
			_, ry := w.receiver("a")
			young <- ry
			gate.Open()
			synctest.Wait()
			equal(t, "count", w.count("x"), 1)
			w.kill(ry)
			equal(t, "count", w.count("x"), 0)
		})
	})
}

// TestDeathAfterPrune: the death of an incarnation that was pruned does not touch its successor.
func TestDeathAfterPrune(t *testing.T) {
	bubble(t, nil, nil, func(w *world) {
		_, old := w.receiver("a")
		w.subscribe("x", old)
		var gate brokertest.Gate
		gate.Close()
		young := make(chan actor.Ref, 1)
		w.ref.Tell(brokertest.Do{Func: func(b *brokertest.Base) error {
			equal(t, "pruned", b.PruneSubscriber(old), true)
			gate.Await()
			b.AddSubscriber("x", <-young)
			return nil
		}})
		synctest.Wait()
		w.kill(old)
		_, ry := w.receiver("a")
		young <- ry
		gate.Open()
		synctest.Wait()
		equal(t, "count", w.count("x"), 1)
	})
}
