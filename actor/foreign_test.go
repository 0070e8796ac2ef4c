package actor

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// bareSystem is a system that the test ends itself.
func bareSystem(t *testing.T, opts ...func(*SystemConfig)) *System {
	t.Helper()
	s, err := NewSystem("test", append([]func(*SystemConfig){quiet}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func within(t *testing.T, d time.Duration, what string, ok func() bool) bool {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); runtime.Gosched() {
		if ok() {
			return true
		}
	}
	t.Errorf("not within %v: %s", d, what)
	return false
}

// ownedCell is a cell that the test owns, on a carrier of the test's.
func ownedCell(s *System) (*cell, *carrier) {
	c := newCell(s, s.user, "", nil, nil)
	c.mb.Signal(sigDue)
	c.mb.TakeSignals()
	k := s.sched.newCarrier()
	c.run, c.st, k.cell = k, running, c
	return c, k
}

// The clock's goroutine read the time before the handler ended.
func TestFireDoesNotResolveAnEpoch(t *testing.T) {
	s := newTestSystem(t)
	c, k := ownedCell(s)
	c.idle.window.Store(int64(50 * time.Millisecond))
	c.idle.since.Store(1)
	stale := s.clock.Now() // tick
	<-time.After(2 * time.Millisecond)
	end := s.clock.Now() // the handler ends
	k.note(c)
	again := c.Fire(stale) // tick goes on
	k.epoch.close(&s.sched)
	if since := c.idle.since.Load(); since < end {
		t.Errorf("since is %v before the end of the handler", time.Duration(end-since))
	}
	t.Log(again, end)
}

// End to end, with a priority function that takes 10 ms.
func TestReceiveTimeoutBehindASlowFire(t *testing.T) {
	prev := runtime.GOMAXPROCS(1)
	s := newTestSystem(t)
	runtime.GOMAXPROCS(max(prev, 2))
	defer runtime.GOMAXPROCS(prev)
	const window = 50 * time.Millisecond
	early := 0
	worst := window
	for round := 0; round < 30 && early == 0; round++ {
		var stop, over atomic.Bool
		var got atomic.Int64
		var end time.Time
		var a, b, c Ref
		spin := func(d time.Duration) {
			for e := time.Now().Add(d); time.Now().Before(e); {
			}
		}
		a, _ = s.SpawnAnonymous(always(&script{pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(window) }), recv: func(ctx *Context, msg any) error {
			if _, ok := msg.(ReceiveTimeout); ok {
				got.Store(int64(time.Since(end)))
				ctx.StopSelf()
				return nil
			}
			end = time.Now()
			return nil
		}}))
		c, _ = s.SpawnAnonymous(always(Func(func(ctx *Context, msg any) error {
			spin(10 * time.Microsecond)
			if over.Load() {
				return nil
			}
			if !stop.Load() {
				ctx.Tell(a, "ping")
			}
			ctx.Tell(b, "go")
			return nil
		})))
		b, _ = s.SpawnAnonymous(always(Func(func(ctx *Context, msg any) error {
			spin(10 * time.Microsecond)
			ctx.Tell(c, "go")
			return nil
		})))
		n := 0
		p, _ := s.SpawnAnonymous(always(&script{pre: do(func(ctx *Context) {
			_ = ctx.Timers().StartSingle("1", "slow", window-5*time.Millisecond)
			_ = ctx.Timers().StartSingle("2", "slow", window-time.Millisecond)
		})}), func(sc *SpawnConfig) {
			sc.Mailbox.Priority = func(m any) int {
				if m == "slow" {
					<-time.After(10 * time.Millisecond)
					if n++; n == 2 {
						stop.Store(true)
						spin(150 * time.Microsecond)
					}
				}
				return 0
			}
		})
		b.Tell("go")
		<-time.After(window + 20*time.Millisecond)
		over.Store(true)
		if within(t, time.Second, "the receive timeout", func() bool { return got.Load() != 0 }) {
			d := time.Duration(got.Load())
			worst = min(worst, d)
			if d < window {
				early++
				t.Errorf("round %d: after %v, the window is %v", round, d, window)
			}
		}
		for _, r := range []Ref{a, b, c, p} {
			_ = r.Stop(context.Background())
		}
	}
	t.Log(worst)
}

