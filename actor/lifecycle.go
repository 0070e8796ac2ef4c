package actor

import (
	"fmt"
	"log/slog"
)

// start builds an instance and runs its start hook: PostRestart with the cause when it takes the place of one that
// failed, else PreStart. What the outgoing instance has left, in its last hook, ends here.
func (c *cell) start() {
	if c.st >= stopping {
		return
	}
	c.phase = inReleaseHolds
	c.endHolds(ErrPreviousInstance)
	c.phase = ours
	c.disarm()
	c.cancelTimers()
	c.endLifetime(ErrPreviousInstance)
	if r := c.look(); r != &c.sys.none {
		r.cause, r.failing, r.stack, r.unsettled = nil, nil, nil, nil
	}
	if c.built {
		c.rare().instance++
	}
	c.actor, c.became, c.stopRan = nil, false, false
	c.kids().reset(c.susp)
	c.st = running // so that the hooks may spawn, watch and arm
	c.started(c.guard(inStart, c.build))
}

// build makes the instance and calls its hook.
func (c *cell) build() error {
	a := c.newActor()
	if a == nil {
		return fmt.Errorf("actor: the factory of %s returned nil", c.path())
	}
	if err := c.sys.hooks.check(a); err != nil {
		return err
	}
	f := c.look().replaced
	again := c.built && f != nil
	c.actor, c.built = a, true
	if again {
		if h, ok := hook[PostRestarter](a); ok {
			return h.PostRestart(c.context(), f.err)
		}
	}
	if h, ok := hook[PreStarter](a); ok {
		return h.PreStart(c.context())
	}
	return nil
}

// started goes on after the start hook.
func (c *cell) started(err error) {
	if c.stopAsked {
		if err != nil {
			c.report(inSettle, slog.LevelError, "failed while stopping itself", "error", err)
		}
		c.beginStop(nil)
		return
	}
	if err != nil {
		c.fail(&failure{err: err, start: true})
		return
	}
	f := c.look().replaced
	if f != nil {
		c.rare().replaced = nil
	}
	switch {
	case !c.announced:
		c.announced = true
		c.sys.events.publishLifecycle(ActorStarted{c.ref()})
	case f != nil:
		c.sys.events.publishLifecycle(ActorRestarted{c.ref(), f.err})
	}
}

// restart replaces the instance. The hooks of the old one run first, then its children end, then the new one starts.
func (c *cell) restart(f *failure) {
	c.st = restarting
	c.disarm()
	c.cancelTimers()
	c.rare().replaced = f
	c.endLifetime(f.err)
	c.dropStashBeforeRestart()
}

func (c *cell) dropStashBeforeRestart() {
	c.phase = inDropStash
	c.dropStash()
	c.phase = ours
	if err := c.guard(inBeforeStart, c.beforeRestart); err != nil {
		c.report(inBeforeStart, slog.LevelError, "hook failed before a restart", "error", err)
	}
	c.replaceInstance()
}

// beforeRestart runs the last hook of the outgoing instance. One that was never built has none.
func (c *cell) beforeRestart() error {
	if h, ok := hook[PreRestarter](c.actor); ok {
		f := c.look().replaced
		return h.PreRestart(c.context(), f.err, f.msg)
	}
	return c.postStop()
}

// postStop runs PostStop once per instance: one that had it in place of PreRestart does not get it again when the
// restart turns into a stop.
func (c *cell) postStop() error {
	h, ok := hook[PostStopper](c.actor)
	if !ok || c.stopRan {
		return nil
	}
	c.stopRan = true
	return h.PostStop(c.context())
}

// replaceInstance goes on after the hook. A stop that it asked for wins.
func (c *cell) replaceInstance() {
	if c.stopAsked {
		c.beginStop(nil)
		return
	}
	c.stopChildren()
	c.childrenGone()
}

// childrenGone continues what waited for the end of the children.
func (c *cell) childrenGone() {
	if !c.kids().empty() {
		return
	}
	switch c.st {
	case restarting:
		c.start()
	case stopping:
		c.finishStop()
	}
}

// kidsEnded releases the names of children that have ended.
func (c *cell) kidsEnded() {
	if f := c.kids(); f != nil && f.bury() {
		c.childrenGone()
	}
}

func (c *cell) stopChildren() {
	c.kids().each(func(k *cell) { k.stopBy(c.run) })
}
