package resilience

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// discard is for tests whose log would be long.
var discard = slog.New(slog.DiscardHandler)

// stage is a system in a bubble and what happened in it, in milliseconds since it was made.
type stage struct {
	*testing.T
	sys *actor.System
	t0  time.Time

	mu sync.Mutex
	l  []string
}

// bubble runs f with a fresh system under the bubble's clock.
func bubble(t *testing.T, f func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(&stage{T: t, sys: actortest.NewSystem(t), t0: time.Now()})
	})
}

func (s *stage) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.l = append(s.l, fmt.Sprint(time.Since(s.t0).Milliseconds(), " ", fmt.Sprintf(format, args...)))
}

// want compares everything recorded since the last call.
func (s *stage) want(want ...string) {
	s.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.l, want) {
		s.Errorf("got  %q\nwant %q", s.l, want)
	}
	s.l = nil
}

// wantAnyOrder is want for what different actors record at the same moment.
func (s *stage) wantAnyOrder(want ...string) {
	s.Helper()
	synctest.Wait()
	s.mu.Lock()
	slices.Sort(s.l)
	s.mu.Unlock()
	slices.Sort(want)
	s.want(want...)
}

// forget drops what has been recorded.
func (s *stage) forget() {
	synctest.Wait()
	s.mu.Lock()
	s.l = nil
	s.mu.Unlock()
}

// at waits until d after the beginning, and until everything that happens by then has happened.
func (s *stage) at(d time.Duration) {
	time.Sleep(d - time.Since(s.t0))
	synctest.Wait()
}

func (s *stage) spawn(name string, f func() actor.Actor, opts ...func(*actor.SpawnConfig)) actor.Ref {
	s.Helper()
	ref, err := s.sys.Spawn(name, f, opts...)
	if err != nil {
		s.Fatal(err)
	}
	return ref
}

// listen records dead letters and, if asked for, the ends of children.
func (s *stage) listen(ends bool) {
	ref := s.spawn("listener", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			switch m := msg.(type) {
			case actor.DeadLetter:
				s.add("dead %v to %s: %v", m.Msg, m.To.Name(), m.Reason)
			case ChildEnded:
				s.add("%s of %s ended: %v, %d in a row, again %v after %v", m.Child.Name(), m.Supervisor.Name(), m.Cause, m.InARow, m.Again, m.Delay)
			}
			return nil
		})
	})
	actor.Subscribe[actor.DeadLetter](s.sys.EventStream(), ref)
	if ends {
		actor.Subscribe[ChildEnded](s.sys.EventStream(), ref)
	}
}

// watch records the end of ref.
func (s *stage) watch(ref actor.Ref) {
	s.spawn("watcher-of-"+ref.Name(), func() actor.Actor {
		return &script{
			pre: func(ctx *actor.Context) error { ctx.Watch(ref); return nil },
			recv: func(_ *actor.Context, msg any) error {
				if m, ok := msg.(actor.Terminated); ok {
					s.add("%s is gone: %v", m.Ref.Name(), m.Cause)
				}
				return nil
			},
		}
	})
}

// completion records how the message of that name ended.
func (s *stage) completion(name string) actor.Completion {
	return ender(func(err error) { s.add("%s: %v", name, err) })
}

type ender func(error)

func (f ender) Done(err error) { f(err) }

// script is an actor made of functions; what is nil does nothing.
type script struct {
	pre, post func(*actor.Context) error
	recv      func(*actor.Context, any) error
}

func (a *script) PreStart(ctx *actor.Context) error {
	if a.pre == nil {
		return nil
	}
	return a.pre(ctx)
}

func (a *script) PostStop(ctx *actor.Context) error {
	if a.post == nil {
		return nil
	}
	return a.post(ctx)
}

func (a *script) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case error: // a failure by order
		return m
	case func(*actor.Context):
		m(ctx)
		return nil
	}
	if a.recv == nil {
		return nil
	}
	return a.recv(ctx, msg)
}

// worker is a child that records its starts and its messages. The first broken starts fail.
func (s *stage) worker(broken int) func() actor.Actor {
	n := 0
	return func() actor.Actor {
		n++
		return &script{
			pre: func(*actor.Context) error {
				if n <= broken {
					s.add("start %d fails", n)
					return errBoom
				}
				s.add("start %d", n)
				return nil
			},
			recv: func(_ *actor.Context, msg any) error { s.add("%v", msg); return nil },
		}
	}
}

// steady has delays of 100ms, 200ms, 400ms and so on, without jitter.
func steady(c *SuperviseConfig) { c.Backoff = Exponential(100*ms, 10*second, 0) }

// stopSelf is a message that makes a script stop in an orderly way.
func stopSelf(ctx *actor.Context) { ctx.StopSelf() }

// decided makes a failure of the spawned actor end in d.
func decided(d actor.Directive) func(*actor.SpawnConfig) {
	return func(c *actor.SpawnConfig) {
		c.Supervisor = &actor.Supervisor{Decide: func(actor.Ref, error) actor.Directive { return d }}
	}
}
