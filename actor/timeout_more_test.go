package actor

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fullAtExpiry has a full mailbox when the window is over, once of messages that count and once of others, and loses
// none of either.
func fullAtExpiry(t *testing.T, s *System, r *record, o Overflow) {
	t.Helper()
	r.deadLetters(t, s)
	a := mustSpawn(t, s, "a", r.idler(40*ms), bounded(2, o))
	r.at(0)
	a.Tell(100 * ms)
	r.at(1 * ms)
	a.Tell("b")
	a.Tell("c")
	r.at(110 * ms)
	r.want(t, "100 slow", "100 b", "100 c")
	a.Tell(mark{"busy", do(func(*Context) { pause(100 * ms) })})
	r.at(111 * ms)
	a.Tell(mark{what: "d"})
	a.Tell(mark{what: "e"})
	r.at(220 * ms) // queued at 140
	r.want(t, "100 slow", "100 b", "100 c", "210 busy", "210 d", "210 e", "210 RT")
	r.at(250 * ms)
	r.want(t, "100 slow", "100 b", "100 c", "210 busy", "210 d", "210 e", "210 RT", "250 RT")
}

func rt32(t *testing.T, s *System, r *record) { fullAtExpiry(t, s, r, DropOldest) }

func rt33(t *testing.T, s *System, r *record) { fullAtExpiry(t, s, r, RejectNewest) }

func rt34(t *testing.T, s *System, r *record) {
	const day = 24 * time.Hour
	count := func(d time.Duration) *atomic.Int32 {
		n := new(atomic.Int32)
		mustSpawn(t, s, fmt.Sprint(d), always(&script{
			pre:  do(func(ctx *Context) { ctx.SetReceiveTimeout(d) }),
			recv: func(*Context, any) error { n.Add(1); return nil },
		}))
		return n
	}
	short, year, never := count(25*day), count(365*day), count(1<<63-1)
	for _, c := range []struct {
		at          time.Duration
		short, year int32
	}{{25*day - 1, 0, 0}, {25 * day, 1, 0}, {365*day - 1, 14, 0}, {365 * day, 14, 1}, {100 * 365 * day, 1460, 100}} {
		r.at(c.at)
		if a, b, n := short.Load(), year.Load(), never.Load(); a != c.short || b != c.year || n != 0 {
			t.Errorf("after %v: %d of 25 days, %d of a year, %d of never; want %d, %d, 0", c.at, a, b, n, c.short, c.year)
		}
	}
}

func rt35(t *testing.T, s *System, r *record) {
	for _, d := range []time.Duration{0, -1, -time.Hour, -1 << 63} {
		a := mustSpawn(t, s, fmt.Sprint("off", d), r.idler(40*ms))
		a.Tell(do(func(ctx *Context) { ctx.SetReceiveTimeout(d) }))
	}
	r.at(time.Hour)
	r.want(t)
	mustSpawn(t, s, "tiny", r.idler(1)) // rounded up, so that no setting makes a hot loop
	r.at(time.Hour + 3*ms)
	r.want(t, "3600001 RT", "3600002 RT", "3600003 RT")
}

func rt36(t *testing.T, s *System, r *record) {
	a := mustSpawn(t, s, "a", always(&script{recv: r.note, pre: do(func(ctx *Context) {
		ctx.SetReceiveTimeout(30 * ms)
		pause(100 * ms)
	})}))
	a.Tell("m1")
	r.at(130*ms - 1)
	r.want(t, "100 m1")
	r.at(130 * ms)
	r.want(t, "100 m1", "130 RT")
}

func rt37(t *testing.T, s *System, r *record) {
	mustSpawn(t, s, "idle", r.idler(50*ms))
	busy := mustSpawn(t, s, "busy", r.idler(50*ms))
	for i := range 4 {
		r.at(time.Duration(i+1) * 25 * ms)
		busy.Tell("work")
	}
	synctest.Wait()
	r.want(t, "25 work", "50 RT", "50 work", "75 work", "100 RT", "100 work")
}

// storm has actors set, change and cancel their windows under traffic from several sides; in the end each is armed once
// and must hear exactly one timeout.
func storm(t *testing.T, s *System, senders, rounds int, window time.Duration) {
	t.Helper()
	fired := make(chan string, 64)
	refs := make([]Ref, 4)
	for i := range refs {
		name := fmt.Sprint("storm", i)
		refs[i] = mustSpawn(t, s, name, always(&script{recv: func(ctx *Context, msg any) error {
			switch m := msg.(type) {
			case ReceiveTimeout:
				if ctx.c.idle.window.Load() == int64(window) {
					fired <- name
					ctx.CancelReceiveTimeout()
				}
			case int:
				switch m % 4 {
				case 0:
					ctx.CancelReceiveTimeout()
				case 1:
					ctx.SetReceiveTimeout(time.Duration(1+m%7) * ms)
				case 2:
					ctx.SetReceiveTimeout(time.Hour)
				}
			}
			return nil
		}}))
	}
	var wg sync.WaitGroup
	for g := range senders {
		wg.Go(func() {
			for i := range rounds {
				refs[(i+g)%len(refs)].Tell(i*31 + g)
				if i%10 == 0 {
					<-time.After(1 * ms)
				}
			}
		})
	}
	wg.Wait()
	for _, ref := range refs {
		ref.Tell(do(func(ctx *Context) { ctx.SetReceiveTimeout(window) }))
	}
	seen := map[string]int{}
	for range refs {
		seen[<-fired]++
	}
	if len(seen) != len(refs) {
		t.Errorf("timeouts by actor: %v", seen)
	}
}

