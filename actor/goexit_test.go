package actor

import (
	"errors"
	"runtime"
	"testing"
)

func goexit() { runtime.Goexit() }

// done is a completion that records how it ended.
type done struct {
	r    *record
	name string
	f    func() // what else it does
}

func (d *done) Done(err error) {
	d.r.add("%s done: %v", d.name, err)
	if d.f != nil {
		d.f()
	}
}

func (r *record) send(to Ref, msg any, name string) {
	Send(to, Envelope{Msg: msg, Done: &done{r: r, name: name}})
}

// Foreign code may panic or end its goroutine at every place where it is called; the actor goes on behind it.
func TestForeignCodeThatEndsItsGoroutine(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": goexit} {
		t.Run(name, func(t *testing.T) {
			for name, run := range map[string]func(*testing.T, *System, *record, func()){
				"handler": endsInHandler, "start": endsInStart, "PreRestart": endsInPreRestart, "PostStop": endsInPostStop,
				"decider": endsInDecider, "completion": endsInCompletion, "completion at the end": endsInCompletionAtTheEnd,
				"completion at a restart": endsInCompletionAtARestart, "behaviour": endsInBehaviour,
			} {
				t.Run(name, func(t *testing.T) {
					bubble(t, func(t *testing.T, s *System, r *record) { run(t, s, r, end) })
				})
			}
		})
	}
}

func endsInHandler(t *testing.T, s *System, r *record, end func()) {
	a := mustSpawn(t, s, "a", r.counted())
	a.Tell(do(func(*Context) { end() }))
	a.Tell("m")
	r.at(0)
	l := r.lines()
	if len(l) != 4 || l[3] != "0 m" {
		t.Errorf("%q", l)
	}
}

func endsInBehaviour(t *testing.T, s *System, r *record, end func()) {
	a := mustSpawn(t, s, "a", r.counted())
	a.Tell(do(func(ctx *Context) { ctx.Become(func(*Context, any) error { end(); return nil }) }))
	a.Tell("x")
	a.Tell("m")
	r.at(0)
	l := r.lines()
	if len(l) != 4 || l[3] != "0 m" {
		t.Errorf("%q", l)
	}
}

func endsInStart(t *testing.T, s *System, r *record, end func()) {
	n := 0
	a := mustSpawn(t, s, "a", func() Actor {
		n++
		return &script{recv: r.note, pre: do(func(*Context) {
			if r.add("start %d", n); n < 3 {
				end()
			}
		})}
	}, supervisedBy(Resume)) // there is nothing to resume: it is started again
	a.Tell("m")
	r.at(0)
	r.want(t, "0 start 1", "0 start 2", "0 start 3", "0 m")
}

// quitter ends its goroutine in PreRestart.
type quitter struct {
	script
	end func()
}

func (q *quitter) PreRestart(*Context, error, any) error { q.end(); return nil }

func endsInPreRestart(t *testing.T, s *System, r *record, end func()) {
	a := mustSpawn(t, s, "a", always(&quitter{script{recv: r.note}, end}))
	a.Tell(do(func(ctx *Context) {
		spawnKid(ctx, "kid", always(&script{post: do(func(*Context) { r.add("kid ends") })}))
	}))
	a.Tell(errBoom)
	a.Tell("m")
	r.at(0)
	r.want(t, "0 fails", "0 kid ends", "0 m")
}

func endsInPostStop(t *testing.T, s *System, r *record, end func()) {
	n := 0
	a := mustSpawn(t, s, "a", always(&script{post: do(func(*Context) { n++; end() })}))
	r.watcher(t, s, a)
	a.Tell(do(func(ctx *Context) { ctx.StopSelf(); end() })) // twice in one stop
	r.at(0)
	r.want(t, "0 ended a: <nil>")
	if n != 1 {
		t.Errorf("PostStop ran %d times", n)
	}
}

func endsInDecider(t *testing.T, s *System, r *record, end func()) {
	var kid Ref
	a := mustSpawn(t, s, "a", func() Actor {
		return &script{
			sup: Supervisor{Decide: func(Ref, error) Directive { end(); return Resume }},
			pre: do(func(ctx *Context) {
				r.add("start")
				kid = spawnKid(ctx, "kid", always(&script{recv: r.note}))
			}),
			recv: r.note,
		}
	})
	r.at(0)
	kid.Tell(errBoom)
	r.at(0)
	a.Tell("m")
	r.at(0)
	r.want(t, "0 start", "0 fails", "0 start", "0 m") // escalated: the parent was restarted
}

