package actor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// bubbled hides the Deadline of a T, which may not be asked for in a bubble.
type bubbled struct{ rapid.TB }

// TestCellModel does the same at random to a small tree of actors and to a model of it, and compares after each step
// what every actor has seen, who lives, and what became of every single message.
func TestCellModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubbled{t}, func(rt *rapid.T) {
			w := newWorld(t)
			defer w.end(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"spawn": w.spawn, "burst": w.burst, "watch": w.watch, "child": w.child, "stop": w.stopOne, "ask": w.ask,
				"advance": w.advance, "": w.check,
			})
		})
	})
}

// op is a message of the model test. Its completion notes how it ended.
type op struct {
	id   int
	kind string
	d    time.Duration
	w    *world
}

func (o *op) Done(err error) {
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	o.w.outcomes[o.id] = append(o.w.outcomes[o.id], outcomeOf(err))
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ErrDeadLetter):
		return "dead"
	case errors.Is(err, ErrStopped), errors.Is(err, ErrPreviousInstance):
		return "released"
	}
	return "failed"
}

// opError is the failure of a message, and says what the supervisor is to do.
type opError struct{ d Directive }

func (e *opError) Error() string { return e.d.String() }

// modelActor is what the model knows of one actor.
type modelActor struct {
	name     string
	ref      Ref
	parent   *modelActor
	alive    bool
	all      bool // its children are supervised all for one
	instance int
	seen     []string
	stash    []*op
	held     []int
	depth    int
	window   time.Duration
	since    time.Time
	tick     time.Time // when its timer fires; zero: it is not running
	watches  map[*modelActor]bool
	kids     []*modelActor
}

// world is the real actors and the model.
type world struct {
	s        *System
	mu       sync.Mutex
	real     map[string][]string // what the real actors saw, by name
	outcomes map[int][]string
	want     map[int]string // of the messages that have ended
	actors   []*modelActor
	ops      int
	kids     int
}

func newWorld(t *testing.T) *world {
	s, err := NewSystem("model", quiet)
	if err != nil {
		t.Fatal(err)
	}
	return &world{s: s, real: map[string][]string{}, outcomes: map[int][]string{}, want: map[int]string{}}
}

func (w *world) saw(name, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.real[name] = append(w.real[name], what)
}

// player is the real actor.
type player struct {
	w        *world
	name     string
	instance int
	all      bool
}

func (p *player) Supervisor() Supervisor {
	return Supervisor{Decide: decideOp, MaxRestarts: -1, AllForOne: p.all}
}

// decideTop is decideOp for those whose parent is not to fail.
func decideTop(k Ref, cause error) Directive {
	if d := decideOp(k, cause); d != Escalate {
		return d
	}
	return Restart
}

func decideOp(_ Ref, cause error) Directive {
	var e *opError
	if errors.As(cause, &e) {
		return e.d
	}
	return Restart
}

func (p *player) Receive(ctx *Context, msg any) error { return p.play(ctx, msg, 0) }

func (p *player) play(ctx *Context, msg any, depth int) error {
	note := func(what string) { p.w.saw(p.name, fmt.Sprintf("%d/%d %s", p.instance, depth, what)) }
	switch m := msg.(type) {
	case ReceiveTimeout:
		note("RT")
	case Terminated:
		note("ended " + m.Ref.Name())
	case string:
		note(m)
	case func(*Context):
		m(ctx)
	case *op:
		switch m.kind {
		case "stash":
			m.kind = "stashed"
			return ctx.Stash()
		case "unstash":
			ctx.UnstashAll()
		case "push":
			ctx.BecomeStacked(func(ctx *Context, msg any) error { return p.play(ctx, msg, depth+1) })
		case "pop":
			ctx.Unbecome()
		case "hold":
			ctx.Hold()
		case "window":
			ctx.SetReceiveTimeout(m.d)
		case "timer":
			if err := ctx.Timers().StartSingle("t", "tick", m.d); err != nil {
				note(err.Error())
			}
		case "untimer":
			ctx.Timers().Cancel("t")
		case "reply":
			ctx.Reply(m.id)
		case "reject":
			return Reject(&opError{Stop})
		case "goexit":
			runtime.Goexit()
		case "escalate":
			return &opError{Escalate}
		case "restart":
			return &opError{Restart}
		case "resume":
			panic(&opError{Resume})
		case "stop":
			return &opError{Stop}
		case "self":
			ctx.StopSelf()
		}
		note(fmt.Sprint(m.kind, " ", m.id))
	}
	return nil
}

