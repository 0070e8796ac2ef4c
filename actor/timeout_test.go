package actor

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestReceiveTimeout has every case by its number. Each runs in a bubble, so the times are exact: nothing one nanosecond
// before a window is over, and one timeout when it is.
func TestReceiveTimeout(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *System, *record)
	}{
		{"RT01_single_fire_then_stop", rt01}, {"RT02_traffic_resets", rt02}, {"RT03_cancel_after_set", rt03},
		{"RT04_zero_is_cancel", rt04}, {"RT05_negative_is_cancel", rt05}, {"RT06_repeats_until_cancelled", rt06},
		{"RT07_slow_handler_with_a_backlog", rt07}, {"RT08_hundred_queued", rt08}, {"RT09_deaths_do_not_count", rt09},
		{"RT10_forged_deaths_do_not_count", rt10}, {"RT11_watch_with_does_not_count", rt11},
		{"RT12_restart_clears", rt12}, {"RT13_queued_then_restart", rt13}, {"RT14_resume_after_a_slow_supervisor", rt14},
		{"RT15_failing_timeout_handler_resumed", rt15}, {"RT16_poison_pill", rt16}, {"RT17_stop_with_one_queued", rt17},
		{"RT18_set_in_PostStop", rt18}, {"RT19_terminate_with_a_long_window", rt19}, {"RT20_become_before_expiry", rt20},
		{"RT21_window_per_behaviour", rt21}, {"RT22_set_in_the_handler_wins", rt22}, {"RT23_cancel_while_queued", rt23},
		{"RT24_longer_while_queued", rt24}, {"RT25_ticks_count", rt25}, {"RT26_marked_ticks_do_not", rt26},
		{"RT27_stashed_timeout", rt27}, {"RT28_stashing_counts", rt28}, {"RT29_ask_in_a_handler", rt29},
		{"RT30_failing_child_does_not_count", rt30}, {"RT31_kill_does_not_count", rt31},
		{"RT32_drop_oldest_full_at_expiry", rt32}, {"RT33_reject_full_at_expiry", rt33}, {"RT34_huge_windows", rt34},
		{"RT35_not_positive_is_off", rt35}, {"RT36_slow_PreStart", rt36}, {"RT37_independent_windows", rt37},
		{"RT38_set_and_cancel_storm", rt38}, {"RT39_to_the_nanosecond", rt39}, {"RT40_told_by_user_code", rt40},
		{"RT41_log_and_sender_are_empty", rt41}, {"RT42_watchdog", rt42}, {"RT43_passivation_by_a_buffering_parent", rt43},
		{"RT44_stop_in_the_handler", rt44}, {"RT45_restart_parked_on_children", rt45},
	} {
		t.Run(c.name, func(t *testing.T) { bubble(t, c.run) })
	}
}

var errBoom = errors.New("boom")

func rt01(t *testing.T, s *System, r *record) {
	mustSpawn(t, s, "a", always(&script{
		pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) }),
		recv: func(ctx *Context, msg any) error {
			if msg == any(ReceiveTimeout{}) {
				r.add("RT")
				ctx.StopSelf()
			}
			return nil
		},
		post: do(func(*Context) { r.add("post") }),
	}))
	r.at(40*ms - 1)
	r.want(t)
	r.at(time.Second)
	r.want(t, "40 RT", "40 post")
}

func rt02(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", r.idler(50*ms))
	for i := range 5 {
		r.at(time.Duration(i+1) * 20 * ms)
		a.Tell(i)
	}
	r.at(150*ms - 1)
	r.want(t, "20 0", "40 1", "60 2", "80 3", "100 4")
	r.at(150 * ms)
	r.want(t, "20 0", "40 1", "60 2", "80 3", "100 4", "150 RT")
}

// cancelled is an actor that arms a window, ends it in the given way and hears nothing, however long.
func cancelled(t *testing.T, s *System, r *record, end func(*Context)) {
	t.Helper()
	a := mustSpawn(t, s, "a", always(&script{recv: r.note, pre: do(func(ctx *Context) {
		ctx.SetReceiveTimeout(40 * ms)
		end(ctx)
	})}))
	r.at(time.Hour)
	a.Tell(do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) }))
	r.at(time.Hour + 20*ms)
	a.Tell(do(end))
	r.at(2 * time.Hour)
	r.want(t)
	if n := s.clock.Len(); n != 0 {
		t.Errorf("%d deadlines are left", n)
	}
	a.Tell(do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) }))
	r.at(2*time.Hour + 40*ms)
	r.want(t, "7200040 RT") // so what ended it was the cancelling
}

func rt03(t *testing.T, s *System, r *record) { cancelled(t, s, r, (*Context).CancelReceiveTimeout) }

