package actortest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

// do is an actor that does what it is told.
type do func(ctx *actor.Context)

func doer() actor.Actor {
	return actor.Func(func(ctx *actor.Context, msg any) error {
		if f, ok := msg.(do); ok {
			f(ctx)
		}
		return nil
	})
}

func deliver(t *testing.T, c *actortest.Context, a actor.Actor, msg any) {
	t.Helper()
	if err := c.Deliver(a, msg); err != nil {
		t.Fatalf("%T: %v", msg, err)
	}
}

// same compares what can be compared by ==.
func same[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestContextRecordsWhatIsSentInOrder(t *testing.T) {
	c := actortest.NewContext(t)
	a, b := c.NewRef("a"), c.NewRef("b")
	deliver(t, c, doer(), do(func(ctx *actor.Context) {
		ctx.Tell(a, 1)
		ctx.Tell(b, 2)
		a.Tell(3)
		ctx.Reply(4)
		ctx.Tell(ctx.Parent(), 5)
		ctx.Forward(b)
		ctx.Stop(a)
		ctx.Tell(ctx.Self(), 6)
		ctx.Tell(actor.Ref{}, 7)
	}))
	type sent struct {
		to     string
		msg    any
		sender string
	}
	var got []sent
	for _, s := range c.Sent() {
		msg := s.Msg
		if _, ok := msg.(do); ok {
			msg = "do"
		}
		got = append(got, sent{s.To.Name(), msg, s.Sender.Name()})
	}
	same(t, "sent", got, sent{"a", 1, "actor"}, sent{"b", 2, "actor"}, sent{"a", 3, ""}, sent{"sender", 4, "actor"},
		sent{"user", 5, "actor"}, sent{"b", "do", "sender"}, sent{"a", actor.PoisonPill{}, ""})
	same[any](t, "to a", c.SentTo(a), 1, 3, actor.PoisonPill{})
	same[any](t, "replies", c.Replies(), 4)
	same(t, "stopped", c.Stopped(), a)
	same[any](t, "mailbox", c.Mailbox(), 6)
	if d := c.DeadLetters(); len(d) != 1 || d[0].Msg != 7 || d[0].Reason != actor.ErrNoRecipient {
		t.Errorf("dead letters: %v", d)
	}
	c.ExpectSent(c.Sender(), 4)
	c.Forget()
	if n := len(c.Sent()) + len(c.DeadLetters()) + len(c.Spawned()); n != 0 {
		t.Errorf("%d after Forget", n)
	}
	c.ExpectSent(c.Sender())
}

func TestContextChildrenDoNotRun(t *testing.T) {
	c := actortest.NewContext(t)
	out := c.NewRef("out")
	var kid, plain actor.Ref
	ran := false
	deliver(t, c, doer(), do(func(ctx *actor.Context) {
		var err error
		kid, err = ctx.Spawn("kid", func() actor.Actor { ran = true; return doer() }, func(s *actor.SpawnConfig) {
			s.Mailbox = actor.Mailbox{Capacity: 7, Overflow: actor.RejectNewest}
			s.Supervisor = &actor.Supervisor{MaxRestarts: 3}
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx.Tell(out, "first")
		ctx.Tell(kid, "second")
		ctx.Tell(out, "third")
		if plain, err = ctx.SpawnAnonymous(doer); err != nil {
			t.Fatal(err)
		}
		for i := range 100 { // more than fit into one piece of a mailbox
			ctx.Tell(plain, i)
		}
		ctx.Tell(out, "last")
		if _, err := ctx.Spawn("kid", doer); !errors.Is(err, actor.ErrName) {
			t.Errorf("the name is taken, but: %v", err)
		}
		if _, err := ctx.Spawn("/", doer); !errors.Is(err, actor.ErrName) {
			t.Errorf("a bad name: %v", err)
		}
		ctx.Watch(kid)
	}))
	var got []any
	for _, s := range c.Sent() {
		got = append(got, s.Msg)
	}
	want := []any{"first", "second", "third"}
	for i := range 100 {
		want = append(want, i)
	}
	same[any](t, "sent", got, append(want, "last")...)
	spawned := c.Spawned()
	if len(spawned) != 2 || spawned[0].Ref != kid || spawned[1].Ref != plain {
		t.Fatalf("spawned: %v", spawned)
	}
	s := spawned[0].Config
	if s.Mailbox.Capacity != 7 || s.Mailbox.Overflow != actor.RejectNewest || s.Supervisor.MaxRestarts != 3 {
		t.Errorf("spawned with %+v", s)
	}
	if ran || spawned[0].New() == nil || !ran {
		t.Error("the factory runs when the test says so, and then it does")
	}
	same(t, "watched", c.Watched(), kid)

	// The end of the child frees its name, and is delivered once.
	a := doer()
	deliver(t, c, a, actor.Terminated{Ref: kid})
	if err := c.Deliver(a, actor.Terminated{Ref: kid}); !errors.Is(err, actor.ErrForged) {
		t.Errorf("it is not watched any more: %v", err)
	}
	deliver(t, c, a, do(func(ctx *actor.Context) {
		ctx.Tell(kid, "late")
		next, err := ctx.Spawn("kid", doer)
		if err != nil || next == kid {
			t.Errorf("%v: %v", next, err)
		}
		same(t, "children", ctx.Children(), plain, next)
	}))
	if d := c.DeadLetters(); len(d) != 1 || d[0].Msg != "late" || d[0].To != kid {
		t.Errorf("dead letters: %v", d)
	}
}

func TestContextWatchWith(t *testing.T) {
	c := actortest.NewContext(t)
	other := c.NewRef("other")
	var got any
	a := actor.Func(func(ctx *actor.Context, msg any) error {
		if f, ok := msg.(do); ok {
			f(ctx)
			return nil
		}
		got = msg
		return nil
	})
	deliver(t, c, a, do(func(ctx *actor.Context) { ctx.WatchWith(other, "other is gone") }))
	deliver(t, c, a, actor.Terminated{Ref: other})
	if got != "other is gone" {
		t.Errorf("got %v", got)
	}
	deliver(t, c, a, do(func(ctx *actor.Context) { ctx.Watch(other); ctx.Unwatch(other) }))
	if w := c.Watched(); len(w) != 0 {
		t.Errorf("watched: %v", w)
	}
}

func TestContextTimersAndReceiveTimeout(t *testing.T) {
	c := actortest.NewContext(t)
	var got []any
	a := actor.Func(func(ctx *actor.Context, msg any) error {
		if f, ok := msg.(do); ok {
			f(ctx)
			return nil
		}
		got = append(got, msg)
		return nil
	})
	deliver(t, c, a, do(func(ctx *actor.Context) {
		ctx.SetReceiveTimeout(15 * time.Minute)
		ts := ctx.Timers()
		for _, err := range []error{
			ts.StartSingle("once", 1, time.Second), ts.StartFixedDelay("delay", 2, 3*time.Second, time.Minute),
			ts.StartFixedRate("rate", 3, 1500*time.Millisecond, time.Hour), ts.StartSingle("cancelled", 4, time.Second),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		ts.Cancel("cancelled")
	}))
	once := actortest.Timer{Key: "once", Msg: 1, Delay: time.Second}
	delay := actortest.Timer{Key: "delay", Msg: 2, Delay: 3 * time.Second, Interval: time.Minute}
	rate := actortest.Timer{Key: "rate", Msg: 3, Delay: 1500 * time.Millisecond, Interval: time.Hour, FixedRate: true}
	same(t, "timers", c.Timers(), delay, once, rate)
	if d := c.ReceiveTimeout(); d != 15*time.Minute {
		t.Errorf("the receive timeout is %v", d)
	}
	for _, key := range []string{"rate", "once", "delay"} {
		if err := c.Fire(a, key); err != nil {
			t.Error(err)
		}
	}
	same[any](t, "ticks", got, 3, 1, 2)
	delay.Delay, rate.Delay = time.Minute, time.Hour
	same(t, "timers after their ticks", c.Timers(), delay, rate)
	if err := c.Fire(a, "once"); err == nil {
		t.Error("there is no such timer any more")
	}
	deliver(t, c, a, actor.ReceiveTimeout{})
	if len(got) != 4 || got[3] != any(actor.ReceiveTimeout{}) {
		t.Errorf("got %v", got)
	}
	deliver(t, c, a, do(func(ctx *actor.Context) { ctx.CancelReceiveTimeout(); ctx.Timers().CancelAll() }))
	if d, ts := c.ReceiveTimeout(), c.Timers(); d != 0 || len(ts) != 0 {
		t.Errorf("still %v and %v", d, ts)
	}
}

func TestContextBehavioursAndStash(t *testing.T) {
	c := actortest.NewContext(t)
	var got []any
	open := func(_ *actor.Context, msg any) error { got = append(got, msg); return nil }
	a := actor.Func(func(ctx *actor.Context, msg any) error {
		if msg != "open" {
			return ctx.Stash()
		}
		ctx.Become(open)
		ctx.UnstashAll()
		ctx.Tell(ctx.Self(), "told")
		return nil
	})
	for i := range 3 {
		deliver(t, c, a, i)
	}
	same[any](t, "stash", c.Stashed(), 0, 1, 2)
	deliver(t, c, a, "open")
	if n := c.Behaviors(); n != 1 {
		t.Errorf("%d behaviours", n)
	}
	same[any](t, "mailbox", c.Mailbox(), 0, 1, 2, "told")
	deliver(t, c, a, "direct")
	for range 4 {
		if ok, err := c.DeliverNext(a); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	if ok, _ := c.DeliverNext(a); ok {
		t.Error("there is one more")
	}
	same[any](t, "handled by the behaviour", got, "direct", 0, 1, 2, "told")
}

func TestContextAskHoldAndForward(t *testing.T) {
	c := actortest.NewContext(t)
	bad := errors.New("bad")
	var held actor.Completion
	worker := c.NewRef("worker")
	a := actor.Func(func(ctx *actor.Context, msg any) error {
		switch msg {
		case "now":
			ctx.Reply("done")
		case "later":
			held = ctx.Hold()
		case "forward":
			ctx.Forward(worker)
		case "bad":
			return actor.Reject(bad)
		case "unknown":
			ctx.Unhandled()
		}
		return nil
	})
	if r := c.Ask(a, "now").Reply(); r != "done" {
		t.Errorf("reply %v", r)
	}
	later := c.Ask(a, "later")
	if _, ended, _ := later.Outcome(); ended || c.Held() != 1 {
		t.Errorf("ended %v, held %d", ended, c.Held())
	}
	var wg sync.WaitGroup
	wg.Go(func() { held.(actor.Answerer).Answer("late") })
	wg.Wait()
	if r := later.Reply(); r != "late" || c.Held() != 0 {
		t.Errorf("reply %v, held %d", r, c.Held())
	}
	forwarded := c.Ask(a, "forward")
	s := c.Sent()
	if len(s) != 1 || s[0].To != worker || s[0].Msg != "forward" {
		t.Fatalf("sent %v", s)
	}
	s[0].Done.(actor.Answerer).Answer("by the worker")
	if r := forwarded.Reply(); r != "by the worker" {
		t.Errorf("reply %v", r)
	}
	if err := c.Ask(a, "bad").Err(); !errors.Is(err, bad) {
		t.Errorf("error %v", err)
	}
	if err := c.Ask(a, "unknown").Err(); !errors.Is(err, actor.ErrUnhandled) {
		t.Errorf("error %v", err)
	}
	for msg, want := range map[string]string{"now": "string done", "bad": "error bad", "silence": "no reply yet"} {
		if got := c.Ask(a, msg).String(); got != want {
			t.Errorf("%s: %q", msg, got)
		}
	}
}

// ended is a completion that notes its end.
type ended struct{ errs []error }

func (e *ended) Done(err error) { e.errs = append(e.errs, err) }

func TestContextEndsEachCompletionOnce(t *testing.T) {
	bad := errors.New("bad")
	c := actortest.NewContext(t)
	send := func(f func(ctx *actor.Context) error) *ended {
		e := &ended{}
		_ = c.DeliverEnvelope(actor.Func(func(ctx *actor.Context, _ any) error { return f(ctx) }), actor.Envelope{Msg: 1, Done: e})
		return e
	}
	same(t, "handled", send(func(*actor.Context) error { return nil }).errs, nil)
	same(t, "failed", send(func(*actor.Context) error { return bad }).errs, bad)
	held := send(func(ctx *actor.Context) error { ctx.Hold(); return bad })
	same(t, "held", held.errs)
	stashed := send(func(ctx *actor.Context) error { return ctx.Stash() })
	same(t, "stashed", stashed.errs)
	a := doer()
	if err := c.PostStop(a); err != nil {
		t.Error(err)
	}
	same(t, "held at the end", held.errs, actor.ErrStopped)
	same(t, "stashed at the end", stashed.errs, actor.ErrDeadLetter)
	if err := c.Deliver(a, 1); !errors.Is(err, actor.ErrStopped) || !c.Stopping() {
		t.Errorf("after the end: %v", err)
	}
	same(t, "after the end", send(func(*actor.Context) error { return nil }).errs, actor.ErrDeadLetter)
	if err := c.Ask(a, 1).Err(); err != actor.ErrDeadLetter {
		t.Errorf("an ask after the end: %v", err)
	}

	c = actortest.NewContext(t)
	deliver(t, c, a, do(func(ctx *actor.Context) {
		same(t, "inside of a handler", send(func(*actor.Context) error { return nil }).errs, actor.ErrDeadLetter)
		ctx.StopSelf()
	}))
	same(t, "after StopSelf", send(func(*actor.Context) error { return nil }).errs, actor.ErrDeadLetter)
}

// TestContextForgedSignals: what only the runtime may send is refused when it comes the way of others.
func TestContextForgedSignals(t *testing.T) {
	c := actortest.NewContext(t)
	a, other := doer(), c.NewRef("other")
	deliver(t, c, a, do(func(ctx *actor.Context) {
		ctx.Watch(other)
		ctx.Tell(ctx.Self(), actor.Terminated{Ref: other})
		ctx.Tell(ctx.Self(), "next")
	}))
	if ok, err := c.DeliverNext(a); !ok || err != nil {
		t.Error(ok, err)
	}
	if d := c.DeadLetters(); len(d) != 1 || d[0].Reason != actor.ErrForged || len(c.Mailbox()) != 0 {
		t.Errorf("dead letters %v, mailbox %v", d, c.Mailbox())
	}
	e := &ended{}
	if err := c.DeliverEnvelope(a, actor.Envelope{Msg: actor.Terminated{Ref: other}, Done: e}); !errors.Is(err, actor.ErrForged) {
		t.Errorf("with a completion: %v", err)
	}
	if len(e.errs) != 1 || !errors.Is(e.errs[0], actor.ErrForged) {
		t.Errorf("it ended with %v", e.errs)
	}
	same(t, "watched", c.Watched(), other)
}

// hooked notes its hooks.
type hooked struct{ log []string }

func (h *hooked) Receive(ctx *actor.Context, msg any) error {
	if f, ok := msg.(do); ok {
		f(ctx)
	}
	return nil
}
func (h *hooked) PreStart(ctx *actor.Context) error {
	h.log = append(h.log, "PreStart "+ctx.Self().Path())
	ctx.SetReceiveTimeout(time.Minute)
	return nil
}
func (h *hooked) PostStop(ctx *actor.Context) error {
	h.log = append(h.log, fmt.Sprint("PostStop ", context.Cause(ctx.Context())))
	return nil
}
func (h *hooked) PreRestart(ctx *actor.Context, cause error, msg any) error {
	h.log = append(h.log, fmt.Sprint("PreRestart ", cause, " ", msg))
	return nil
}

func TestContextHooks(t *testing.T) {
	c := actortest.NewContext(t, func(c *actortest.ContextConfig) { c.Name = "door" })
	a := &hooked{}
	if err := c.PreStart(a); err != nil {
		t.Fatal(err)
	}
	deliver(t, c, a, do(func(ctx *actor.Context) {
		_ = ctx.Timers().StartSingle("t", 1, time.Second)
		ctx.Become(func(*actor.Context, any) error { return nil })
	}))
	bad := errors.New("bad")
	if err := c.PreRestart(a, bad, "msg"); err != nil {
		t.Fatal(err)
	}
	if len(c.Timers()) != 0 || c.ReceiveTimeout() != 0 {
		t.Error("timers outlive the instance")
	}
	if err := c.PostRestart(a, bad); err != nil { // there is no such hook, so it is PreStart
		t.Fatal(err)
	}
	if c.Behaviors() != 0 || c.ReceiveTimeout() != time.Minute {
		t.Errorf("%d behaviours, timeout %v", c.Behaviors(), c.ReceiveTimeout())
	}
	if err := c.PostStop(a); err != nil {
		t.Fatal(err)
	}
	same(t, "hooks", a.log, "PreStart troupe://test/user/door", "PreRestart bad msg", "PreStart troupe://test/user/door",
		"PostStop actor: stopped")
	if err := c.PreStart(a); !errors.Is(err, actor.ErrStopped) {
		t.Errorf("a start after the end: %v", err)
	}
}

// TestContextPipeOfThePreviousInstance comes to nobody.
func TestContextPipeOfThePreviousInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := actortest.NewContext(t)
		a, bad, release := doer(), errors.New("bad"), make(chan struct{})
		c.Wait = 0
		deliver(t, c, a, do(func(ctx *actor.Context) {
			ctx.PipeToSelf(func(context.Context) (any, error) { <-release; return "late", nil })
		}))
		if err := errors.Join(c.PreRestart(a, bad, nil), c.PostRestart(a, bad)); err != nil {
			t.Fatal(err)
		}
		close(release)
		synctest.Wait()
		if ok, err := c.DeliverNext(a); ok || err != nil {
			t.Error(ok, err)
		}
		if d := c.DeadLetters(); len(d) != 1 || d[0].Msg != "late" || d[0].Reason != actor.ErrPreviousInstance {
			t.Errorf("dead letters: %v", d)
		}
	})
}

// misshapen has a method that its author takes for a hook.
type misshapen struct{ actor.Func }

func (misshapen) PreStart() error { return nil }

func TestContextFindsMisshapenHooks(t *testing.T) {
	if err := actortest.NewContext(t).PreStart(misshapen{}); !errors.Is(err, actor.ErrHookShape) {
		t.Errorf("got %v", err)
	}
}

func TestContextStopAndFailure(t *testing.T) {
	c := actortest.NewContext(t)
	bad := errors.New("bad")
	if err := c.Deliver(actor.Func(func(*actor.Context, any) error { return bad }), 1); err != bad {
		t.Errorf("an error: %v", err)
	}
	var p *actor.PanicError
	if err := c.Deliver(actor.Func(func(*actor.Context, any) error { panic("boom") }), 1); !errors.As(err, &p) {
		t.Errorf("a panic: %v", err)
	}
	if err := c.Deliver(doer(), actor.Kill{}); err != actor.ErrKilled {
		t.Errorf("Kill: %v", err)
	}
	nested := c.Deliver(doer(), do(func(*actor.Context) {
		if err := c.Deliver(doer(), 1); err == nil {
			t.Error("a delivery while one is under way")
		}
	}))
	if nested != nil || c.Stopping() {
		t.Errorf("%v, stopping %v", nested, c.Stopping())
	}
	deliver(t, c, doer(), do(func(ctx *actor.Context) {
		ctx.StopSelf()
		if _, err := ctx.Spawn("late", doer); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("a child of one that stops: %v", err)
		}
	}))
	if err := c.Deliver(doer(), 1); !c.Stopping() || !errors.Is(err, actor.ErrStopped) {
		t.Errorf("after StopSelf: %v", err)
	}
	c = actortest.NewContext(t)
	deliver(t, c, doer(), actor.PoisonPill{})
	if !c.Stopping() {
		t.Error("PoisonPill")
	}
}

func TestContextPipeToSelf(t *testing.T) {
	for _, bubble := range []bool{false, true} {
		test := func(t *testing.T) {
			c := actortest.NewContext(t)
			out := c.NewRef("out")
			a := doer()
			deliver(t, c, a, do(func(ctx *actor.Context) {
				ctx.PipeToSelf(func(context.Context) (any, error) { out.Tell("from outside"); return 42, nil })
			}))
			same[any](t, "mailbox", c.Mailbox(), 42)
			same[any](t, "sent", c.SentTo(out), "from outside")
			if ok, err := c.DeliverNext(a); !ok || err != nil {
				t.Error(ok, err)
			}
			c.Wait = 0 // the next one ends with the test
			deliver(t, c, a, do(func(ctx *actor.Context) {
				ctx.PipeToSelf(func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
			}))
		}
		if bubble {
			t.Run("bubble", func(t *testing.T) { synctest.Test(t, test) })
		} else {
			t.Run("plain", test)
		}
	}
}

func TestContextWaitsForNobody(t *testing.T) {
	c := actortest.NewContext(t)
	other := c.NewRef("other")
	deliver(t, c, doer(), do(func(ctx *actor.Context) {
		kid, _ := ctx.Spawn("kid", doer)
		for _, ref := range []actor.Ref{other, kid} {
			for _, in := range []context.Context{context.Background(), ctx.Context(), t.Context()} {
				if _, err := actor.Ask[any](in, ref, 1); !errors.Is(err, actor.ErrStopped) {
					t.Errorf("ask %v: %v", ref, err)
				}
			}
		}
		if err := ctx.System().Terminate(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := ctx.System().Spawn("top", doer); !errors.Is(err, actor.ErrStopped) {
			t.Error(err)
		}
	}))
}

// TestContextAndSystem has an actor under a Context talk to actors that run.
func TestContextAndSystem(t *testing.T) {
	sys := actortest.NewSystem(t)
	p, q := actortest.NewProbe(t, sys), actortest.NewProbe(t, sys)
	c := actortest.NewContext(t)
	a := doer()
	deliver(t, c, a, do(func(ctx *actor.Context) {
		ctx.Tell(p.Ref(), 1)
		ctx.Tell(q.Ref(), 2)
		ctx.Watch(p.Ref())
	}))
	p.Expect(1)
	q.Expect(2)
	if s := p.Sender(); s.Path() != "troupe://test/user/actor" {
		t.Errorf("the sender is %v", s)
	}
	p.Reply("back")
	same[any](t, "mailbox", c.Mailbox(), "back")
	p.Stop()
	end := actor.Terminated{Ref: p.Ref()}
	deadline := time.Now().Add(actortest.DefaultWait)
	for len(c.Mailbox()) < 2 && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	same[any](t, "mailbox", c.Mailbox(), "back", end)
	for range 2 {
		if ok, err := c.DeliverNext(a); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	same(t, "watched", c.Watched())
}

func TestContextDirectCalls(t *testing.T) {
	c := actortest.NewContext(t)
	a := &hooked{}
	if err := a.PreStart(c.Context); err != nil {
		t.Fatal(err)
	}
	out := c.NewRef("out")
	err := a.Receive(c.Context, do(func(ctx *actor.Context) {
		ctx.Tell(out, 1)
		ctx.Forward(out) // there is no current message
		if err := ctx.Stash(); err != actor.ErrStashOutside {
			t.Error(err)
		}
		if !ctx.Sender().IsZero() || ctx.Hold() != nil {
			t.Error("a sender or a completion")
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	same[any](t, "sent", c.SentTo(out), 1)
	if d := c.ReceiveTimeout(); d != time.Minute {
		t.Error(d)
	}
}

func TestContextFailures(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(*actortest.Context)
		want string
	}{
		"sent":      {func(c *actortest.Context) { c.ExpectSent(c.Sender(), 1) }, "sender was sent [], want [int 1]"},
		"name":      {func(c *actortest.Context) { c.NewRef("sender") }, "name is taken"},
		"no reply":  {func(c *actortest.Context) { c.Ask(doer(), 1).Reply() }, "no reply to int 1"},
		"no end":    {func(c *actortest.Context) { _ = c.Ask(doer(), 1).Err() }, "the ask with int 1 has not ended"},
		"error":     {func(c *actortest.Context) { c.Ask(doer(), actor.Kill{}); c.Ask(misfit(), 1).Reply() }, "but the error misfit"},
		"long pipe": {func(c *actortest.Context) { c.Wait = time.Millisecond; _ = c.Deliver(doer(), longPipe()) }, "PipeToSelf has not returned within 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failure(t, func(tb testing.TB) { c.f(actortest.NewContext(tb)) }); !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q in it", got, c.want)
			}
		})
	}
	got := failure(t, func(tb testing.TB) {
		actortest.NewContext(tb, func(c *actortest.ContextConfig) { c.Name = "a/b" })
	})
	if !strings.Contains(got, "no context") {
		t.Errorf("a bad name: %q", got)
	}
}

func misfit() actor.Actor {
	return actor.Func(func(*actor.Context, any) error { return errors.New("misfit") })
}

func longPipe() do {
	return func(ctx *actor.Context) {
		ctx.PipeToSelf(func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, nil })
	}
}

// TestContextStartsNoGoroutine counts what runs beside the test.
func TestContextStartsNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	c := actortest.NewContext(t)
	out := c.NewRef("out")
	for range 100 {
		deliver(t, c, doer(), do(func(ctx *actor.Context) {
			kid, err := ctx.SpawnAnonymous(doer)
			if err != nil {
				t.Fatal(err)
			}
			ctx.Watch(kid)
			ctx.Tell(kid, 1)
			ctx.Tell(out, 1)
			ctx.SetReceiveTimeout(time.Millisecond)
			_ = ctx.Timers().StartFixedRate("t", 1, time.Nanosecond, time.Nanosecond)
		}))
	}
	deadline := time.Now().Add(20 * time.Millisecond) // a timer of the runtime would have fired
	for time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	if m := c.Mailbox(); len(m) != 0 {
		t.Errorf("somebody has told it %v", m)
	}
}