func (w *world) factory(a *modelActor) func() Actor {
	n := 0
	return func() Actor {
		n++
		return &player{w, a.name, n, a.all}
	}
}

func (w *world) living() (alive []*modelActor) {
	for _, a := range w.actors {
		if a.alive {
			alive = append(alive, a)
		}
	}
	return alive
}

func (w *world) pick(t *rapid.T) *modelActor {
	alive := w.living()
	if len(alive) == 0 {
		t.Skip("nobody lives")
	}
	return alive[rapid.IntRange(0, len(alive)-1).Draw(t, "actor")]
}

func (w *world) spawn(t *rapid.T) {
	if len(w.living()) > 8 {
		t.Skip("enough")
	}
	w.kids++
	a := &modelActor{name: fmt.Sprint("a", w.kids), alive: true, instance: 1, all: rapid.Bool().Draw(t, "all"), watches: map[*modelActor]bool{}}
	ref, err := w.s.Spawn(a.name, w.factory(a), func(c *SpawnConfig) {
		c.Supervisor = &Supervisor{Decide: decideTop, MaxRestarts: -1}
	})
	if err != nil {
		t.Fatal(err)
	}
	a.ref = ref
	w.actors = append(w.actors, a)
}

func (w *world) child(t *rapid.T) {
	p := w.pick(t)
	if p.parent != nil && p.parent.parent != nil {
		t.Skip("deep enough")
	}
	w.kids++
	a := &modelActor{name: fmt.Sprint("a", w.kids), parent: p, alive: true, instance: 1, all: rapid.Bool().Draw(t, "all"), watches: map[*modelActor]bool{}}
	p.ref.Tell(func(ctx *Context) {
		var err error
		if a.ref, err = ctx.Spawn(a.name, w.factory(a)); err != nil {
			w.saw("errors", err.Error())
		}
	})
	synctest.Wait()
	p.since = time.Now()
	p.kids = append(p.kids, a)
	w.actors = append(w.actors, a)
}

func (w *world) watch(t *rapid.T) {
	a := w.pick(t)
	b := w.actors[rapid.IntRange(0, len(w.actors)-1).Draw(t, "subject")]
	on, with := rapid.Bool().Draw(t, "on"), rapid.Bool().Draw(t, "with")
	if a.root() == b.root() && !a.below(b) && !b.below(a) {
		t.Skip("they may stop at the same moment, with or without hearing of each other")
	}
	a.ref.Tell(func(ctx *Context) {
		if on && with {
			ctx.WatchWith(b.ref, "ended "+b.name)
		} else if on {
			ctx.Watch(b.ref)
		} else {
			ctx.Unwatch(b.ref)
		}
	})
	a.since = time.Now()
	switch {
	case a == b:
	case on && b.alive:
		a.watches[b] = true
	case on:
		a.see("ended " + b.name)
	default:
		delete(a.watches, b)
	}
}

func (a *modelActor) root() *modelActor {
	for a.parent != nil {
		a = a.parent
	}
	return a
}

func (a *modelActor) below(b *modelActor) bool {
	for ; a != nil; a = a.parent {
		if a == b {
			return true
		}
	}
	return false
}

func (a *modelActor) see(what string) {
	a.seen = append(a.seen, fmt.Sprintf("%d/%d %s", a.instance, a.depth, what))
}

