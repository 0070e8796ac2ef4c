package actortest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

// ask asks on a goroutine of its own.
func ask(t *testing.T, to actor.Ref, msg any) (outcome func() (any, error)) {
	type result struct {
		v   any
		err error
	}
	ch := make(chan result, 1)
	go func() {
		v, err := actor.Ask[any](t.Context(), to, msg)
		ch <- result{v, err}
	}()
	return func() (any, error) {
		r := <-ch
		return r.v, r.err
	}
}

func TestProbeAnswersAsks(t *testing.T) {
	sys := actortest.NewSystem(t)
	p, q := actortest.NewProbe(t, sys), actortest.NewProbe(t, sys)
	bad := errors.New("bad")

	outcome := ask(t, p.Ref(), "question")
	p.Expect("question")
	p.Reply("answer")
	if v, err := outcome(); v != "answer" || err != nil {
		t.Error(v, err)
	}
	outcome = ask(t, p.Ref(), "question")
	p.Next()
	p.Reply(bad)
	if _, err := outcome(); !errors.Is(err, bad) {
		t.Error(err)
	}
	outcome = ask(t, p.Ref(), "forwarded")
	p.Next()
	p.Forward(q.Ref())
	q.Expect("forwarded")
	q.Reply("by another")
	if v, err := outcome(); v != "by another" || err != nil {
		t.Error(v, err)
	}
	outcome = ask(t, p.Ref(), "left open")
	p.Next()
	p.Stop()
	if _, err := outcome(); !errors.Is(err, actor.ErrStopped) {
		t.Error(err)
	}
}

// done passes on how a message has ended.
type done chan error

func (d done) Done(err error) { d <- err }

func TestProbeAndCompletions(t *testing.T) {
	sys := actortest.NewSystem(t)
	bad := errors.New("bad")
	ended := make(done, 1)

	p := actortest.NewProbe(t, sys)
	actor.Send(p.Ref(), actor.Envelope{Msg: 1, Done: ended})
	if r := p.Next(); r.Done != nil {
		t.Errorf("%+v", r)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}

	p = actortest.NewProbe(t, sys, func(c *actortest.ProbeConfig) { c.Hold = true })
	actor.Send(p.Ref(), actor.Envelope{Msg: 1, Done: ended})
	r := p.Next()
	if len(ended) != 0 {
		t.Error("it has ended before the test said so")
	}
	r.Done.Done(bad)
	if err := <-ended; err != bad {
		t.Error(err)
	}

	p = actortest.NewProbe(t, sys, func(c *actortest.ProbeConfig) {
		c.Auto = func(ctx *actor.Context, msg any) error {
			if msg == "bad" {
				return actor.Reject(bad)
			}
			ctx.Reply(msg)
			return nil
		}
	})
	if v, err := actor.Ask[string](t.Context(), p.Ref(), "good"); v != "good" || err != nil {
		t.Error(v, err)
	}
	if _, err := actor.Ask[string](t.Context(), p.Ref(), "bad"); !errors.Is(err, bad) {
		t.Error(err)
	}
	p.ExpectAll("good", "bad")
}

func TestFishAndReceiveN(t *testing.T) {
	sys := actortest.NewSystem(t)
	p := actortest.NewProbe(t, sys)
	tell := func(msgs ...any) {
		for _, m := range msgs {
			p.Ref().Tell(m)
		}
	}
	tell("a", 1, 2, "b", 3)
	if n := actortest.Fish(p, func(n int) bool { return n > 1 }); n != 2 {
		t.Error(n)
	}
	if s := actortest.Fish[string](p, nil); s != "b" {
		t.Error(s)
	}
	p.Expect(3)
	tell("x", "y", "z")
	got := p.ReceiveN(3)
	if len(got) != 3 || got[0].Msg != "x" || got[2].Msg != "z" {
		t.Error(got)
	}
	tell(1, 2, 3)
	p.ExpectAll(3, 1, 2)
}

func TestClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := actortest.NewProbe(t, actortest.NewSystem(t))
		p.Ref().Tell(1)
		p.Ref().Tell(2)
		synctest.Wait()
		if got := p.Clear(); len(got) != 2 || got[0].Msg != 1 {
			t.Error(got)
		}
		p.ExpectNone(time.Hour)
	})
}

type inner struct {
	n    []int
	more map[string]any
	next *inner
}

type outer struct {
	Who  actor.Ref
	in   inner
	when time.Duration
}