func rt38(t *testing.T, s *System, _ *record) { storm(t, s, 4, 400, 11*ms) }

// TestReceiveTimeoutStormInRealTime is RT38 outside of a bubble, where the clock's goroutine and the actors' really run
// at the same time. It is meant for the race detector.
func TestReceiveTimeoutStormInRealTime(t *testing.T) {
	storm(t, newTestSystem(t), 8, 600, 11*ms)
}

func rt39(t *testing.T, s *System, r *record) {
	const window = 1234567891
	a := mustSpawn(t, s, "a", r.idler(window))
	r.at(777)
	a.Tell(do(func(*Context) {}))
	for i, want := range []time.Duration{777 + window, 777 + 2*window} {
		r.at(want - 1)
		if n := len(r.lines()); n != i {
			t.Fatalf("%d timeouts one nanosecond before number %d is due", n, i+1)
		}
		r.at(want)
		if n := len(r.lines()); n != i+1 {
			t.Fatalf("%d timeouts when number %d is due", n, i+1)
		}
	}
}

func rt40(t *testing.T, s *System, r *record) {
	same := func(msg any) bool {
		_, byType := msg.(ReceiveTimeout)
		return msg == any(ReceiveTimeout{}) && byType
	}
	target := mustSpawn(t, s, "target", always(Func(func(_ *Context, msg any) error {
		r.add("forwarded %t", same(msg))
		return nil
	})))
	a := mustSpawn(t, s, "a", always(&script{
		pre:  do(func(ctx *Context) { ctx.SetReceiveTimeout(50 * ms) }),
		recv: func(ctx *Context, msg any) error { r.add("RT %t", same(msg)); ctx.Forward(target); return nil },
	}))
	r.at(30 * ms)
	a.Tell(ReceiveTimeout{})
	r.at(50*ms - 1)
	r.want(t, "30 RT true", "30 forwarded true")
	r.at(50 * ms)
	r.want(t, "30 RT true", "30 forwarded true", "50 RT true", "50 forwarded true")
	r.deadLetters(t, s)
	target.Tell(PoisonPill{})
	r.at(60 * ms)
	target.Tell(ReceiveTimeout{})
	r.at(70 * ms) // an ordinary message, so an ordinary dead letter
	r.want(t, "30 RT true", "30 forwarded true", "50 RT true", "50 forwarded true", "60 dead {} to target: actor: stopped")
}

