package router_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/router"
)

func TestRoundRobinTakesOneAfterTheOther(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 3, r.worker)
		for i := range 5 {
			p.Tell(i)
			synctest.Wait()
		}
		r.want(t, "routee-1 0", "routee-2 1", "routee-3 2", "routee-1 3", "routee-2 4")
	})
}

func TestRandomReachesAllAboutEvenly(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 4, r.worker, logic(router.Random))
		const n = 4000
		for range n {
			p.Tell("x")
		}
		synctest.Wait()
		count := map[string]int{}
		for _, l := range r.take() {
			count[l]++
		}
		if len(count) != 4 {
			t.Fatalf("reached %v, want all four", count)
		}
		for name, k := range count {
			if k < 800 || k > 1200 { // 7 standard deviations
				t.Errorf("%s: %d of %d", name, k, n)
			}
		}
	})
}

func TestSmallestMailboxTakesTheFewest(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 3, r.worker, logic(router.SmallestMailbox))
		p.Tell("first") // from here on the mailboxes count
		r.want(t, "routee-1 first")
		gate := make(chan struct{})
		refs := routees(t, p)
		for i, ref := range refs {
			ref.Tell(block(gate))
			synctest.Wait() // in hand, not waiting
			for range []int{3, 1, 2}[i] {
				ref.Tell("queued")
			}
		}
		p.Tell("a") // 3 1 2: the second
		synctest.Wait()
		want := []int{3, 2, 2}
		for i, ref := range refs {
			if n, ok := ref.Pending(); n != want[i] || !ok {
				t.Errorf("routee %d: %d waiting, want %d", i+1, n, want[i])
			}
		}
		close(gate)
		synctest.Wait()
	})
}

func TestSmallestMailboxTiesTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 3, r.worker, logic(router.SmallestMailbox))
		for i := range 4 {
			p.Tell(i)
			synctest.Wait() // all are empty again
		}
		r.want(t, "routee-1 0", "routee-2 1", "routee-3 2", "routee-1 3")

		gate := make(chan struct{})
		for _, ref := range routees(t, p) {
			ref.Tell(block(gate))
			synctest.Wait()
			ref.Tell("queued")
		}
		refs := routees(t, p)
		p.Tell("tie") // the scan starts at the second; strictly less only, so it keeps it
		synctest.Wait()
		for i, want := range []int{1, 2, 1} {
			if n, _ := refs[i].Pending(); n != want {
				t.Errorf("routee %d: %d waiting, want %d", i+1, n, want)
			}
		}
		close(gate)
		synctest.Wait()
	})
}

// #154: an actor that stops is still in the table, since its Terminated comes later; it must not get messages.
func TestHC_O1_stopping_routees_are_left_out(t *testing.T) {
	for name, l := range map[string]func() router.Logic{
		"round robin": router.RoundRobin, "random": router.Random, "smallest mailbox": router.SmallestMailbox,
		"consistent hash": router.ConsistentHash, "fan out": router.FanOut,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *actor.System, r *record) {
				gate := make(chan struct{})
				stuck := func() actor.Actor { return &slowStop{r: r, gate: gate} }
				refs := []actor.Ref{spawn(t, s, "a", stuck), spawn(t, s, "b", stuck), spawn(t, s, "c", stuck)}
				g := group(t, s, refs, logic(l), func(c *router.Config) { c.Key = func(any) (string, bool) { return "k", true } })
				refs[0].Tell(actor.PoisonPill{})
				refs[2].Tell(actor.PoisonPill{})
				synctest.Wait() // both hang in PostStop
				wantNames(t, g, "a", "b", "c")
				for range 3 {
					g.Tell("m")
				}
				r.want(t, "b m", "b m", "b m")

				refs[1].Tell(actor.PoisonPill{})
				synctest.Wait()
				g.Tell("last")
				r.want(t, "dead last to router: "+router.ErrNoRoutee.Error())
				close(gate)
				synctest.Wait()
				wantNames(t, g)
			})
		})
	}
}

// slowStop is a routee that takes its time to stop.
type slowStop struct {
	r    *record
	gate chan struct{}
}

func (w *slowStop) Receive(ctx *actor.Context, msg any) error {
	w.r.add("%s %v", ctx.Self().Name(), msg)
	return nil
}

func (w *slowStop) PostStop(*actor.Context) error { <-w.gate; return nil }

func TestFanOutLogicReachesAll(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 3, r.worker, logic(router.FanOut))
		p.Tell("all")
		r.wantAnyOrder(t, "routee-1 all", "routee-2 all", "routee-3 all")
	})
}

