package router

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/troupe-go/troupe/actor"
)

// members is the difference between a pool and a group: where the routees come from and how they change.
type members interface {
	// start fills the table.
	start(ctx *actor.Context, r *router) error
	// change carries out a message that is meant for the router itself; false: not one for this kind.
	change(ctx *actor.Context, r *router, msg any) (ok bool, err error)
	// ended is told of each actor that was watched and has stopped, after it was taken out of the table; listed: it was in
	// it.
	ended(ctx *actor.Context, r *router, ref actor.Ref, listed bool)
}

// router is the actor.
type router struct {
	cfg      *Config
	members  members
	logic    Logic
	routees  []actor.Ref
	targets  []actor.Ref // scratch space of toAll
	dirty    bool        // the logic has not been told of the routees as they are
	broken   error       // what the last Update of the logic panicked with
	draining bool
}

// PreStart makes the logic and the routees.
func (r *router) PreStart(ctx *actor.Context) error {
	r.logic = r.cfg.Logic()
	if r.logic == nil {
		return &actor.ConfigError{Path: "router.Logic", Err: errors.New("the function returned nil, must return a Logic")}
	}
	if l, ok := r.logic.(*hashRing); ok {
		l.configure(r.cfg)
	}
	r.dirty = true
	return r.members.start(ctx, r)
}

// Supervisor judges the routees of a pool.
func (r *router) Supervisor() actor.Supervisor { return r.cfg.Supervisor }

// Receive routes, but for what is meant for the router itself.
func (r *router) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case Broadcast:
		if reason := r.closed(); reason != nil {
			return dead(ctx, msg, reason)
		}
		return r.toAll(ctx, msg, m.Msg)
	case actor.Terminated:
		listed := r.drop(m.Ref)
		r.members.ended(ctx, r, m.Ref, listed)
		return nil
	case QueryRoutees:
		ctx.Reply(slices.Clone(r.routees))
		return nil
	case AddRoutee, RemoveRoutee, Resize, Drain, respawn:
		return r.change(ctx, msg)
	}
	return r.route(ctx, msg)
}

// closed is why nothing can be routed at all.
func (r *router) closed() error {
	switch {
	case r.draining:
		return ErrDraining
	case len(r.routees) == 0:
		return ErrNoRoutee
	}
	return nil
}

// route forwards one message to whom the logic chooses.
func (r *router) route(ctx *actor.Context, msg any) error {
	if reason := r.closed(); reason != nil {
		return dead(ctx, msg, reason)
	}
	if r.dirty {
		r.update(ctx)
	}
	if r.broken != nil {
		return dead(ctx, msg, r.broken)
	}
	i, err := r.choose(msg)
	switch {
	case err != nil:
		ctx.Log().Error("the router's logic panicked", "message", fmt.Sprintf("%T", msg), "error", err)
		return dead(ctx, msg, fmt.Errorf("%w: %w", ErrLogic, err))
	case i >= 0 && i < len(r.routees):
		ctx.Forward(r.routees[i])
		return nil
	case i == All:
		return r.toAll(ctx, msg, msg)
	case i == None:
		return dead(ctx, msg, r.whyNone())
	}
	return dead(ctx, msg, fmt.Errorf("%w: it chose index %d of %d routees", ErrLogic, i, len(r.routees)))
}

// choose asks the logic, which may be anybody's code.
func (r *router) choose(msg any) (i int, err error) {
	defer caught(&err)
	return r.logic.Select(msg, r.routees), nil
}

// whyNone is the reason when the logic chose nobody. Those of this package do so only for want of a routee or a key.
func (r *router) whyNone() error {
	switch l := r.logic.(type) {
	case *hashRing:
		return l.reason()
	case *roundRobin, random, *smallestMailbox:
		return ErrNoRoutee
	}
	return fmt.Errorf("%w: it chose nobody", ErrLogic)
}

// toAll sends msg to every routee that is not stopping, in the name of the sender of the current message, which is told.
func (r *router) toAll(ctx *actor.Context, told, msg any) error {
	r.targets = r.targets[:0]
	for _, ref := range r.routees {
		if !ref.Stopping() {
			r.targets = append(r.targets, ref)
		}
	}
	if len(r.targets) == 0 {
		return dead(ctx, told, ErrNoRoutee)
	}
	e := actor.Envelope{Msg: msg, Sender: ctx.Sender(), Done: split(ctx.Hold(), len(r.targets))}
	for _, ref := range r.targets {
		actor.Send(ref, e)
	}
	clear(r.targets)
	return nil
}

// dead makes a dead letter of the current message. What it returns ends the message's completion; it is a refusal, so
// the router itself has not failed. A dead letter that could not be routed is not wrapped into another: to a router that
// is subscribed to dead letters that would never end.
func dead(ctx *actor.Context, told any, reason error) error {
	inner := told
	for {
		b, ok := inner.(Broadcast)
		if !ok {
			break
		}
		inner = b.Msg
	}
	if _, again := inner.(actor.DeadLetter); !again {
		letter := actor.DeadLetter{Msg: told, To: ctx.Self(), Sender: ctx.Sender(), Reason: reason}
		ctx.System().EventStream().Publish(letter)
	}
	return actor.Reject(fmt.Errorf("%w: %w", actor.ErrDeadLetter, reason))
}

// change carries out a message to the router itself. One that is of no use to this kind of router is unhandled.
func (r *router) change(ctx *actor.Context, msg any) error {
	ok, err := r.members.change(ctx, r, msg)
	if !ok {
		ctx.Unhandled()
		return nil
	}
	if err != nil {
		ctx.Log().Warn("the router refused a change", "error", err)
		return actor.Reject(err)
	}
	return nil
}

// add puts a routee into the table and watches it.
func (r *router) add(ctx *actor.Context, ref actor.Ref) {
	ctx.Watch(ref)
	r.routees = append(r.routees, ref)
	r.dirty = true
}

// drop takes a routee out of the table, the very incarnation and not whatever has its path, and reports whether it was
// there. The others keep their order.
func (r *router) drop(ref actor.Ref) bool {
	i := slices.Index(r.routees, ref)
	if i < 0 {
		return false
	}
	r.routees = slices.Delete(r.routees, i, i+1)
	r.dirty = true
	return true
}

// update tells a logic that wants to know about the routees. It is done before the next choice and not at the change, so
// that the end of many routees at once is one update.
func (r *router) update(ctx *actor.Context) {
	r.dirty, r.broken = false, nil
	u, ok := r.logic.(Updater)
	if !ok {
		return
	}
	if err := r.tell(u); err != nil {
		ctx.Log().Error("the router's logic panicked", "error", err)
		r.broken = fmt.Errorf("%w: %w", ErrLogic, err)
	}
}

func (r *router) tell(u Updater) (err error) {
	defer caught(&err)
	u.Update(r.routees)
	return nil
}

// caught turns a panic into an error.
func caught(err *error) {
	if v := recover(); v != nil {
		*err = &actor.PanicError{Value: v, Stack: debug.Stack()}
	}
}
