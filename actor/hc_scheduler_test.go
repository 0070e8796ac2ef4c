package actor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patient is how long these tests wait for what takes microseconds, so that a busy machine does not fail them.
const patient = 60 * time.Second

// eventually waits for a condition in real time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(patient); !ok(); runtime.Gosched() {
		if time.Now().After(until) {
			t.Fatalf("%s: not within %v", what, patient)
		}
	}
}

// onProcessors runs the rest of the test with n processors.
func onProcessors(t *testing.T, n int) {
	t.Helper()
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// echo answers what it is asked.
func echo(t *testing.T, s *System) Ref {
	t.Helper()
	ref, err := s.SpawnAnonymous(always(Func(func(ctx *Context, msg any) error { ctx.Reply(msg); return nil })))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// answers asks n times and returns the longest wait.
func answers(t *testing.T, ref Ref, n int) (longest time.Duration) {
	t.Helper()
	for i := range n {
		ctx, cancel := context.WithTimeout(context.Background(), patient)
		t0 := time.Now()
		v, err := Ask[int](ctx, ref, i)
		longest = max(longest, time.Since(t0))
		cancel()
		if v != i || err != nil {
			t.Fatalf("%d, %v", v, err)
		}
	}
	return longest
}

// Handlers that block, for whatever reason, stop nobody else: not those that were there before, not those that come later,
// and not one that was woken by the handler that then blocks.
func TestHC_C1_blocked_handlers_stop_nobody(t *testing.T) {
	onProcessors(t, 2)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan struct{})
	var lock sync.Mutex
	lock.Lock()
	for name, block := range map[string]func(){
		"channel": func() { <-free },
		"lock":    func() { lock.Lock(); lock.Unlock() }, //nolint:staticcheck // it is the wait that counts
		"I/O":     func() { _, _ = r.Read(make([]byte, 1)) },
		"sleep":   func() { <-time.After(50 * ms) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestSystem(t)
			before := echo(t, s)
			answers(t, before, 1)
			var blocked atomic.Int32
			for range 64 {
				ref, err := s.SpawnAnonymous(always(Func(func(*Context, any) error { blocked.Add(1); block(); return nil })))
				if err != nil {
					t.Fatal(err)
				}
				ref.Tell("block")
			}
			longest := max(answers(t, before, 100), answers(t, echo(t, s), 100))
			eventually(t, "all 64 handlers run", func() bool { return blocked.Load() == 64 })
			longest = max(longest, answers(t, before, 100), answers(t, echo(t, s), 100))
			t.Logf("longest wait of 400: %v", longest)
			switch name {
			case "channel":
				close(free)
			case "lock":
				lock.Unlock()
			case "I/O":
				_ = w.Close()
			}
		})
	}
	_ = r.Close()
}

// Actors that a handler has woken, in any number, run although it blocks then.
func TestHC_C1_woken_by_a_handler_that_blocks(t *testing.T) {
	onProcessors(t, 2)
	s := newTestSystem(t)
	for _, n := range []int{1, 2, 20, 500} {
		free := make(chan struct{})
		var ran atomic.Int32
		woken := make([]Ref, n)
		for i := range woken {
			woken[i] = mustSpawnAnonymous(t, s, Func(func(*Context, any) error { ran.Add(1); return nil }))
		}
		a := mustSpawnAnonymous(t, s, Func(func(ctx *Context, _ any) error {
			for _, ref := range woken {
				ctx.Tell(ref, "wake up")
			}
			<-free
			return nil
		}))
		t0 := time.Now()
		a.Tell("go")
		eventually(t, "the woken run", func() bool { return ran.Load() == int32(n) })
		t.Logf("%d woken: all ran after %v", n, time.Since(t0))
		close(free)
	}
}

