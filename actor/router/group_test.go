package router_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/router"
)

func three(t *testing.T, s *actor.System, r *record) []actor.Ref {
	return []actor.Ref{spawn(t, s, "a", r.worker), spawn(t, s, "b", r.worker), spawn(t, s, "c", r.worker)}
}

func TestGroupRoutesToGivenRefs(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		refs := three(t, s, r)
		g := group(t, s, refs)
		refs[0] = actor.Ref{} // the slice was copied
		for i := range 4 {
			g.Tell(i)
			synctest.Wait()
		}
		r.want(t, "a 0", "b 1", "c 2", "a 3")
	})
}

func TestGroupPrunesOnTerminated(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		refs := three(t, s, r)
		g := group(t, s, refs)
		refs[1].Tell(actor.PoisonPill{})
		wantNames(t, g, "a", "c")

		again := spawn(t, s, "b", r.worker) // the same path, another actor
		synctest.Wait()
		g.Tell(router.AddRoutee{Ref: again})
		g.Tell(router.RemoveRoutee{Ref: refs[1]})
		wantNames(t, g, "a", "c", "b")
	})
}

func TestGroupChangesAtRunTime(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		refs := three(t, s, r)
		g := group(t, s, nil)
		g.Tell("early")
		r.want(t, "dead early to router: "+router.ErrNoRoutee.Error())
		for range 2 {
			g.Tell(router.AddRoutee{Ref: refs[0]})
			g.Tell(router.AddRoutee{Ref: refs[1]})
		}
		wantNames(t, g, "a", "b")
		g.Tell(router.RemoveRoutee{Ref: refs[0]})
		g.Tell(router.RemoveRoutee{Ref: refs[0]})
		wantNames(t, g, "b")
		g.Tell("x")
		refs[0].Tell("still there")
		r.wantAnyOrder(t, "b x", "a still there")

		refs[2].Tell(actor.PoisonPill{})
		synctest.Wait()
		g.Tell(router.AddRoutee{Ref: refs[2]}) // has stopped
		wantNames(t, g, "b")

		// Removed and added again: its end is noticed once more.
		g.Tell(router.AddRoutee{Ref: refs[0]})
		refs[0].Tell(actor.PoisonPill{})
		wantNames(t, g, "b")
	})
}

func TestGroupRefusesBadChanges(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		refs := three(t, s, r)
		g := group(t, s, refs)
		for _, msg := range []any{router.AddRoutee{}, router.RemoveRoutee{}, router.AddRoutee{Ref: g}} {
			if _, err := actor.Ask[any](t.Context(), g, msg); !errors.Is(err, router.ErrRoutee) || errors.Is(err, actor.ErrDeadLetter) {
				t.Errorf("%+v: %v", msg, err)
			}
		}
		if _, err := actor.Ask[any](t.Context(), g, router.Resize{Size: 2}); !errors.Is(err, actor.ErrUnhandled) {
			t.Errorf("Resize: %v, want it unhandled by a group", err)
		}
		wantNames(t, g, "a", "b", "c")
		r.take()
	})
}

func TestGroupLeavesItsRouteesAlone(t *testing.T) {
	for _, end := range []any{actor.PoisonPill{}, router.Drain{}} {
		bubble(t, func(t *testing.T, s *actor.System, r *record) {
			refs := three(t, s, r)
			g := group(t, s, refs)
			g.Tell("x")
			g.Tell(end)
			r.want(t, "a x")
			if _, ok := g.Pending(); ok {
				t.Errorf("%T: the router has not stopped", end)
			}
			refs[0].Tell("y")
			r.want(t, "a y")
		})
	}
}

func TestDrainOfAGroupEndsAnAsk(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		g := group(t, s, three(t, s, r))
		begin := time.Now()
		if _, err := actor.Ask[any](t.Context(), g, router.Drain{}); err != nil || time.Since(begin) != 0 {
			t.Error(err, time.Since(begin))
		}
	})
}

// A restart starts with the refs of the constructor; what has died meanwhile is found dead.
func TestGroupAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		refs := three(t, s, r)
		g := group(t, s, refs[:2])
		g.Tell(router.AddRoutee{Ref: refs[2]})
		refs[0].Tell(actor.PoisonPill{})
		wantNames(t, g, "b", "c")
		g.Tell(actor.Kill{})
		wantNames(t, g, "b")
	})
}

func TestRoutersNest(t *testing.T) {
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		inner, err := router.Pool(2, r.worker)
		if err != nil {
			t.Fatal(err)
		}
		g := group(t, s, []actor.Ref{spawn(t, s, "p", inner), spawn(t, s, "q", inner)})
		var end completion
		actor.Send(g, actor.Envelope{Msg: router.Broadcast{Msg: router.Broadcast{Msg: "x"}}, Done: &end})
		if err := end.once(t); err != nil {
			t.Error(err)
		}
		r.wantAnyOrder(t, "routee-1 x", "routee-1 x", "routee-2 x", "routee-2 x")
	})
}

// #455: bad input is an error of the constructor.
func TestHC_455_bad_input(t *testing.T) {
	worker := (&record{}).worker
	option := func(f func(*router.Config)) []func(*router.Config) { return []func(*router.Config){f} }
	for _, c := range []struct {
		size   int
		worker func() actor.Actor
		opts   []func(*router.Config)
		want   string
	}{
		{0, worker, nil, "the size of the pool is 0, must be 1 or more"},
		{-3, worker, nil, "the size of the pool is -3, must be 1 or more"},
		{1, nil, nil, "the factory of the pool's routees is nil"},
		{1, worker, option(func(c *router.Config) { c.Logic = nil }), "Logic is nil"},
		{1, worker, option(func(c *router.Config) { c.VirtualNodes = 0 }), "VirtualNodes is 0, must be 1 to 65536"},
		{1, worker, option(func(c *router.Config) { c.VirtualNodes = 1 << 17 }), "VirtualNodes is 131072, must be 1 to 65536"},
		{1, worker, option(func(c *router.Config) { c.ReplaceAfter = -1 }), "ReplaceAfter is -1ns"},
		{1, worker, option(func(c *router.Config) {
			c.Routee = func(s *actor.SpawnConfig) { s.Mailbox.Capacity = -1 }
		}), "Routee: Mailbox.Capacity must be 0"},
	} {
		f, err := router.Pool(c.size, c.worker, c.opts...)
		if f != nil || !errors.Is(err, router.ErrConfig) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	bubble(t, func(t *testing.T, s *actor.System, r *record) {
		a := spawn(t, s, "a", worker)
		for _, c := range []struct {
			refs []actor.Ref
			opts []func(*router.Config)
			want string
		}{
			{[]actor.Ref{a, {}}, nil, "routee 1 of the group is the zero Ref"},
			{[]actor.Ref{a, a}, nil, "routee 1 of the group is troupe://test/user/a, as routee 0 is already"},
			{[]actor.Ref{a}, option(func(c *router.Config) { c.ReplaceAfter = 1 }), "ReplaceAfter is set"},
			{[]actor.Ref{a}, option(func(c *router.Config) { c.Supervisor.MaxRestarts = 1 }), "Supervisor is set"},
			{[]actor.Ref{a}, option(func(c *router.Config) { c.Routee = func(*actor.SpawnConfig) {} }), "Routee is set"},
			{[]actor.Ref{a}, option(func(c *router.Config) { c.Logic = nil }), "Logic is nil"},
		} {
			f, err := router.Group(c.refs, c.opts...)
			if f != nil || !errors.Is(err, router.ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		}
	})
}
