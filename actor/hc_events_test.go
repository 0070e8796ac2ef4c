package actor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// listener spawns an actor that records what it receives.
func (r *record) listener(t *testing.T, s *System, name string) Ref {
	t.Helper()
	return mustSpawn(t, s, name, always(&script{recv: func(_ *Context, msg any) error { r.add("%s %v", name, msg); return nil }}))
}

// HC-E1: who gets an event is fixed when publishing begins. Who subscribes meanwhile does not get it, and who is
// unsubscribed meanwhile does.
func TestHC_E1_recipients_are_fixed_when_publish_begins(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		ev, a, b, c := s.EventStream(), r.listener(t, s, "a"), r.listener(t, s, "b"), r.listener(t, s, "c")
		var cancelB func()
		cancelA := SubscribeIf(ev, a, func(int) bool {
			cancelB()
			Subscribe[int](ev, c)
			return true
		})
		cancelB = Subscribe[int](ev, b)
		ev.Publish(1)
		r.at(0)
		r.wantAnyOrder(t, "0 a 1", "0 b 1")
		cancelA()
		r.reset()
		ev.Publish(2)
		r.at(0)
		r.want(t, "0 c 2")
	})
}

// HC-E1: no subscription outlives its actor, one with a predicate neither, and an actor that stops does not hear of its
// own end.
func TestHC_E1_no_subscription_is_left(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		ev := s.EventStream()
		a := r.listener(t, s, "a")
		for range 3 {
			SubscribeIf(ev, a, func(ActorStopped) bool { return true })
		}
		Subscribe[ActorStopped](ev, a)
		a.Tell(PoisonPill{})
		r.at(0)
		r.want(t)
		if subs := ev.subs.Load(); subs != nil {
			t.Errorf("%d subscriptions are left", len(*subs))
		}
		SubscribeIf(ev, a, func(int) bool { return true })
		SubscribeIf(ev, Ref{}, func(int) bool { return true })
		if subs := ev.subs.Load(); subs != nil {
			t.Errorf("%d subscriptions of nobody", len(*subs))
		}
	})
}

// HC-E2: a predicate that panics is no match. Publisher and other subscribers do not notice, not even when the logger
// panics as well, and neither does an actor whose start or end is the event.
func TestHC_E2_panicking_predicate(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var out lockedBuffer
		s.log = slog.New(slog.NewTextHandler(&out, nil))
		ev, a, b := s.EventStream(), r.listener(t, s, "a"), r.listener(t, s, "b")
		SubscribeIf(ev, a, func(string) bool { panic("boom") })
		SubscribeIf(ev, a, func(any) bool { panic("no opinion") })
		Subscribe[string](ev, b)
		ev.Publish("event")
		r.at(0)
		r.want(t, "0 b event")
		for _, want := range []string{"subscriber=troupe://test/user/a", "type=string", "boom", "no opinion"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in the log: %s", want, out.String())
			}
		}
		s.log = slog.New(brokenHandler{})
		ev.Publish("event 2")
		c := r.listener(t, s, "c")
		c.Tell("works")
		c.Tell(PoisonPill{})
		c.Tell("dead letter")
		r.at(0)
		r.wantAnyOrder(t, "0 b event", "0 b event 2", "0 c works")
	})
}

// HC-E3: with a predicate every call adds a subscription, without one the same type of the same ref is subscribed once.
func TestHC_E3_predicates_are_not_merged(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		ev, a := s.EventStream(), r.listener(t, s, "a")
		over := func(n int) func(int) bool { return func(i int) bool { return i > n } }
		Subscribe[int](ev, a)
		Subscribe[int](ev, a)
		cancel := SubscribeIf(ev, a, over(1))
		SubscribeIf(ev, a, over(2))
		SubscribeIf[int](ev, a, nil)
		Subscribe[int](ev, a)
		count := func(event any, want int) {
			t.Helper()
			r.reset()
			ev.Publish(event)
			r.at(0)
			if n := len(r.lines()); n != want {
				t.Errorf("%v arrives %d times, want %d", event, n, want)
			}
		}
		count(1, 2) // plain and nil
		count(2, 3)
		count(3, 4)
		count("text", 0)
		cancel()
		cancel()
		count(3, 3)
	})
}

// HC-E4: a subscription is ended by its own cancel and by no other one, of the same type neither.
func TestHC_E4_cancel_ends_one(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		ev, a := s.EventStream(), r.listener(t, s, "a")
		plain := Subscribe[time.Duration](ev, a)
		Subscribe[fmt.Stringer](ev, a)
		SubscribeIf(ev, a, func(time.Duration) bool { return true })
		plain()
		ev.Publish(time.Second)
		r.at(0)
		r.want(t, "0 a 1s", "0 a 1s")
	})
}

