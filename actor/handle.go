package actor

import "log/slog"

// user handles one envelope of the user lane.
func (c *cell) user(e *envelope) {
	k := c.run
	k.e, k.taken = e, false
	if e.done != nil && !c.admit(e) {
		k.ctx = nil // it may have brought one
		return
	}
	switch e.msg.(type) {
	case PoisonPill, Kill, Terminated:
		if c.control(e) {
			return
		}
	}
	if c.idle.window.Load() != 0 {
		c.noteActivity(e)
	}
	var err error
	c.phase = inReceive
	if h := c.sys.hook; h != nil {
		c.hookBefore(h)
	}
	if c.became {
		err = c.behave(e.msg)
	} else {
		err = c.actor.Receive(c.context(), e.msg)
	}
	c.phase = ours
	if err != nil || e.done != nil || k.own != nil || k.ctx != nil || k.after != nil || c.stopAsked {
		c.handled(err)
	}
}

// behave runs the behaviour on the top of the stack.
func (c *cell) behave(msg any) error {
	if b := c.look().stack; b != nil {
		return b.f(c.context(), msg)
	}
	return c.actor.Receive(c.context(), msg)
}

// admit looks at what came with the envelope. What the runtime sent is checked at delivery, and its mark goes to the
// carrier, so that a handler cannot pass it on. False: the envelope is void.
func (c *cell) admit(e *envelope) bool {
	k := c.run
	if d, ok := e.done.(*carried); ok {
		k.ctx, e.done = d.ctx, d.inner
	}
	switch d := e.done.(type) {
	case nil:
		return true
	case *promise:
		k.ctx = d.ctx
		return true
	case *idleMark:
		if !c.idleDue(d) {
			return false
		}
		k.own = d
	case deathMark:
		if !c.deathDue(e) {
			return false
		}
		k.own = d
	case tickMark:
		if !d.expects(c) {
			return false
		}
		k.own = d
	case deathSeen, tickSeen:
		k.own = d
	case *pipeMark:
		if d.instance != c.look().instance {
			c.sys.undelivered(e, c.ref(), ErrPreviousInstance)
			return false
		}
		k.ctx = d.ctx
	default:
		return true
	}
	e.done = nil
	return true
}

// control deals with the messages that mean something to the runtime. True: it was one.
func (c *cell) control(e *envelope) bool {
	k := c.run
	switch k.own.(type) {
	case deathMark, deathSeen:
		return false
	}
	msg, done := e.msg, *e
	c.endTick()
	k.e, k.own, k.ctx = &k.none, nil, nil
	var err error
	switch msg.(type) {
	case PoisonPill:
		c.stopAsked = true
	case Kill:
		err = ErrKilled
	case Terminated:
		c.sys.undelivered(&done, c.ref(), ErrForged)
		return true
	}
	k.err = err
	c.phase = inSettle
	c.sys.finish(&done, nil)
	c.phase = ours
	k.err = nil
	c.afterMessage(err)
	return true
}

// handled ends the current message's completion with what the handler returned. An ask is not ended by a handler that
// returned nil: its reply may come by another way.
func (c *cell) handled(err error) {
	k := c.run
	if k.after != nil {
		c.phase = inReceive
		c.hookAfter(err)
		c.phase = ours
	}
	if d := k.e.done; d != nil && !(err == nil && isAsk(d)) {
		k.err = err
		c.phase = inSettle
		c.sys.finish(k.e, err)
		c.phase = ours
		k.err = nil
	}
	c.afterMessage(err)
}

// afterMessage arms the next tick of a timer, and carries out a stop that the handler asked for, or its failure.
func (c *cell) afterMessage(err error) {
	k := c.run
	msg := k.e.msg
	c.endTick()
	k.e, k.own, k.ctx = &k.none, nil, nil
	refused := err != nil && refusal(err)
	switch {
	case c.stopAsked:
		if err != nil && !refused {
			c.report(inSettle, slog.LevelError, "failed while stopping itself", "error", err)
		}
		c.beginStop(nil)
	case err == nil || refused:
	default:
		c.fail(&failure{err: err, msg: msg})
	}
}

// refusal is Rejected for an error whose methods may panic.
func refusal(err error) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return Rejected(err)
}

// endTick arms the next tick of the timer whose tick is the current message.
func (c *cell) endTick() {
	if t, ok := c.run.own.(tickMark); ok {
		t.handled(c)
	}
}
