package router

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/troupe-go/troupe/actor"
)

type keyed struct{ key string }

func (k *keyed) HashKey() string { return k.key }

// routed starts a pool of four routees that call handled for each message.
func routed(tb testing.TB, logic func() Logic, handled func()) actor.Ref {
	tb.Helper()
	s, err := actor.NewSystem("alloc", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) })
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Terminate(tb.Context()); err != nil && tb.Context().Err() == nil {
			tb.Error(err)
		}
	})
	worker := actor.Func(func(*actor.Context, any) error { handled(); return nil })
	newPool, err := Pool(4, func() actor.Actor { return worker }, func(c *Config) { c.Logic = logic })
	if err != nil {
		tb.Fatal(err)
	}
	ref, err := s.Spawn("router", newPool)
	if err != nil {
		tb.Fatal(err)
	}
	return ref
}

func logics() map[string]func() Logic {
	return map[string]func() Logic{
		"RoundRobin": RoundRobin, "Random": Random, "SmallestMailbox": SmallestMailbox, "ConsistentHash": ConsistentHash, "FanOut": FanOut,
	}
}

func TestRoutingAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, logic := range logics() {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{}, 16)
			ref := routed(t, logic, func() { done <- struct{}{} })
			copies := 1
			if name == "FanOut" {
				copies = 4
			}
			msg := &keyed{"order-4711"}
			if n := testing.AllocsPerRun(1000, func() {
				ref.Tell(msg)
				for range copies {
					<-done
				}
			}); n != 0 {
				t.Errorf("%v allocations per message, want 0", n)
			}
		})
	}
}

// modulo is round robin without a look at the routees, for comparison.
type modulo struct{ n int }

func (m *modulo) Select(_ any, routees []actor.Ref) int { m.n++; return m.n % len(routees) }

// BenchmarkRoute is the way of a message from the sender through the router to its routee.
func BenchmarkRoute(b *testing.B) {
	all := logics()
	delete(all, "FanOut")
	all["Modulo"] = func() Logic { return &modulo{} }
	for name, logic := range all {
		b.Run(name, func(b *testing.B) {
			var handled atomic.Int64
			ref := routed(b, logic, func() { handled.Add(1) })
			msgs := make([]*keyed, 64)
			for i := range msgs {
				msgs[i] = &keyed{fmt.Sprint("order-", i)}
			}
			b.ReportAllocs()
			sent := int64(0)
			for b.Loop() {
				ref.Tell(msgs[sent&63])
				for sent++; sent-handled.Load() > 4096; {
					runtime.Gosched()
				}
			}
			for handled.Load() < sent {
				runtime.Gosched()
			}
		})
	}
}