func rt04(t *testing.T, s *System, r *record) {
	cancelled(t, s, r, func(ctx *Context) { ctx.SetReceiveTimeout(0) })
}

func rt05(t *testing.T, s *System, r *record) {
	cancelled(t, s, r, func(ctx *Context) { ctx.SetReceiveTimeout(-time.Hour) })
}

func rt06(t *testing.T, s *System, r *record) {
	n := 0
	mustSpawn(t, s, "a", always(&script{
		pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(30 * ms) }),
		recv: func(ctx *Context, msg any) error {
			if n++; n == 4 {
				ctx.CancelReceiveTimeout()
			}
			return r.note(ctx, msg)
		},
	}))
	r.at(time.Second)
	r.want(t, "30 RT", "60 RT", "90 RT", "120 RT")
}

func rt07(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", r.idler(40*ms))
	a.Tell(80 * ms)
	a.Tell("b")
	a.Tell("c")
	r.at(120*ms - 1)
	r.want(t, "80 slow", "80 b", "80 c")
	r.at(120 * ms)
	r.want(t, "80 slow", "80 b", "80 c", "120 RT")
}

func rt08(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", r.idler(10*ms))
	for range 100 {
		a.Tell(1 * ms)
	}
	r.at(115 * ms)
	l := r.lines()
	if len(l) != 101 || l[99] != "100 slow" || l[100] != "110 RT" {
		t.Errorf("%q", l)
	}
}

// dying is an actor with a window that watches n children, of which one is stopped every 30 ms.
func dying(t *testing.T, s *System, r *record, n int, watch func(*Context, Ref)) {
	t.Helper()
	var kids []Ref
	a := mustSpawn(t, s, "a", always(&script{recv: r.note, pre: do(func(ctx *Context) {
		for i := range n {
			kid := spawnKid(ctx, fmt.Sprint("k", i+1), always(&script{}))
			watch(ctx, kid)
			kids = append(kids, kid)
		}
		ctx.SetReceiveTimeout(60 * ms)
	})}))
	a.Tell(do(func(*Context) {})) // started
	for i := range n {
		r.at(time.Duration(i+1) * 30 * ms)
		kids[i].Tell(PoisonPill{})
	}
}

func rt09(t *testing.T, s *System, r *record) {
	dying(t, s, r, 5, (*Context).Watch)
	r.at(150 * ms)
	r.want(t, "30 ended k1", "60 RT", "60 ended k2", "90 ended k3", "120 RT", "120 ended k4", "150 ended k5")
}

func rt10(t *testing.T, s *System, r *record) {
	other := mustSpawn(t, s, "other", always(&script{}))
	a := mustSpawn(t, s, "a", r.idler(60*ms))
	a.Tell(do(func(ctx *Context) { ctx.Watch(other) }))
	for i := range 4 {
		r.at(time.Duration(i+1) * 25 * ms)
		a.Tell(Terminated{Ref: other})
	}
	r.at(120 * ms)
	r.want(t, "60 RT", "120 RT")
}

func rt11(t *testing.T, s *System, r *record) {
	dying(t, s, r, 5, func(ctx *Context, ref Ref) { ctx.WatchWith(ref, "gone "+ref.Name()) })
	r.at(150 * ms)
	r.want(t, "30 gone k1", "60 RT", "60 gone k2", "90 gone k3", "120 RT", "120 gone k4", "150 gone k5")
}

func rt12(t *testing.T, s *System, r *record) {
	bare := mustSpawn(t, s, "bare", always(&script{recv: r.note}))
	bare.Tell(do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) }))
	r.at(20 * ms)
	bare.Tell(errBoom)
	r.at(10 * time.Second)
	r.want(t, "20 fails")
	again := mustSpawn(t, s, "again", r.idler(40*ms))
	r.at(10*time.Second + 20*ms)
	again.Tell(errBoom)
	r.at(10*time.Second + 60*ms - 1)
	r.want(t, "20 fails", "10020 fails", "10020 post")
	r.at(10*time.Second + 60*ms)
	r.want(t, "20 fails", "10020 fails", "10020 post", "10060 RT")
}

// slowly is a supervisor that takes 100 ms.
func slowly(d Directive) func(*SpawnConfig) {
	return func(c *SpawnConfig) {
		c.Supervisor = &Supervisor{Decide: func(Ref, error) Directive { pause(100 * ms); return d }}
	}
}

func rt13(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", r.idler(40*ms), slowly(Restart))
	r.at(10 * ms)
	a.Tell(errBoom)
	r.at(60 * ms)
	if n := a.n.cell().pending(); n != 1 {
		t.Fatalf("%d envelopes wait, want the timeout of 50 ms", n)
	}
	r.at(150*ms - 1) // decided at 110, and the new instance arms its own
	r.want(t, "10 fails", "110 post")
	r.at(150 * ms)
	r.want(t, "10 fails", "110 post", "150 RT")
}

