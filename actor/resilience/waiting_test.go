package resilience

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

// When too many wait, the oldest becomes a dead letter and its completion ends.
func TestTheOldestMakesRoom(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(false)
		ref := s.spawn("sup", Supervise(s.worker(1), steady, func(c *SuperviseConfig) { c.MaxStash = 3 }))
		synctest.Wait()
		asked := make(chan error, 1)
		go func() {
			_, err := actor.Ask[string](s.Context(), ref, 1)
			asked <- err
		}()
		synctest.Wait()
		actor.Send(ref, actor.Envelope{Msg: 2, Done: s.completion("2")})
		for i := range 5 {
			ref.Tell(i + 3)
		}
		s.wantAnyOrder("0 start 1 fails",
			"0 dead 1 to sup: actor: stash full", "0 dead 2 to sup: actor: stash full", "0 2: actor: dead letter: actor: stash full",
			"0 dead 3 to sup: actor: stash full", "0 dead 4 to sup: actor: stash full")
		if err := <-asked; !errors.Is(err, actor.ErrStashFull) || !errors.Is(err, actor.ErrDeadLetter) {
			s.Errorf("the ask ended with %v", err)
		}
		s.at(second)
		s.want("100 start 2", "100 5", "100 6", "100 7")
	})
}

// Without a stash a message is refused while the child is down, and waits in the child's own mailbox while it starts.
func TestNoStash(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(false)
		ref := s.spawn("sup", Supervise(func() actor.Actor {
			return &script{
				pre:  func(*actor.Context) error { time.Sleep(50 * ms); s.add("start"); return nil },
				recv: func(_ *actor.Context, msg any) error { s.add("%v", msg); return nil },
			}
		}, steady, func(c *SuperviseConfig) { c.MaxStash = 0 }))
		ref.Tell("a")
		s.at(50 * ms)
		s.want("50 start", "50 a")
		ref.Tell(errBoom)
		synctest.Wait()
		actor.Send(ref, actor.Envelope{Msg: "b", Done: s.completion("b")})
		ref.Tell("c")
		s.wantAnyOrder("50 dead b to sup: "+ErrChildDown.Error(), "50 b: actor: dead letter: "+ErrChildDown.Error(), "50 dead c to sup: "+ErrChildDown.Error())
		s.at(160 * ms)
		ref.Tell("d")
		s.at(second)
		s.want("200 start", "200 d")
	})
}

// Between a failure, or a child's own stop, and its Terminated there may be a long PostStop. What is told meanwhile waits.
func TestMessagesWhileTheChildIsEnding(t *testing.T) {
	for name, end := range map[string]any{"failure": errBoom, "stop": stopSelf, "pill": "pill"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *stage) {
				s.listen(false)
				ref := s.spawn("sup", Supervise(func() actor.Actor {
					return &script{
						pre:  func(*actor.Context) error { s.add("start"); return nil },
						post: func(*actor.Context) error { time.Sleep(second); return nil },
						recv: func(ctx *actor.Context, msg any) error {
							s.add("%v", msg)
							if msg == "pill" {
								ctx.Stop(ctx.Self())
							}
							return nil
						},
					}
				}, steady))
				ref.Tell(end)
				s.at(500 * ms)
				s.forget()
				ref.Tell("a")
				s.at(2 * second)
				s.want("1100 start", "1100 a")
			})
		})
	}
}

// An ask that waited is answered in each of the ways there are, and so ends when its child does.
func TestAsksThatWaited(t *testing.T) {
	bubble(t, func(s *stage) {
		down := true
		ref := s.spawn("sup", Supervise(func() actor.Actor {
			return &script{
				pre: func(*actor.Context) error {
					if down {
						down = false
						return errBoom
					}
					return nil
				},
				recv: func(ctx *actor.Context, msg any) error {
					switch msg {
					case "reply":
						ctx.Reply("by Reply")
					case "later": // the handler returns first
						sender := ctx.Sender()
						time.AfterFunc(second, func() { sender.Tell("by the sender's ref") })
					case "hold":
						held := ctx.Hold()
						time.AfterFunc(second, func() { held.(actor.Answerer).Answer("by Hold") })
					case "reject":
						return actor.Reject(errBoom)
					case "fail":
						return errBoom
					}
					return nil
				},
			}
		}, steady))
		synctest.Wait()
		type result struct {
			v   string
			err error
		}
		ask := func(msg string) chan result {
			c := make(chan result, 1)
			go func() {
				v, err := actor.Ask[string](s.Context(), ref, msg)
				c <- result{v, err}
			}()
			synctest.Wait() // so that the order is known
			return c
		}
		reply, later, hold, reject, fail, lost := ask("reply"), ask("later"), ask("hold"), ask("reject"), ask("fail"), ask("lost")
		for want, c := range map[string]chan result{"by Reply": reply, "by the sender's ref": later} {
			if r := <-c; r.v != want || r.err != nil {
				s.Errorf("%q, %v, want %q", r.v, r.err, want)
			}
		}
		if r := <-reject; !errors.Is(r.err, errBoom) {
			s.Error(r)
		}
		if r := <-fail; !errors.Is(r.err, errBoom) {
			s.Error(r)
		}
		if r := <-lost; !errors.Is(r.err, actor.ErrDeadLetter) { // it was in the mailbox of the child that failed
			s.Error(r)
		}
		if r := <-hold; !errors.Is(r.err, actor.ErrStopped) { // held by the child that failed
			s.Error(r)
		}
	})
}

