package actor

import "log/slog"

// beginStop stops the children; the rest follows when the last of them has ended.
func (c *cell) beginStop(cause error) {
	if c.st >= stopping {
		return
	}
	if cause != nil || c.st != failed && c.look() != &c.sys.none {
		c.rare().cause = cause
	}
	c.st = stopping
	c.disarm()
	c.announceStop()
	c.kids().close()
	c.stopChildren()
	c.childrenGone()
}

// finishStop is the end. The order is that of the contract: PostStop, dead letters of stash and mailbox, subscriptions,
// event, parent, watchers.
func (c *cell) finishStop() {
	c.cancelTimers()
	if err := c.guard(inPostStop, c.postStop); err != nil {
		c.report(inPostStop, slog.LevelError, "PostStop failed", "error", err)
	}
	c.close()
}

// closing is what is left to do at the end. It is kept in the cell, because completions are foreign code and may
// interrupt it.
type closing struct{ left []envelope }

// close settles everything and lets go of everything. It may be called again after an interruption and goes on then.
func (c *cell) close() {
	c.phase = inClose
	k := c.closingState()
	c.dropStash()
	for k != nil && len(k.left) > 0 {
		e := k.left[0]
		k.left = k.left[1:]
		c.sys.undelivered(&e, c.ref(), ErrStopped)
	}
	c.endHolds(ErrStopped)
	if c.mb.Marked(markSubscribed) {
		c.sys.events.removeRef(c.ref())
	}
	if !c.stopTold {
		c.stopTold = true
		c.sys.events.publishLifecycle(ActorStopped{c.ref(), c.look().cause})
	}
	c.phase = ours
	c.tellEnd()
}

// closingState closes the mailbox, the first time, and returns what is left to do: nil if it is so little that nothing
// of it can be interrupted.
func (c *cell) closingState() *closing {
	if c.st == gone {
		return c.look().closing
	}
	c.takeBack()
	c.st = gone
	c.actor, c.became, c.newActor = nil, false, nil
	rest := c.shut()
	r := c.look()
	if r == &c.sys.none && len(rest) == 0 && c.sys.events.subs.Load() == nil {
		return nil
	}
	r = c.rare()
	r.stack, r.unsettled, r.failing = nil, nil, nil
	r.closing = &closing{left: rest}
	return r.closing
}

// tellEnd tells those who wait for the end. Each step of it happens, also if the priority function of a watcher's mailbox
// ends the goroutine: nothing would go on behind it.
func (c *cell) tellEnd() {
	for m := c.nextCommand(); m != nil; m = c.nextCommand() {
		if m.kind == cmdWatch || m.kind == cmdAwait {
			c.command(m)
		}
	}
	if c.parent != nil {
		// Before the watchers: a parent that watches its child finds the name free when Terminated arrives, since the
		// system lane is served first.
		c.parent.kids().ended(c)
		c.parent.signal(sigKids, c.run)
	}
	defer c.toldEnd()
	if x := c.ext.Load(); x != nil && x.watch != nil {
		x.watch.by.take(func(w *cell) { w.noteDeath(c) })
	}
}

// toldEnd is what follows when the watchers know.
func (c *cell) toldEnd() {
	if x := c.ext.Load(); x != nil && x.watch != nil {
		w := x.watch
		w.mu.Lock()
		for ref := range w.of {
			ref.n.unwatchedBy(c)
		}
		w.mu.Unlock()
		for _, ended := range w.wait {
			close(ended)
		}
		x.watch = nil
	}
	c.mb.Mark(markEnded)
	for m := c.nextCommand(); m != nil; m = c.nextCommand() {
		if m.kind == cmdAwait { // came after the first look; who comes from here on sees the mark
			close(m.ended)
		}
	}
	x := c.ext.Load()
	if x == nil {
		return
	}
	if r := x.rare.Load(); r != nil {
		r.closing, r.replaced = nil, nil
		if r.ended != nil { // a guardian: System.Spawn may still be on its way to a family that is closed
			close(r.ended)
			return
		}
	}
	x.kids.Store(nil)
}
