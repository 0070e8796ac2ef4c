package actor

// watch is a watcher's registration.
type watch struct {
	with    any // delivered instead of Terminated
	hasWith bool
}

// watchRef registers the watch and tells the subject, or answers at once when the subject has ended.
func (c *cell) watchRef(ref Ref, w watch) {
	if ref.n == nil || ref.n == &c.node || c.st >= stopping {
		return
	}
	if c.watches == nil {
		c.watches = map[Ref]watch{}
	}
	_, again := c.watches[ref]
	c.watches[ref] = w
	if again {
		return
	}
	switch s := ref.n.cell; {
	case s == nil: // an ask has no life to watch
		c.pushDeath(Terminated{Ref: ref})
	case !s.send(command{kind: cmdWatch, from: c}):
		c.noteDeath(s)
	}
}

func (c *cell) unwatchRef(ref Ref) {
	if _, ok := c.watches[ref]; !ok {
		return
	}
	delete(c.watches, ref)
	ref.n.unwatchedBy(c)
}

func (n *node) unwatchedBy(c *cell) {
	if n.cell != nil {
		n.cell.send(command{kind: cmdUnwatch, from: c})
	}
}

// noteDeath puts the end of a subject into the watcher's lane. The subject is closed, so its cause does not change any
// more; having seen it closed orders the read.
func (c *cell) noteDeath(subject *cell) {
	c.pushDeath(Terminated{Ref: subject.ref(), Cause: subject.cause})
}

func (c *cell) pushDeath(t Terminated) {
	e := envelope{msg: t, kind: death}
	_ = c.push(&e) // a watcher that is gone itself does not want to know
}

// deathDue consumes the registration and puts the watcher's own message in place of Terminated. False: it is not
// watched any more.
func (c *cell) deathDue(e *envelope) bool {
	t, _ := e.msg.(Terminated)
	w, ok := c.watches[t.Ref]
	if !ok {
		return false
	}
	delete(c.watches, t.Ref)
	if w.hasWith {
		e.msg = w.with
	}
	return true
}
