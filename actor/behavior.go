package actor

// StashCapacity is how many messages an actor can have stashed at a time.
const StashCapacity = 1024

// stashKeep is how many places an empty stash keeps.
const stashKeep = 16

// stashCurrent parks the current message with everything that travels with it.
func (c *cell) stashCurrent() error {
	k := c.run
	if k == nil || c.phase != inReceive || k.taken {
		return ErrStashOutside
	}
	r := c.rare()
	if len(r.stash) >= StashCapacity {
		return ErrStashFull
	}
	e := *k.e
	if k.own != nil {
		e.done = k.own
		e.seen()
	}
	e.carry(k.ctx)
	r.stash = append(r.stash, e)
	k.e.done, k.taken = nil, true
	return nil
}

// unstash puts the stashed messages before everything that waits.
func (c *cell) unstash() {
	r := c.look()
	if len(r.stash) == 0 {
		return
	}
	c.prepend(r.stash)
	clear(r.stash)
	r.stash = r.stash[:0]
	if cap(r.stash) > stashKeep {
		r.stash = nil
	}
}

// dropStash makes dead letters of what is stashed, oldest first. Each is taken out before it is settled, so that it can
// be called again after an interruption.
func (c *cell) dropStash() {
	r := c.look()
	for len(r.stash) > 0 {
		e := r.stash[0]
		r.stash = r.stash[1:]
		c.sys.undelivered(&e, c.ref(), ErrStopped)
	}
	if r.stash != nil {
		r.stash = nil
	}
}

// become replaces the behaviour in force, or stacks a new one on it.
func (c *cell) become(f Func, keep bool) {
	r := c.rare()
	if n := len(r.stack); n > 0 && !keep {
		r.stack[n-1] = f
	} else {
		r.stack = append(r.stack, f)
	}
	c.became = true
}

// unbecome returns to the behaviour before.
func (c *cell) unbecome() {
	if !c.became {
		return
	}
	r := c.rare()
	n := len(r.stack) - 1
	r.stack[n] = nil
	r.stack = r.stack[:n]
	c.became = n > 0
}
