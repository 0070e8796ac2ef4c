package actor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// letterLog is a logger that records the lines about dead letters.
type letterLog struct{ r *record }

func (letterLog) Enabled(context.Context, slog.Level) bool { return true }
func (l letterLog) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l letterLog) WithGroup(string) slog.Handler          { return l }

func (l letterLog) Handle(_ context.Context, rec slog.Record) error {
	if !strings.Contains(rec.Message, "dead letter") {
		return nil
	}
	line := rec.Message
	rec.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.r.add("%s", line)
	return nil
}

// logged is a bubble whose system logs its dead letters to the record, and has an actor that is gone.
func logged(t *testing.T, conf string, f func(t *testing.T, s *System, r *record, gone Ref)) {
	t.Helper()
	bare(t, func(t *testing.T, s *System, r *record) {
		s.log = slog.New(letterLog{r})
		gone := mustSpawn(t, s, "gone", always(&script{}))
		gone.Tell(PoisonPill{})
		r.at(0)
		f(t, s, r, gone)
		terminate(t, s)
	}, configured(t, "troupe.actor.deadLetters { "+conf+" }"))
}

// HC-L1: the log line and the event name the real recipient, the sender and the reason, and the type of the message, but
// the line never its content.
func TestHC_L1_log_names_the_recipient(t *testing.T) {
	logged(t, "", func(t *testing.T, s *System, r *record, gone Ref) {
		type login struct{ password string }
		gone.Tell(&login{"secret"})
		a := mustSpawn(t, s, "a", always(&script{recv: func(ctx *Context, msg any) error { ctx.Unhandled(); return nil }}))
		a.Tell(login{"secret"})
		a.Tell(do(func(ctx *Context) { ctx.Tell(gone, "secret"); ctx.Tell(Ref{}, 1) }))
		r.at(0)
		r.want(t,
			"0 dead letter type=*actor.login to=troupe://test/user/gone reason=actor: stopped",
			"0 dead letter type=actor.login to=troupe://test/user/a reason=actor: unhandled message of type actor.login",
			"0 dead letter type=string to=troupe://test/user/gone reason=actor: stopped sender=troupe://test/user/a",
			"0 dead letter type=int to=nobody reason=actor: no recipient sender=troupe://test/user/a")
		if n := s.Stats(); n != (Stats{DeadLetters: 4}) {
			t.Errorf("%+v", n)
		}
	})
}

// HC-L2: a dead letter that finds nobody, and a logger that makes a dead letter of each line, come to an end.
func TestHC_L2_no_recursion(t *testing.T) {
	bare(t, func(t *testing.T, s *System, r *record) {
		gone := mustSpawn(t, s, "gone", always(&script{}))
		gone.Tell(PoisonPill{})
		r.at(0)
		s.log = slog.New(telling{gone})
		gone.Tell("x")
		if n := s.Stats().DeadLetters; n != 4 { // three are logged, and the last is not
			t.Errorf("%d dead letters", n)
		}
		gone.Tell(DeadLetter{Msg: "x"})
		if n := s.Stats().DeadLetters; n != 4 {
			t.Errorf("%d dead letters", n)
		}
		terminate(t, s)
	}, configured(t, "troupe.actor.deadLetters.log = 3"))
}

// telling is a logger that tells an actor of each line.
type telling struct{ to Ref }

func (telling) Enabled(context.Context, slog.Level) bool    { return true }
func (h telling) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h telling) WithGroup(string) slog.Handler             { return h }
func (h telling) Handle(context.Context, slog.Record) error { h.to.Tell("a line"); return nil }

// HC-L6: whatever the logger does, telling does not fail, and the completion is called.
func TestHC_L6_capture_does_not_hit_the_sender(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		s.log = slog.New(brokenHandler{})
		gone := mustSpawn(t, s, "gone", always(&script{}))
		gone.Tell(PoisonPill{})
		r.at(0)
		gone.Tell("m")
		Send(gone, Envelope{Msg: "m", Done: doneFunc(func(err error) { r.add("%v", err) })})
		Send(gone, Envelope{Msg: "m", Done: doneFunc(func(error) { panic("boom") })})
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}))
		a.Tell(do(func(ctx *Context) { ctx.Tell(gone, "m") }))
		a.Tell("goes on")
		r.at(0)
		r.want(t, "0 actor: dead letter", "0 goes on")
		if n := s.Stats().DeadLetters; n != 4 {
			t.Errorf("%d dead letters", n)
		}
	})
}

// HC-L7: the limit is the log's. Every dead letter is an event, at once.
func TestHC_L7_events_are_not_limited(t *testing.T) {
	logged(t, "log = 2", func(t *testing.T, s *System, r *record, gone Ref) {
		n := 0
		Subscribe[DeadLetter](s.EventStream(), mustSpawn(t, s, "listens", always(&script{recv: func(*Context, any) error { n++; return nil }})))
		for range 100 {
			gone.Tell("m")
		}
		r.at(0)
		if l := r.lines(); n != 100 || len(l) != 2 {
			t.Errorf("%d events; logged: %q", n, l)
		}
	})
}