// A priority function ends the clock's goroutine.
func TestGoexitOnTheClocksGoroutine(t *testing.T) {
	s := bareSystem(t)
	mustSpawn(t, s, "a", always(&script{pre: do(func(ctx *Context) { _ = ctx.Timers().StartSingle("k", "tick", time.Millisecond) })}),
		func(c *SpawnConfig) {
			c.Mailbox.Priority = func(m any) int {
				if m == "tick" {
					runtime.Goexit()
				}
				return 0
			}
		})
	<-time.After(20 * time.Millisecond)
	var fired atomic.Bool
	mustSpawn(t, s, "b", always(&script{pre: do(func(ctx *Context) { _ = ctx.Timers().StartSingle("k", "tick", time.Millisecond) }),
		recv: func(*Context, any) error { fired.Store(true); return nil }}))
	within(t, time.Second, "a timer of another actor", fired.Load)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := s.Terminate(ctx); err != nil {
		t.Error(err)
	}
}

// failingLogger panics, or ends the goroutine, at one line.
type failingLogger struct {
	slog.Handler
	msg string
	end func()
}

func (l failingLogger) Enabled(context.Context, slog.Level) bool { return true }
func (l failingLogger) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l failingLogger) WithGroup(string) slog.Handler            { return l }
func (l failingLogger) Handle(_ context.Context, r slog.Record) error {
	if r.Message == l.msg {
		l.end()
	}
	return nil
}

// A logger that fails loses a step of the actor's life.
func TestLoggerThatFails(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		for _, c := range []struct {
			name, msg string
			run       func(t *testing.T, s *System) (what string, ok func() bool)
		}{
			{"PostStop", "PostStop failed", func(t *testing.T, s *System) (string, func() bool) {
				a := mustSpawn(t, s, "a", always(&script{post: func(*Context) error { return errBoom }}))
				a.Tell(PoisonPill{})
				return "the end", func() bool { return a.n.cell().mb.Closed() }
			}},
			{"StopSelf", "failed while stopping itself", func(t *testing.T, s *System) (string, func() bool) {
				a := mustSpawn(t, s, "a", always(&script{}))
				a.Tell(func(ctx *Context) error { ctx.StopSelf(); return errBoom })
				return "the end", func() bool { return a.n.cell().mb.Closed() }
			}},
			{"start", "failed while stopping itself", func(t *testing.T, s *System) (string, func() bool) {
				a := mustSpawn(t, s, "a", always(&script{pre: func(ctx *Context) error { ctx.StopSelf(); return errBoom }}))
				return "the end", func() bool { return a.n.cell().mb.Closed() }
			}},
			{"PreRestart", "hook failed before a restart", func(t *testing.T, s *System) (string, func() bool) {
				var n atomic.Int32
				a := mustSpawn(t, s, "a", func() Actor { n.Add(1); return &script{post: func(*Context) error { return errBoom }} })
				a.Tell(func(ctx *Context) error { return errBoom })
				return "the restart", func() bool { return n.Load() == 2 }
			}},
			{"decider", "supervisor or decider failed; the failure is escalated", func(t *testing.T, s *System) (string, func() bool) {
				var n atomic.Int32
				mustSpawn(t, s, "a", func() Actor {
					n.Add(1)
					return &script{sup: Supervisor{Decide: func(Ref, error) Directive { panic("x") }}, pre: do(func(ctx *Context) {
						if k := spawnKid(ctx, "k", always(&script{})); n.Load() == 1 {
							k.Tell(func(ctx *Context) error { return errBoom })
						}
					})}
				})
				return "the escalation", func() bool { return n.Load() == 2 }
			}},
			{"directive", "decider returned an unknown directive; the child is stopped", func(t *testing.T, s *System) (string, func() bool) {
				var k atomic.Pointer[Ref]
				mustSpawn(t, s, "a", func() Actor {
					return &script{sup: Supervisor{Decide: func(Ref, error) Directive { return 77 }}, pre: do(func(ctx *Context) {
						r := spawnKid(ctx, "k", always(&script{}))
						k.Store(&r)
						r.Tell(func(ctx *Context) error { return errBoom })
					})}
				})
				return "the end of the child", func() bool { return k.Load() != nil && k.Load().n.cell().mb.Closed() }
			}},
			{"root", "the root failed; the system terminates", func(t *testing.T, s *System) (string, func() bool) {
				s.user.ref().Tell(Kill{})
				return "the termination", func() bool { return s.shutdown.started.Load() }
			}},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				s := bareSystem(t, func(sc *SystemConfig) { sc.Logger = slog.New(failingLogger{msg: c.msg, end: end}) })
				what, ok := c.run(t, s)
				if within(t, time.Second, what, ok) {
					terminate(t, s)
				}
			})
		}
	}
}

