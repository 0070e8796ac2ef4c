package router_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/router"
)

const ms = time.Millisecond

func TestHC_O1_dead_routee_is_pruned(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 3, r.worker)
		wantNames(t, p, "routee-1", "routee-2", "routee-3")
		routees(t, p)[1].Tell(actor.PoisonPill{})
		wantNames(t, p, "routee-1", "routee-3")
		for i := range 4 {
			p.Tell(i)
			synctest.Wait()
		}
		r.want(t, "routee-1 0", "routee-3 1", "routee-1 2", "routee-3 3")
	})
}

// #449: a router without routees used to drop what it got without a trace.
func TestHC_O1_empty_router_makes_dead_letters(t *testing.T) {
	for name, l := range map[string]func() router.Logic{
		"round robin": router.RoundRobin, "random": router.Random, "smallest mailbox": router.SmallestMailbox,
		"consistent hash": router.ConsistentHash, "fan out": router.FanOut,
		"custom": func() router.Logic { return selectFunc(func(any, []actor.Ref) int { return 0 }) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *actor.System, r *record) {
				p := pool(t, s, 2, r.worker, logic(l))
				p.Tell(router.Broadcast{Msg: stop()})
				wantNames(t, p)
				p.Tell("x")
				p.Tell(router.Broadcast{Msg: "y"})
				reason := router.ErrNoRoutee.Error()
				r.want(t, "dead x to router: "+reason, "dead {y} to router: "+reason)

				var end completion
				actor.Send(p, actor.Envelope{Msg: "z", Done: &end})
				if err := end.once(t); !errors.Is(err, actor.ErrDeadLetter) || !errors.Is(err, router.ErrNoRoutee) || !actor.Rejected(err) {
					t.Errorf("ended with %v", err)
				}
				begin := time.Now()
				_, err := actor.Ask[any](t.Context(), p, "z")
				if !errors.Is(err, actor.ErrDeadLetter) || !errors.Is(err, router.ErrNoRoutee) || time.Since(begin) != 0 {
					t.Errorf("ask ended with %v after %v", err, time.Since(begin))
				}
				p.Tell(router.Resize{Size: 1}) // it goes on
				wantNames(t, p, "routee-1")
			})
		})
	}
}

// A router that is subscribed to dead letters and has no routee must not make dead letters of dead letters.
func TestEmptyRouterSubscribedToDeadLettersDoesNotLoop(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		g := group(t, s, nil)
		actor.Subscribe[actor.DeadLetter](s.EventStream(), g)
		g.Tell("x")
		g.Tell(router.Broadcast{Msg: router.Broadcast{Msg: actor.DeadLetter{Msg: "y"}}})
		r.want(t, "dead x to router: "+router.ErrNoRoutee.Error())
	})
}

// #1030: after a restart of the router its routees have the paths of the old ones, whose ends are told to it late.
func TestHC_R4_end_of_an_earlier_incarnation_prunes_nothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker)
		before := routees(t, p)
		p.Tell(actor.Kill{})
		wantNames(t, p, "routee-1", "routee-2")
		for i, ref := range routees(t, p) {
			if ref == before[i] || ref.Path() != before[i].Path() {
				t.Errorf("routee %d: want another incarnation of %s, got %s", i, before[i], ref)
			}
		}
		p.Tell("a")
		synctest.Wait()
		p.Tell("b")
		r.want(t, "routee-1 a", "routee-2 b")

		// Draining counts its own routees only.
		var end completion
		actor.Send(p, actor.Envelope{Msg: router.Drain{}, Done: &end})
		if err := end.once(t); err != nil {
			t.Error(err)
		}
	})
}

func TestForwardKeepsSenderAndCompletion(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		failure := errors.New("refused")
		p := pool(t, s, 2, func() actor.Actor {
			return actor.Func(func(ctx *actor.Context, msg any) error {
				if msg == "bad" {
					return actor.Reject(failure)
				}
				ctx.Reply(ctx.Self().Name())
				return nil
			})
		})
		for _, want := range []string{"routee-1", "routee-2"} {
			if got, err := actor.Ask[string](t.Context(), p, "who"); got != want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
		if _, err := actor.Ask[string](t.Context(), p, "bad"); !errors.Is(err, failure) {
			t.Error(err)
		}
		var good, bad completion
		actor.Send(p, actor.Envelope{Msg: "who", Done: &good})
		actor.Send(p, actor.Envelope{Msg: "bad", Done: &bad})
		if err := good.once(t); err != nil {
			t.Error(err)
		}
		if err := bad.once(t); !errors.Is(err, failure) {
			t.Error(err)
		}
		synctest.Wait()
		r.take() // the reply to nobody
	})
}

