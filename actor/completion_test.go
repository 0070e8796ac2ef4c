package actor

import (
	"testing"
	"time"
)

// outcome is one way in which a message with a completion can end.
type outcome struct {
	s *System
	r *record
	t *testing.T
}

func handler(f Func) func(*outcome) {
	return func(e *outcome) {
		e.r.send(mustSpawn(e.t, e.s, "a", always(f), supervisedBy(Stop)), "m", "m")
	}
}

func forwarder(target Func, after error) func(*outcome) {
	return func(e *outcome) {
		to := Ref{}
		if target != nil {
			to = mustSpawn(e.t, e.s, "b", always(target), supervisedBy(Stop))
		}
		handler(func(ctx *Context, _ any) error { ctx.Forward(to); return after })(e)
	}
}

func stashing(last func(*Context) error) func(*outcome) {
	return func(e *outcome) {
		a := mustSpawn(e.t, e.s, "a", always(&script{recv: func(ctx *Context, _ any) error {
			if ctx.c.replayedForTest() {
				return errBoom
			}
			return ctx.Stash()
		}}), supervisedBy(Restart))
		e.r.send(a, "m", "m")
		a.Tell(last)
	}
}

func full(o Overflow) func(*outcome) {
	return func(e *outcome) {
		a := mustSpawn(e.t, e.s, "a", always(&script{recv: e.r.note}), bounded(1, o))
		e.r.at(0)
		a.Tell(do(func(*Context) { pause(ms) }))
		e.r.at(1)
		first, second := "m", "other"
		if o == RejectNewest {
			first, second = second, first
		}
		e.r.send(a, do(func(*Context) {}), first)
		e.r.send(a, do(func(*Context) {}), second)
	}
}

// behind sends the message behind another one.
func behind(first any) func(*outcome) {
	return func(e *outcome) {
		a := mustSpawn(e.t, e.s, "a", always(&script{}))
		a.Tell(first)
		e.r.send(a, "m", "m")
	}
}

func plain(msg any) func(*outcome) {
	return func(e *outcome) { e.r.send(mustSpawn(e.t, e.s, "a", always(&script{})), msg, "m") }
}

func failedStart(e *outcome) {
	e.r.send(mustSpawn(e.t, e.s, "a", func() Actor { panic("no") }, supervisedBy(Stop)), "m", "m")
}

func holdTwice(ctx *Context, _ any) error {
	h := ctx.Hold()
	if ctx.Hold() == nil {
		h.Done(nil)
	}
	h.Done(errBoom)
	return nil
}

// TestCompletionExactlyOnce takes one message with a completion through every way it can end.
func TestCompletionExactlyOnce(t *testing.T) {
	const unhandled = "0 m done: actor: dead letter: actor: unhandled message of type string"
	ok := func(*Context, any) error { return nil }
	bad := func(*Context, any) error { return errBoom }
	for name, c := range map[string]struct {
		run  func(*outcome)
		want []string
	}{
		"nil":               {handler(ok), []string{"0 m done: <nil>"}},
		"error":             {handler(bad), []string{"0 m done: boom"}},
		"panic":             {handler(func(*Context, any) error { panic("boom") }), []string{"0 m done: actor: panic: boom"}},
		"Goexit":            {handler(func(*Context, any) error { goexit(); return nil }), []string{"0 m done: " + ErrGoexit.Error()}},
		"Reject":            {handler(func(*Context, any) error { return Reject(errBoom) }), []string{"0 m done: boom"}},
		"StopSelf":          {handler(func(ctx *Context, _ any) error { ctx.StopSelf(); return nil }), []string{"0 m done: <nil>"}},
		"StopSelf, error":   {handler(func(ctx *Context, _ any) error { ctx.StopSelf(); return errBoom }), []string{"0 m done: boom"}},
		"Unhandled":         {handler(func(ctx *Context, _ any) error { ctx.Unhandled(); return nil }), []string{unhandled}},
		"Unhandled, error":  {handler(func(ctx *Context, _ any) error { ctx.Unhandled(); return errBoom }), []string{unhandled}},
		"Forward":           {forwarder(ok, errBoom), []string{"0 m done: <nil>"}},
		"Forward, error":    {forwarder(bad, nil), []string{"0 m done: boom"}},
		"Forward to nobody": {forwarder(nil, nil), []string{"0 m done: actor: dead letter"}},
		"Forward twice": {handler(func(ctx *Context, _ any) error {
			ctx.Forward(Ref{})
			ctx.Forward(Ref{})
			return nil
		}), []string{"0 m done: actor: dead letter"}},
		"Hold":          {handler(func(ctx *Context, _ any) error { h := ctx.Hold(); go h.Done(nil); return nil }), []string{"0 m done: <nil>"}},
		"Hold, error":   {handler(func(ctx *Context, _ any) error { ctx.Hold(); return errBoom }), []string{"0 m done: actor: stopped"}},
		"Hold, panic":   {handler(func(ctx *Context, _ any) error { ctx.Hold(); panic("boom") }), []string{"0 m done: actor: stopped"}},
		"Hold, twice":   {handler(holdTwice), []string{"0 m done: <nil>"}},
		"Hold, stop":    {handler(func(ctx *Context, _ any) error { ctx.Hold(); ctx.StopSelf(); return nil }), []string{"0 m done: actor: stopped"}},
		"Hold, restart": {func(e *outcome) { holdThenRestart(e) }, []string{"0 m done: " + ErrPreviousInstance.Error()}},
		"Hold, sent on": {handler(func(ctx *Context, _ any) error {
			Send(Ref{}, Envelope{Done: ctx.Hold()})
			return nil
		}), []string{"0 m done: actor: no recipient"}},
		"Stash, stop":         {stashing(do((*Context).StopSelf)), []string{"0 m done: actor: dead letter"}},
		"Stash, restart":      {stashing(func(*Context) error { return errBoom }), []string{"0 m done: actor: dead letter"}},
		"Stash, unstash":      {stashing(do((*Context).UnstashAll)), []string{"0 m done: boom"}},
		"evicted":             {full(DropOldest), []string{"1ns m done: actor: mailbox full", "1 other done: <nil>"}},
		"refused":             {full(RejectNewest), []string{"1ns m done: actor: mailbox full", "1 other done: <nil>"}},
		"PoisonPill":          {plain(PoisonPill{}), []string{"0 m done: <nil>"}},
		"Kill":                {plain(Kill{}), []string{"0 m done: <nil>"}},
		"forged":              {plain(Terminated{}), []string{"0 m done: actor: dead letter: " + ErrForged.Error()}},
		"queued at a stop":    {behind(PoisonPill{}), []string{"0 m done: actor: dead letter"}},
		"queued at a restart": {behind(Kill{}), []string{"0 m done: <nil>"}},
		"failed start":        {failedStart, []string{"0 m done: actor: dead letter"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				c.run(&outcome{s, r, t})
				r.at(time.Second)
				terminate(t, s)
				r.want(t, c.want...)
			})
		})
	}
}

