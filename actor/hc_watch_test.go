package actor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

func TestHC_M1_Terminated_survives_a_full_mailbox(t *testing.T) {
	for _, o := range []Overflow{DropOldest, RejectNewest} {
		bubble(t, func(t *testing.T, s *System, r *record) {
			x := mustSpawn(t, s, "x", always(&script{}))
			w := mustSpawn(t, s, "w", always(&script{recv: r.note, pre: do(func(ctx *Context) { ctx.Watch(x) })}), bounded(2, o))
			r.at(0)
			w.Tell(10 * ms)
			r.at(1 * ms)
			w.Tell("a")
			w.Tell("b")
			x.Tell(PoisonPill{})
			r.at(2 * ms)
			for _, m := range []string{"c", "d"} {
				w.Tell(m)
			}
			r.at(20 * ms)
			if o == DropOldest {
				r.want(t, "10 slow", "10 ended x", "10 c", "10 d")
			} else {
				r.want(t, "10 slow", "10 a", "10 b", "10 ended x")
			}
		})
	}
}

func TestHC_M2_W1_full_watcher_does_not_hang_the_end(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		x := mustSpawn(t, s, "x", always(&script{}))
		w := mustSpawn(t, s, "w", always(&script{recv: r.note, pre: do(func(ctx *Context) { ctx.Watch(x) })}),
			bounded(1, RejectNewest), slowly(Stop))
		w.Tell(errBoom)
		r.at(1 * ms)
		w.Tell("full")
		r.watcher(t, s, x)
		x.Tell(PoisonPill{})
		r.at(2 * ms)
		r.want(t, "0 fails", "1 ended x: <nil>")
	})
}

func TestHC_M3_bound_while_suspended(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), bounded(2, DropOldest), slowly(Resume))
		b := mustSpawn(t, s, "b", always(&script{recv: r.note}), bounded(2, RejectNewest), slowly(Resume))
		a.Tell(errBoom)
		b.Tell(errBoom)
		r.at(1 * ms)
		for i := range 4 {
			if err := a.TryTell(i); err != nil {
				t.Error(err)
			}
			if err := b.TryTell(i); (err == nil) != (i < 2) || err != nil && !errors.Is(err, ErrMailboxFull) {
				t.Errorf("%d: %v", i, err)
			}
		}
		r.at(50 * ms)
		r.want(t, "0 fails", "0 fails", "1 dead 0 to a: actor: mailbox full", "1 dead 1 to a: actor: mailbox full")
		b.Tell(9)
		r.at(60 * ms)
		if l := r.lines(); l[len(l)-1] != "50 dead 9 to b: actor: mailbox full" {
			t.Errorf("%q", l)
		}
		r.reset()
		r.at(250 * ms)
		if l := r.lines(); len(l) != 4 {
			t.Errorf("%q", l)
		}
	})
}

// HC-M5: what comes back from the stash is never dropped, neither on its way nor by what comes later.
func TestHC_M5_unstash_exceeds_the_bound(t *testing.T) {
	for _, o := range []Overflow{DropOldest, RejectNewest} {
		bubble(t, func(t *testing.T, s *System, r *record) {
			open := false
			a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error {
				switch {
				case msg == any("open"):
					open = true
					ctx.UnstashAll()
					pause(10 * ms)
					return nil
				case !open:
					return ctx.Stash()
				}
				return r.note(ctx, msg)
			}}), bounded(2, o))
			for i := range 5 {
				a.Tell(i)
				r.at(0)
			}
			a.Tell("open")
			r.at(1 * ms)
			a.Tell(5)
			a.Tell(6)
			a.Tell(7)
			r.at(20 * ms)
			want := []string{"10 0", "10 1", "10 2", "10 3", "10 4", "10 6", "10 7"}
			if o == RejectNewest {
				want = []string{"10 0", "10 1", "10 2", "10 3", "10 4", "10 5", "10 6"}
			}
			r.want(t, want...)
		})
	}
}

func TestHC_W2_W4_watching_what_cannot_be_watched(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{}))
		a.Tell(PoisonPill{})
		r.at(0)
		w := mustSpawn(t, s, "w", always(&script{recv: func(ctx *Context, msg any) error {
			switch m := msg.(type) {
			case string:
				ctx.Watch(ctx.Sender()) // an ask has no life of its own: answered at once
				ctx.Reply("ok")
			case Terminated:
				r.add("ended %s", m.Ref)
			}
			return nil
		}}))
		w.Tell(do(func(ctx *Context) {
			ctx.Watch(a) // has stopped already: answered at once
			ctx.Watch(ctx.Self())
			ctx.Watch(Ref{})
			ctx.Unwatch(Ref{})
		}))
		if _, err := Ask[string](t.Context(), w, "watch me"); err != nil {
			t.Error(err)
		}
		r.at(0)
		r.want(t, "0 ended troupe://test/user/a", "0 ended troupe://test/temp/ask")
		w.Tell(PoisonPill{})
		r.at(0)
	})
}