func TestRouteeFailuresAreJudgedByTheRouter(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		fatal := errors.New("fatal")
		p := pool(t, s, 2, r.worker, func(c *router.Config) {
			c.Supervisor = actor.Supervisor{Decide: func(_ actor.Ref, err error) actor.Directive {
				if errors.Is(err, fatal) {
					return actor.Stop
				}
				return actor.Restart
			}}
		})
		before := routees(t, p)
		p.Tell(errors.New("passing"))
		synctest.Wait()
		if after := routees(t, p); after[0] != before[0] || len(after) != 2 {
			t.Errorf("a restart changed %v to %v", before, after)
		}
		p.Tell(fatal)
		wantNames(t, p, "routee-1")
	})
}

func TestDefaultSupervisionIsTheRuntimes(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 1, r.worker)
		for i := range 11 {
			wantNames(t, p, "routee-1")
			if i < 11 {
				p.Tell(errors.New("fails"))
			}
		}
		wantNames(t, p) // 10 restarts, and the next failure stops it
	})
}

func TestEscalationRestartsThePool(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker, func(c *router.Config) {
			c.Supervisor.Decide = func(actor.Ref, error) actor.Directive { return actor.Escalate }
		})
		p.Tell(router.Resize{Size: 3})
		before := routees(t, p)
		p.Tell(errors.New("fails"))
		wantNames(t, p, "routee-1", "routee-2") // the size it was made with
		if routees(t, p)[1] == before[1] {
			t.Error("the children of a router that was restarted are the old ones")
		}
	})
}

func TestReplaceAfter(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker, func(c *router.Config) { c.ReplaceAfter = 100 * ms })
		before := routees(t, p)
		before[0].Tell(actor.PoisonPill{})
		synctest.Wait()
		time.Sleep(100*ms - 1)
		wantNames(t, p, "routee-2")
		time.Sleep(1)
		wantNames(t, p, "routee-2", "routee-1")
		if routees(t, p)[1] == before[0] {
			t.Error("the dead one is back")
		}
		p.Tell("a")
		synctest.Wait()
		p.Tell("b")
		r.want(t, "routee-2 a", "routee-1 b")
	})
}

// A routee that ends at once is spawned once per ReplaceAfter and not in a hot loop.
func TestReplaceAfterBoundsTheRate(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		pool(t, s, 1, func() actor.Actor { return &quitter{r} }, func(c *router.Config) { c.ReplaceAfter = time.Second })
		time.Sleep(3500 * ms)
		r.want(t, "start", "start", "start", "start")
	})
}

type quitter struct{ r *record }

func (q *quitter) PreStart(ctx *actor.Context) error {
	q.r.add("start")
	ctx.StopSelf()
	return nil
}

func (q *quitter) Receive(*actor.Context, any) error { return nil }

func TestResize(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker, func(c *router.Config) { c.ReplaceAfter = time.Second })
		gate := make(chan struct{})
		p.Tell(router.Resize{Size: 4})
		wantNames(t, p, "routee-1", "routee-2", "routee-3", "routee-4")

		last := routees(t, p)[3]
		last.Tell(block(gate))
		last.Tell("before")
		p.Tell(router.Resize{Size: 3})
		wantNames(t, p, "routee-1", "routee-2", "routee-3") // the last one still has work to do
		p.Tell(router.Resize{Size: 4})
		wantNames(t, p, "routee-1", "routee-2", "routee-3", "routee-5")
		close(gate)
		r.want(t, "routee-4 before")
		time.Sleep(2 * time.Second)
		wantNames(t, p, "routee-1", "routee-2", "routee-3", "routee-5") // what was removed is not replaced

		routees(t, p)[0].Tell(actor.PoisonPill{})
		synctest.Wait()
		p.Tell(router.Resize{Size: 3}) // the one that is missing is the one too many
		time.Sleep(2 * time.Second)
		wantNames(t, p, "routee-2", "routee-3", "routee-5")
		p.Tell(router.Resize{Size: 4})
		wantNames(t, p, "routee-2", "routee-3", "routee-5", "routee-1")
	})
}

func TestResizeRefusesBadSizes(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker)
		for _, size := range []int{0, -1} {
			if _, err := actor.Ask[any](t.Context(), p, router.Resize{Size: size}); !errors.Is(err, router.ErrRoutee) {
				t.Errorf("size %d: %v", size, err)
			}
		}
		for _, msg := range []any{router.AddRoutee{Ref: p}, router.RemoveRoutee{Ref: p}} {
			if _, err := actor.Ask[any](t.Context(), p, msg); !errors.Is(err, actor.ErrUnhandled) {
				t.Errorf("%T: %v, want it unhandled by a pool", msg, err)
			}
		}
		wantNames(t, p, "routee-1", "routee-2")
		r.take()
	})
}