// burst tells one actor several messages at once.
func (w *world) burst(t *rapid.T) {
	a := w.pick(t)
	kinds := []string{"plain", "plain", "stash", "unstash", "push", "pop", "hold", "window", "timer", "timer", "untimer",
		"reject", "restart", "goexit", "kill", "resume", "escalate", "stop", "self", "pill"}
	var ops []*op
	for range rapid.IntRange(1, 5).Draw(t, "n") {
		w.ops++
		o := &op{id: w.ops, kind: rapid.SampledFrom(kinds).Draw(t, "kind"), w: w}
		if o.kind == "window" {
			o.d = time.Duration(rapid.IntRange(0, 5).Draw(t, "window")) * 10 * ms
		}
		if o.kind == "timer" { // never at the same moment as something else
			o.d = time.Duration(rapid.IntRange(1, 5).Draw(t, "delay"))*10*ms + time.Duration(o.id)*time.Microsecond
		}
		ops = append(ops, o)
		if a.parent != nil && a.parent.all && o.fails() {
			break // a sibling that is still being restarted for one failure is not restarted for the next
		}
	}
	for _, o := range ops {
		c := *o // the model reads its own copy, the real actor changes the other
		e := Envelope{Msg: o, Done: o}
		switch o.kind {
		case "kill":
			e.Msg = Kill{}
		case "pill":
			e.Msg = PoisonPill{}
		}
		Send(a.ref, e)
		w.apply(a, &c)
	}
}

func (o *op) fails() bool {
	return slices.Contains([]string{"restart", "goexit", "kill", "stop", "escalate"}, o.kind)
}

// ask asks one of them.
func (w *world) ask(t *rapid.T) {
	a := w.pick(t)
	w.ops++
	o := &op{id: w.ops, kind: "reply", w: w}
	got, err := Ask[int](context.Background(), a.ref, o)
	if err != nil || got != o.id {
		t.Fatalf("%s answered %d, %v", a.name, got, err)
	}
	w.apply(a, o)
	delete(w.want, o.id) // its completion was the ask's own
}

// apply is the model of one message.
func (w *world) apply(a *modelActor, o *op) {
	if !a.alive {
		w.want[o.id] = "dead"
		return
	}
	switch o.kind {
	case "pill":
		w.want[o.id] = "ok"
		w.stop(a)
		return
	case "kill":
		w.want[o.id] = "ok"
		w.failed(a, Restart)
		return
	}
	a.since = time.Now()
	if o.kind == "stash" {
		o.kind = "stashed"
		a.stash = append(a.stash, o)
		return
	}
	w.want[o.id] = "ok"
	if o.fails() || o.kind == "resume" || o.kind == "reject" {
		w.want[o.id] = "failed"
	} else {
		a.see(fmt.Sprint(o.kind, " ", o.id))
	}
	switch o.kind {
	case "unstash":
		back := a.stash
		a.stash = nil
		for _, s := range back {
			w.apply(a, s)
		}
	case "push":
		a.depth++
	case "pop":
		a.depth = max(0, a.depth-1)
	case "hold":
		delete(w.want, o.id)
		a.held = append(a.held, o.id)
	case "window":
		a.window = o.d
	case "timer":
		a.tick = a.since.Add(o.d)
	case "untimer":
		a.tick = time.Time{}
	case "restart", "goexit":
		w.failed(a, Restart)
	case "escalate":
		w.restart(a.root())
	case "stop":
		w.failed(a, Stop)
	case "self":
		w.stop(a)
	}
}

// failed carries a decision out, for all siblings if that is how they are supervised.
func (w *world) failed(a *modelActor, d Directive) {
	group := []*modelActor{a}
	if a.parent != nil && a.parent.all {
		group = slices.Clone(a.parent.kids)
	}
	for _, b := range group {
		switch {
		case !b.alive:
		case d == Stop:
			w.stop(b)
		default:
			w.restart(b)
		}
	}
}

