package actor

// user handles one envelope of the user lane.
func (c *cell) user(e *envelope) {
	switch e.kind {
	case timeout:
		if !c.timeoutDue(e) {
			return
		}
	case death:
		if !e.replayed && !c.deathDue(e) {
			return
		}
	case tick:
		if !e.replayed && !e.timer.due(c) {
			return
		}
	case piped:
		if e.gen != c.instance {
			c.sys.undelivered(e, c.ref(), ErrPreviousInstance)
			return
		}
	}
	if e.kind != timeout && e.kind != death && c.control(e) {
		return
	}
	c.noteActivity(e)
	c.cur, c.taken = *e, false
	c.handled(c.receive(e.msg))
}

// control deals with the messages that mean something to the runtime. True: it was one.
func (c *cell) control(e *envelope) bool {
	switch e.msg.(type) {
	case PoisonPill, Kill, Terminated:
		if e.kind == tick {
			e.timer.handled(c)
		}
	}
	switch e.msg.(type) {
	case PoisonPill:
		c.sys.finish(e, nil)
		c.beginStop(nil)
	case Kill:
		c.sys.finish(e, nil)
		c.fail(&failure{err: ErrKilled})
	case Terminated:
		c.sys.undelivered(e, c.ref(), ErrForged)
	default:
		return false
	}
	return true
}

// receive runs the current behaviour.
func (c *cell) receive(msg any) (err error) {
	defer c.recovered(&err)
	c.phase = inReceive
	if n := len(c.stack); n > 0 {
		err = c.stack[n-1](&c.ctx, msg)
	} else {
		err = c.actor.Receive(&c.ctx, msg)
	}
	c.phase = ours
	return err
}

// handled ends the current message's completion with what the handler returned. An ask is not ended by a handler that
// returned nil: its reply may come by another way.
func (c *cell) handled(err error) {
	if d := c.cur.done; d != nil && !(err == nil && isAsk(d)) {
		c.curErr = err
		c.phase = inSettle
		c.sys.finish(&c.cur, err)
		c.phase = ours
		c.settled()
		return
	}
	c.afterMessage(err)
}

// settled goes on after the completion.
func (c *cell) settled() {
	err := c.curErr
	c.curErr = nil
	c.afterMessage(err)
}

// afterMessage arms the next tick of a timer, and carries out a stop that the handler asked for, or its failure.
func (c *cell) afterMessage(err error) {
	e := c.cur
	c.cur = envelope{}
	if e.kind == tick && !e.replayed {
		e.timer.handled(c)
	}
	switch {
	case c.stopAsked:
		if err != nil && !Rejected(err) {
			c.log().Error("failed while stopping itself", "error", err)
		}
		c.beginStop(nil)
	case err == nil || Rejected(err):
	default:
		c.fail(&failure{err: err, msg: e.msg})
	}
}
