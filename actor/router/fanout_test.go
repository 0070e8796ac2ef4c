package router_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/router"
)

// scripted is a pool of three, where each routee does with a message what the function says.
func scripted(t *testing.T, s *actor.System, f func(name string, ctx *actor.Context, msg any) error) actor.Ref {
	t.Helper()
	return pool(t, s, 3, func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error { return f(ctx.Self().Name(), ctx, msg) })
	})
}

func TestBroadcastEndsItsCompletionWhenAllHaveHandledIt(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		gate := make(chan struct{})
		p := scripted(t, s, func(name string, _ *actor.Context, _ any) error {
			if name == "routee-2" {
				<-gate
			}
			return nil
		})
		var end completion
		actor.Send(p, actor.Envelope{Msg: router.Broadcast{Msg: "x"}, Done: &end})
		end.open(t)
		close(gate)
		if err := end.once(t); err != nil {
			t.Error(err)
		}
	})
}

func TestBroadcastJoinsErrors(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		one, two := errors.New("one"), errors.New("two")
		p := scripted(t, s, func(name string, _ *actor.Context, _ any) error {
			switch name {
			case "routee-1":
				return actor.Reject(one)
			case "routee-3":
				return two
			}
			return nil
		})
		var end completion
		actor.Send(p, actor.Envelope{Msg: router.Broadcast{Msg: "x"}, Done: &end})
		if err := end.once(t); !errors.Is(err, one) || !errors.Is(err, two) {
			t.Errorf("ended with %v, want both errors", err)
		}
		wantNames(t, p, "routee-1", "routee-2", "routee-3")
	})
}

// A copy that is lost at a routee ends the whole with its error, once.
func TestBroadcastThatARouteeLosesEndsWithDeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		gate := make(chan struct{})
		p := pool(t, s, 2, r.worker)
		refs := routees(t, p)
		refs[0].Tell(func(ctx *actor.Context) error { <-gate; ctx.StopSelf(); return nil })
		synctest.Wait()
		var end completion
		actor.Send(p, actor.Envelope{Msg: router.Broadcast{Msg: "x"}, Done: &end})
		r.want(t, "routee-2 x")
		end.open(t)
		close(gate)
		if err := end.once(t); !errors.Is(err, actor.ErrDeadLetter) {
			t.Errorf("ended with %v", err)
		}
		r.want(t, "dead x to routee-1: "+actor.ErrStopped.Error())
	})
}

func TestAskOfABroadcastEndsWithTheFirstReply(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := scripted(t, s, func(name string, ctx *actor.Context, _ any) error {
			switch name {
			case "routee-1":
				time.Sleep(30 * ms)
			case "routee-2":
				return actor.Reject(errors.New("not mine"))
			case "routee-3":
				time.Sleep(20 * ms)
			}
			ctx.Reply(name)
			return nil
		})
		begin := time.Now()
		got, err := actor.Ask[string](t.Context(), p, router.Broadcast{Msg: "who"})
		if got != "routee-3" || err != nil || time.Since(begin) != 20*ms {
			t.Errorf("%q, %v after %v", got, err, time.Since(begin))
		}
	})
}

func TestAskOfABroadcastThatNobodyAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		no := errors.New("no")
		p := scripted(t, s, func(name string, _ *actor.Context, msg any) error {
			time.Sleep(10 * ms)
			if msg == "all" || name == "routee-2" {
				return actor.Reject(no)
			}
			return nil
		})
		for _, msg := range []string{"all", "one"} {
			begin := time.Now()
			_, err := actor.Ask[any](t.Context(), p, router.Broadcast{Msg: msg})
			if !errors.Is(err, router.ErrNoReply) || !errors.Is(err, no) || time.Since(begin) != 10*ms {
				t.Errorf("%s: %v after %v", msg, err, time.Since(begin))
			}
		}
	})
}