func rt14(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", r.idler(40*ms), slowly(Resume))
	r.at(10 * ms)
	a.Tell(errBoom)
	r.at(110*ms - 1)
	r.want(t, "10 fails")
	r.at(150 * ms)
	r.want(t, "10 fails", "110 RT", "150 RT")
}

func rt15(t *testing.T, s *System, r *record) {
	mustSpawn(t, s, "a", always(&script{
		pre:  do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) }),
		recv: func(*Context, any) error { r.add("RT"); panic("boom") },
	}), supervisedBy(Resume))
	r.at(120 * ms)
	r.want(t, "40 RT", "80 RT", "120 RT")
}

func rt16(t *testing.T, s *System, r *record) {
	r.deadLetters(t, s)
	a := mustSpawn(t, s, "a", always(&script{
		pre:  do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) }),
		recv: r.note,
		post: do(func(*Context) { pause(60 * ms); r.add("post") }),
	}))
	r.at(20 * ms)
	a.Tell(PoisonPill{})
	r.at(21 * ms)
	if n := s.clock.Len(); n != 0 {
		t.Errorf("%d deadlines are left when the pill has been handled", n)
	}
	r.at(time.Second)
	r.want(t, "80 post")
}

// queuedTimeout has a timeout of 40 ms in the lane at 40, behind a marked handler that goes on until 100 and ends with f.
func queuedTimeout(t *testing.T, s *System, r *record, f func(*Context) error) Ref {
	t.Helper()
	a := mustSpawn(t, s, "a", r.idler(40*ms))
	r.at(0)
	a.Tell(mark{"busy", func(ctx *Context) error { pause(100 * ms); return f(ctx) }})
	r.at(50 * ms)
	if !queued(a) {
		t.Fatal("no timeout is queued")
	}
	return a
}

// queued says whether a timeout is on its way to a.
func queued(a Ref) bool {
	return a.n.cell().mb.Signalled()
}

func rt17(t *testing.T, s *System, r *record) {
	r.deadLetters(t, s)
	queuedTimeout(t, s, r, do((*Context).StopSelf))
	r.at(time.Second)
	r.want(t, "100 busy", "100 post")
}

func rt18(t *testing.T, s *System, r *record) {
	r.deadLetters(t, s)
	arm := do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms); r.add("post") })
	a := mustSpawn(t, s, "a", always(&script{recv: r.note, post: arm}))
	a.Tell(errBoom) // PostStop runs in place of PreRestart
	r.at(time.Second)
	r.want(t, "0 fails", "0 post")
	a.Tell(PoisonPill{})
	r.at(2 * time.Second)
	r.want(t, "0 fails", "0 post", "1000 post")
	if n := s.clock.Len(); n != 0 {
		t.Errorf("%d deadlines are left", n)
	}
}

func rt19(t *testing.T, s *System, r *record) {
	mustSpawn(t, s, "a", r.idler(10*time.Second))
	r.at(0)
	terminate(t, s)
	r.want(t, "0 post")
	if d := time.Since(r.t0); d != 0 {
		t.Errorf("the end took %v", d)
	}
}

func rt20(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", r.idler(40*ms))
	r.at(10 * ms)
	a.Tell(mark{"becomes", do(func(ctx *Context) {
		ctx.Become(func(*Context, any) error { r.add("other behaviour"); return nil })
	})})
	r.at(40 * ms)
	r.want(t, "10 becomes", "40 other behaviour")
}

func rt21(t *testing.T, s *System, r *record) {
	var working Func = func(ctx *Context, msg any) error {
		r.add("working %T", msg)
		ctx.Unbecome()
		ctx.SetReceiveTimeout(0)
		return nil
	}
	a := mustSpawn(t, s, "a", r.idler(40*ms))
	r.at(10 * ms)
	a.Tell(do(func(ctx *Context) {
		ctx.Become(working)
		ctx.SetReceiveTimeout(60 * ms)
	}))
	r.at(70*ms - 1)
	r.want(t)
	r.at(time.Second)
	r.want(t, "70 working actor.ReceiveTimeout")
}

func rt22(t *testing.T, s *System, r *record) {
	mustSpawn(t, s, "a", always(&script{
		pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(20 * ms) }),
		recv: func(ctx *Context, msg any) error {
			ctx.SetReceiveTimeout(60 * ms)
			return r.note(ctx, msg)
		},
	}))
	r.at(140 * ms)
	r.want(t, "20 RT", "80 RT", "140 RT")
}

func rt23(t *testing.T, s *System, r *record) {
	queuedTimeout(t, s, r, do((*Context).CancelReceiveTimeout))
	r.at(time.Second)
	r.want(t, "100 busy")
}

