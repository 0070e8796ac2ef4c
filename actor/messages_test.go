package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestHC_R1_paths(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
			kid := spawnKid(ctx, "kid", always(&script{}))
			r.add("self %s, kid %s, parent %s, ask %s %s", ctx.Self(), kid, ctx.Parent(), ctx.Sender(), ctx.Sender().Name())
			ctx.Reply("ok")
			return nil
		}}))
		if _, err := Ask[string](t.Context(), a, "m"); err != nil {
			t.Error(err)
		}
		r.want(t, "0 self troupe://test/user/a, kid troupe://test/user/a/kid, parent troupe://test/user, ask troupe://test/temp/ask ask")
		if got := []string{s.root.path(), Ref{}.String(), Ref{}.Path(), Ref{}.Name()}; !slices.Equal(got, []string{"troupe://test", "nobody", "", ""}) {
			t.Errorf("%q", got)
		}
		if !(Ref{}).IsZero() || a.IsZero() {
			t.Error("IsZero")
		}
	})
}

func TestZeroRef(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		Ref{}.Tell("nobody hears it")
		if err := (Ref{}).TryTell("m"); !errors.Is(err, ErrNoRecipient) {
			t.Error(err)
		}
		if _, err := Ask[int](t.Context(), Ref{}, "m"); !errors.Is(err, ErrNoRecipient) {
			t.Error(err)
		}
		r.send(Ref{}, "m", "sent")
		Send(Ref{}, Envelope{Msg: "m"})
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error { ctx.Forward(Ref{}); return nil }}))
		a.Tell(do(func(ctx *Context) {
			ctx.Tell(Ref{}, "told")
			ctx.Reply("replied") // nobody has sent this
			ctx.Stop(Ref{})
		}))
		r.send(a, "f", "forwarded")
		r.at(0)
		want := []string{"0 sent done: actor: no recipient", "0 forwarded done: actor: dead letter"}
		for _, msg := range []string{"told", "replied", "f"} {
			want = append(want, "0 dead "+msg+" to : actor: no recipient")
		}
		r.wantAnyOrder(t, want...)
	})
}

func TestTryTell(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), bounded(1, RejectNewest))
		r.at(0)
		a.Tell(10 * ms)
		r.at(1 * ms)
		if err := errors.Join(a.TryTell("m")); err != nil {
			t.Error(err)
		}
		if err := a.TryTell("x"); !errors.Is(err, ErrMailboxFull) {
			t.Error(err)
		}
		a.Tell(PoisonPill{}) // exempt from the bound
		r.at(20 * ms)
		if err := a.TryTell("x"); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		r.want(t, "10 slow", "10 m") // no dead letters: the caller knows
	})
}

func TestTryTellToAnAsk(t *testing.T) {
	s := newTestSystem(t)
	a := mustSpawn(t, s, "a", always(Func(func(ctx *Context, msg any) error { return ctx.Sender().TryTell(msg) })))
	if v, err := Ask[int](t.Context(), a, 3); v != 3 || err != nil {
		t.Error(v, err)
	}
}

// What a top-level actor tells its parent is not lost silently.
func TestTellTheGuardian(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{pre: do(func(ctx *Context) { ctx.Tell(ctx.Parent(), "passivate") })}))
		r.at(0)
		r.want(t, "0 dead passivate to user: actor: unhandled message of type string")
		if s.Name() != "test" || s.Log() == nil || a.n.system() != s {
			t.Error("name, log or system")
		}
	})
}

func TestFIFO(t *testing.T) {
	s := newTestSystem(t)
	var mu sync.Mutex
	last := map[int]int{}
	bad := 0
	a := mustSpawn(t, s, "a", always(Func(func(_ *Context, msg any) error {
		m := msg.([2]int)
		mu.Lock()
		defer mu.Unlock()
		if m[1] != last[m[0]]+1 {
			bad++
		}
		last[m[0]] = m[1]
		return nil
	})))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				a.Tell([2]int{g, i + 1})
			}
		})
	}
	wg.Wait()
	if _, err := Ask[int](t.Context(), mustSpawn(t, s, "b", always(Func(func(ctx *Context, _ any) error { ctx.Reply(1); return nil }))), 1); err != nil {
		t.Error(err)
	}
	terminate(t, s)
	if bad > 0 || last[7] != 2000 {
		t.Errorf("%d out of order, %v", bad, last)
	}
}

