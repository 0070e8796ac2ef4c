package actor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is a log that may be written to by any goroutine.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A goroutine keeps the Context of a handler. Once the turn is over every method does nothing, and it is logged once.
func TestContextAfterItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var out lockedBuffer
		s.log = slog.New(slog.NewTextHandler(&out, nil))
		var kept *Context
		x := mustSpawn(t, s, "x", always(&script{recv: r.note}))
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error { kept = ctx; return r.note(ctx, msg) }}))
		a.Tell("m")
		r.at(0)
		wait := make(chan struct{})
		go func() {
			defer close(wait)
			useAll(t, kept, x)
		}()
		<-wait
		r.at(time.Second)
		r.want(t, "0 m") // nothing was told, stopped, armed or spawned
		if n := s.clock.Len(); n != 0 {
			t.Errorf("%d deadlines were armed", n)
		}
		if c := a.n.cell(); !c.kids().empty() || len(c.watches().of)+len(c.look().stash) != 0 || c.look().stack != nil || c.stopAsked {
			t.Error("the call had an effect")
		}
		if n := strings.Count(out.String(), "used after its turn"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, out.String())
		}
		a.Tell("it works as before")
		r.at(time.Second)
		r.want(t, "0 m", "1000 it works as before")
		if kept.Self() != a || kept.System() != s || kept.Context().Err() != nil || kept.Log() == nil {
			t.Error("Self, System, Context and Log work anywhere")
		}
		a.Tell(PoisonPill{})
		r.at(2 * time.Second)
		if !errors.Is(context.Cause(kept.Context()), ErrStopped) {
			t.Error("the context of an actor that has stopped is not cancelled")
		}
		useAll(t, kept, x) // after the end
		r.at(3 * time.Second)
		r.want(t, "0 m", "1000 it works as before")
	})
}

// useAll calls every method of a Context but those that work anywhere.
func useAll(t *testing.T, ctx *Context, x Ref) {
	t.Helper()
	anywhere := map[string]bool{"Self": true, "System": true, "Context": true, "Log": true, "Timers": true, "Parent": true}
	arg := func(typ reflect.Type) reflect.Value {
		switch typ {
		case reflect.TypeFor[Ref]():
			return reflect.ValueOf(x)
		case reflect.TypeFor[context.Context]():
			return reflect.ValueOf(context.Background())
		case reflect.TypeFor[time.Duration]():
			return reflect.ValueOf(10 * ms)
		case reflect.TypeFor[string]():
			return reflect.ValueOf("name")
		case reflect.TypeFor[any]():
			return reflect.ValueOf("message")
		case reflect.TypeFor[Func]():
			return reflect.ValueOf(Func(func(*Context, any) error { t.Error("became"); return nil }))
		case reflect.TypeFor[func() Actor]():
			return reflect.ValueOf(func() Actor { t.Error("spawned"); return nil })
		case reflect.TypeFor[func(context.Context) (any, error)]():
			return reflect.ValueOf(func(context.Context) (any, error) { t.Error("piped"); return nil, nil })
		}
		t.Fatalf("no argument of type %v", typ)
		return reflect.Value{}
	}
	v := reflect.ValueOf(ctx)
	for i := range v.NumMethod() {
		m := v.Type().Method(i)
		if anywhere[m.Name] {
			continue
		}
		var args []reflect.Value
		for j := range v.Method(i).Type().NumIn() {
			if typ := v.Method(i).Type().In(j); !v.Method(i).Type().IsVariadic() || j < v.Method(i).Type().NumIn()-1 {
				args = append(args, arg(typ))
			}
		}
		for _, out := range v.Method(i).Call(args) {
			if err, ok := out.Interface().(error); ok && err != nil {
				continue // Spawn and Stash say so
			}
			if none := out.Interface() == any(context.Background()); !out.IsZero() && !none {
				t.Errorf("%s returned %v", m.Name, out)
			}
		}
	}
	tm := ctx.Timers()
	if tm.StartSingle("t", "x", ms) == nil || tm.Cancel("t") || tm.Active("t") || tm.Keys() != nil {
		t.Error("a timer was started")
	}
	tm.CancelAll()
}

// What only makes sense for a message does nothing in a hook.
func TestContextInHooks(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		use := do(func(ctx *Context) {
			ctx.Forward(ctx.Self())
			ctx.Unhandled()
			if ctx.Hold() != nil || !ctx.Sender().IsZero() || !errors.Is(ctx.Stash(), ErrStashOutside) {
				t.Error("there is a message in a hook")
			}
		})
		a := mustSpawn(t, s, "a", always(&script{pre: use, recv: r.note, post: use}))
		a.Tell(errBoom)
		a.Tell(PoisonPill{})
		r.at(0)
		r.want(t, "0 fails")
	})
}

// Context.Context is cancelled as soon as a stop is asked for, so that a handler which waits for I/O returns, and at a
// restart.
func TestContextContext(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var kid Ref
		waits := do(func(ctx *Context) {
			<-ctx.Context().Done()
			r.add("%v", context.Cause(ctx.Context()))
		})
		p := mustSpawn(t, s, "p", always(&script{pre: do(func(ctx *Context) { kid = spawnKid(ctx, "kid", always(&script{recv: r.note})) })}))
		r.at(0)
		kid.Tell(waits)
		r.at(10 * ms)
		p.Tell(PoisonPill{})
		r.at(20 * ms)
		r.want(t, "10 actor: stopped")

		var old context.Context
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}))
		a.Tell(do(func(ctx *Context) { old = ctx.Context() }))
		a.Tell(errBoom)
		a.Tell(do(func(ctx *Context) {
			r.add("old: %v, new: %v", context.Cause(old), ctx.Context().Err())
			ctx.StopSelf()
		}))
		r.at(30 * ms)
		r.want(t, "10 actor: stopped", "20 fails", "20 old: boom, new: <nil>")
	})
}

func TestForwardKeepsTheSender(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		echo := mustSpawn(t, s, "echo", always(Func(func(ctx *Context, msg any) error {
			ctx.Reply(msg)
			return nil
		})))
		hop := mustSpawn(t, s, "hop", always(Func(func(ctx *Context, _ any) error { ctx.Forward(echo); return nil })))
		if v, err := Ask[int](t.Context(), hop, 5); v != 5 || err != nil {
			t.Error(v, err)
		}
		mustSpawn(t, s, "a", always(&script{
			pre:  do(func(ctx *Context) { ctx.Tell(hop, "m") }),
			recv: func(ctx *Context, msg any) error { r.add("%v from %s", msg, ctx.Sender().Name()); return nil },
		}))
		r.at(0)
		r.want(t, "0 m from echo")
	})
}

// A handler that blocks, for whatever reason, delays its own actor only.
func TestBlockedHandlersDelayNobody(t *testing.T) {
	s := newTestSystem(t)
	free := make(chan struct{})
	for range 64 {
		ref, err := s.SpawnAnonymous(always(Func(func(*Context, any) error { <-free; return nil })))
		if err != nil {
			t.Fatal(err)
		}
		ref.Tell("block")
	}
	echo := mustSpawn(t, s, "echo", always(Func(func(ctx *Context, msg any) error { ctx.Reply(msg); return nil })))
	for i := range 100 {
		if v, err := Ask[int](t.Context(), echo, i); v != i || err != nil {
			t.Fatal(v, err)
		}
	}
	close(free)
}