// What the parent's stop does to its children: the message in hand is finished, the rest is not.
func TestPoisonPillMakesDeadLettersOfWhatWaits(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 1, r.worker)
		gate := make(chan struct{})
		p.Tell(block(gate))
		synctest.Wait()
		p.Tell("a")
		p.Tell(actor.PoisonPill{})
		synctest.Wait()
		close(gate)
		r.want(t, "dead a to routee-1: "+actor.ErrStopped.Error())
	})
}

func TestDrainLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker, func(c *router.Config) { c.ReplaceAfter = ms })
		gate := make(chan struct{})
		refs := routees(t, p)
		p.Tell(block(gate))
		p.Tell("a")
		p.Tell("b")
		var end completion
		actor.Send(p, actor.Envelope{Msg: router.Drain{}, Done: &end})
		r.wantAnyOrder(t, "routee-2 a") // the second has ended, the first is busy
		end.open(t)
		p.Tell("late")
		p.Tell(router.Broadcast{Msg: "later"})
		p.Tell(router.Resize{Size: 5})
		reason := router.ErrDraining.Error()
		r.want(t, "dead late to router: "+reason, "dead {later} to router: "+reason)
		time.Sleep(10 * ms)
		wantNames(t, p, "routee-1")
		close(gate)
		r.want(t, "routee-1 b")
		if err := end.once(t); err != nil {
			t.Error(err)
		}
		for _, ref := range append(refs, p) {
			if _, ok := ref.Pending(); ok {
				t.Errorf("%s has not stopped", ref)
			}
		}
	})
}

func TestDrainWaitsForRouteesThatWereRemoved(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker)
		gate := make(chan struct{})
		routees(t, p)[1].Tell(block(gate))
		p.Tell(router.Resize{Size: 1})
		var first, second completion
		actor.Send(p, actor.Envelope{Msg: router.Drain{}, Done: &first})
		actor.Send(p, actor.Envelope{Msg: router.Drain{}, Done: &second})
		wantNames(t, p)
		first.open(t)
		close(gate)
		if err := errors.Join(first.once(t), second.once(t)); err != nil {
			t.Error(err)
		}
	})
}

func TestDrainOfAnEmptyPoolAndAsk(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker)
		p.Tell(router.Broadcast{Msg: actor.PoisonPill{}})
		wantNames(t, p)
		if _, err := actor.Ask[any](t.Context(), p, router.Drain{}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if _, ok := p.Pending(); ok {
			t.Error("the router has not stopped")
		}
	})
}

func TestBroadcastOfPoisonPillLetsRouteesFinish(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker)
		for _, m := range []string{"a", "b", "c"} {
			p.Tell(m)
		}
		p.Tell(router.Broadcast{Msg: actor.PoisonPill{}})
		r.wantAnyOrder(t, "routee-1 a", "routee-2 b", "routee-1 c")
		wantNames(t, p)
	})
}

func TestRouteeOptionsReachTheMailbox(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 1, r.worker, func(c *router.Config) {
			c.Routee = func(c *actor.SpawnConfig) { c.Mailbox = actor.Mailbox{Capacity: 1, Overflow: actor.RejectNewest} }
		})
		gate := make(chan struct{})
		p.Tell(block(gate))
		synctest.Wait()
		p.Tell("a")
		p.Tell("b")
		r.want(t, "dead b to routee-1: "+actor.ErrMailboxFull.Error())
		close(gate)
		r.want(t, "routee-1 a")
	})
}

// A routee's own receive timeout sees what is routed to it.
func TestReceiveTimeoutOfARoutee(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 1, func() actor.Actor { return &idler{r} })
		time.Sleep(80 * ms)
		p.Tell("x")
		time.Sleep(100*ms - 1)
		r.want(t, "x")
		time.Sleep(1)
		r.want(t, "idle")
		wantNames(t, p)
	})
}

type idler struct{ r *record }

func (i *idler) PreStart(ctx *actor.Context) error {
	ctx.SetReceiveTimeout(100 * ms)
	return nil
}

func (i *idler) Receive(ctx *actor.Context, msg any) error {
	if msg == (actor.ReceiveTimeout{}) {
		i.r.add("idle")
		ctx.StopSelf()
		return nil
	}
	i.r.add("%v", msg)
	return nil
}