// A watcher's priority function ends the goroutine of the one that is ending.
func TestGoexitInAWatchersPriorityFunction(t *testing.T) {
	s := bareSystem(t)
	var up atomic.Int32
	w := func(name string, kid Ref, prio func(any) int, seen *atomic.Int32) Ref {
		return mustSpawn(t, s, name, always(&script{pre: do(func(ctx *Context) { ctx.Watch(kid); up.Add(1) }),
			recv: func(_ *Context, m any) error {
				if _, ok := m.(Terminated); ok {
					seen.Add(1)
				}
				return nil
			}}), func(c *SpawnConfig) { c.Mailbox.Priority = prio })
	}
	kid := mustSpawn(t, s, "kid", always(&script{}))
	var seen, waited atomic.Int32
	w("w1", kid, func(m any) int {
		if _, ok := m.(Terminated); ok {
			runtime.Goexit()
		}
		return 0
	}, &seen)
	within(t, time.Second, "watch", func() bool { return up.Load() == 1 })
	w("w2", kid, nil, &seen)
	within(t, time.Second, "watch", func() bool { return up.Load() == 2 })
	go func() {
		if kid.Stop(context.Background()) == nil {
			waited.Add(1)
		}
	}()
	within(t, time.Second, "Stop", func() bool { return waited.Load() == 1 })
	within(t, time.Second, "Terminated", func() bool { return seen.Load() >= 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.Terminate(ctx); err != nil {
		t.Error(err)
	}
}

// And the parent loses other children that have ended.
func TestParentHearsOfAllEndsDespiteAGoexit(t *testing.T) {
	s := bareSystem(t)
	bad := func(m any) int {
		if _, ok := m.(Terminated); ok {
			runtime.Goexit()
		}
		return 0
	}
	hold := make(chan struct{})
	var kids [3]Ref
	spawned := make(chan struct{})
	p := mustSpawn(t, s, "p", always(&script{pre: do(func(ctx *Context) {
		for i, n := range []string{"a", "b", "c"} {
			kids[i] = spawnKid(ctx, n, always(&script{}))
		}
		close(spawned)
	}), recv: func(*Context, any) error { <-hold; return nil }}))
	var up atomic.Bool
	mustSpawn(t, s, "w", always(&script{pre: do(func(ctx *Context) {
		<-spawned
		ctx.Watch(kids[2])
		up.Store(true)
	})}), func(c *SpawnConfig) { c.Mailbox.Priority = bad })
	within(t, time.Second, "watch", up.Load)
	p.Tell("block")
	<-time.After(5 * time.Millisecond)
	for _, k := range kids {
		k.Tell(PoisonPill{})
		within(t, time.Second, "end", func() bool { return k.n.cell().mb.Closed() })
		<-time.After(5 * time.Millisecond)
	}
	close(hold)
	within(t, time.Second, "the names are free", func() bool {
		return p.n.cell().kids() == nil || len(p.n.cell().kids().living()) == 0 && p.n.cell().kids().empty()
	})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// Commands for an actor that has ended pile up.
func TestCommandsForTheGoneAreNotKept(t *testing.T) {
	s := newTestSystem(t)
	a := mustSpawn(t, s, "a", always(&script{}))
	_ = a.Stop(context.Background())
	for range 1000 {
		_ = a.Stop(context.Background())
	}
	w := mustSpawn(t, s, "w", always(&script{}))
	done := make(chan struct{})
	w.Tell(func(ctx *Context) error {
		for range 1000 {
			ctx.Watch(a)
			ctx.Unwatch(a)
		}
		close(done)
		return nil
	})
	<-done
	n := 0
	for m := a.n.cell().x().sysq.Load(); m != nil; m = m.next {
		n++
	}
	if n > 0 {
		t.Errorf("%d commands are kept by an actor that has ended", n)
	}
}

type doneAs struct{ f func(error) }

func (d doneAs) Done(err error) { d.f(err) }

// The completion of a PoisonPill or Kill ends the goroutine.
func TestGoexitInTheCompletionOfAPill(t *testing.T) {
	for _, msg := range []any{PoisonPill{}, Kill{}} {
		s := bareSystem(t)
		a := mustSpawn(t, s, "a", always(&script{}), supervisedBy(Stop))
		Send(a, Envelope{Msg: msg, Done: doneAs{func(error) { runtime.Goexit() }}})
		if within(t, time.Second, "the end", func() bool { return a.n.cell().mb.Closed() }) {
			terminate(t, s)
		}
	}
}

// A predicate, or the logger, ends the goroutine of whoever makes a dead letter.
func TestGoexitInAPredicateKeepsTheCompletion(t *testing.T) {
	s := newTestSystem(t)
	l := mustSpawn(t, s, "l", always(&script{}))
	SubscribeIf(s.EventStream(), l, func(DeadLetter) bool { runtime.Goexit(); return true })
	a := mustSpawn(t, s, "a", always(&script{}))
	var n atomic.Int32
	go func() {
		a.Tell(do(func(ctx *Context) { ctx.Stash() })) // nothing
	}()
	_ = a.Stop(context.Background())
	go Send(a, Envelope{Msg: "m", Done: doneAs{func(error) { n.Add(1) }}})
	within(t, time.Second, "the completion", func() bool { return n.Load() == 1 })
}

// The priority function ends the goroutine while messages come back from the stash.
func TestGoexitInUnstash(t *testing.T) {
	s := bareSystem(t)
	var n, calls, got atomic.Int32
	a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, m any) error {
		switch {
		case m == "unstash":
			ctx.UnstashAll()
		case got.Add(1) <= 2:
			return ctx.Stash()
		}
		return nil
	}}), func(c *SpawnConfig) {
		c.Mailbox.Priority = func(m any) int {
			if m == "m" {
				if calls.Add(1) == 3 {
					runtime.Goexit()
				}
			}
			return 0
		}
	})
	for range 2 {
		Send(a, Envelope{Msg: "m", Done: doneAs{func(error) { n.Add(1) }}})
	}
	a.Tell("unstash")
	within(t, time.Second, "two completions", func() bool { return n.Load() == 2 })
	terminate(t, s)
	if n.Load() != 2 {
		t.Errorf("%d completions after the end of the system", n.Load())
	}
}

