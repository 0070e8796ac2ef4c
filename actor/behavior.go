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
	r.mu.Lock()
	defer r.mu.Unlock()
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

// unstash has the stashed messages put before everything that waits. That is done when the handler has ended, by the
// signal: the front of the mailbox is what the owner alone may touch, since from there its memory goes to other mailboxes,
// and the caller may be a goroutine that has kept the Context.
func (c *cell) unstash() {
	r := c.look()
	if r == &c.sys.none {
		return
	}
	r.mu.Lock()
	n := len(r.stash)
	if n > 0 {
		r.back, r.stash = append(r.stash, r.back...), nil
	}
	r.mu.Unlock()
	if n > 0 {
		c.signal(sigBack, c.run)
	}
}

// takeBack puts what was unstashed before everything that waits.
func (c *cell) takeBack() {
	r := c.look()
	if r == &c.sys.none {
		return
	}
	r.mu.Lock()
	es := r.back
	r.back = nil
	r.mu.Unlock()
	if len(es) == 0 {
		return
	}
	c.prepend(es) // without the lock: a priority function may be asked
	clear(es)
	if cap(es) > stashKeep {
		return
	}
	r.mu.Lock()
	if r.stash == nil {
		r.stash = es[:0]
	}
	r.mu.Unlock()
}

// dropStash makes dead letters of what is stashed, oldest first. Each is taken out before it is settled, so that it can
// be called again after an interruption.
func (c *cell) dropStash() {
	r := c.look()
	if r == &c.sys.none {
		return
	}
	for {
		r.mu.Lock()
		if len(r.stash) == 0 {
			r.stash = nil
			r.mu.Unlock()
			return
		}
		e := r.stash[0]
		r.stash = r.stash[1:]
		r.mu.Unlock()
		c.sys.undelivered(&e, c.ref(), ErrStopped)
	}
}

// behavior is an entry of the stack of behaviours. It does not change, so that reading the top is one load.
type behavior struct {
	f     Func
	below *behavior
}

// depth is how many there are.
func (b *behavior) depth() (n int) {
	for ; b != nil; b = b.below {
		n++
	}
	return n
}

// become replaces the behaviour in force, or stacks a new one on it.
func (c *cell) become(f Func, keep bool) {
	if f == nil {
		f = c.actor.Receive
	}
	r := c.rare()
	below := r.stack
	if below != nil && !keep {
		below = below.below
	}
	r.stack = &behavior{f, below}
	c.became = true
}

// unbecome returns to the behaviour before.
func (c *cell) unbecome() {
	r := c.look()
	if b := r.stack; b != nil {
		r.stack = b.below
		c.became = b.below != nil
	}
}