func rt24(t *testing.T, s *System, r *record) {
	queuedTimeout(t, s, r, do(func(ctx *Context) { ctx.SetReceiveTimeout(70 * ms) }))
	r.at(170*ms - 1)
	r.want(t, "100 busy")
	r.at(170 * ms)
	r.want(t, "100 busy", "170 RT")
}

func rt25(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", r.idler(50*ms))
	a.Tell(func(ctx *Context) error { return ctx.Timers().StartFixedDelay("t", "tick", 25*ms, 25*ms) })
	r.at(100 * ms)
	r.want(t, "25 tick", "50 tick", "75 tick", "100 tick")
	a.Tell(do(func(ctx *Context) { ctx.Timers().Cancel("t") }))
	r.at(150 * ms)
	r.want(t, "25 tick", "50 tick", "75 tick", "100 tick", "150 RT")
}

func rt26(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", r.idler(60*ms))
	a.Tell(func(ctx *Context) error { return ctx.Timers().StartFixedDelay("t", mark{what: "tick"}, 25*ms, 25*ms) })
	r.at(125 * ms)
	r.want(t, "25 tick", "50 tick", "60 RT", "75 tick", "100 tick", "120 RT", "125 tick")
}

func rt27(t *testing.T, s *System, r *record) {
	stashing := func(ctx *Context, msg any) error {
		if _, ok := msg.(ReceiveTimeout); ok && ctx.c.idle.window.Load() == int64(40*ms) && len(ctx.c.look().stash) == 0 && !ctx.c.replayedForTest() {
			r.add("stashes")
			return ctx.Stash()
		}
		return r.note(ctx, msg)
	}
	arm := do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) })
	a := mustSpawn(t, s, "a", always(&script{recv: stashing, pre: arm}))
	r.at(60 * ms)
	a.Tell(do((*Context).UnstashAll)) // the window runs anew from here
	r.at(90 * ms)
	r.want(t, "40 stashes", "60 RT")
	r.at(100 * ms)
	r.want(t, "40 stashes", "60 RT", "100 stashes") // it was re-armed all the same
	a.Tell(do(func(ctx *Context) { ctx.CancelReceiveTimeout(); ctx.UnstashAll() }))
	r.at(time.Second)
	r.want(t, "40 stashes", "60 RT", "100 stashes") // a cancelled window does not come back
	r.deadLetters(t, s)
	a.Tell(arm)
	r.at(time.Second + 50*ms)
	a.Tell(PoisonPill{})
	r.at(2 * time.Second)
	r.want(t, "40 stashes", "60 RT", "100 stashes", "1040 stashes") // and one in the stash is no dead letter
}

func rt28(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", always(&script{
		pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(50 * ms) }),
		recv: func(ctx *Context, msg any) error {
			if msg == any("m") {
				return ctx.Stash()
			}
			return r.note(ctx, msg)
		},
	}))
	for i := range 5 {
		r.at(time.Duration(i+1) * 30 * ms)
		a.Tell("m")
	}
	r.at(200*ms - 1)
	r.want(t)
	r.at(200 * ms)
	r.want(t, "200 RT")
}

func rt29(t *testing.T, s *System, r *record) {
	slow := mustSpawn(t, s, "slow", always(Func(func(ctx *Context, _ any) error {
		pause(100 * ms)
		ctx.Reply("pong")
		return nil
	})))
	a := mustSpawn(t, s, "a", r.idler(40*ms))
	a.Tell(func(ctx *Context) error {
		v, err := Ask[string](ctx.Context(), slow, "ping")
		r.add("%s", v)
		return err
	})
	r.at(140*ms - 1)
	r.want(t, "100 pong")
	r.at(140 * ms)
	r.want(t, "100 pong", "140 RT")
}

func rt30(t *testing.T, s *System, r *record) {
	var kid Ref
	sup := Supervisor{Decide: func(Ref, error) Directive { r.add("restarts"); return Restart }, MaxRestarts: -1}
	mustSpawn(t, s, "a", always(&script{recv: r.note, sup: sup, pre: do(func(ctx *Context) {
		kid = spawnKid(ctx, "kid", always(&script{}))
		ctx.SetReceiveTimeout(50 * ms)
	})}))
	for i := range 4 {
		r.at(time.Duration(i+1) * 30 * ms)
		kid.Tell(func(*Context) error { return errBoom })
	}
	synctest.Wait()
	r.want(t, "30 restarts", "50 RT", "60 restarts", "90 restarts", "100 RT", "120 restarts")
}

func rt31(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", r.idler(50*ms), supervisedBy(Resume))
	for i := range 4 {
		r.at(time.Duration(i+1) * 30 * ms)
		a.Tell(Kill{})
	}
	synctest.Wait()
	r.want(t, "50 RT", "100 RT")
}
