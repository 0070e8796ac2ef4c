package router

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/actor"
)

// Pool makes the factory of a router that spawns size routees from newRoutee, as its children routee-1, routee-2 and so
// on. It watches them, judges their failures by Config.Supervisor, and takes one that has ended out; see
// Config.ReplaceAfter. The error wraps ErrConfig and says what is wrong with size, newRoutee or the Config: all of it is
// known here, so it is reported here and not by a start that fails later. The factory may be given to several spawns.
func Pool(size int, newRoutee func() actor.Actor, opts ...func(*Config)) (func() actor.Actor, error) {
	switch {
	case size < 1:
		return nil, fmt.Errorf("%w: the size of the pool is %d, must be 1 or more", ErrConfig, size)
	case newRoutee == nil:
		return nil, fmt.Errorf("%w: the factory of the pool's routees is nil", ErrConfig)
	}
	cfg, err := configured(opts)
	if err != nil {
		return nil, err
	}
	return func() actor.Actor {
		return &router{cfg: cfg, members: &pool{size: size, newRoutee: newRoutee}}
	}, nil
}

// pool is the members of one instance of a pool.
type pool struct {
	size      int
	newRoutee func() actor.Actor
	leaving   []actor.Ref // children that are out of the table and have not ended yet
	missing   []string    // names of routees that will be replaced, each with a timer
	drained   []actor.Completion
}

func (p *pool) start(ctx *actor.Context, r *router) error { return p.grow(ctx, r, p.size) }

func (p *pool) change(ctx *actor.Context, r *router, msg any) (bool, error) {
	switch m := msg.(type) {
	case Resize:
		return true, p.resize(ctx, r, m.Size)
	case Drain:
		p.drain(ctx, r)
		return true, nil
	case respawn:
		p.replace(ctx, r, m.name)
		return true, nil
	}
	return false, nil
}

// ended has a routee replaced, or ends the draining. It may also be told of a child of the instance before a restart.
func (p *pool) ended(ctx *actor.Context, r *router, ref actor.Ref, listed bool) {
	if i := slices.Index(p.leaving, ref); i >= 0 {
		p.leaving = slices.Delete(p.leaving, i, i+1)
	}
	switch {
	case r.draining:
		p.finishDrain(ctx, r)
	case !listed:
	case r.cfg.ReplaceAfter > 0:
		p.later(ctx, r, ref.Name())
	case len(r.routees) == 0:
		ctx.Log().Warn("the pool has no routee left; what it is told becomes dead letters")
	}
}

// spawn starts one routee.
func (p *pool) spawn(ctx *actor.Context, r *router, name string) error {
	var opts []func(*actor.SpawnConfig)
	if r.cfg.Routee != nil {
		opts = append(opts, r.cfg.Routee)
	}
	ref, err := ctx.Spawn(name, p.newRoutee, opts...)
	if err != nil {
		return err
	}
	r.add(ctx, ref)
	return nil
}

// grow adds n routees, under the lowest numbers that are free. One that was removed has its name until it has ended.
func (p *pool) grow(ctx *actor.Context, r *router, n int) error {
	for i := 1; n > 0; i++ {
		name := fmt.Sprintf("routee-%d", i)
		if _, taken := ctx.Child(name); taken || slices.Contains(p.missing, name) {
			continue
		}
		if err := p.spawn(ctx, r, name); err != nil {
			return err
		}
		n--
	}
	return nil
}

// resize makes the routees, with those that will be replaced, size many.
func (p *pool) resize(ctx *actor.Context, r *router, size int) error {
	switch {
	case r.draining:
		return fmt.Errorf("%w: Resize: %w", ErrRoutee, ErrDraining)
	case size < 1:
		return fmt.Errorf("%w: Resize: Size is %d, must be 1 or more", ErrRoutee, size)
	}
	excess := len(r.routees) + len(p.missing) - size
	for ; excess > 0 && len(p.missing) > 0; excess-- {
		last := len(p.missing) - 1
		ctx.Timers().Cancel(p.missing[last])
		p.missing = p.missing[:last]
	}
	for ; excess > 0; excess-- {
		ref := r.routees[len(r.routees)-1]
		r.drop(ref)
		p.leaving = append(p.leaving, ref)
		ctx.Stop(ref)
	}
	return p.grow(ctx, r, -excess)
}

// later has a routee replaced after the time that is configured.
func (p *pool) later(ctx *actor.Context, r *router, name string) {
	if err := ctx.Timers().StartSingle(name, respawn{name}, r.cfg.ReplaceAfter); err != nil {
		ctx.Log().Error("a routee is not replaced", "routee", name, "error", err)
		return
	}
	p.missing = append(p.missing, name)
}

// replace starts the routee that takes the place of one that ended.
func (p *pool) replace(ctx *actor.Context, r *router, name string) {
	i := slices.Index(p.missing, name)
	if i < 0 || r.draining {
		return
	}
	p.missing = slices.Delete(p.missing, i, i+1)
	err := p.spawn(ctx, r, name)
	if err == nil || errors.Is(err, actor.ErrStopped) {
		return
	}
	ctx.Log().Error("a routee could not be replaced; it is tried again", "routee", name, "error", err)
	p.later(ctx, r, name)
}

// drain has every routee stop when it has handled what it was told.
func (p *pool) drain(ctx *actor.Context, r *router) {
	if d := ctx.Hold(); d != nil {
		p.drained = append(p.drained, d)
	}
	if r.draining {
		return
	}
	r.draining = true
	for _, name := range p.missing {
		ctx.Timers().Cancel(name)
	}
	p.missing = nil
	for _, ref := range r.routees {
		ctx.Stop(ref)
	}
	p.finishDrain(ctx, r)
}

// finishDrain stops the router if the last routee has ended.
func (p *pool) finishDrain(ctx *actor.Context, r *router) {
	if len(r.routees)+len(p.leaving) > 0 {
		return
	}
	for _, d := range p.drained {
		d.Done(nil)
	}
	p.drained = nil
	ctx.StopSelf()
}