func TestAskEndings(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var helper Ref
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
			switch msg {
			case "reply":
				ctx.Reply(42)
				ctx.Reply(43) // too late, vanishes
			case "nil":
				ctx.Reply(nil)
			case "error":
				ctx.Reply(errBoom)
			case "fail":
				return errBoom
			case "panic":
				panic("boom")
			case "reject":
				return Reject(errBoom)
			case "unhandled":
				ctx.Unhandled()
			case "elsewhere":
				ctx.Forward(helper)
			case "hold":
				h := ctx.Hold().(Answerer)
				go func() { pause(10 * ms); h.Answer(7); h.Answer(8); h.Done(errBoom) }()
			case "hold error":
				h := ctx.Hold()
				go h.Done(errBoom)
			case "stop":
				ctx.StopSelf()
			}
			return nil
		}}), supervisedBy(Resume))
		helper = mustSpawn(t, s, "helper", always(Func(func(ctx *Context, msg any) error { ctx.Reply(99); return nil })))
		for _, c := range []struct {
			msg   any
			value int
			err   error
			took  time.Duration
		}{
			{"reply", 42, nil, 0}, {"nil", 0, nil, 0}, {"error", 0, errBoom, 0}, {"fail", 0, errBoom, 0}, {"reject", 0, errBoom, 0},
			{"unhandled", 0, ErrUnhandled, 0}, {"unhandled", 0, ErrDeadLetter, 0}, {"elsewhere", 99, nil, 0}, {"hold", 7, nil, 10 * ms},
			{"hold error", 0, errBoom, 0}, {"nothing", 0, context.DeadlineExceeded, time.Hour}, {PoisonPill{}, 0, nil, 0},
			{"late", 0, ErrDeadLetter, 0},
		} {
			t0 := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			v, err := Ask[int](ctx, a, c.msg)
			if v != c.value || !errors.Is(err, c.err) || time.Since(t0) != c.took {
				t.Errorf("%v: %v, %v after %v", c.msg, v, err, time.Since(t0))
			}
			if err != nil && !strings.Contains(err.Error(), a.Path()) {
				t.Errorf("%v does not name the recipient", err)
			}
		}
	})
}

func TestAskPanicAndTypes(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
			if msg == any("panic") {
				panic("boom")
			}
			ctx.Reply(msg)
			return nil
		}}))
		var p *PanicError
		if _, err := Ask[int](t.Context(), a, "panic"); !errors.As(err, &p) || p.Value != "boom" {
			t.Error(err)
		}
		if _, err := Ask[int](t.Context(), a, "text"); !errors.Is(err, ErrReplyType) || !strings.Contains(err.Error(), "got string, want int") {
			t.Error(err)
		}
		type message struct{ list []int }
		m := &message{[]int{1}}
		if v, err := Ask[*message](t.Context(), a, m); v != m || err != nil {
			t.Errorf("%v, %v: the message is not the same", v, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errBoom)
		if _, err := Ask[int](ctx, a, 1); !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
}

// HC-Q3, HC-Q4: the runtime's own deadline; asking oneself waits for it, and whatever ends an ask takes its deadline out.
func TestHC_Q3_Q4_ask_deadline(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
			if msg == any("self") {
				_, err := Ask[int](ctx.Context(), ctx.Self(), "x")
				r.add("%v", err)
				return nil
			}
			return r.note(ctx, msg)
		}}))
		a.Tell("self")
		r.at(6 * time.Second)
		r.want(t, "5000 ask troupe://test/user/a with string: actor: ask timed out", "5000 x")
		if n := s.clock.Len(); n != 0 {
			t.Errorf("%d deadlines are left", n)
		}
		echo := mustSpawn(t, s, "echo", always(Func(func(ctx *Context, msg any) error { ctx.Reply(msg); return nil })))
		for i := range 10 {
			if v, err := Ask[int](t.Context(), echo, i); v != i || err != nil {
				t.Error(v, err)
			}
			if n := s.clock.Len(); n != 0 {
				t.Errorf("%d deadlines are left", n)
			}
		}
	})
}

// An ask that is under way when the system ends does not outlive it.
func TestAskAcrossTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		lost := mustSpawn(t, s, "lost", always(Func(func(*Context, any) error { return nil })))
		held := mustSpawn(t, s, "held", always(Func(func(ctx *Context, _ any) error { ctx.Hold(); return nil })))
		for _, ref := range []Ref{lost, held} {
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				_, err := Ask[int](ctx, ref, "m")
				r.add("%t", errors.Is(err, ErrStopped))
			}()
		}
		r.at(10 * ms)
		terminate(t, s)
		synctest.Wait()
		r.want(t, "10 true", "10 true")
	})
}