func TestBoundedChildMailbox(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(false)
		ref := s.spawn("sup", Supervise(s.worker(1), steady, func(c *SuperviseConfig) {
			c.ChildName, c.ChildMailbox = "kid", actor.Mailbox{Capacity: 2, Overflow: actor.RejectNewest}
		}))
		for i := range 3 {
			ref.Tell(i)
		}
		s.at(second)
		s.wantAnyOrder("0 start 1 fails", "100 start 2", "100 0", "100 1", "100 dead 2 to kid: actor: mailbox full")
	})
}

// A bounded mailbox of the supervisor, full all the time, must not keep it from noticing that its child has started.
func TestBoundedSupervisorMailbox(t *testing.T) {
	for _, o := range []actor.Overflow{actor.DropOldest, actor.RejectNewest} {
		bubble(t, func(s *stage) {
			gate := make(chan struct{})
			ref := s.spawn("sup", Supervise(func() actor.Actor {
				return &script{
					pre:  func(*actor.Context) error { <-gate; return nil },
					recv: func(_ *actor.Context, msg any) error { s.add("%v", msg); return nil },
				}
			}, steady), func(c *actor.SpawnConfig) { c.Mailbox = actor.Mailbox{Capacity: 1, Overflow: o} })
			ref.Tell("a")
			synctest.Wait()
			close(gate)
			s.want("0 a")
			ref.Tell("b")
			s.want("0 b")
		})
	}
}

func TestDeadLetterNamesTheSender(t *testing.T) {
	bubble(t, func(s *stage) {
		observer, sender := actortest.NewProbe(s, s.sys), actortest.NewProbe(s, s.sys)
		actor.Subscribe[actor.DeadLetter](s.sys.EventStream(), observer.Ref())
		ref := s.spawn("sup", Supervise(s.worker(100), steady))
		sender.Tell(ref, "a")
		synctest.Wait()
		ref.Tell(actor.PoisonPill{})
		if d := actortest.Expect[actor.DeadLetter](observer); d.Msg != "a" || d.To != ref || d.Sender != sender.Ref() || d.Reason != actor.ErrStopped {
			s.Errorf("%+v", d)
		}
	})
}

func TestDeadLetterIsNotDoubled(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(false)
		ref := s.spawn("sup", Supervise(s.worker(100), steady))
		actor.Subscribe[actor.DeadLetter](s.sys.EventStream(), ref)
		synctest.Wait()
		s.sys.EventStream().Publish(actor.DeadLetter{Msg: "x", To: ref, Reason: errBoom})
		ref.Tell(actor.PoisonPill{})
		s.want("0 start 1 fails", "0 dead x to sup: boom")
	})
}

func TestCompletionThatPanics(t *testing.T) {
	bubble(t, func(s *stage) {
		s.listen(false)
		ref := s.spawn("sup", Supervise(s.worker(100), steady))
		synctest.Wait()
		actor.Send(ref, actor.Envelope{Msg: "a", Done: ender(func(error) { panic("mine") })})
		actor.Send(ref, actor.Envelope{Msg: "b", Done: s.completion("b")})
		ref.Tell(actor.PoisonPill{})
		s.wantAnyOrder("0 start 1 fails", "0 dead a to sup: actor: stopped", "0 dead b to sup: actor: stopped", "0 b: actor: dead letter: actor: stopped")
	})
}

// The queue keeps its order and its bound, and gives its memory back, however it is filled and emptied.
func TestWaitingQueue(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 10, 100} {
		w := &waiting{limit: limit}
		var model []int
		for i := range 5000 {
			if rand.IntN(3) == 0 {
				e, ok := w.take()
				if ok != (len(model) > 0) || ok && e.msg != model[0] {
					t.Fatalf("limit %d: took %v, %v, want the first of %v", limit, e.msg, ok, model)
				}
				if ok {
					model = model[1:]
				}
				continue
			}
			out, full, open := w.put(parked{msg: i})
			if full != (len(model) == limit) || full && out.msg != model[0] || open {
				t.Fatalf("limit %d: put made %v leave, %v, %v, want the first of %v", limit, out.msg, full, open, model)
			}
			if full {
				model = model[1:]
			}
			model = append(model, i)
			for i, e := range w.queue[:cap(w.queue)] {
				if e.msg != nil && (i < w.head || i >= len(w.queue)) {
					t.Fatalf("limit %d: %v was taken out and is still kept", limit, e.msg)
				}
			}
			if cap(w.queue) > 4*limit+8 {
				t.Fatalf("limit %d: the queue has grown to %d", limit, cap(w.queue))
			}
		}
	}
}