func mustSpawnAnonymous(t *testing.T, s *System, f Func) Ref {
	t.Helper()
	ref, err := s.SpawnAnonymous(always(f))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// An ask inside a handler blocks that actor and nobody else, in chains that are longer than there are processors.
func TestHC_Q3_asks_inside_handlers(t *testing.T) {
	onProcessors(t, 2)
	s := newTestSystem(t)
	next := echo(t, s)
	const depth = 64
	for range depth {
		to := next
		next = mustSpawnAnonymous(t, s, Func(func(ctx *Context, msg any) error {
			v, err := Ask[int](ctx.Context(), to, msg)
			if err != nil {
				return Reject(err)
			}
			ctx.Reply(v + 1)
			return nil
		}))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 3 {
				ctx, cancel := context.WithTimeout(context.Background(), patient)
				if v, err := Ask[int](ctx, next, i); v != i+depth || err != nil {
					t.Errorf("%d, %v", v, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}

// Handlers that end their goroutine cost nobody else anything, also when all of them do it at once, over and over.
func TestHC_C4_handlers_that_call_Goexit(t *testing.T) {
	onProcessors(t, 2)
	s := newTestSystem(t)
	var ran atomic.Int32
	const n, times = 32, 20
	for range n {
		ref, err := s.SpawnAnonymous(always(Func(func(*Context, any) error { ran.Add(1); goexit(); return nil })), supervisedBy(Resume))
		if err != nil {
			t.Fatal(err)
		}
		for range times {
			ref.Tell("end")
		}
	}
	other := echo(t, s)
	answers(t, other, 200)
	eventually(t, "every message is handled", func() bool { return ran.Load() == n*times })
	answers(t, other, 200)
}

// An actor that always has a message, because it sends itself one or because others flood it, and a pair that plays
// ping-pong do not keep others waiting.
func TestHC_D1_fairness(t *testing.T) {
	onProcessors(t, 2)
	for name, load := range map[string]func(t *testing.T, s *System, end *atomic.Bool){
		"to itself": func(t *testing.T, s *System, end *atomic.Bool) {
			for range 4 {
				mustSpawnAnonymous(t, s, Func(func(ctx *Context, msg any) error {
					if !end.Load() {
						ctx.Tell(ctx.Self(), msg)
					}
					return nil
				})).Tell("again")
			}
		},
		"several to itself": func(t *testing.T, s *System, end *atomic.Bool) {
			for range 4 {
				ref := mustSpawnAnonymous(t, s, Func(func(ctx *Context, msg any) error {
					if !end.Load() {
						ctx.Self().Tell(msg) // the other way
					}
					return nil
				}))
				for range 1000 {
					ref.Tell("again")
				}
			}
		},
		"ping-pong": func(t *testing.T, s *System, end *atomic.Bool) {
			for range 4 {
				back := Func(func(ctx *Context, msg any) error {
					if !end.Load() {
						ctx.Reply(msg)
					}
					return nil
				})
				a, b := mustSpawnAnonymous(t, s, back), mustSpawnAnonymous(t, s, back)
				Send(a, Envelope{Msg: "ball", Sender: b})
			}
		},
		"ring": func(t *testing.T, s *System, end *atomic.Bool) {
			for range 4 {
				var refs [3]Ref
				for i := range refs {
					refs[i] = mustSpawnAnonymous(t, s, Func(func(ctx *Context, msg any) error {
						if !end.Load() {
							ctx.Tell(refs[(i+1)%3], msg)
						}
						return nil
					}))
				}
				refs[0].Tell("go")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestSystem(t)
			other := echo(t, s)
			var end atomic.Bool
			defer end.Store(true)
			load(t, s, &end)
			// What is woken by an actor, and what by a goroutine.
			through := mustSpawnAnonymous(t, s, Func(func(ctx *Context, _ any) error { ctx.Forward(other); return nil }))
			t.Logf("longest wait of 60: %v", max(answers(t, other, 30), answers(t, through, 30)))
		})
	}
}

// HC-C1, HC-C2 with many messages queued: a stop, and the suspension by a failing parent, come before the next message.
func TestHC_C1_C2_signals_before_a_long_queue(t *testing.T) {
	s := newTestSystem(t)
	for range 50 {
		var handled atomic.Int32
		entered, free := make(chan struct{}), make(chan struct{})
		var kid Ref
		a := mustSpawn(t, s, "a", always(&script{
			pre: do(func(ctx *Context) {
				kid = spawnKid(ctx, "kid", always(Func(func(_ *Context, msg any) error {
					if msg == any("wait") {
						close(entered)
						<-free
						return nil
					}
					handled.Add(1)
					return nil
				})))
				kid.Tell("wait")
			}),
		}), supervisedBy(Stop))
		<-entered
		for range 1000 {
			kid.Tell("m")
		}
		a.Tell(func(*Context) error { return errBoom })
		eventually(t, "the parent has failed and stops", func() bool { _, ok := a.Pending(); return !ok })
		eventually(t, "its child is told", func() bool { _, ok := kid.Pending(); return !ok })
		close(free)
		eventually(t, "both have ended", func() bool { return kid.n.cell().closedForTest() && a.n.cell().closedForTest() })
		if n := handled.Load(); n != 0 {
			t.Errorf("%d messages were handled after the stop", n)
		}
		eventually(t, "the name is free", func() bool { return s.user.kids().find("a") == nil })
	}
}

// A moment without activations is only reported when there is one: whatever was told before, and whatever came of it, has
// been handled.
func TestHC_S1_quiet_means_nothing_is_queued(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		onProcessors(t, procs)
		s := newTestSystem(t)
		var handled atomic.Int64
		refs := make([]Ref, 16)
		for i := range refs {
			refs[i] = mustSpawnAnonymous(t, s, Func(func(ctx *Context, msg any) error {
				if n := msg.(int); n > 0 {
					ctx.Tell(refs[(i+n)%len(refs)], n-1)
				}
				handled.Add(1)
				return nil
			}))
		}
		for round := range 500 {
			want := handled.Load()
			for i := range 1 + round%7 {
				n := (round*7 + i) % 40
				refs[(round+i)%len(refs)].Tell(n)
				want += int64(n + 1)
			}
			ctx, cancel := context.WithTimeout(context.Background(), patient)
			quiet := s.awaitQuiet(ctx)
			cancel()
			if got := handled.Load(); !quiet || got != want {
				t.Fatalf("%d processors, round %d: quiet %t with %d of %d handled", procs, round, quiet, got, want)
			}
		}
	}
}

// awaitQuiet gives up with its context, and does not report what is not so.
func TestHC_S1_quiet_is_not_reported_too_early(t *testing.T) {
	s := newTestSystem(t)
	entered, free := make(chan struct{}), make(chan struct{})
	mustSpawnAnonymous(t, s, Func(func(*Context, any) error { close(entered); <-free; return nil })).Tell("wait")
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 20*ms)
	defer cancel()
	if s.awaitQuiet(ctx) {
		t.Error("quiet while a handler runs")
	}
	close(free)
	if !s.awaitQuiet(t.Context()) {
		t.Error("not quiet")
	}
}

// Many systems live and end at the same time and have nothing to do with each other; goleak sees to it that no goroutine
// of them is left.
func TestHC_S3_many_systems_in_parallel(t *testing.T) {
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			s, err := NewSystem("many", quiet)
			if err != nil {
				t.Error(err)
				return
			}
			var handled atomic.Int32
			var order []int
			sum := mustSpawnAnonymous(t, s, Func(func(_ *Context, msg any) error {
				handled.Add(1)
				order = append(order, msg.(int))
				return nil
			}))
			for i := range 50 {
				mustSpawnAnonymous(t, s, Func(func(ctx *Context, msg any) error {
					ctx.SetReceiveTimeout(time.Hour)
					ctx.Tell(sum, msg)
					return ctx.Timers().StartSingle("t", "never", time.Hour)
				})).Tell(i)
			}
			terminate(t, s) // the drain waits for all of it
			slices.Sort(order)
			if handled.Load() != 50 || order[49] != 49 {
				t.Errorf("%d handled", handled.Load())
			}
			if n := s.sched.carriers.Load(); n != 0 {
				t.Errorf("%d goroutines are left", n)
			}
		})
	}
	wg.Wait()
}

// TestNestedAsks has handlers that wait for each other, 64 deep on two processors. Each takes a carrier out of service;
// the next must not have to wait until the watchdog has noticed.
func TestNestedAsks(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s := newTestSystem(t)
	const depth = 64
	refs := make([]Ref, depth+1)
	for i := range refs {
		refs[i] = mustSpawn(t, s, fmt.Sprint("level", i), always(Func(func(ctx *Context, _ any) error {
			n := 0
			if i > 0 {
				below, err := Ask[int](ctx.Context(), refs[i-1], "depth")
				if err != nil {
					return err
				}
				n = below + 1
			}
			ctx.Reply(n)
			return nil
		})))
	}
	best := time.Hour
	for range 10 {
		begin := time.Now()
		n, err := Ask[int](context.Background(), refs[depth], "depth")
		if n != depth || err != nil {
			t.Fatal(n, err)
		}
		best = min(best, time.Since(begin))
	}
	t.Logf("%v for %d nested asks", best, depth)
	if best > depth*patience/4 {
		t.Errorf("%v for %d nested asks: they wait for the watchdog", best, depth)
	}
}