type spanKey struct{}

// The context of a void envelope is that of the next message.
func TestContextOfAVoidEnvelopeIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(10 * ms) }), recv: func(ctx *Context, m any) error {
			switch m {
			case ReceiveTimeout{}:
				ctx.Carry(WithLog(context.WithValue(context.Background(), spanKey{}, "of the receive timeout")))
				return ctx.Stash()
			case "back":
				ctx.SetReceiveTimeout(0)
				ctx.UnstashAll()
			case "next":
				if v := ctx.MessageContext().Value(spanKey{}); v != nil {
					t.Errorf("the next message has the context %q", v)
				}
			}
			return nil
		}}))
		r.at(10 * ms)
		a.Tell("back")
		a.Tell("next")
		r.at(11 * ms)
	})
}

// A goroutine that has kept the Context spawns, with an option that takes its time, while the actor ends.
func TestLateSpawnByAKeptContext(t *testing.T) {
	s := newTestSystem(t)
	in, goOn, out := make(chan struct{}), make(chan struct{}), make(chan any, 1)
	a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, m any) error {
		go func() {
			defer func() { out <- recover() }()
			_, _ = ctx.SpawnAnonymous(always(&script{}), func(*SpawnConfig) { close(in); <-goOn })
		}()
		<-in
		ctx.StopSelf()
		return nil
	}}))
	a.Tell("m")
	_ = a.Stop(context.Background())
	within(t, time.Second, "end", func() bool { return a.n.cell().kids() == nil })
	close(goOn)
	if v := <-out; v != nil {
		t.Error(v)
	}
}

