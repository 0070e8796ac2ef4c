package actor

// Signals, the system lane's part that carries nothing.
const (
	sigStart uint32 = 1 << iota
	sigStop         // by the parent or the system
	sigQueue        // commands came
	sigKids         // children have ended
	sigDue          // the receive timeout's entry fired, and its marker is on its way
	sigBack         // messages came out of the stash
)

// command is an entry of the system lane.
type command struct {
	next    *command
	kind    commandKind
	dir     Directive     // cmdDecided
	round   uint32        // cmdDecided: not 0 if it is for all siblings
	from    *cell         // watcher
	ended   chan struct{} // cmdAwait
	failure *failure      // cmdFailure, cmdDecided
}

type commandKind uint8

const (
	cmdFailure   commandKind = iota // from a child
	cmdDecided                      // by the parent, about this cell or a sibling
	cmdSuspend                      // an ancestor has failed
	cmdUnsuspend                    // and goes on
	cmdWatch                        // from a watcher
	cmdUnwatch                      // from a watcher
	cmdAwait                        // from Ref.Stop
)

// send puts a command into the system lane; false when the cell is gone. It may have taken the command all the same if
// it was about to end, so an answer to it must be harmless twice.
func (c *cell) send(m command, by *carrier) bool {
	if c.mb.Closed() && m.kind != cmdAwait { // nobody would ever take it out
		return false
	}
	q := &c.x().sysq
	for {
		m.next = q.Load()
		if q.CompareAndSwap(m.next, &m) {
			break
		}
	}
	return c.signal(sigQueue, by)
}

// signal turns a signal on and has the cell run; false when it is gone.
func (c *cell) signal(bit uint32, by *carrier) bool {
	wake, ok := c.mb.Signal(bit)
	if wake {
		c.schedule(by)
	}
	return ok
}

// stop asks for an immediate stop: the current handler ends, what is queued becomes dead letters. The context of the
// actor is cancelled at once, so that a handler which waits for I/O returns.
func (c *cell) stop() { c.stopBy(nil) }

func (c *cell) stopBy(by *carrier) {
	c.announceStop()
	c.signal(sigStop, by)
}

// announceStop cancels the lifetime. See lifetime for the order.
func (c *cell) announceStop() {
	c.mb.Mark(markStopping)
	c.look().life.Load().end(ErrStopped)
}

// nextCommand takes the first of the commands, nil if there is none. They are taken one by one, so that an interruption
// loses none.
func (c *cell) nextCommand() *command {
	x := c.ext.Load()
	if x == nil {
		return nil
	}
	if c.look().commands == nil {
		if x.sysq.Load() == nil {
			return nil
		}
		l := &c.rare().commands
		for m := x.sysq.Swap(nil); m != nil; { // last first
			next := m.next
			m.next = *l
			*l = m
			m = next
		}
	}
	r := c.look()
	m := r.commands
	r.commands, m.next = m.next, nil
	return m
}

// signals handles the system lane. Each signal is noted as done before it is handled, so that an interruption neither
// loses nor repeats one.
func (c *cell) signals() {
	c.raised |= uint8(c.mb.TakeSignals())
	if c.raised&uint8(sigDue) != 0 {
		c.raised &^= uint8(sigDue)
		c.idleFired()
	}
	if c.raised == 0 {
		return
	}
	c.sealIdle() // what follows may take its time, and is not the last message's
	c.run.e, c.run.ctx = &c.run.none, nil
	for c.raised != 0 && c.st != gone {
		switch {
		case c.raised&uint8(sigBack) != 0:
			c.raised &^= uint8(sigBack)
			c.takeBack()
		case c.raised&uint8(sigStart) != 0:
			c.raised &^= uint8(sigStart)
			c.start()
		case c.raised&uint8(sigStop) != 0:
			c.raised &^= uint8(sigStop)
			c.beginStop(nil)
		case c.raised&uint8(sigKids) != 0:
			c.raised &^= uint8(sigKids)
			c.kidsEnded()
		default:
			m := c.nextCommand()
			if m == nil {
				c.raised &^= uint8(sigQueue)
				continue
			}
			c.command(m)
		}
		if c.stopAsked && c.st < stopping { // StopSelf in a decider
			c.beginStop(nil)
		}
	}
}

// command carries one out.
func (c *cell) command(m *command) {
	switch m.kind {
	case cmdFailure:
		c.judge(m.failure)
	case cmdDecided:
		c.decided(m)
	case cmdSuspend:
		c.susp++
		c.kids().suspend(1, c.run)
	case cmdUnsuspend:
		c.susp--
		c.kids().suspend(-1, c.run)
	case cmdWatch:
		c.watches().by.add(m.from)
	case cmdAwait:
		c.watches().wait = append(c.watches().wait, m.ended)
	case cmdUnwatch:
		if w := c.x().watch; w != nil {
			w.by.remove(m.from)
		}
	}
}