// holdThenRestart checks that the instance's end ends what it holds, and not only the actor's.
func holdThenRestart(e *outcome) {
	a := mustSpawn(e.t, e.s, "a", always(&script{recv: func(ctx *Context, _ any) error { ctx.Hold(); return errBoom }}))
	e.r.send(a, "m", "m")
	e.r.at(0)
	if len(e.r.lines()) != 1 || a.n.cell().closedForTest() {
		e.t.Error("it was not the restart that ended it")
	}
}

// A completion that travels to another actor and whose holder has ended.
func TestHeldCompletionOfAnAskThatIsSentOn(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		worker := mustSpawn(t, s, "worker", always(Func(func(ctx *Context, msg any) error {
			if msg == any("no reply") {
				return nil // the reply comes by another way
			}
			ctx.Reply("from the worker")
			return nil
		})))
		a := mustSpawn(t, s, "a", always(Func(func(ctx *Context, msg any) error {
			sender := ctx.Sender()
			Send(worker, Envelope{Msg: msg, Sender: sender, Done: ctx.Hold()})
			if msg == any("no reply") {
				go func() { pause(10 * ms); sender.Tell("later") }()
			}
			return nil
		})))
		for msg, want := range map[string]string{"reply": "from the worker", "no reply": "later"} {
			if v, err := Ask[string](t.Context(), a, msg); v != want || err != nil {
				t.Errorf("%s: %q, %v", msg, v, err)
			}
		}
	})
}

// A forward to an ask that has ended is not reported as handled.
func TestForwardToAnAskThatHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var asker Ref
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
			if msg == any("ask") {
				asker = ctx.Sender()
				ctx.Reply(1)
				return nil
			}
			ctx.Forward(asker)
			return nil
		}}))
		if _, err := Ask[int](t.Context(), a, "ask"); err != nil {
			t.Error(err)
		}
		r.send(a, "m", "m")
		r.at(0)
		r.want(t, "0 m done: actor: dead letter")
	})
}

func TestHoldIsAnAnswererOnlyForAnAsk(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(Func(func(ctx *Context, msg any) error {
			h := ctx.Hold()
			answerer, ok := h.(Answerer)
			r.add("%v: %t %t", msg, h != nil, ok)
			if ok {
				answerer.Answer(1)
			}
			return nil
		})))
		a.Tell("tell")
		r.send(a, "send", "send")
		if v, err := Ask[int](t.Context(), a, "ask"); v != 1 || err != nil {
			t.Error(v, err)
		}
		terminate(t, s)
		r.want(t, "0 tell: false false", "0 send: true false", "0 ask: true true", "0 send done: actor: stopped")
	})
}

// A held ask that is sent on and answered by a reply must not stay on its holder's list, which would grow for as long as
// the holder lives.
func TestHeldAskThatIsSentOnIsNotHeldAnyMore(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, _ *record) {
		b := mustSpawn(t, s, "b", always(Func(func(ctx *Context, _ any) error { ctx.Reply("answer"); return nil })))
		a := mustSpawn(t, s, "a", always(Func(func(ctx *Context, msg any) error {
			Send(b, Envelope{Msg: msg, Sender: ctx.Sender(), Done: ctx.Hold()})
			return nil
		})))
		for range 3 {
			if v, err := Ask[string](t.Context(), a, "q"); v != "answer" || err != nil {
				t.Error(v, err)
			}
		}
		if a.n.cell().look().held.first != nil {
			t.Error("something is held still")
		}
	})
}