func TestHC_W3_forged_Terminated(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		x := mustSpawn(t, s, "x", always(&script{}))
		w := mustSpawn(t, s, "w", always(&script{recv: r.note, pre: do(func(ctx *Context) { ctx.Watch(x) })}))
		w.Tell(Terminated{Ref: x})
		r.at(1 * ms)
		r.want(t, fmt.Sprintf("0 dead {%v <nil>} to w: %v", x, ErrForged))
		r.reset()
		x.Tell(PoisonPill{})
		r.at(2 * ms)
		r.want(t, "1 ended x") // and the real one is not lost over it
	})
}

func TestWatchRules(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		refs := map[string]Ref{}
		for _, name := range []string{"twice", "with", "back", "unwatched", "late", "restarted"} {
			refs[name] = mustSpawn(t, s, name, always(&script{recv: r.note}))
		}
		w := mustSpawn(t, s, "w", always(&script{recv: r.note}))
		w.Tell(do(func(ctx *Context) {
			ctx.Watch(refs["twice"])
			ctx.Watch(refs["twice"])
			ctx.Watch(refs["with"])
			ctx.WatchWith(refs["with"], "with its own message")
			ctx.WatchWith(refs["back"], "x")
			ctx.Watch(refs["back"])
			ctx.Watch(refs["unwatched"])
			ctx.Unwatch(refs["unwatched"])
			ctx.Watch(refs["restarted"])
		}))
		r.at(0)
		refs["restarted"].Tell(errBoom) // a restart is not the end
		r.at(0)
		for _, name := range []string{"twice", "with", "back", "unwatched"} {
			refs[name].Tell(PoisonPill{})
			r.at(0)
		}
		r.want(t, "0 fails", "0 ended twice", "0 with its own message", "0 ended back")
		// Unwatch holds also when the Terminated waits in the mailbox already.
		w.Tell(do(func(ctx *Context) {
			ctx.Watch(refs["late"])
			pause(10 * ms)
			ctx.Unwatch(refs["late"])
		}))
		r.at(1 * ms)
		refs["late"].Tell(PoisonPill{})
		r.at(20 * ms)
		if n := len(r.lines()); n != 4 {
			t.Errorf("%q", r.lines())
		}
		if n := len(w.n.cell().watches().of); n != 1 { // restarted
			t.Errorf("%d registrations are left", n)
		}
		w.Tell(PoisonPill{})
		r.at(30 * ms)
		if k := refs["restarted"].n.cell().watches(); len(k.by.few) != 0 || len(k.by.many) != 0 {
			t.Error("the watcher's end has left a registration behind")
		}
	})
}

// Terminated comes behind what has been told before, and can be stashed like any message.
func TestTerminatedIsAtTheTailAndCanBeStashed(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		x := mustSpawn(t, s, "x", always(&script{recv: func(ctx *Context, msg any) error {
			ctx.Tell(msg.(Ref), "last words")
			ctx.StopSelf()
			return nil
		}}))
		stashed := false
		w := mustSpawn(t, s, "w", always(&script{recv: func(ctx *Context, msg any) error {
			if _, ok := msg.(Terminated); ok && !stashed {
				stashed = true
				r.add("stashes")
				return ctx.Stash()
			}
			return r.note(ctx, msg)
		}}))
		w.Tell(do(func(ctx *Context) { ctx.Watch(x) }))
		r.at(0)
		x.Tell(w)
		r.at(0)
		w.Tell(do((*Context).UnstashAll))
		r.at(0)
		r.want(t, "0 last words", "0 stashes", "0 ended x")
	})
}

func TestManyWatchers(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		x := mustSpawn(t, s, "x", always(&script{}))
		var n atomic.Int32
		ws := make([]Ref, 3*cellSetFew)
		for i := range ws {
			ws[i] = mustSpawn(t, s, fmt.Sprint("w", i), always(&script{
				pre:  do(func(ctx *Context) { ctx.Watch(x) }),
				recv: func(*Context, any) error { n.Add(1); return nil },
			}))
			r.at(0)
		}
		for _, w := range ws[:10] {
			w.Tell(PoisonPill{})
		}
		for _, w := range ws[10:20] {
			w.Tell(do(func(ctx *Context) { ctx.Unwatch(x) }))
		}
		r.at(0)
		x.Tell(PoisonPill{})
		r.at(0)
		if want := int32(len(ws) - 20); n.Load() != want {
			t.Errorf("%d notices, want %d", n.Load(), want)
		}
	})
}

func TestHC_P1_pill_on_a_suspended_actor(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: r.note, post: do(func(*Context) { r.add("post") })}), slowly(Resume))
		a.Tell(errBoom)
		a.Tell(PoisonPill{})
		r.at(time.Second)
		r.want(t, "0 fails", "100 post")
	})
}