func TestBroadcastReachesAllWhateverTheLogic(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 3, r.worker, custom(func(any, []actor.Ref) int { return 0 }))
		p.Tell("one")
		p.Tell(router.Broadcast{Msg: "all"})
		r.wantAnyOrder(t, "routee-1 one", "routee-1 all", "routee-2 all", "routee-3 all")
	})
}

func TestHC_O1_custom_logic(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name   string
		logic  selectFunc
		reason error
		text   string
	}{
		{"nobody", func(any, []actor.Ref) int { return router.None }, router.ErrLogic, "chose nobody"},
		{"above", func(_ any, l []actor.Ref) int { return len(l) }, router.ErrLogic, "index 2 of 2"},
		{"below", func(any, []actor.Ref) int { return -3 }, router.ErrLogic, "index -3 of 2"},
		{"panic", func(any, []actor.Ref) int { panic(boom) }, boom, "boom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *actor.System, r *record) {
				var bad selectFunc = func(msg any, l []actor.Ref) int {
					if msg == "good" {
						return 1
					}
					return c.logic(msg, l)
				}
				p := pool(t, s, 2, r.worker, custom(bad))
				p.Tell("bad")
				synctest.Wait()
				if got := r.take(); len(got) != 1 || !strings.HasPrefix(got[0], "dead bad to router: ") || !strings.Contains(got[0], c.text) {
					t.Errorf("got %q, want one dead letter to the router that says %q", got, c.text)
				}
				var end completion
				actor.Send(p, actor.Envelope{Msg: "bad", Done: &end})
				if err := end.once(t); !errors.Is(err, actor.ErrDeadLetter) || !errors.Is(err, router.ErrLogic) || !errors.Is(err, c.reason) {
					t.Errorf("ended with %v", err)
				}
				_, err := actor.Ask[any](t.Context(), p, "bad")
				if !errors.Is(err, actor.ErrDeadLetter) || !errors.Is(err, c.reason) {
					t.Errorf("ask ended with %v", err)
				}
				synctest.Wait()
				r.take()
				p.Tell("good") // the same router, the same routees
				r.want(t, "routee-2 good")
			})
		})
	}
}

func TestCustomLogicMayChooseAll(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker, custom(func(any, []actor.Ref) int { return router.All }))
		p.Tell("x")
		r.wantAnyOrder(t, "routee-1 x", "routee-2 x")
	})
}

// updating is a user's logic that wants to know its routees.
type updating struct {
	r    *record
	fail bool
}

func (l *updating) Select(any, []actor.Ref) int { return 0 }

func (l *updating) Update(refs []actor.Ref) {
	l.r.add("update %d", len(refs))
	if l.fail = !l.fail && len(refs) == 1; l.fail {
		panic("no")
	}
}

func TestUpdaterIsToldBeforeTheNextChoice(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 4, r.worker, logic(func() router.Logic { return &updating{r: r} }))
		p.Tell("a")
		p.Tell("b")
		r.want(t, "update 4", "routee-1 a", "routee-1 b")
		for _, ref := range routees(t, p)[2:] {
			ref.Tell(actor.PoisonPill{})
		}
		synctest.Wait()
		p.Tell("c") // two have ended, one update
		r.want(t, "update 2", "routee-1 c")
		p.Tell(router.Resize{Size: 1})
		p.Tell("d")
		p.Tell("e")
		r.wantAnyOrder(t, "update 1",
			"dead d to router: "+router.ErrLogic.Error()+": actor: panic: no",
			"dead e to router: "+router.ErrLogic.Error()+": actor: panic: no")
		p.Tell(router.Resize{Size: 2})
		p.Tell("f")
		r.want(t, "update 2", "routee-1 f")
	})
}

// Each instance has a logic of its own: two routers of one factory do not share a state.
func TestEveryRouterHasItsOwnLogic(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		newPool, err := router.Pool(2, r.worker)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			ref := spawn(t, s, fmt.Sprint("p", i), newPool)
			ref.Tell(i)
			synctest.Wait()
		}
		r.want(t, "routee-1 0", "routee-1 1")
	})
}

func TestLogicFunctionThatReturnsNil(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 1, r.worker, logic(func() router.Logic { return nil }))
		_, err := actor.Ask[any](t.Context(), p, "x")
		if !errors.Is(err, actor.ErrDeadLetter) {
			t.Errorf("%v, want a dead letter of a router that did not start", err)
		}
		r.want(t, "dead x to router: "+actor.ErrStopped.Error())
	})
}
