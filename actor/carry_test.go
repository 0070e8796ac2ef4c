package actor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// order is the attribute that these tests send along.
func order(ctx context.Context) string {
	var all []string
	for _, a := range logAttrs(ctx) {
		all = append(all, a.String())
	}
	return strings.Join(all, " ")
}

func withOrder(i int) context.Context { return WithLog(context.Background(), slog.Int("order", i)) }

// TestHC_LG1_T5_contextOfOneMessage has forty bare messages after one with a context, and all must be free of it; so must a
// receive timeout, a tick, a Terminated and a hook, whatever the actor handled before.
func TestHC_LG1_T5_contextOfOneMessage(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		kid := always(&script{pre: do(func(ctx *Context) { r.add("kid starts %q", order(ctx.MessageContext())) })})
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
			if c := order(ctx.MessageContext()); c != "" || msg == "first" {
				r.add("%v %q", msg, c)
			}
			if msg == "first" {
				ctx.SetReceiveTimeout(20 * ms)
				_ = ctx.Timers().StartSingle("tick", "tick", 5*ms)
				ctx.Watch(spawnKid(ctx, "kid", kid))
				ctx.Stop(ctx.Children()[0])
			}
			return nil
		}}))
		Send(a, Envelope{Msg: "first", Context: withOrder(1)})
		for i := range 40 {
			a.Tell(i)
		}
		r.at(time.Second)
		r.wantAnyOrder(t, `0 first "order=1"`, `0 kid starts ""`)
	})
}

// TestContextTravels follows a context over every way from one actor to the next.
func TestContextTravels(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		end := mustSpawn(t, s, "end", always(&script{recv: func(ctx *Context, msg any) error {
			r.add("%v %q", msg, order(ctx.MessageContext()))
			return nil
		}}))
		stashed := false
		middle := mustSpawn(t, s, "middle", always(&script{recv: func(ctx *Context, msg any) error {
			switch msg {
			case "tell":
				ctx.Tell(end, "told")
			case "forward":
				ctx.Forward(end)
			case "stash":
				if stashed {
					ctx.Tell(end, "unstashed")
					return nil
				}
				stashed = true
				return ctx.Stash()
			case "unstash":
				ctx.UnstashAll()
			case "pipe":
				ctx.PipeToSelf(func(context.Context) (any, error) { return "piped", nil })
			case "piped":
				ctx.Tell(end, "piped")
			case "ask":
				ctx.Tell(end, "asked")
				ctx.Reply("answer")
			case "more":
				ctx.Carry(WithLog(ctx.MessageContext(), slog.String("more", "x")))
				ctx.Tell(end, "more")
				ctx.Carry(context.Background())
				ctx.Tell(end, "none")
			}
			return nil
		}}))
		for i, msg := range []string{"tell", "forward", "stash", "more", "pipe"} {
			Send(middle, Envelope{Msg: msg, Context: withOrder(i), Done: &done{r, msg, nil}})
		}
		middle.Tell("unstash")
		ctx, cancel := context.WithTimeout(withOrder(9), time.Second)
		defer cancel()
		if v, err := Ask[string](ctx, middle, "ask"); v != "answer" || err != nil {
			t.Error(v, err)
		}
		r.at(0)
		r.wantAnyOrder(t,
			"0 tell done: <nil>", `0 told "order=0"`, `0 forward "order=1"`, "0 forward done: <nil>",
			`0 more "order=3 more=x"`, `0 none ""`, "0 more done: <nil>", `0 piped "order=4"`, "0 pipe done: <nil>",
			`0 unstashed "order=2"`, "0 stash done: <nil>", `0 asked "order=9"`)
	})
}

// TestOnlyValuesTravel ends the sender's context before the message is handled.
func TestOnlyValuesTravel(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, _ any) error {
			m := ctx.MessageContext()
			_, deadline := m.Deadline()
			r.add("%v %v %q", m.Err(), deadline, order(m))
			return nil
		}}))
		ctx, cancel := context.WithTimeout(withOrder(1), time.Second)
		cancel()
		Send(a, Envelope{Msg: "m", Context: ctx})
		Send(a, Envelope{Msg: "m", Context: t.Context()}) // does not travel
		r.at(0)
		r.want(t, `0 <nil> false "order=1"`, `0 <nil> false ""`)
	})
}

func TestLogHasPathAndMessageAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s, err := NewSystem("test", func(c *SystemConfig) { c.Logger = slog.New(slog.NewTextHandler(&out, nil)) })
		if err != nil {
			t.Fatal(err)
		}
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error { ctx.Log().Info(msg.(string)); return nil }}))
		Send(a, Envelope{Msg: "with", Context: withOrder(7)})
		a.Tell("without")
		terminate(t, s)
		for want, n := range map[string]int{"msg=with actor=troupe://test/user/a order=7": 1, "msg=without actor=troupe://test/user/a\n": 1} {
			if got := strings.Count(out.String(), want); got != n {
				t.Errorf("%d times %q in\n%s", got, want, out.String())
			}
		}
	})
}

