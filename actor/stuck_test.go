package actor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stuckSystem has two actors that end, and one that does not by what stick makes it do until free is closed.
func stuckSystem(t *testing.T, stick func(s *System, r *record, free <-chan struct{}), want ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSystem("test", quiet)
		if err != nil {
			t.Fatal(err)
		}
		r, free := newRecord(), make(chan struct{})
		mustSpawn(t, s, "fine", always(&script{pre: do(func(ctx *Context) {
			spawnKid(ctx, "kid", always(&script{post: do(func(*Context) { r.add("kid ends") })}))
		}), post: do(func(*Context) { r.add("fine ends") })}))
		stick(s, r, free)
		synctest.Wait()
		err = s.Terminate(t.Context())
		r.add("ended")
		if !errors.Is(err, ErrAbandoned) || !strings.Contains(err.Error(), ": troupe://test/user/stuck: ") {
			t.Errorf("%v", err)
		}
		if again := s.Terminate(t.Context()); again != err {
			t.Errorf("the second time: %v", again)
		}
		if n := s.clock.Len(); n != 0 {
			t.Errorf("%d deadlines are left", n)
		}
		if _, err := s.Spawn("late", always(&script{})); !errors.Is(err, ErrStopped) {
			t.Errorf("spawn after the end: %v", err)
		}
		close(free) // what comes back, ends
		synctest.Wait()
		for _, g := range s.guardians {
			select {
			case <-g.look().ended:
			default:
				t.Errorf("%s has not ended after all", g.path())
			}
		}
		if n := s.sched.carriers.Load(); n != 0 {
			t.Errorf("%d goroutines run actors", n)
		}
		r.wantAnyOrder(t, want...)
	})
}

// A PostStop that never returns holds up its ancestors and nobody else, and the system's end for a while.
func TestPostStopThatNeverReturns(t *testing.T) {
	stuckSystem(t, func(s *System, r *record, free <-chan struct{}) {
		mustSpawn(t, s, "stuck", always(&script{post: do(func(*Context) { <-free; r.add("stuck ends") })}))
	}, "0 kid ends", "0 fine ends", "11000 ended", "11000 stuck ends")
}

// The children of an actor whose handler never returns are stopped all the same, when the time is up.
func TestHandlerThatNeverReturns(t *testing.T) {
	stuckSystem(t, func(s *System, r *record, free <-chan struct{}) {
		a := mustSpawn(t, s, "stuck", always(&script{pre: do(func(ctx *Context) {
			ctx.SetReceiveTimeout(time.Hour)
			spawnKid(ctx, "below", always(&script{post: do(func(*Context) { r.add("below ends") })}))
		}), post: do(func(*Context) { r.add("stuck ends") })}))
		a.Tell(do(func(*Context) { <-free }))
	}, "2000 kid ends", "2000 fine ends", "12000 below ends", "13000 ended", "13000 stuck ends") // after the drain
}

// One whose start never returns has no instance yet. Its child's failure waits for a judgement that never comes.
func TestStartThatNeverReturns(t *testing.T) {
	stuckSystem(t, func(s *System, r *record, free <-chan struct{}) {
		mustSpawn(t, s, "stuck", always(&script{pre: do(func(ctx *Context) {
			k := spawnKid(ctx, "below", always(&script{post: do(func(*Context) { r.add("below ends") })}))
			k.Tell(func(*Context) error { return errBoom })
			<-free
		})}))
	}, "2000 kid ends", "2000 fine ends", "12000 below ends", "13000 ended")
}

func TestCompletionThatNeverReturns(t *testing.T) {
	stuckSystem(t, func(s *System, r *record, free <-chan struct{}) {
		a := mustSpawn(t, s, "stuck", always(&script{post: do(func(*Context) { r.add("stuck ends") })}))
		Send(a, Envelope{Msg: do(func(ctx *Context) { _ = ctx.Stash() }), Done: &done{r, "stashed", func() { <-free }}})
	}, "0 stuck ends", "0 kid ends", "0 fine ends", "0 stashed done: actor: dead letter", "11000 ended")
}

// In real time, with carriers, all of which are stuck: the others end all the same.
func TestStuckCarriers(t *testing.T) {
	s, err := NewSystem("test", quiet, configured(t, "troupe.actor { stopTimeout = 100ms, drainTimeout = 10ms }"))
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan struct{})
	const n = 30
	for i := range n {
		mustSpawn(t, s, fmt.Sprint("stuck", i), always(&script{post: do(func(*Context) { <-free })}))
	}
	fine := make(chan struct{}, n)
	for i := range n {
		mustSpawn(t, s, fmt.Sprint("fine", i), always(&script{post: do(func(*Context) { fine <- struct{}{} })}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err = s.Terminate(ctx)
	if !errors.Is(err, ErrAbandoned) || !strings.Contains(err.Error(), "and 10 more") || strings.Contains(err.Error(), "fine") {
		t.Errorf("%v", err)
	}
	if len(fine) != n {
		t.Errorf("%d of %d have ended", len(fine), n)
	}
	close(free)
	<-s.root.look().ended
	deadline := time.Now().Add(10 * time.Second)
	for s.sched.carriers.Load() > 0 {
		if time.Now().After(deadline) {
			t.Fatal("carriers are left")
		}
		<-time.After(ms)
	}
	s.sched.stop()
}

// Without an end of the system too: who waits for a hook that does not return waits, everybody else goes on.
func TestHC_A6_hook_that_never_returns(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		free := make(chan struct{})
		c := newCast(t, s, Supervisor{}, "x")
		c.parent.Tell(do(func(ctx *Context) { spawnKid(ctx, "stuck", always(&script{post: do(func(*Context) { <-free })})) }))
		synctest.Wait()
		stuck := c.kid("stuck")
		stuck.Tell(PoisonPill{})
		synctest.Wait()
		c.tell("x", "x1")
		c.want("x", "x1")
		r.deadLetters(t, s)
		stuck.Tell("waits for the end")
		c.parent.Tell(do(func(ctx *Context) {
			if _, err := ctx.Spawn("stuck", always(&script{})); !errors.Is(err, ErrName) {
				t.Errorf("the name of one that has not ended: %v", err)
			}
		}))
		c.parent.Tell(func(*Context) error { return errBoom }) // its restart waits for the child
		c.want("x", "stops")
		c.want("parent")
		close(free)
		c.want("parent", "starts")
		c.want("x", "starts")
		r.want(t, "0 dead waits for the end to stuck: actor: stopped")
	})
}