func (w *world) restart(a *modelActor) {
	w.dropStash(a)
	w.stopKids(a)
	w.release(a)
	a.instance++
	a.depth, a.window, a.tick = 0, 0, time.Time{}
}

func (w *world) dropStash(a *modelActor) {
	for _, s := range a.stash {
		w.want[s.id] = "dead"
	}
	a.stash = nil
}

func (w *world) release(a *modelActor) {
	for _, id := range a.held {
		w.want[id] = "released"
	}
	a.held = nil
}

func (w *world) stopKids(a *modelActor) {
	for _, k := range a.kids {
		w.stop(k)
	}
	a.kids = nil
}

func (w *world) stop(a *modelActor) {
	if !a.alive {
		return
	}
	a.alive = false
	w.dropStash(a)
	w.stopKids(a)
	w.release(a)
	a.watches = nil
	for _, b := range w.actors {
		if b.alive && b.watches[a] {
			delete(b.watches, a)
			b.see("ended " + a.name)
		}
	}
}

func (w *world) stopOne(t *rapid.T) {
	a := w.pick(t)
	a.ref.Tell(PoisonPill{})
	w.stop(a)
}

func (w *world) advance(t *rapid.T) {
	d := time.Duration(rapid.IntRange(1, 70).Draw(t, "ms"))*ms + 1
	until := time.Now().Add(d)
	for _, a := range w.living() {
		for {
			next, what := until, ""
			if at := a.since.Add(a.window); a.window > 0 && !at.After(next) {
				next, what = at, "RT"
			}
			if !a.tick.IsZero() && !a.tick.After(next) {
				next, what = a.tick, "tick"
				a.tick = time.Time{}
			}
			if what == "" {
				break
			}
			a.since = next
			a.see(what)
		}
	}
	time.Sleep(d)
}

// check compares. Notices of deaths come from other actors at the same moment, so where exactly they come is left open,
// and an actor that has ended itself may have missed the last ones.
func (w *world) check(t *rapid.T) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.real["errors"]) > 0 {
		t.Fatal(w.real["errors"])
	}
	for _, a := range w.actors {
		got, deaths := apart(w.real[a.name])
		want, wantDeaths := apart(a.seen)
		if !slices.Equal(got, want) {
			t.Fatalf("%s saw\n%q, want\n%q", a.name, got, want)
		}
		if !slices.Equal(deaths, wantDeaths) && (a.alive || !subset(deaths, wantDeaths)) {
			t.Fatalf("%s heard of the end of\n%q, want\n%q", a.name, deaths, wantDeaths)
		}
		if a.ref.n.cell().closedForTest() == a.alive {
			t.Fatalf("%s is alive: %t", a.name, !a.alive)
		}
	}
	for id := 1; id <= w.ops; id++ {
		got, want := w.outcomes[id], w.want[id]
		if want == "" && len(got) == 0 || len(got) == 1 && got[0] == want {
			continue
		}
		t.Fatalf("message %d ended %q, want once %q", id, got, want)
	}
}

// apart takes the deaths out, sorted and without the instance that heard of them.
func apart(seen []string) (rest, deaths []string) {
	for _, what := range seen {
		if _, name, ok := strings.Cut(what, "ended "); ok {
			deaths = append(deaths, name)
		} else {
			rest = append(rest, what)
		}
	}
	slices.Sort(deaths)
	return rest, deaths
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

func (w *world) end(t *rapid.T) {
	if t.Failed() {
		go func() { _ = w.s.Terminate(w.s.user.lifetime()) }()
		<-w.s.Terminated()
		return
	}
	for _, a := range w.actors {
		if a.parent == nil {
			w.stop(a)
		}
	}
	w.s.beginTerminate()
	<-w.s.Terminated()
	for _, a := range w.actors { // the order of what happens at the end is not compared
		w.mu.Lock()
		a.seen = w.real[a.name]
		w.mu.Unlock()
	}
	w.check(t)
	if n := w.s.clock.Len(); n != 0 {
		t.Fatalf("%d deadlines are left", n)
	}
}
