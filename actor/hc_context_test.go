package actor

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// misuses are what a goroutine may do with a Context that is not its own.
func misuses(x Ref) map[string]func(ctx *Context) {
	return map[string]func(ctx *Context){
		"tell":      func(ctx *Context) { ctx.Tell(x, "misuse") },
		"reply":     func(ctx *Context) { ctx.Reply("misuse") },
		"sender":    func(ctx *Context) { ctx.Sender() },
		"forward":   func(ctx *Context) { ctx.Forward(x) },
		"hold":      func(ctx *Context) { ctx.Hold() },
		"unhandled": func(ctx *Context) { ctx.Unhandled() },
		"spawn":     func(ctx *Context) { _, _ = ctx.SpawnAnonymous(always(Func(func(*Context, any) error { return nil }))) },
		"child":     func(ctx *Context) { ctx.Child("kid"); ctx.Children() },
		"watch":     func(ctx *Context) { ctx.Watch(x); ctx.WatchWith(x, "end"); ctx.Unwatch(x) },
		"timers": func(ctx *Context) {
			_ = ctx.Timers().StartSingle("t", "tick", ms)
			ctx.Timers().Keys()
			ctx.Timers().CancelAll()
		},
		"become": func(ctx *Context) {
			ctx.BecomeStacked(func(*Context, any) error { return nil })
			ctx.Become(func(*Context, any) error { return nil })
			ctx.Unbecome()
		},
		"stash":   func(ctx *Context) { _ = ctx.Stash(); ctx.UnstashAll() },
		"timeout": func(ctx *Context) { ctx.SetReceiveTimeout(ms); ctx.CancelReceiveTimeout() },
		"pipe":    func(ctx *Context) { ctx.PipeToSelf(func(context.Context) (any, error) { return "piped", nil }) },
		"stop":    func(ctx *Context) { ctx.StopSelf() },
	}
}

// A goroutine that uses the Context of an actor which is in a later turn breaks at most that actor: the process goes on, and
// every other actor gets its messages, each completion ends once and each ask has its own answer.
func TestHC_C_context_used_in_a_later_turn(t *testing.T) {
	if raceEnabled {
		t.Skip("the race is the point of this test")
	}
	s := newTestSystem(t)
	sink := mustSpawn(t, s, "sink", always(Func(func(*Context, any) error { return nil })))
	for name, misuse := range misuses(sink) {
		t.Run(name, func(t *testing.T) { misusedInLaterTurns(t, s, misuse) })
	}
}

// counting is a completion that counts how often it ended.
type counting struct{ n *atomic.Int64 }

func (c counting) Done(error) { c.n.Add(1) }

func misusedInLaterTurns(t *testing.T, s *System, misuse func(*Context)) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	var victims []Ref
	for range 4 {
		started := false
		victim, err := s.SpawnAnonymous(always(Func(func(ctx *Context, msg any) error {
			if !started {
				started = true
				wg.Go(func() {
					for {
						select {
						case <-end:
							return
						default:
							misuse(ctx)
						}
					}
				})
			}
			if _, ok := msg.(int); ok {
				misuse(ctx) // as its owner, who may
			}
			return nil
		})), supervisedBy(Restart))
		if err != nil {
			t.Fatal(err)
		}
		victims = append(victims, victim)
	}
	var others []Ref
	for range 4 {
		echo, err := s.SpawnAnonymous(always(Func(func(ctx *Context, msg any) error { ctx.Reply(msg); return nil })))
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, echo)
	}
	var ended atomic.Int64
	sent := 0
	for until := time.Now().Add(60 * ms); time.Now().Before(until); sent++ {
		for _, v := range victims {
			v.Tell(sent)
		}
		for _, o := range others {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			if n, err := Ask[int](ctx, o, sent); n != sent || err != nil {
				t.Errorf("another actor answers %d with %d, %v", sent, n, err)
			}
			cancel()
			Send(o, Envelope{Msg: sent, Done: counting{&ended}})
		}
	}
	close(end)
	wg.Wait()
	for until := time.Now().Add(20 * time.Second); ended.Load() < int64(sent*len(others)) && time.Now().Before(until); {
		runtime.Gosched()
	}
	if n := ended.Load(); n != int64(sent*len(others)) {
		t.Errorf("%d of %d completions have ended", n, sent*len(others))
	}
	for _, v := range victims {
		v.Tell(PoisonPill{})
	}
}
