package actortest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// idler ends after 15 minutes without a message, and answers each.
func idler() actor.Actor {
	return actor.Func(func(ctx *actor.Context, msg any) error {
		switch msg {
		case actor.ReceiveTimeout{}:
			ctx.StopSelf()
		default:
			ctx.SetReceiveTimeout(15 * time.Minute)
			ctx.Reply(fmt.Sprint("got ", msg))
		}
		return nil
	})
}

func TestFifteenMinutesInAMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem(t)
		p := actortest.NewProbe(t, sys)
		ref, err := sys.Spawn("session", idler)
		if err != nil {
			t.Fatal(err)
		}
		p.Watch(ref)
		p.Tell(ref, "a")
		p.Expect("got a")
		p.ExpectNone(10 * time.Minute)
		p.Tell(ref, "b")
		if got := actortest.Expect[string](p); got != "got b" {
			t.Errorf("got %q", got)
		}
		p.ExpectNone(15*time.Minute - 1)
		start := time.Now()
		if end := p.ExpectTerminated(ref); end.Cause != nil {
			t.Errorf("an orderly stop has the cause %v", end.Cause)
		}
		if waited := time.Since(start); waited != 1 {
			t.Errorf("it ended %v late", waited-1)
		}
		if n := p.Pending(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

func TestReplyGoesToTheSenderOfTheLastOne(t *testing.T) {
	sys := actortest.NewSystem(t)
	a, b := actortest.NewProbe(t, sys), actortest.NewProbe(t, sys)
	a.Tell(b.Ref(), 1)
	if r := b.Next(); r.Msg != 1 || r.Sender != a.Ref() {
		t.Errorf("%+v", r)
	}
	b.Reply("one")
	a.Expect("one")
}

// failing is a testing.TB whose Fatalf is noted.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure runs f on a goroutine of its own and returns what it fails with, empty if it does not.
func failure(t *testing.T, f func(tb testing.TB)) string {
	tb := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(tb)
	}()
	<-done
	return tb.said
}

// said is failure for what a probe does.
func said(t *testing.T, sys *actor.System, f func(p *actortest.Probe)) string {
	return failure(t, func(tb testing.TB) {
		p := actortest.NewProbe(tb, sys)
		p.Wait = 50 * time.Millisecond
		f(p)
	})
}

func TestFailuresSayWhatCameAndWhatShould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem(t)
		for name, c := range map[string]struct {
			f    func(*actortest.Probe)
			want string
		}{
			"nothing":     {func(p *actortest.Probe) { p.Expect(1) }, "no message within 50ms, want int 1"},
			"other value": {func(p *actortest.Probe) { p.Ref().Tell(2); p.Expect(1) }, "got int 2, want int 1"},
			"other type":  {func(p *actortest.Probe) { p.Ref().Tell(2); actortest.Expect[string](p) }, "got int 2, want a string"},
			"no type":     {func(p *actortest.Probe) { actortest.Expect[string](p) }, "no message within 50ms, want a string"},
			"too much":    {func(p *actortest.Probe) { p.Ref().Tell(2); p.ExpectNone(time.Second) }, "got int 2, want nothing"},
			"next":        {func(p *actortest.Probe) { p.Next() }, "no message within 50ms"},
			"other ref": {func(p *actortest.Probe) {
				other, _ := sys.SpawnAnonymous(idler)
				p.Watch(other)
				other.Tell(actor.PoisonPill{})
				p.ExpectTerminated(p.Ref())
			}, "has ended, want"},
			"stopped probe": {func(p *actortest.Probe) {
				p.Ref().Tell(actor.PoisonPill{})
				p.Watch(p.Ref())
			}, "the probe has stopped"},
		} {
			if got := said(t, sys, c.f); !strings.Contains(got, c.want) {
				t.Errorf("%s: %q, want %q in it", name, got, c.want)
			}
		}
	})
}

func TestOptionsAndTermination(t *testing.T) {
	var sys *actor.System
	t.Run("inner", func(t *testing.T) {
		actortest.VerifyNoLeaks(t)
		sys = actortest.NewSystem(t)
		if sys.Name() != "test" {
			t.Error(sys.Name())
		}
		actortest.NewProbe(t, sys)
	})
	select {
	case <-sys.Terminated():
	default:
		t.Error("the system outlives its test")
	}
}
