package actor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// record is what happened when, in milliseconds since it was made; a time that is not a whole millisecond shows.
type record struct {
	mu sync.Mutex
	t0 time.Time
	l  []string
}

func newRecord() *record { return &record{t0: time.Now()} }

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := time.Since(r.t0)
	at := fmt.Sprint(d.Milliseconds())
	if d%ms != 0 {
		at = d.String()
	}
	r.l = append(r.l, at+" "+fmt.Sprintf(format, args...))
}

func (r *record) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.l)
}

// reset forgets what has been recorded; the times go on.
func (r *record) reset() {
	r.mu.Lock()
	r.l = nil
	r.mu.Unlock()
}

// want compares everything recorded so far.
func (r *record) want(t *testing.T, want ...string) {
	t.Helper()
	if got := r.lines(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// wantAnyOrder is want for things that different actors record at the same moment.
func (r *record) wantAnyOrder(t *testing.T, want ...string) {
	t.Helper()
	got := r.lines()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// at waits until d after the record was made, and until everything that happens by then has happened. Only in a bubble.
func (r *record) at(d time.Duration) {
	if wait := d - time.Since(r.t0); wait > 0 {
		time.Sleep(wait)
	}
	synctest.Wait()
}

// pause is for handlers of actors in a bubble. Not by a channel of package time: with thousands of those in a bubble
// the race detector of Go 1.26 crashes.
func pause(d time.Duration) { time.Sleep(d) }

func quiet(c *SystemConfig) { c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) }

// newTestSystem returns a system that is terminated when the test ends.
func newTestSystem(t testing.TB, opts ...func(*SystemConfig)) *System {
	t.Helper()
	s, err := NewSystem("test", append([]func(*SystemConfig){quiet}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminate(t, s) })
	return s
}

func terminate(t testing.TB, s *System) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Terminate(ctx); err != nil {
		t.Error(err)
	}
	if n := s.clock.Len(); n != 0 {
		t.Errorf("%d deadlines are left after the end", n)
	}
}

// bubble runs f with a fresh system under the bubble's clock.
func bubble(t *testing.T, f func(t *testing.T, s *System, r *record)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newTestSystem(t), newRecord()) })
}

// script is an actor made of functions; what is nil does nothing.
type script struct {
	pre  func(*Context) error
	recv func(*Context, any) error
	post func(*Context) error
	sup  Supervisor
}

func (s *script) PreStart(ctx *Context) error { return call(s.pre, ctx) }
func (s *script) PostStop(ctx *Context) error { return call(s.post, ctx) }
func (s *script) Supervisor() Supervisor      { return s.sup }

func (s *script) Receive(ctx *Context, msg any) error {
	if f, ok := msg.(func(*Context) error); ok {
		return f(ctx)
	}
	if s.recv == nil {
		return nil
	}
	return s.recv(ctx, msg)
}

func call(f func(*Context) error, ctx *Context) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}

// always is a factory of one value.
func always(a Actor) func() Actor { return func() Actor { return a } }

func mustSpawn(t testing.TB, s *System, name string, f func() Actor, opts ...func(*SpawnConfig)) Ref {
	t.Helper()
	ref, err := s.Spawn(name, f, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// spawnKid spawns below the current actor.
func spawnKid(ctx *Context, name string, f func() Actor, opts ...func(*SpawnConfig)) Ref {
	ref, err := ctx.Spawn(name, f, opts...)
	if err != nil {
		ctx.Log().Error("spawn", "error", err)
	}
	return ref
}

// do makes a message of a function that runs in the actor's turn.
func do(f func(*Context)) func(*Context) error {
	return func(ctx *Context) error { f(ctx); return nil }
}

// mark is a message that does not count as activity.
type mark struct {
	what string
	f    func(*Context) error
}

func (mark) NotInfluenceReceiveTimeout() {}

// note is the handler that most tests use: it records what comes. A duration is a handler that takes that long, an
// error one that fails with it.
func (r *record) note(ctx *Context, msg any) error {
	switch m := msg.(type) {
	case time.Duration:
		pause(m)
		r.add("slow")
	case error:
		r.add("fails")
		return m
	case mark:
		if m.f != nil {
			err := m.f(ctx)
			r.add("%s", m.what)
			return err
		}
		r.add("%s", m.what)
	case ReceiveTimeout:
		r.add("RT")
	case Terminated:
		r.add("ended %s", m.Ref.Name())
	default:
		r.add("%v", m)
	}
	return nil
}

// idler records, and arms window in PreStart.
func (r *record) idler(window time.Duration) func() Actor {
	return func() Actor {
		return &script{
			pre:  do(func(ctx *Context) { ctx.SetReceiveTimeout(window) }),
			recv: r.note,
			post: do(func(*Context) { r.add("post") }),
		}
	}
}

// deadLetters records the dead letters of a system.
func (r *record) deadLetters(t testing.TB, s *System) {
	t.Helper()
	ref := mustSpawn(t, s, "dead-letters", always(Func(func(_ *Context, msg any) error {
		if d, ok := msg.(DeadLetter); ok {
			r.add("dead %v to %s: %v", d.Msg, d.To.Name(), d.Reason)
		}
		return nil
	})))
	Subscribe[DeadLetter](s.EventStream(), ref)
}

func supervisedBy(d Directive) func(*SpawnConfig) {
	return func(c *SpawnConfig) {
		c.Supervisor = &Supervisor{Decide: func(Ref, error) Directive { return d }, MaxRestarts: -1}
	}
}

func bounded(n int, o Overflow) func(*SpawnConfig) {
	return func(c *SpawnConfig) { c.Mailbox = Mailbox{Capacity: n, Overflow: o} }
}