// A child that the supervisor has given up on takes nothing and opens nothing, even if its PreStart ends late.
func TestStaleChildFetchesNothing(t *testing.T) {
	w := &waiting{limit: 10}
	old := w.expect()
	w.put(parked{msg: "a"})
	w.shut()
	w.fetch(old, actor.Ref{})
	if w.isOpen() || w.lenLocked() != 1 {
		t.Errorf("open %v, %d waiting, want closed and 1", w.isOpen(), w.lenLocked())
	}
	w.fetch(w.expect(), actor.Ref{})
	if !w.isOpen() || w.lenLocked() != 0 {
		t.Errorf("open %v, %d waiting, want open and none", w.isOpen(), w.lenLocked())
	}
	if _, _, open := w.put(parked{msg: "b"}); !open || w.lenLocked() != 0 { // it would wait for the next child
		t.Errorf("open %v, %d waiting, want a message for a child that has opened to be left to the caller", open, w.lenLocked())
	}
}

// numbered message of one sender.
type item struct{ sender, n int }

// Several senders, a child that keeps failing, and a clock that is real: every message is accounted for exactly once,
// and what is handled comes in the order of its sender.
func TestEveryMessageIsAccountedFor(t *testing.T) {
	const senders, each = 4, 3000
	sys := actortest.NewSystem(t, func(c *actor.SystemConfig) { c.Logger = discard })
	last := [senders]int{-1, -1, -1, -1} // written by one child at a time
	var handled, failed, wrongOrder atomic.Int64
	ref, err := sys.Spawn("sup", Supervise(func() actor.Actor {
		starts := 0
		return &script{
			pre: func(*actor.Context) error {
				if starts++; rand.IntN(3) == 0 {
					return errBoom
				}
				return nil
			},
			recv: func(ctx *actor.Context, msg any) error {
				m := msg.(item)
				if m.n <= last[m.sender] {
					wrongOrder.Add(1)
				}
				last[m.sender] = m.n
				switch rand.IntN(200) {
				case 0:
					failed.Add(1)
					return errBoom
				case 1:
					ctx.StopSelf()
				}
				handled.Add(1)
				return nil
			},
		}
	}, func(c *SuperviseConfig) {
		c.Backoff, c.MaxStash = Exponential(time.Microsecond, 200*time.Microsecond, 0.5), 500
	}))
	if err != nil {
		t.Fatal(err)
	}
	var ended, dead, ok, boom, other atomic.Int64
	var done sync.WaitGroup
	done.Add(senders * each)
	var tellers sync.WaitGroup
	for s := range senders {
		tellers.Go(func() {
			unanswered := make(chan struct{}, 20) // so that most get through
			for n := range each {
				var once atomic.Bool
				unanswered <- struct{}{}
				actor.Send(ref, actor.Envelope{Msg: item{s, n}, Done: ender(func(err error) {
					if once.Swap(true) {
						t.Errorf("message %d of %d ended twice", n, s)
						return
					}
					ended.Add(1)
					switch {
					case err == nil:
						ok.Add(1)
					case errors.Is(err, actor.ErrDeadLetter):
						dead.Add(1)
					case errors.Is(err, errBoom):
						boom.Add(1)
					default:
						other.Add(1)
						t.Errorf("message %d of %d ended with %v", n, s, err)
					}
					done.Done()
					<-unanswered
				})})
			}
		})
	}
	tellers.Wait()
	if !within(t, 20*time.Second, done.Wait) {
		t.Errorf("%d of %d messages ended", ended.Load(), senders*each)
	}
	if ok.Load() != handled.Load() || boom.Load() != failed.Load() || wrongOrder.Load() != 0 {
		t.Errorf("%d nil for %d handled, %d failed for %d, %d out of order", ok.Load(), handled.Load(), boom.Load(), failed.Load(), wrongOrder.Load())
	}
	t.Logf("%d handled, %d failed, %d dead letters", handled.Load(), failed.Load(), dead.Load())
}

// within reports whether f returns in time.
func within(t *testing.T, d time.Duration, f func()) bool {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	returned := make(chan struct{})
	go func() { f(); close(returned) }()
	select {
	case <-returned:
		return true
	case <-ctx.Done():
		return false
	}
}

// What a supervisor in between costs: compare with a tell.
func BenchmarkSupervise(b *testing.B) {
	for name, wrap := range map[string]func(func() actor.Actor) func() actor.Actor{
		"direct":     func(f func() actor.Actor) func() actor.Actor { return f },
		"supervised": func(f func() actor.Actor) func() actor.Actor { return Supervise(f) },
	} {
		b.Run(name, func(b *testing.B) {
			sys := actortest.NewSystem(b)
			done := &countdown{b.N, make(chan struct{})}
			ref, err := sys.Spawn("a", wrap(func() actor.Actor { return done }))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := actor.Ask[bool](b.Context(), ref, "up?"); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				ref.Tell(done)
			}
			<-done.c
		})
	}
}

// countdown closes c after so many messages.
type countdown struct {
	left int
	c    chan struct{}
}

func (a *countdown) Receive(ctx *actor.Context, msg any) error {
	if msg == "up?" {
		ctx.Reply(true)
		return nil
	}
	if a.left--; a.left == 0 {
		close(a.c)
	}
	return nil
}
