package actor

// StashCapacity is how many messages an actor can have stashed at a time.
const StashCapacity = 1024

// stashKeep is how many places an empty stash keeps.
const stashKeep = 16

// stashCurrent parks the current message with everything that travels with it.
func (c *cell) stashCurrent() error {
	if c.phase != inReceive || c.taken {
		return ErrStashOutside
	}
	if len(c.stash) >= StashCapacity {
		return ErrStashFull
	}
	c.stash = append(c.stash, c.cur)
	c.cur.done, c.taken = nil, true
	return nil
}

// unstash puts the stashed messages before everything that waits.
func (c *cell) unstash() {
	if len(c.stash) == 0 {
		return
	}
	for i := range c.stash {
		c.stash[i].replayed = true
	}
	c.mb.Prepend(c.stash)
	clear(c.stash)
	c.stash = c.stash[:0]
	if cap(c.stash) > stashKeep {
		c.stash = nil
	}
}

// dropStash makes dead letters of what is stashed, oldest first. Each is taken out before it is settled, so that it can
// be called again after an interruption.
func (c *cell) dropStash() {
	for len(c.stash) > 0 {
		e := c.stash[0]
		c.stash = c.stash[1:]
		c.sys.undelivered(&e, c.ref(), ErrStopped)
	}
	c.stash = nil
}
