package actor

// beginStop stops the children; the rest follows when the last of them has ended.
func (c *cell) beginStop(cause error) {
	if c.st >= stopping {
		return
	}
	if cause != nil || c.st != failed {
		c.cause = cause
	}
	c.st = stopping
	c.suspend()
	c.disarm()
	c.kids.close()
	c.stopping.Store(true)
	c.life.Load().end(ErrStopped)
	c.stopChildren()
	c.childrenGone()
}

// finishStop is the end. The order is that of the contract: PostStop, dead letters of stash and mailbox, subscriptions,
// event, parent, watchers.
func (c *cell) finishStop() {
	c.cancelTimers()
	if err := c.guard(inPostStop, c.postStop); err != nil {
		c.log().Error("PostStop failed", "error", err)
	}
	c.close()
}

// closing is what is left to do at the end. It is kept in the cell, because completions are foreign code and may
// interrupt it.
type closing struct {
	left      []envelope
	commands  []command
	announced bool
}

// close settles everything and lets go of everything. It may be called again after an interruption and goes on then.
func (c *cell) close() {
	c.phase = inClose
	if c.closing == nil {
		c.st = gone
		c.ctx.turn.Store(false)
		c.actor, c.stack, c.unsettled, c.newActor = nil, nil, nil, nil
		user, commands := c.mb.Close()
		c.closing = &closing{left: user, commands: commands}
	}
	c.dropStash()
	for k := c.closing; len(k.left) > 0; {
		e := k.left[0]
		k.left = k.left[1:]
		c.sys.undelivered(&e, c.ref(), ErrStopped)
	}
	c.held.end(ErrStopped)
	if c.subscribed.Load() {
		c.sys.events.removeRef(c.ref())
	}
	if !c.closing.announced {
		c.closing.announced = true
		c.sys.events.publishLifecycle(ActorStopped{c.ref(), c.cause})
	}
	c.phase = ours
	c.tellEnd()
}

// tellEnd tells those who wait for the end. There is no foreign code in it.
func (c *cell) tellEnd() {
	for _, m := range c.closing.commands {
		if m.kind == cmdWatch {
			c.watchers.add(m.from)
		}
	}
	if c.parent != nil {
		// Before the watchers: a parent that watches its child finds the name free when Terminated arrives, since the
		// system lane is served first.
		c.parent.send(command{kind: cmdChildGone, from: c})
	}
	c.watchers.take(func(w *cell) { w.noteDeath(c) })
	for ref := range c.watches {
		ref.n.unwatchedBy(c)
	}
	c.watches, c.closing, c.replaced = nil, nil, nil
	if c.ended != nil { // a guardian: System.Spawn may still be on its way to a family that is closed
		close(c.ended)
		return
	}
	c.kids = nil
}