func TestPipeToSelf(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		pipe := func(f func(context.Context) (any, error)) func(*Context) error {
			return do(func(ctx *Context) { ctx.PipeToSelf(f) })
		}
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
			if f, ok := msg.(PipeFailed); ok {
				r.add("failed: %v", f.Err)
				return nil
			}
			return r.note(ctx, msg)
		}}))
		a.Tell(pipe(func(context.Context) (any, error) { pause(10 * ms); return "value", nil }))
		a.Tell(pipe(func(context.Context) (any, error) { pause(20 * ms); return "dropped", errBoom }))
		a.Tell(pipe(func(context.Context) (any, error) { pause(30 * ms); panic("boom") }))
		a.Tell(pipe(func(context.Context) (any, error) { pause(40 * ms); goexit(); return nil, nil }))
		a.Tell(pipe(nil))
		a.Tell("the actor goes on")
		r.at(40 * ms)
		l := r.lines()
		slices.Sort(l[:2])
		if !slices.Equal(l, []string{"0 failed: actor: panic: runtime error: invalid memory address or nil pointer dereference", "0 the actor goes on",
			"10 value", "20 failed: boom", "30 failed: actor: panic: boom", "40 failed: " + ErrGoexit.Error()}) {
			t.Errorf("%q", l)
		}
		r.reset()
		wait := pipe(func(ctx context.Context) (any, error) { <-ctx.Done(); return context.Cause(ctx), nil })
		a.Tell(wait)
		a.Tell(errBoom) // a restart: the result is for an instance that is gone
		r.at(50 * ms)
		a.Tell(wait)
		a.Tell(do((*Context).StopSelf))
		r.at(60 * ms)
		r.wantAnyOrder(t, "40 fails", "40 dead boom to a: "+ErrPreviousInstance.Error(), "50 dead actor: stopped to a: actor: stopped")
	})
}

// The result of a PipeToSelf counts as activity, and the system's end waits for the function.
func TestPipeToSelfAtTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: r.note, post: do(func(ctx *Context) {
			ctx.PipeToSelf(func(ctx context.Context) (any, error) {
				r.add("%v", ctx.Err())
				pause(20 * ms)
				r.add("returns")
				return 1, nil
			})
		})}))
		a.Tell(do(func(ctx *Context) {
			ctx.SetReceiveTimeout(30 * ms)
			ctx.PipeToSelf(func(context.Context) (any, error) { pause(20 * ms); return "result", nil })
		}))
		r.at(50 * ms)
		terminate(t, s)
		r.want(t, "20 result", "50 RT", "50 context canceled", "70 returns")
	})
}

func TestPipeToSelfThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSystem("test", quiet)
		if err != nil {
			t.Fatal(err)
		}
		r := newRecord()
		free := make(chan struct{})
		a := mustSpawn(t, s, "a", always(&script{}))
		a.Tell(do(func(ctx *Context) { ctx.PipeToSelf(func(context.Context) (any, error) { <-free; return nil, nil }) }))
		r.at(0)
		if err := s.Terminate(t.Context()); !errors.Is(err, ErrAbandoned) {
			t.Errorf("Terminate: %v", err)
		}
		r.add("ended")
		r.want(t, "5000 ended")
		close(free)
	})
}

func TestUnhandled(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		x := mustSpawn(t, s, "x", always(&script{}))
		a := mustSpawn(t, s, "a", Typed(func() TypedActor[int] { return typedFunc(func(*Context, int) error { return nil }) }))
		a.n.cell().sys.events.Publish("nobody listens")
		a.Tell(1)
		a.Tell("text")
		r.send(a, "text2", "m")
		b := mustSpawn(t, s, "b", always(&script{pre: do(func(ctx *Context) {
			ctx.Unhandled() // no message
			ctx.Watch(x)
			ctx.SetReceiveTimeout(10 * ms)
			_ = ctx.Timers().StartSingle("t", "tick", 5*ms)
		}), recv: func(ctx *Context, _ any) error { ctx.Unhandled(); return nil }}))
		r.at(0)
		x.Tell(PoisonPill{})
		r.at(30 * ms)
		r.wantAnyOrder(t, "0 m done: actor: dead letter: actor: unhandled message of type string", "0 dead text to a: actor: unhandled message of type string",
			"0 dead text2 to a: actor: unhandled message of type string", "5 dead tick to b: actor: unhandled message of type string")
		_ = b
	})
}

type typedFunc func(*Context, int) error

func (f typedFunc) Receive(ctx *Context, n int) error { return f(ctx, n) }