func endsInCompletion(t *testing.T, s *System, r *record, end func()) {
	a := mustSpawn(t, s, "a", always(&script{recv: r.note}), supervisedBy(Restart))
	Send(a, Envelope{Msg: "m1", Done: &done{r, "m1", end}})
	Send(a, Envelope{Msg: errBoom, Done: &done{r, "m2", end}}) // the failure is not lost over it
	a.Tell("m3")
	r.at(0)
	r.want(t, "0 m1", "0 m1 done: <nil>", "0 fails", "0 m2 done: boom", "0 m3")
	if n := a.n.cell().instanceForTest(); n != 2 {
		t.Errorf("instance %d after a failure", n)
	}
}

func endsInCompletionAtTheEnd(t *testing.T, s *System, r *record, end func()) {
	a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
		switch msg {
		case "hold":
			ctx.Hold()
		case "stash":
			return ctx.Stash()
		}
		return r.note(ctx, msg)
	}}))
	r.watcher(t, s, a)
	all := make(chan struct{}) // are told before the actor begins
	a.Tell(do(func(*Context) { <-all }))
	for _, m := range []string{"stash", "hold"} {
		Send(a, Envelope{Msg: m, Done: &done{r, m + "1", end}})
		Send(a, Envelope{Msg: m, Done: &done{r, m + "2", end}})
	}
	a.Tell(PoisonPill{})
	Send(a, Envelope{Msg: "m", Done: &done{r, "left1", end}})
	Send(a, Envelope{Msg: "m", Done: &done{r, "left2", end}})
	close(all)
	r.at(0)
	r.want(t, "0 hold", "0 hold", "0 stash1 done: actor: dead letter", "0 stash2 done: actor: dead letter", "0 left1 done: actor: dead letter",
		"0 left2 done: actor: dead letter", "0 hold2 done: actor: stopped", "0 hold1 done: actor: stopped", "0 ended a: <nil>")
}

func endsInCompletionAtARestart(t *testing.T, s *System, r *record, end func()) {
	a := mustSpawn(t, s, "a", always(&hooked{r: r, recv: func(ctx *Context, msg any) error {
		switch msg {
		case "hold":
			ctx.Hold()
			return nil
		case "stash":
			return ctx.Stash()
		}
		return r.note(ctx, msg)
	}}))
	Send(a, Envelope{Msg: "stash", Done: &done{r, "stash", end}})
	Send(a, Envelope{Msg: "hold", Done: &done{r, "hold", end}})
	a.Tell(errBoom)
	a.Tell("m")
	r.at(0)
	r.want(t, "0 0 PreStart", "0 fails", "0 stash done: actor: dead letter", "0 0 PreRestart boom boom",
		"0 hold done: actor: belongs to the instance before the restart", "0 0 PostRestart boom", "0 m")
}

// An option of a spawn is foreign code too; it runs on the caller's goroutine.
func TestSpawnOptionThatPanics(t *testing.T) {
	s := newTestSystem(t)
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Spawn("a", always(&script{}), func(*SpawnConfig) { panic("boom") })
		t.Error("no panic")
	}()
	mustSpawn(t, s, "a", always(&script{}))
}

func TestGoexitIsTheFailure(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{}), supervisedBy(Stop))
		r.watcher(t, s, a)
		r.send(a, do(func(*Context) { goexit() }), "m")
		r.at(0)
		r.want(t, "0 m done: "+ErrGoexit.Error(), "0 ended a: "+ErrGoexit.Error())
	})
}

func TestPanicIsTheFailure(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var cause error
		a := mustSpawn(t, s, "a", always(&script{}), func(c *SpawnConfig) {
			c.Supervisor = &Supervisor{Decide: func(_ Ref, err error) Directive { cause = err; return Stop }}
		})
		a.Tell(do(func(*Context) { panic(errBoom) }))
		r.at(0)
		var p *PanicError
		if !errors.As(cause, &p) || !errors.Is(cause, errBoom) || len(p.Stack) == 0 {
			t.Errorf("%#v", cause)
		}
	})
}