func TestExpectComparesByContents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem(t)
		a, b := actortest.NewProbe(t, sys, named("a")).Ref(), actortest.NewProbe(t, sys, named("b")).Ref()
		value := func(who actor.Ref) outer {
			return outer{who, inner{[]int{1, 2}, map[string]any{"k": 1.5}, &inner{}}, time.Second}
		}
		loop := func() *inner {
			l := &inner{}
			l.next = l
			return l
		}
		p := actortest.NewProbe(t, sys)
		p.Ref().Tell(value(a))
		p.Expect(value(a))
		p.Ref().Tell(loop())
		p.Expect(loop())
		p.Ref().Tell(nil)
		p.Expect(nil)
		for name, c := range map[string]struct {
			got, want any
			lines     []string
		}{
			"refs": {value(a), value(b), []string{"\n\tWho: got troupe://test/user/a, want troupe://test/user/b"}},
			"deep": {value(a), outer{a, inner{[]int{1, 3}, map[string]any{"k": 2.5, "l": "x"}, nil}, time.Second}, []string{
				"\n\tin.n[1]: got 2, want 3", "\n\tin.more[\"k\"]: got 1.5, want 2.5", "\n\tin.more[\"l\"]: got no such key, want x", "\n\tin.next: got ",
			}},
			"lengths":    {inner{n: []int{1}}, inner{n: []int{1, 2}}, []string{"\n\tn: got 1 elements, want 2: got [1], want [1 2]"}},
			"types":      {map[string]any{"k": 1}, map[string]any{"k": "1"}, []string{"\n\t[\"k\"]: got a int, 1, want a string, \"1\""}},
			"keys":       {map[int]int{1: 1}, map[int]int{}, []string{"\n\t[1]: got 1, want no such key"}},
			"nil":        {nil, 1, []string{"got nil, want int 1"}},
			"nil slice":  {[]int(nil), []int{}, []string{"got []int [], want []int []"}},
			"functions":  {[]func(){func() {}}, []func(){func() {}}, []string{"\n\t[0]: functions are equal only if both are nil"}},
			"many":       {[30]int{}, ones(), []string{"\n\t[9]: got 0, want 1", "\n\tand 20 more"}},
			"long":       {strings.Repeat("x", 5000), "", []string{"xxx…, want string "}},
			"what waits": {1, 2, []string{"\nbehind it: [string waits]"}},
		} {
			got := said(t, sys, func(p *actortest.Probe) {
				p.Ref().Tell(c.got)
				p.Ref().Tell("waits")
				synctest.Wait()
				p.Expect(c.want)
			})
			for _, line := range c.lines {
				if !strings.Contains(got, line) {
					t.Errorf("%s: %q, want %q in it", name, got, line)
				}
			}
			if len(got) > 1500 {
				t.Errorf("%s: %d characters", name, len(got))
			}
		}
	})
}

func named(name string) func(*actortest.ProbeConfig) {
	return func(c *actortest.ProbeConfig) { c.Name = name }
}

func ones() (a [30]int) {
	for i := range a {
		a[i] = 1
	}
	return a
}

func TestMoreFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem(t)
		tell := func(p *actortest.Probe, msgs ...any) {
			for _, m := range msgs {
				p.Ref().Tell(m)
			}
		}
		for name, c := range map[string]struct {
			f    func(*actortest.Probe)
			want string
		}{
			"fish": {func(p *actortest.Probe) {
				tell(p, 1, "a")
				actortest.Fish(p, func(n int) bool { return n == 2 })
			}, "no int that is right within 50ms; 2 others came: [int 1, string a]"},
			"receive":   {func(p *actortest.Probe) { tell(p, 1); p.ReceiveN(3) }, "1 of 3 messages within 50ms: [int 1]"},
			"all":       {func(p *actortest.Probe) { tell(p, 1, 2); p.ExpectAll(2, 3) }, "missing [int 3], got [int 1] in their place; got [int 1, int 2] in all"},
			"before":    {func(p *actortest.Probe) { tell(p, 1); p.Next(); p.Expect(2) }, "no message within 50ms, want int 2; 1 came before, the last was int 1"},
			"no sender": {func(p *actortest.Probe) { tell(p, 1); p.Next(); p.Reply(2) }, "nobody to reply to: the last message taken, int 1, has no sender"},
			"end":       {func(p *actortest.Probe) { tell(p, 1); p.ExpectTerminated(p.Ref()) }, "got int 1, want the end of troupe://"},
			"child":     {func(p *actortest.Probe) { p.Spawn("a/b", idler) }, "is not allowed"},
		} {
			if got := said(t, sys, c.f); !strings.Contains(got, c.want) {
				t.Errorf("%s: %q, want %q in it", name, got, c.want)
			}
		}
	})
}

func TestProbeConfig(t *testing.T) {
	sys := actortest.NewSystem(t)
	for _, c := range []struct {
		opt  func(*actortest.ProbeConfig)
		want string
	}{
		{func(c *actortest.ProbeConfig) { c.Wait = -1 }, "Wait must be positive"},
		{named("a/b"), "is not allowed"},
	} {
		got := failure(t, func(tb testing.TB) { actortest.NewProbe(tb, sys, c.opt) })
		if !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q in it", got, c.want)
		}
	}
	p := actortest.NewProbe(t, sys, func(c *actortest.ProbeConfig) { c.Wait = time.Hour })
	if p.Wait != time.Hour {
		t.Error(p.Wait)
	}
}

// TestProbeThatIsStuck has a probe whose own handler does not return.
func TestProbeThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := actortest.NewSystem(t)
		release := make(chan struct{})
		defer close(release)
		stuck := func(c *actortest.ProbeConfig) {
			c.Auto = func(*actor.Context, any) error { <-release; return nil }
		}
		for want, f := range map[string]func(*actortest.Probe){
			"the probe has not stopped within 3s":        (*actortest.Probe).Stop,
			"the probe's actor did not answer within 3s": func(p *actortest.Probe) { p.Watch(p.Ref()) },
		} {
			got := failure(t, func(tb testing.TB) {
				p := actortest.NewProbe(tb, sys, stuck)
				p.Ref().Tell(1)
				f(p)
			})
			if !strings.Contains(got, want) {
				t.Errorf("%q, want %q in it", got, want)
			}
		}
	})
}
