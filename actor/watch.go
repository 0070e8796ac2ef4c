package actor

import "sync"

// watches is whom a cell watches, and who watches it.
type watches struct {
	mu   sync.Mutex // of the map: a goroutine that has kept the Context may watch at the same moment
	of   map[Ref]watch
	by   cellSet
	wait []chan struct{} // of those who wait and are not actors
}

// watch is a watcher's registration.
type watch struct {
	with    any // delivered instead of Terminated
	hasWith bool
}

func (c *cell) watches() *watches {
	x := c.x()
	if x.watch == nil {
		x.watch = new(watches)
	}
	return x.watch
}

// watchRef registers the watch and tells the subject, or answers at once when the subject has ended.
func (c *cell) watchRef(ref Ref, w watch) {
	if ref.n == nil || ref.n == &c.node || c.st >= stopping {
		return
	}
	all := c.watches()
	all.mu.Lock()
	if all.of == nil {
		all.of = map[Ref]watch{}
	}
	_, again := all.of[ref]
	all.of[ref] = w
	all.mu.Unlock()
	switch {
	case again:
	case ref.n.ask: // an ask has no life to watch
		c.pushDeath(Terminated{Ref: ref})
	case !ref.n.cell().send(command{kind: cmdWatch, from: c}, c.run):
		c.noteDeath(ref.n.cell())
	}
}

func (c *cell) unwatchRef(ref Ref) {
	x := c.ext.Load()
	if x == nil || x.watch == nil {
		return
	}
	if _, ok := x.watch.take(ref); ok {
		ref.n.unwatchedBy(c)
	}
}

// take removes a registration.
func (w *watches) take(ref Ref) (reg watch, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	reg, ok = w.of[ref]
	delete(w.of, ref)
	return reg, ok
}

func (n *node) unwatchedBy(c *cell) {
	if !n.ask {
		n.cell().send(command{kind: cmdUnwatch, from: c}, c.run)
	}
}

// noteDeath puts the end of a subject into the watcher's lane. The subject is closed, so its cause does not change any
// more; having seen it closed orders the read.
func (c *cell) noteDeath(subject *cell) {
	c.pushDeath(Terminated{Ref: subject.ref(), Cause: subject.look().cause})
}

func (c *cell) pushDeath(t Terminated) {
	_ = c.push(envelope{msg: t, done: deathMark{}}, nil) // a watcher that is gone itself does not want to know
}

// deathDue consumes the registration and puts the watcher's own message in place of Terminated. False: it is not
// watched any more.
func (c *cell) deathDue(e *envelope) bool {
	if f := c.kids(); f != nil && f.gone.Load() != nil {
		// The signal that a child has ended comes before its Terminated, but may have come just after the owner had looked
		// for signals. The name must be free when the Terminated is handled.
		f.bury()
	}
	t, _ := e.msg.(Terminated)
	w, ok := c.watches().take(t.Ref)
	if !ok {
		return false
	}
	if w.hasWith {
		e.msg = w.with
	}
	return true
}