// HC-L8: what the runtime sends itself is no dead letter: receive timeouts and ticks that are void, Terminated, pills.
func TestHC_L8_internal_messages_are_no_dead_letters(t *testing.T) {
	logged(t, "", func(t *testing.T, s *System, r *record, gone Ref) {
		r.deadLetters(t, s)
		watched := mustSpawn(t, s, "watched", always(&script{}))
		a := mustSpawn(t, s, "a", always(&script{
			pre: func(ctx *Context) error {
				ctx.SetReceiveTimeout(10 * ms)
				ctx.Watch(watched)
				return ctx.Timers().StartFixedRate("t", "tick", 10*ms, 10*ms)
			},
			recv: func(ctx *Context, msg any) error {
				if d, ok := msg.(time.Duration); ok {
					pause(d)
				}
				ctx.StopSelf() // with a tick, a timeout or both on their way, and a Terminated
				return nil
			},
		}))
		b := mustSpawn(t, s, "b", always(&script{recv: func(ctx *Context, _ any) error { ctx.Unhandled(); return nil }}))
		b.Tell(do(func(ctx *Context) { ctx.Watch(watched); ctx.SetReceiveTimeout(10 * ms) }))
		a.Tell(50 * ms)
		watched.Tell(PoisonPill{})
		r.at(100 * ms)
		gone.Tell(PoisonPill{})
		gone.Tell(Kill{})
		a.Tell(PoisonPill{})
		r.at(100 * ms)
		r.want(t)
		if n := s.Stats(); n != (Stats{}) {
			t.Errorf("%+v", n)
		}
	})
}

const letter = " dead letter type=string to=troupe://test/user/gone reason=actor: stopped"

// The first n of a window are logged. The line about the others comes when the window ends, once, whether more dead
// letters follow or not, and nothing is in the clock while there is nothing to say.
func TestDeadLetterLogWindow(t *testing.T) {
	logged(t, "log = 2, window = 10s", func(t *testing.T, s *System, r *record, gone Ref) {
		gone.Tell("1")
		r.at(4 * time.Second)
		gone.Tell("2")
		if n := s.clock.Len(); n != 0 {
			t.Errorf("%d in the clock with nothing to say", n)
		}
		r.at(7 * time.Second)
		for range 5 {
			gone.Tell("3")
		}
		if n := s.clock.Len(); n != 1 {
			t.Errorf("%d in the clock", n)
		}
		r.at(time.Minute)
		more := func(at, n int) string {
			return fmt.Sprintf("%d more dead letters were not logged number=%d limit=2 window=10s", at, n)
		}
		r.want(t, "0"+letter, "4000"+letter, more(10000, 5))
		r.reset()
		gone.Tell("4") // a new window begins with the first in it
		gone.Tell("4")
		r.at(69 * time.Second)
		gone.Tell("5")
		r.at(70 * time.Second)
		gone.Tell("6")
		r.at(time.Hour)
		r.want(t, "60000"+letter, "60000"+letter, more(70000, 1), "70000"+letter)
		r.reset()
		gone.Tell("7")
		gone.Tell("7")
		gone.Tell("8")
		gone.Tell("8")
		terminate(t, s) // the rest of the window is not waited for
		r.want(t, "3600000"+letter, "3600000"+letter, more(3600000, 2))
		r.reset()
		for range 4 { // to a system that is over: the same limit, and the next that is logged says how many were not
			gone.Tell("9")
		}
		r.at(2 * time.Hour)
		gone.Tell("10")
		r.want(t, more(7200000, 4), "7200000"+letter)
	})
}

func TestDeadLetterLogOff(t *testing.T) {
	logged(t, "log = 0", func(t *testing.T, s *System, r *record, gone Ref) {
		for range 3 {
			gone.Tell("m")
		}
		r.at(time.Hour)
		r.want(t)
		if n := s.Stats().DeadLetters; n != 3 || s.clock.Len() != 0 {
			t.Errorf("%d dead letters, %d in the clock", n, s.clock.Len())
		}
	})
}

// Under a flood from several goroutines every dead letter is either logged or counted as not logged.
func TestDeadLetterLogIsExact(t *testing.T) {
	logged(t, "log = 3, window = 1ms", func(t *testing.T, s *System, r *record, gone Ref) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 500 {
					gone.Tell("m")
					if i%50 == 0 {
						pause(ms / 2)
					}
				}
			})
		}
		wg.Wait()
		terminate(t, s)
		lines, skipped := 0, 0
		for _, l := range r.lines() {
			_, rest, more := strings.Cut(l, "number=")
			if !more {
				lines++
				continue
			}
			n := 0
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
			skipped += n
		}
		if lines+skipped != 2000 || s.Stats().DeadLetters != 2000 || lines < 3 || lines > 100 {
			t.Errorf("%d logged, %d not, %d counted", lines, skipped, s.Stats().DeadLetters)
		}
	})
}

// Stats counts what a bound has cost, whether it is a dead letter, an error to the sender, or one to the completion.
func TestStats(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{recv: r.note}), bounded(1, RejectNewest))
		a.Tell(10 * ms)
		r.at(0)
		a.Tell("waits")
		a.Tell("dropped")
		if err := a.TryTell("refused"); !errors.Is(err, ErrMailboxFull) {
			t.Error(err)
		}
		Send(a, Envelope{Msg: "refused", Done: doneFunc(func(err error) { r.add("%v", err) })})
		r.at(10 * ms)
		r.want(t, "0 actor: mailbox full", "10 slow", "10 waits")
		if n := s.Stats(); n != (Stats{DeadLetters: 1, Dropped: 3}) {
			t.Errorf("%+v", n)
		}
	})
}