// The name after Ref.Stop.
func TestNameAfterStop(t *testing.T) {
	s := newTestSystem(t)
	taken := 0
	for range 2000 {
		a, err := s.Spawn("a", always(&script{}))
		if err != nil {
			taken++
			continue
		}
		if err := a.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if taken > 0 {
		t.Errorf("the name was taken %d times after Stop had returned", taken)
	}
}

// Since is a number while something that does not count runs.
func TestSinceIsSealedBehindAnEpoch(t *testing.T) {
	s := newTestSystem(t)
	c, k := ownedCell(s)
	other := newCell(s, s.user, "", nil, nil)
	k.slot.Store(other) // so that it goes on
	c.idle.window.Store(int64(time.Second))
	c.idle.since.Store(1)
	c.linked, c.touched = true, true
	if !c.releaseQuick() { // and then LeaveAfterOne fails, since a message has come
		t.Fatal("not quick")
	}
	c.noteActivity(&envelope{msg: mark{}})
	if n := c.idle.since.Load(); n < 0 {
		t.Errorf("a handler that does not count is about to run, and since is %d", n)
	}
	k.slot.Store(nil)
	k.epoch.close(&s.sched)
}

// What a restart leaves.
func TestFailingMessageIsLetGo(t *testing.T) {
	s := newTestSystem(t)
	a := mustSpawn(t, s, "a", func() Actor {
		return &script{recv: func(_ *Context, m any) error {
			if _, ok := m.(*[1 << 20]byte); ok {
				return errBoom
			}
			return nil
		}}
	})
	var freed atomic.Bool
	func() {
		big := new([1 << 20]byte)
		runtime.SetFinalizer(big, func(*[1 << 20]byte) { freed.Store(true) })
		a.Tell(big)
	}()
	for i := range 100 {
		a.Tell(i)
	}
	within(t, time.Second, "the message is freed", func() bool { runtime.GC(); return freed.Load() })
}

// An idle actor keeps the cell that was behind it in the queue.
func TestQueueLinkIsLetGo(t *testing.T) {
	prev := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(prev)
	s := newTestSystem(t)
	a := mustSpawn(t, s, "a", always(&script{}))
	b := mustSpawn(t, s, "b", always(&script{}))
	c := mustSpawn(t, s, "c", always(&script{}))
	<-time.After(10 * time.Millisecond)
	done := make(chan struct{})
	c.Tell(func(ctx *Context) error {
		a.Tell("1") // both into the queue
		b.Tell("2")
		close(done)
		return nil
	})
	<-done
	_ = b.Stop(context.Background())
	<-time.After(10 * time.Millisecond)
	if q := a.n.cell().qnext; q != nil {
		t.Errorf("%s, which is idle, keeps %s, closed: %v", a, q.path(), q.mb.Closed())
	}
}
