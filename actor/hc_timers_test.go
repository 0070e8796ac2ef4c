package actor

import (
	"errors"
	"testing"
	"time"
)

// HC-T3: at the end of the system no timer is left, however long it had to go, and nothing waits for one.
func TestHC_T3_end_clears_timers(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}))
		a.Tell(func(ctx *Context) error {
			tm := ctx.Timers()
			return errors.Join(tm.StartSingle("single", "x", time.Hour), tm.StartFixedDelay("delay", "x", time.Hour, ms), tm.StartFixedRate("rate", "x", time.Hour, ms))
		})
		r.at(1 * ms)
		if n := s.clock.Len(); n != 3 {
			t.Errorf("%d deadlines", n)
		}
		terminate(t, s) // which looks at the clock
		r.add("ended")
		r.at(2 * time.Hour)
		r.want(t, "1 ended")
	})
}

// HC-T1 for repeating timers, in every kind of mailbox: of one that was cancelled, or replaced under its key, or ended with
// its instance nothing comes, not even a tick that waits already.
func TestHC_T1_stale_ticks_of_repeating_timers(t *testing.T) {
	for name, opt := range map[string]func(*SpawnConfig){
		"default": func(*SpawnConfig) {}, "bounded": bounded(1, RejectNewest), "ranked": ranked(0, DropOldest, byNumber),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				a := mustSpawn(t, s, "a", always(&script{recv: r.note}), opt)
				a.Tell(func(ctx *Context) error {
					tm := ctx.Timers()
					err := errors.Join(tm.StartFixedDelay("cancelled", "cancelled", 5*ms, 5*ms), tm.StartFixedRate("replaced", "old", 5*ms, 5*ms),
						tm.StartFixedRate("goes on", "tick", 5*ms, 40*ms))
					pause(20 * ms) // all of them wait
					tm.Cancel("cancelled")
					return errors.Join(err, tm.StartSingle("replaced", "new", 5*ms))
				})
				r.at(50 * ms)
				r.want(t, "20 tick", "25 new", "45 tick")
				r.reset()
				a.Tell(60 * ms)
				r.at(51 * ms)
				a.Tell(errBoom) // the tick of 85 waits behind it and belongs to the instance that fails
				r.at(time.Second)
				r.want(t, "110 slow", "110 fails")
			})
		})
	}
}
