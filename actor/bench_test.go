package actor

import (
	"context"
	"testing"
	"time"
)

// sink is an actor that says when it has handled n messages.
func sink(n int, done chan<- struct{}, window time.Duration) func() Actor {
	return func() Actor {
		return &script{
			pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(window) }),
			recv: func(*Context, any) error {
				if n--; n == 0 {
					done <- struct{}{}
				}
				return nil
			},
		}
	}
}

func benchSystem(tb testing.TB) *System {
	s, err := NewSystem("bench", quiet)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Terminate(context.Background()) })
	return s
}

// BenchmarkTell is one sender that fills a mailbox while its actor empties it, unarmed and with a receive timeout armed.
func BenchmarkTell(b *testing.B) {
	for _, c := range []struct {
		name   string
		window time.Duration
	}{{"unarmed", 0}, {"armed", time.Hour}} {
		b.Run(c.name, func(b *testing.B) {
			s := benchSystem(b)
			done := make(chan struct{})
			ref, err := s.Spawn("sink", sink(b.N, done, c.window))
			if err != nil {
				b.Fatal(err)
			}
			msg := new(int)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				ref.Tell(msg)
			}
			<-done
		})
	}
}

// BenchmarkPingPong is two actors that answer each other.
func BenchmarkPingPong(b *testing.B) {
	s := benchSystem(b)
	done := make(chan struct{})
	n := b.N
	ping, err := s.Spawn("ping", func() Actor {
		return Func(func(ctx *Context, msg any) error {
			if n--; n < 0 {
				close(done)
				return nil
			}
			ctx.Reply(msg)
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	pong, err := s.Spawn("pong", func() Actor {
		return Func(func(ctx *Context, msg any) error {
			ctx.Tell(ping, msg)
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	pong.Tell(new(int))
	<-done
}

// BenchmarkAsk is a caller outside of the system, with the runtime's own deadline.
func BenchmarkAsk(b *testing.B) {
	s := benchSystem(b)
	ref, err := s.Spawn("echo", func() Actor {
		return Func(func(ctx *Context, msg any) error {
			ctx.Reply(msg)
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	msg, ctx := new(int), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Ask[*int](ctx, ref, msg); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSpawnStop is the whole life of an actor.
func BenchmarkSpawnStop(b *testing.B) {
	s := benchSystem(b)
	done := make(chan struct{})
	n := b.N
	life := func() Actor { return &script{recv: func(*Context, any) error { return nil }} }
	parent, err := s.Spawn("parent", func() Actor {
		return Func(func(ctx *Context, _ any) error {
			if n--; n < 0 {
				close(done)
				return nil
			}
			k, err := ctx.SpawnAnonymous(life)
			if err != nil {
				return err
			}
			ctx.WatchWith(k, "next")
			k.Tell(PoisonPill{})
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	parent.Tell("next")
	<-done
}

// TestAllocations holds the hot paths to what they may allocate: nothing per tell of a pointer, armed or not, and one
// for a struct, which is its boxing. Under the race detector the counts are not those of the program.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	type three struct{ a, b, c int }
	for _, c := range []struct {
		name   string
		window time.Duration
		msg    func() any
		max    float64
	}{
		{"pointer", 0, func() any { return (*three)(nil) }, 0},
		{"pointer armed", time.Hour, func() any { return (*three)(nil) }, 0},
		{"no size", 0, func() any { return struct{}{} }, 0},
		{"struct", 0, func() any { return three{1, 2, 3} }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := benchSystem(t)
			const batch = 1000
			done := make(chan struct{})
			n := 0
			ref := mustSpawn(t, s, "a", func() Actor {
				return &script{
					pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(c.window) }),
					recv: func(*Context, any) error {
						if n++; n%batch == 0 {
							done <- struct{}{}
						}
						return nil
					},
				}
			})
			got := testing.AllocsPerRun(20, func() {
				for range batch {
					ref.Tell(c.msg())
				}
				<-done
			}) / batch
			// A new activation starts a goroutine, and a mailbox that grows takes a larger buffer: a few per batch.
			if got > c.max+0.05 {
				t.Errorf("%.3f allocations per tell, at most %v", got, c.max)
			}
		})
	}
}

// TestAllocationsOfAnAsk: the promise, and nothing else; the deadline is the runtime's own, and no context is made.
func TestAllocationsOfAnAsk(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := benchSystem(t)
	ref := mustSpawn(t, s, "echo", func() Actor {
		return Func(func(ctx *Context, msg any) error { ctx.Reply(msg); return nil })
	})
	msg, ctx := new(int), context.Background()
	got := testing.AllocsPerRun(2000, func() {
		if _, err := Ask[*int](ctx, ref, msg); err != nil {
			t.Fatal(err)
		}
	})
	// AllocsPerRun rounds down; the pools of channels and carriers are emptied by the collector now and then.
	if got > 1 {
		t.Errorf("%v allocations per ask, at most 1", got)
	}
}

// TestAllocationsOfALife is an actor that is started, idle and stopped, without its instance.
func TestAllocationsOfALife(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := benchSystem(t)
	done := make(chan struct{}, 1)
	one := &script{post: func(*Context) error { done <- struct{}{}; return nil }}
	life := func() Actor { return one }
	got := testing.AllocsPerRun(2000, func() {
		ref, err := s.SpawnAnonymous(life)
		if err != nil {
			t.Fatal(err)
		}
		ref.Tell(PoisonPill{})
		<-done
	})
	if got > 4 {
		t.Errorf("%v allocations per life, at most 4", got)
	}
	t.Logf("%v allocations per life", got)
}
