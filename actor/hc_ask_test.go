package actor

import (
	"context"
	"errors"
	"testing"
	"time"
)

// HC-Q: a deadline beyond what fits into 31 bits of milliseconds is honoured, and a context without an end that was given
// by its maker is not the runtime's business: its own deadline applies.
func TestHC_Q_long_deadlines(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(Func(func(*Context, any) error { return nil })))
		const long = 60 * 24 * time.Hour
		ctx, cancel := context.WithTimeout(context.Background(), long)
		defer cancel()
		if _, err := Ask[int](ctx, a, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(r.t0) != long {
			t.Errorf("%v after %v", err, time.Since(r.t0))
		}
		ctx, cancel = context.WithCancel(context.Background())
		defer cancel()
		if _, err := Ask[int](ctx, a, 1); !errors.Is(err, ErrAskTimeout) || time.Since(r.t0) != long+5*time.Second {
			t.Errorf("%v after %v", err, time.Since(r.t0))
		}
	})
}

// HC-Q1: an ask is answered by whoever has its ref, in another system as well; later answers, and those after the deadline,
// vanish and reach nobody else's ask.
func TestHC_Q1_answers_reach_their_own_ask(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		r.deadLetters(t, s)
		other := newTestSystem(t)
		var last Ref
		slow := mustSpawn(t, other, "slow", always(Func(func(ctx *Context, msg any) error {
			if !last.IsZero() {
				ctx.Tell(last, "of the ask before")
			}
			last = ctx.Sender()
			pause(msg.(time.Duration))
			ctx.Reply(msg)
			ctx.Reply("again")
			return nil
		})))
		for _, d := range []time.Duration{10 * ms, 6 * time.Second, 20 * ms} {
			v, err := Ask[time.Duration](t.Context(), slow, d)
			if d < time.Second && (v != d || err != nil) || d > time.Second && !errors.Is(err, ErrAskTimeout) {
				t.Errorf("%v: %v, %v", d, v, err)
			}
		}
		r.at(10 * time.Second)
		r.want(t)
	})
}
