package router

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/actor"
)

// Group makes the factory of a router to actors that exist, wherever they are in the tree. It watches them and takes one
// that has ended out, but neither supervises nor stops them; AddRoutee and RemoveRoutee change the group while it runs.
// It may be empty. The slice is copied. The error wraps ErrConfig and says which of the routees is nobody or is named
// twice, or what is wrong with the Config: all of it is known here, so it is reported here and not by a start that fails
// later. The factory may be given to several spawns; a restart of the router begins with these routees again.
func Group(routees []actor.Ref, opts ...func(*Config)) (func() actor.Actor, error) {
	for i, ref := range routees {
		if ref.IsZero() {
			return nil, fmt.Errorf("%w: routee %d of the group is the zero Ref, must be an actor", ErrConfig, i)
		}
		if first := slices.Index(routees, ref); first < i {
			return nil, fmt.Errorf("%w: routee %d of the group is %s, as routee %d is already", ErrConfig, i, ref, first)
		}
	}
	cfg, err := configured(opts)
	if err != nil {
		return nil, err
	}
	if field := cfg.poolOnly(); field != "" {
		return nil, fmt.Errorf("%w: %s is set, but a group does not own its routees; it is for pools", ErrConfig, field)
	}
	routees = slices.Clone(routees)
	return func() actor.Actor { return &router{cfg: cfg, members: group{routees}} }, nil
}

// group is the members of a group.
type group struct{ first []actor.Ref }

func (g group) start(ctx *actor.Context, r *router) error {
	for _, ref := range g.first {
		r.add(ctx, ref)
	}
	return nil
}

func (g group) change(ctx *actor.Context, r *router, msg any) (bool, error) {
	switch m := msg.(type) {
	case AddRoutee:
		if err := checkRoutee(ctx, "AddRoutee", m.Ref); err != nil {
			return true, err
		}
		if !slices.Contains(r.routees, m.Ref) {
			r.add(ctx, m.Ref)
		}
		return true, nil
	case RemoveRoutee:
		if err := checkRoutee(ctx, "RemoveRoutee", m.Ref); err != nil {
			return true, err
		}
		if r.drop(m.Ref) {
			ctx.Unwatch(m.Ref)
		}
		return true, nil
	case Drain:
		if d := ctx.Hold(); d != nil {
			d.Done(nil)
		}
		ctx.StopSelf()
		return true, nil
	}
	return false, nil
}

// ended has nothing to do: a group only knows its routees.
func (g group) ended(*actor.Context, *router, actor.Ref, bool) {}

// checkRoutee refuses what can be no routee. The router as its own routee would route in a circle for ever.
func checkRoutee(ctx *actor.Context, what string, ref actor.Ref) error {
	switch {
	case ref.IsZero():
		return fmt.Errorf("%w: %s: the ref is the zero Ref, must be an actor", ErrRoutee, what)
	case ref == ctx.Self():
		return fmt.Errorf("%w: %s: %s is the router itself", ErrRoutee, what, ref)
	}
	return nil
}