// HC-E5: a subscription is one incarnation's. The next at the same path has none and can make its own, while the old
// cancel has no effect on it.
func TestHC_E5_key_is_the_incarnation(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		ev := s.EventStream()
		first := r.listener(t, s, "a")
		cancel := Subscribe[int](ev, first)
		first.Tell(PoisonPill{})
		r.at(0)
		second := r.listener(t, s, "a")
		ev.Publish(1)
		r.at(0)
		r.want(t)
		Subscribe[int](ev, second)
		cancel()
		ev.Publish(2)
		r.at(0)
		r.want(t, "0 a 2")
		second.Tell(func(*Context) error { return errBoom }) // a restart is the same incarnation
		ev.Publish(3)
		r.at(0)
		r.want(t, "0 a 2", "0 a 3")
	})
}

// HC-E6: the events of an actor's life carry its path.
func TestHC_E6_lifecycle_events_carry_the_path(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		watch := mustSpawn(t, s, "watch", always(Func(func(_ *Context, msg any) error {
			switch e := msg.(type) {
			case ActorStarted:
				r.add("started %s", e.Ref.Path())
			case ActorRestarted:
				r.add("restarted %s", e.Ref.Path())
			case ActorStopped:
				r.add("stopped %s", e.Ref.Path())
			case DeadLetter:
				r.add("dead letter to %s", e.To.Path())
			}
			return nil
		})))
		r.at(0)
		SubscribeIf(s.EventStream(), watch, func(any) bool { return true })
		a := mustSpawn(t, s, "a", always(&script{}))
		a.Tell(func(*Context) error { return errBoom })
		a.Tell(PoisonPill{})
		r.at(0)
		a.Tell("late")
		r.at(0)
		const path = "troupe://test/user/a"
		r.want(t, "0 started "+path, "0 restarted "+path, "0 stopped "+path, "0 dead letter to "+path)
	})
}

// Events are ordinary messages: they count as activity, unless they say otherwise.
func TestEventsAreActivity(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", r.idler(100*ms))
		Subscribe[string](s.EventStream(), a)
		Subscribe[mark](s.EventStream(), a)
		r.at(60 * ms)
		s.EventStream().Publish("event")
		r.at(120 * ms)
		s.EventStream().Publish(mark{what: "mark"})
		r.at(170 * ms)
		r.want(t, "60 event", "120 mark", "160 RT")
	})
}

// Publishing, subscribing and ending race; each event reaches an actor that stays exactly once per subscription.
func TestPublishRace(t *testing.T) {
	s := newTestSystem(t)
	ev := s.EventStream()
	seen := map[int]int{}
	stays := mustSpawn(t, s, "stays", always(Func(func(ctx *Context, msg any) error {
		i, ok := msg.(int)
		if !ok {
			ctx.Reply("all")
			return nil
		}
		seen[i]++
		return nil
	})))
	SubscribeIf(ev, stays, func(i int) bool { return i%2 == 0 })
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 60 {
				ev.Publish(g*60 + i)
				other := mustSpawn(t, s, fmt.Sprint("x", g, " ", i), always(&script{}))
				cancel := SubscribeIf(ev, other, func(int) bool { return i%3 == 0 })
				if i%2 == 0 {
					cancel()
				}
				other.Tell(PoisonPill{})
			}
		})
	}
	wg.Wait()
	// Behind all events: on a slow machine the drain may be too short for them.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := Ask[string](ctx, stays, "all?"); err != nil {
		t.Error(err)
	}
	terminate(t, s)
	if len(seen) != 120 {
		t.Errorf("%d events of 120", len(seen))
	}
	for i, n := range seen {
		if n != 1 {
			t.Errorf("%d arrived %d times", i, n)
		}
	}
	if subs := ev.subs.Load(); subs != nil {
		t.Errorf("%d subscriptions are left", len(*subs))
	}
}

// Publishing to nobody costs no allocation, and neither does a predicate that says no.
func TestPublishAllocations(t *testing.T) {
	s := newTestSystem(t)
	var event any = time.Second
	if n := testing.AllocsPerRun(100, func() { s.EventStream().Publish(event) }); n != 0 {
		t.Errorf("%v allocations without a subscriber", n)
	}
	a := mustSpawn(t, s, "a", always(&script{}))
	SubscribeIf(s.EventStream(), a, func(d time.Duration) bool { return d == 0 })
	if n := testing.AllocsPerRun(100, func() { s.EventStream().Publish(event) }); n != 0 {
		t.Errorf("%v allocations for a predicate", n)
	}
}