// A routee that replies after its handler holds its copy, and so does one that sends the message on.
func TestAskOfABroadcastMayBeAnsweredLater(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		late := spawn(t, s, "late", func() actor.Actor {
			return actor.Func(func(ctx *actor.Context, _ any) error {
				time.Sleep(10 * ms)
				ctx.Reply("forwarded")
				return nil
			})
		})
		held := make(chan actor.Completion, 1)
		p := scripted(t, s, func(name string, ctx *actor.Context, msg any) error {
			switch {
			case name != "routee-2":
			case msg == "hold":
				held <- ctx.Hold()
			default:
				ctx.Forward(late)
			}
			return nil
		})
		go func() {
			d := <-held
			time.Sleep(10 * ms)
			d.(actor.Answerer).Answer("held")
		}()
		if got, err := actor.Ask[string](t.Context(), p, router.Broadcast{Msg: "hold"}); got != "held" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := actor.Ask[string](t.Context(), p, router.Broadcast{Msg: "forward"}); got != "forwarded" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestBroadcastKeepsTheSender(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := scripted(t, s, func(name string, ctx *actor.Context, msg any) error {
			ctx.Reply(name)
			return nil
		})
		asker := spawn(t, s, "asker", r.worker)
		asker.Tell(func(ctx *actor.Context) error {
			ctx.Tell(p, router.Broadcast{Msg: "who"})
			return nil
		})
		r.wantAnyOrder(t, "asker routee-1", "asker routee-2", "asker routee-3")
	})
}

// The router holds the completion of a broadcast: its stop ends it, and what its routees do afterwards counts no more.
func TestStopOfTheRouterEndsABroadcastOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		refs := three(t, s, r)
		gate := make(chan struct{})
		g := group(t, s, refs)
		var end completion
		actor.Send(g, actor.Envelope{Msg: router.Broadcast{Msg: block(gate)}, Done: &end})
		end.open(t)
		g.Tell(actor.PoisonPill{})
		if err := end.once(t); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("ended with %v", err)
		}
		close(gate)
		_ = end.once(t)
	})
}

// FanOut treats a plain message as a Broadcast, completion and ask included.
func TestFanOutCompletion(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		refs := three(t, s, r)
		g := group(t, s, refs, logic(router.FanOut))
		var end completion
		actor.Send(g, actor.Envelope{Msg: "x", Done: &end})
		if err := end.once(t); err != nil {
			t.Error(err)
		}
		r.wantAnyOrder(t, "a x", "b x", "c x")
		if _, err := actor.Ask[any](t.Context(), g, "y"); !errors.Is(err, router.ErrNoReply) {
			t.Error(err)
		}
	})
}

type order struct{ id string }

func (o order) HashKey() string { return o.id }

func TestConsistentHashKeepsKeysTogether(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 4, func() actor.Actor {
			return actor.Func(func(ctx *actor.Context, _ any) error { ctx.Reply(ctx.Self().Name()); return nil })
		}, logic(router.ConsistentHash))
		where := map[string]string{}
		used := map[string]bool{}
		for range 3 {
			for _, id := range []string{"", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"} {
				name, err := actor.Ask[string](t.Context(), p, order{id})
				if err != nil {
					t.Fatal(err)
				}
				if was := where[id]; was != "" && was != name {
					t.Errorf("key %q at %s and %s", id, was, name)
				}
				where[id], used[name] = name, true
			}
		}
		if len(used) < 3 {
			t.Errorf("16 keys went to %d of 4 routees", len(used))
		}
	})
}

func TestMessageWithoutKeyIsADeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		p := pool(t, s, 2, r.worker, logic(router.ConsistentHash), func(c *router.Config) {
			c.Key = func(msg any) (string, bool) {
				if msg == "panic" {
					panic("bad key")
				}
				return "", false
			}
		})
		p.Tell(7)
		r.want(t, "dead 7 to router: "+router.ErrNoKey.Error())
		if _, err := actor.Ask[any](t.Context(), p, 8); !errors.Is(err, router.ErrNoKey) || !errors.Is(err, actor.ErrDeadLetter) {
			t.Error(err)
		}
		if _, err := actor.Ask[any](t.Context(), p, "panic"); !errors.Is(err, router.ErrLogic) {
			t.Error(err)
		}
		synctest.Wait()
		r.take()
		p.Tell(router.Broadcast{Msg: 9}) // needs no key
		r.wantAnyOrder(t, "routee-1 9", "routee-2 9")
	})
}
