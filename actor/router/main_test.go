package router_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/router"
	"github.com/troupe-go/troupe/actortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record is what happened, in order.
type record struct {
	mu sync.Mutex
	l  []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	r.l = append(r.l, fmt.Sprintf(format, args...))
	r.mu.Unlock()
}

// take returns what has been recorded since the last take.
func (r *record) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.l
	r.l = nil
	return l
}

// want compares what has been recorded since the last look, once everything that can happen has happened.
func (r *record) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := r.take(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// wantAnyOrder is want for what several routees record at the same moment.
func (r *record) wantAnyOrder(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	got := r.take()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// worker is a routee: it records what it gets under its own name. A function runs in its turn, an error is a failure.
func (r *record) worker() actor.Actor {
	return actor.Func(func(ctx *actor.Context, msg any) error {
		switch m := msg.(type) {
		case func(*actor.Context) error:
			return m(ctx)
		case error:
			return m
		}
		r.add("%s %v", ctx.Self().Name(), msg)
		return nil
	})
}

// completion is one that counts how often it was ended.
type completion struct {
	mu   sync.Mutex
	ends []error
}

func (c *completion) Done(err error) {
	c.mu.Lock()
	c.ends = append(c.ends, err)
	c.mu.Unlock()
}

// once returns the error it was ended with, after a check that it was ended exactly once.
func (c *completion) once(t *testing.T) error {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ends) != 1 {
		t.Fatalf("the completion was ended %d times, want once: %v", len(c.ends), c.ends)
	}
	return c.ends[0]
}

func (c *completion) open(t *testing.T) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ends) != 0 {
		t.Fatalf("the completion was ended with %v, want it open", c.ends)
	}
}

// bubble runs f with a fresh system under the bubble's clock. Dead letters are recorded.
func bubble(t *testing.T, f func(t *testing.T, s *actor.System, r *record)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, r := actortest.NewSystem(t), &record{}
		r.deadLetters(t, s)
		f(t, s, r)
	})
}

func (r *record) deadLetters(t *testing.T, s *actor.System) {
	t.Helper()
	ref := spawn(t, s, "dead-letters", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			if d, ok := msg.(actor.DeadLetter); ok {
				r.add("dead %v to %s: %v", d.Msg, d.To.Name(), d.Reason)
			}
			return nil
		})
	})
	actor.Subscribe[actor.DeadLetter](s.EventStream(), ref)
}

func spawn(t testing.TB, s *actor.System, name string, f func() actor.Actor) actor.Ref {
	t.Helper()
	ref, err := s.Spawn(name, f)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func pool(t testing.TB, s *actor.System, size int, f func() actor.Actor, opts ...func(*router.Config)) actor.Ref {
	t.Helper()
	newPool, err := router.Pool(size, f, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return spawn(t, s, "router", newPool)
}

func group(t testing.TB, s *actor.System, refs []actor.Ref, opts ...func(*router.Config)) actor.Ref {
	t.Helper()
	newGroup, err := router.Group(refs, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return spawn(t, s, "router", newGroup)
}

func logic(l func() router.Logic) func(*router.Config) {
	return func(c *router.Config) { c.Logic = l }
}

// selectFunc is a user's logic.
type selectFunc func(msg any, routees []actor.Ref) int

func (f selectFunc) Select(msg any, routees []actor.Ref) int { return f(msg, routees) }

func custom(f selectFunc) func(*router.Config) {
	return logic(func() router.Logic { return f })
}

// stop is a message that stops its routee at once.
func stop() any { return func(ctx *actor.Context) error { ctx.StopSelf(); return nil } }

// block is a message that keeps its routee busy until gate is closed.
func block(gate chan struct{}) any {
	return func(*actor.Context) error { <-gate; return nil }
}

func routees(t *testing.T, ref actor.Ref) []actor.Ref {
	t.Helper()
	l, err := actor.Ask[[]actor.Ref](t.Context(), ref, router.QueryRoutees{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func names(t *testing.T, ref actor.Ref) (l []string) {
	t.Helper()
	for _, r := range routees(t, ref) {
		l = append(l, r.Name())
	}
	return l
}

func wantNames(t *testing.T, ref actor.Ref, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := names(t, ref); !slices.Equal(got, want) {
		t.Errorf("routees %q, want %q", got, want)
	}
}