func rt41(t *testing.T, s *System, r *record) {
	var out bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	to := mustSpawn(t, s, "to", always(Func(func(ctx *Context, _ any) error {
		ctx.Log().Info("told", "sender", ctx.Sender().Name())
		return nil
	})))
	a := mustSpawn(t, s, "a", always(&script{
		pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(25 * ms) }),
		recv: func(ctx *Context, msg any) error {
			if _, ok := msg.(ReceiveTimeout); !ok {
				ctx.Log().With("order", 42).Info("handles")
				return nil
			}
			ctx.Log().Info("idle", "sender", ctx.Sender().IsZero())
			ctx.Tell(to, "x")
			ctx.StopSelf()
			return nil
		},
	}))
	a.Tell("order 42")
	r.at(25 * ms)
	want := `level=INFO msg=handles actor=troupe://test/user/a order=42
level=INFO msg=idle actor=troupe://test/user/a sender=true
level=INFO msg=told actor=troupe://test/user/to sender=a
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func rt42(t *testing.T, s *System, r *record) {
	upstream := mustSpawn(t, s, "upstream", always(Func(func(_ *Context, msg any) error { r.add("%v", msg); return nil })))
	a := mustSpawn(t, s, "watchdog", always(&script{
		pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(30 * ms) }),
		recv: func(ctx *Context, msg any) error {
			if msg == any(ReceiveTimeout{}) {
				ctx.Tell(upstream, "subscribe")
				return nil
			}
			return r.note(ctx, msg)
		},
	}))
	r.at(80 * ms)
	a.Tell("event")
	r.at(140 * ms)
	r.want(t, "30 subscribe", "60 subscribe", "80 event", "110 subscribe", "140 subscribe")
}

// buffering is a parent that retires its one session when it asks for it. What comes meanwhile waits, and goes to the
// next session.
type buffering struct {
	r        *record
	session  Ref
	retiring bool
	buffer   []any
}

type retire struct{}

func (b *buffering) Receive(ctx *Context, msg any) error {
	switch m := msg.(type) {
	case retire:
		if b.retiring {
			b.r.add("retire again")
			return nil
		}
		b.retiring = true
		b.r.add("retire")
		b.session.Tell(50 * ms) // it has something left to do first, and goes on asking
	case Terminated:
		b.session, b.retiring = Ref{}, false
		for _, msg := range b.buffer {
			b.deliver(ctx, msg)
		}
		b.buffer = nil
	default:
		if b.retiring {
			b.buffer = append(b.buffer, m)
			return nil
		}
		b.deliver(ctx, m)
	}
	return nil
}

func (b *buffering) deliver(ctx *Context, msg any) {
	if b.session.IsZero() {
		b.session = spawnKid(ctx, "session", func() Actor {
			return &script{
				pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms); b.r.add("starts") }),
				recv: func(ctx *Context, msg any) error {
					if msg == any(ReceiveTimeout{}) {
						ctx.Tell(ctx.Parent(), retire{})
						return nil
					}
					if msg == any(50*ms) {
						return ctx.Timers().StartSingle("end", PoisonPill{}, 50*ms)
					}
					return b.r.note(ctx, msg)
				},
			}
		})
		ctx.Watch(b.session)
	}
	b.session.Tell(msg)
}

func rt43(t *testing.T, s *System, r *record) {
	r.deadLetters(t, s)
	parent := mustSpawn(t, s, "parent", always(&buffering{r: r}))
	parent.Tell("m1")
	r.at(85 * ms) // retire at 40, again at 80
	parent.Tell("m2")
	r.at(88 * ms)
	parent.Tell("m3")
	r.at(129 * ms)
	l := strings.Join(r.lines(), "\n")
	want := "0 starts\n0 m1\n40 retire\n80 retire again\n90 starts\n90 m2\n90 m3"
	if l != want {
		t.Errorf("got\n%s\nwant\n%s", l, want)
	}
}

func rt44(t *testing.T, s *System, r *record) {
	mustSpawn(t, s, "a", always(&script{
		pre:  do(func(ctx *Context) { ctx.SetReceiveTimeout(40 * ms) }),
		recv: func(ctx *Context, msg any) error { ctx.StopSelf(); pause(60 * ms); return r.note(ctx, msg) },
		post: do(func(*Context) { r.add("post") }),
	}))
	r.at(time.Second)
	r.want(t, "100 RT", "100 post")
}

func rt45(t *testing.T, s *System, r *record) {
	n := 0
	a := mustSpawn(t, s, "a", func() Actor {
		n++
		return &script{
			pre: do(func(ctx *Context) {
				spawnKid(ctx, "kid", always(&script{post: do(func(*Context) { pause(100 * ms) })}))
				ctx.SetReceiveTimeout(40 * ms)
			}),
			recv: func(ctx *Context, msg any) error {
				r.add("instance %d", n)
				return r.note(ctx, msg)
			},
		}
	})
	r.at(10 * ms)
	a.Tell(errBoom)
	r.at(150*ms - 1)
	r.want(t, "10 instance 1", "10 fails")
	r.at(150 * ms)
	r.want(t, "10 instance 1", "10 fails", "150 instance 2", "150 RT")
}

// What the actor does for its children after a handler is no work of its own: the window has begun.
func TestReceiveTimeoutRunsDuringSupervision(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		var kid Ref
		a := mustSpawn(t, s, "a", always(&script{
			sup: Supervisor{Decide: func(Ref, error) Directive { pause(40 * ms); r.add("decided"); return Restart }},
			pre: do(func(ctx *Context) {
				kid = spawnKid(ctx, "kid", always(&script{}))
				ctx.SetReceiveTimeout(50 * ms)
			}),
			recv: r.note,
		}))
		r.at(0)
		a.Tell(20 * ms)
		r.at(10 * ms)
		kid.Tell(func(*Context) error { return errBoom })
		r.at(70 * ms)
		r.want(t, "20 slow", "60 decided", "70 RT")
	})
}

// What an instance has armed has ended before its last hook runs.
func TestNothingIsArmedInTheLastHook(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		a := mustSpawn(t, s, "a", always(&script{
			pre: func(ctx *Context) error {
				ctx.SetReceiveTimeout(time.Hour)
				return ctx.Timers().StartSingle("t", "tick", time.Hour)
			},
			recv: r.note,
			post: do(func(ctx *Context) { r.add("%v, %d deadlines", ctx.Timers().Keys(), s.clock.Len()) }),
		}))
		a.Tell(errBoom)
		a.Tell(PoisonPill{})
		r.at(0)
		r.want(t, "0 fails", "0 [], 0 deadlines", "0 [], 0 deadlines")
	})
}