func TestHC_E1_E2_E5_event_stream(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		ev := s.EventStream()
		listen := func(name string) Ref {
			return mustSpawn(t, s, name, always(Func(func(_ *Context, msg any) error { r.add("%s %v", name, msg); return nil })))
		}
		a := listen("a")
		cancel1 := Subscribe[error](ev, a) // an interface
		cancel2 := Subscribe[error](ev, a) // changes nothing
		cancelInt := Subscribe[int](ev, a)
		ev.Publish(1)
		ev.Publish(errBoom)
		ev.Publish("nobody")
		ev.Publish(nil)
		r.at(0)
		r.want(t, "0 a 1", "0 a boom")
		cancel2() // there is one subscription, and this ends it
		cancelInt()
		ev.Publish(2)
		ev.Publish(errBoom)
		cancelAgain := Subscribe[error](ev, a)
		cancel1()
		cancel2() // of the earlier one: no effect on the new one
		ev.Publish(errBoom)
		r.at(0)
		r.want(t, "0 a 1", "0 a boom", "0 a boom")
		// HC-E5: another incarnation at the same path has nothing of the old one's.
		a.Tell(PoisonPill{})
		r.at(0)
		if ev.subs.Load() != nil {
			t.Error("a subscription has outlived its ref")
		}
		again := listen("a")
		ev.Publish(errBoom)
		Subscribe[error](ev, again)
		cancelAgain()
		ev.Publish(errBoom)
		r.at(0)
		r.want(t, "0 a 1", "0 a boom", "0 a boom", "0 a boom")
		for _, ref := range []Ref{{}, a} {
			Subscribe[int](ev, ref)()
			Subscribe[int](ev, ref)
		}
		if n := len(*ev.subs.Load()); n != 1 {
			t.Errorf("%d subscriptions", n)
		}
	})
}

// Subscribing races with the end of the ref: nothing may be left of it.
func TestSubscribeRace(t *testing.T) {
	s := newTestSystem(t)
	for i := range 200 {
		a := mustSpawn(t, s, fmt.Sprint("a", i), always(&script{}))
		var wg sync.WaitGroup
		wg.Go(func() { a.Tell(PoisonPill{}) })
		wg.Go(func() {
			cancel := Subscribe[int](s.EventStream(), a)
			s.EventStream().Publish(1)
			if i%2 == 0 {
				cancel()
			}
		})
		wg.Wait()
	}
	terminate(t, s)
	if subs := s.events.subs.Load(); subs != nil {
		t.Errorf("%d subscriptions are left", len(*subs))
	}
}

func TestLifecycleEvents(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		events := mustSpawn(t, s, "events", always(Func(func(_ *Context, msg any) error { r.add("%T %v", msg, msg); return nil })))
		Subscribe[ActorStarted](s.EventStream(), events)
		Subscribe[ActorStopped](s.EventStream(), events)
		Subscribe[ActorRestarted](s.EventStream(), events)
		r.at(0)
		r.reset()
		starts := 0
		a := mustSpawn(t, s, "a", func() Actor {
			return &script{recv: r.note, pre: func(*Context) error {
				if starts++; starts == 1 {
					return errBoom
				}
				return nil
			}}
		})
		a.Tell(Kill{})
		a.Tell(PoisonPill{})
		r.at(0)
		const ref = "troupe://test/user/a"
		r.want(t, "0 actor.ActorStarted {"+ref+"}", "0 actor.ActorRestarted {"+ref+" actor: killed}", "0 actor.ActorStopped {"+ref+" <nil>}")
	})
}

// HC-L1, HC-L2: a dead letter names whom it was for, and a dead letter of a dead letter ends there.
func TestHC_L1_L2_dead_letters(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		gone := mustSpawn(t, s, "gone", always(&script{}))
		gone.Tell(PoisonPill{})
		full := mustSpawn(t, s, "full", always(&script{recv: r.note}), bounded(1, RejectNewest))
		Subscribe[DeadLetter](s.EventStream(), full) // and its own mailbox is full
		var sender Ref
		mustSpawn(t, s, "sender", always(&script{pre: do(func(ctx *Context) { sender = ctx.Self() })}))
		r.at(0)
		full.Tell(10 * ms)
		r.at(1 * ms)
		Send(gone, Envelope{Msg: "m", Sender: sender})
		Send(gone, Envelope{Msg: "x"})
		gone.Tell(DeadLetter{Msg: "of a dead letter"})
		full.Tell("refused")
		r.at(20 * ms)
		r.want(t, "10 slow", "10 {m troupe://test/user/gone troupe://test/user/sender actor: stopped}")
	})
}

func TestPendingCountsWhatWaits(t *testing.T) {
	if n, ok := (Ref{}).Pending(); n != 0 || ok {
		t.Errorf("the zero Ref: %d, %v", n, ok)
	}
	sys := newTestSystem(t)
	entered, release := make(chan struct{}), make(chan struct{})
	ref := mustSpawn(t, sys, "worker", always(Func(func(*Context, any) error {
		entered <- struct{}{}
		<-release
		return nil
	})))
	ref.Pending() // exact from the second call on
	for range 4 {
		ref.Tell("work")
	}
	<-entered
	if n, ok := ref.Pending(); n != 3 || !ok {
		t.Errorf("3 wait: %d, %v", n, ok)
	}
	close(release)
	for range 3 {
		<-entered
	}
	ref.Tell(PoisonPill{})
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, ok := ref.Pending(); !ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("an actor that has stopped still has a mailbox")
		}
	}
}