func TestHC_P2_pill_before_the_start_has_ended(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{
			pre:  do(func(*Context) { pause(10 * ms); r.add("starts") }),
			recv: r.note,
			post: do(func(*Context) { r.add("post") }),
		}))
		a.Tell("m1")
		a.Tell(PoisonPill{})
		a.Tell("m2")
		r.at(20 * ms)
		r.want(t, "10 starts", "10 m1", "10 post", "10 dead m2 to a: actor: stopped")
	})
}

func TestHC_P3_told_to_self_in_PostStop(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{post: do(func(ctx *Context) { ctx.Tell(ctx.Self(), "m") })}))
		a.Tell(PoisonPill{})
		r.at(0)
		r.want(t, "0 dead m to a: actor: stopped")
	})
}

func TestHC_P5_StopSelf_does_not_drain(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}))
		a.Tell(do(func(ctx *Context) { ctx.StopSelf(); ctx.StopSelf(); r.add("the rest of the handler runs"); pause(ms) }))
		a.Tell("m")
		a.Tell(PoisonPill{}) // no dead letter: it has what it wanted
		r.at(10 * ms)
		r.want(t, "0 the rest of the handler runs", "1 dead m to a: actor: stopped")
		a.Tell(PoisonPill{})
		a.Tell(Kill{})
		a.Tell("late")
		r.at(20 * ms)
		r.want(t, "0 the rest of the handler runs", "1 dead m to a: actor: stopped", "10 dead late to a: actor: stopped")
	})
}

func TestStopOrder(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var a Ref
		observer := mustSpawn(t, s, "observer", always(&script{recv: func(_ *Context, msg any) error {
			switch m := msg.(type) {
			case ActorStopped:
				r.add("event: %s stopped", m.Ref.Name())
			case DeadLetter:
				r.add("dead %v", m.Msg)
			default:
				return r.note(nil, msg)
			}
			return nil
		}}))
		Subscribe[ActorStopped](s.EventStream(), observer)
		Subscribe[DeadLetter](s.EventStream(), observer)
		a = mustSpawn(t, s, "a", always(&script{
			recv: func(ctx *Context, msg any) error {
				if msg == any("stash") {
					return ctx.Stash()
				}
				return r.note(ctx, msg)
			},
			pre: do(func(ctx *Context) {
				spawnKid(ctx, "kid", always(&script{post: do(func(ctx *Context) { ctx.Tell(observer, "kid post") })}))
			}),
			post: do(func(ctx *Context) { ctx.Tell(observer, "post") }),
		}))
		Subscribe[ActorRestarted](s.EventStream(), a)
		observer.Tell(do(func(ctx *Context) { ctx.Watch(a) }))
		a.Tell("stash")
		r.at(0)
		a.Tell(do(func(ctx *Context) { ctx.StopSelf(); pause(ms) }))
		a.Tell("queued")
		r.at(2 * ms)
		r.want(t, "1 kid post", "1 event: kid stopped", "1 post", "1 dead stash", "1 dead queued", "1 event: a stopped", "1 ended a")
		if s.events.subs.Load() == nil || len(*s.events.subs.Load()) != 2 {
			t.Error("the subscription of the stopped actor is left")
		}
	})
}

// TestGracefulStop waits for what was told before, for PostStop and for children, and is hard when the time is up.
func TestGracefulStop(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		parent := func() Actor {
			return &script{
				pre: do(func(ctx *Context) {
					spawnKid(ctx, "kid", always(&script{post: do(func(*Context) { pause(10 * ms); r.add("kid ends") })}))
				}),
				recv: r.note,
				post: do(func(*Context) { pause(5 * ms); r.add("post") }),
			}
		}
		a := mustSpawn(t, s, "a", parent)
		a.Tell(20 * ms)
		a.Tell("m")
		if a.Stopping() {
			t.Error("not yet")
		}
		if err := a.Stop(t.Context()); err != nil || !a.Stopping() {
			t.Error(err, a.Stopping())
		}
		r.want(t, "20 slow", "20 m", "30 kid ends", "35 post")
		r.add("ended")
		if err := a.Stop(t.Context()); err != nil {
			t.Errorf("a second time: %v", err)
		}

		b := mustSpawn(t, s, "b", always(&script{recv: r.note, post: do(func(*Context) { r.add("b ends") })}))
		b.Tell(20 * ms)
		b.Tell("dropped")
		ctx, cancel := context.WithTimeout(t.Context(), 10*ms)
		defer cancel()
		if err := b.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		r.add("gave up")
		c := mustSpawn(t, s, "c", always(&script{recv: r.note, post: do(func(*Context) { r.add("c ends") })}))
		c.Tell("dropped")
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Stop(over); !errors.Is(err, context.Canceled) { // no time at all
			t.Error(err)
		}
		r.at(time.Second)
		want := []string{"20 slow", "20 m", "30 kid ends", "35 post", "35 ended", "45 gave up", "45 c ends", "55 slow", "55 b ends"}
		r.want(t, want...)
		if err := (Ref{}).Stop(t.Context()); !errors.Is(err, ErrNoRecipient) || !(Ref{}).Stopping() {
			t.Error(err)
		}
	})
}