// A context must not come between a message and what becomes of it when nobody handles it.
func TestContextOfDeadLetters(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{}), bounded(1, DropOldest))
		r.at(0)
		a.Tell(do(func(*Context) { pause(ms) }))
		synctest.Wait()
		Send(a, Envelope{Msg: "evicted", Context: withOrder(1)})
		Send(a, Envelope{Msg: "left", Context: withOrder(1), Done: &done{r, "left", nil}})
		a.n.cell().stop()
		r.at(2 * ms)
		Send(a, Envelope{Msg: "late", Context: withOrder(1), Done: &done{r, "late", nil}})
		r.at(3 * ms)
		r.wantAnyOrder(t, "0 dead evicted to a: actor: mailbox full", "1 dead left to a: actor: stopped", "1 left done: actor: dead letter",
			"2 late done: actor: dead letter", "2 dead late to a: actor: stopped")
	})
}

// hookLog is a MessageHook that records.
type hookLog struct {
	r      *record
	before func(context.Context) context.Context
	after  func()
}

func (h *hookLog) Before(ctx context.Context, to Ref, msg any) (context.Context, func(error)) {
	if _, ok := msg.(DeadLetter); ok {
		return ctx, nil
	}
	h.r.add("before %v to %s %q", msg, to.Name(), order(ctx))
	if h.before != nil {
		ctx = h.before(ctx)
	}
	return ctx, func(err error) {
		h.r.add("after %v: %v", msg, err)
		if h.after != nil {
			h.after()
		}
	}
}

func TestMessageHook(t *testing.T) {
	h := &hookLog{}
	hooked := func(c *SystemConfig) { quiet(c); c.Hook = h }
	for _, c := range []struct {
		name          string
		msg           any
		before, after func()
		want          []string
	}{
		{"nil", "m", nil, nil, []string{`0 before m to a ""`, "0 m", "0 after m: <nil>", "0 done: <nil>"}},
		{"error", errBoom, nil, nil, []string{`0 before boom to a ""`, "0 fails", "0 after boom: boom", "0 done: boom"}},
		{"panic", "panic", nil, nil, []string{`0 before panic to a ""`, "0 after panic: actor: panic: p", "0 done: actor: panic: p"}},
		{"goexit", "goexit", nil, nil, []string{`0 before goexit to a ""`, "0 after goexit: actor: handler ended its goroutine", "0 done: actor: handler ended its goroutine"}},
		{"panics before", "m", func() { panic("h") }, nil, []string{`0 before m to a ""`, "0 m", "0 done: <nil>"}},
		{"panics after", "m", nil, func() { panic("h") }, []string{`0 before m to a ""`, "0 m", "0 after m: <nil>", "0 done: <nil>"}},
		{"ends before", "m", runtime.Goexit, nil, []string{`0 before m to a ""`, "0 done: actor: handler ended its goroutine"}},
		{"ends after", "m", nil, runtime.Goexit, []string{`0 before m to a ""`, "0 m", "0 after m: <nil>", "0 done: actor: handler ended its goroutine"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestSystem(t, hooked)
				r := newRecord()
				h.r, h.after, h.before = r, c.after, func(ctx context.Context) context.Context {
					if c.before != nil {
						c.before()
					}
					return ctx
				}
				a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
					switch msg {
					case "panic":
						panic("p")
					case "goexit":
						runtime.Goexit()
					}
					return r.note(ctx, msg)
				}}), supervisedBy(Resume))
				Send(a, Envelope{Msg: c.msg, Done: doneFunc(func(err error) { r.add("done: %v", err) })})
				r.at(0)
				h.before, h.after = nil, nil
				r.want(t, c.want...)
				r.reset()
				a.Tell("next") // the actor goes on in any case
				r.at(0)
				r.want(t, `0 before next to a ""`, "0 next", "0 after next: <nil>")
			})
		})
	}
}

// The context that the hook returns, a span for example, is that of the message and travels on.
func TestMessageHookReplacesTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecord()
		n := 0
		h := &hookLog{r: r, before: func(ctx context.Context) context.Context {
			n++
			return WithLog(ctx, slog.Int(fmt.Sprint("span", n), n))
		}}
		s := newTestSystem(t, func(c *SystemConfig) { quiet(c); c.Hook = h })
		b := mustSpawn(t, s, "b", always(&script{}))
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, _ any) error { ctx.Tell(b, "on"); return errors.New("x") }}), supervisedBy(Resume))
		a.Tell("m")
		r.at(0)
		h.before = nil
		r.wantAnyOrder(t, `0 before m to a ""`, "0 after m: x", `0 before on to b "span1=1"`, "0 after on: <nil>")
	})
}

// TestAllocationsWithoutContext: a system that has the feature and does not use it pays nothing.
func TestAllocationsWithoutContext(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	if n := testing.AllocsPerRun(100, func() { (&envelope{}).carry(travels(context.Background())) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
