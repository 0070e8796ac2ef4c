package actor

// failure is one failure on its way through supervision.
type failure struct {
	from  *cell // who failed
	err   error
	msg   any  // what was being handled, nil if nothing
	start bool // there is no instance that could go on
	// escalated says that the parent failed for it and sup is what judged it; else the parent had failed already and has
	// still to judge it.
	escalated bool
	sup       Supervisor
}

// fail suspends the cell and its children and asks the parent.
func (c *cell) fail(f *failure) {
	if c.st >= stopping || c.st == failed {
		return
	}
	f.from = c
	if f.start {
		c.mb.Mark(markStartFailed)
	} else {
		c.mb.Unmark(markStartFailed)
	}
	c.st = failed
	c.rare().cause = f.err
	c.kids().suspend(1, c.run)
	if c.parent == nil {
		c.log().Error("the root failed; the system terminates", "error", f.err)
		c.sys.beginTerminate()
		return
	}
	c.parent.send(command{kind: cmdFailure, failure: f}, c.run)
}

// judge decides about a failed child. A cell that is stopping or restarting stops its children anyway, and one that has
// failed itself judges when, and if, it goes on.
func (c *cell) judge(f *failure) {
	switch {
	case !c.kids().has(f.from) || c.st >= restarting:
		return
	case c.st == failed:
		c.rare().unsettled = append(c.rare().unsettled, *f)
		return
	}
	c.rare().judging = f
	sup, d := Supervisor{}, Escalate
	err := c.guard(inJudge, func() error {
		sup = c.supervisorOf(f.from)
		if sup.Decide == nil {
			sup.Decide = DefaultDecider
		}
		d = sup.Decide(f.from.ref(), f.err)
		return nil
	})
	if err != nil {
		c.log().Error("decider failed; the failure is escalated", "child", f.from.path(), "error", err)
		d = Escalate
	}
	c.judged(sup, d)
}

// supervisorOf is the child's own, else that of this actor, else the default.
func (c *cell) supervisorOf(k *cell) Supervisor {
	if s := k.look().supervisor; s != nil {
		return *s
	}
	if h, ok := hook[Supervising](c.actor); ok {
		return h.Supervisor()
	}
	return Supervisor{}
}

// judged carries the decision out.
func (c *cell) judged(sup Supervisor, d Directive) {
	f := c.rare().judging
	c.rare().judging = nil
	if !c.kids().has(f.from) {
		return
	}
	if d > Escalate {
		c.log().Error("decider returned an unknown directive; the child is stopped", "child", f.from.path(), "directive", d.String())
		d = Stop
	}
	d = c.within(f.from, &sup, d, f.start)
	if d == Escalate {
		f.escalated, f.sup = true, sup
		c.rare().unsettled = append(c.rare().unsettled, *f)
		c.fail(&failure{err: f.err, msg: f.msg})
	} else {
		f.from.send(command{kind: cmdDecided, dir: d, failure: f}, c.run)
	}
	level := c.log().Warn
	if d == Stop || d == Escalate {
		level = c.log().Error
	}
	level("child failed", "child", f.from.path(), "decision", d.String(), "error", f.err)
}

// within makes a decision one that can be carried out: what has no instance to resume is started again, and a restart
// beyond the budget is a stop.
func (c *cell) within(k *cell, sup *Supervisor, d Directive, start bool) Directive {
	if d == Resume && start {
		d = Restart
	}
	if d == Restart && !c.kids().budget(k).mayRestart(sup, c.sys.clock.Now()) {
		d = Stop
	}
	return d
}

// decided carries out the parent's decision on this cell, unless a stop came first.
func (c *cell) decided(d Directive, f *failure) {
	if c.st != failed {
		return
	}
	switch d {
	case Stop:
		c.beginStop(f.err)
	case Resume:
		c.resume()
	default:
		c.restart(f)
	}
}

// resume goes on with the same instance. So do the children whose failure this one stood for; those that failed while
// it was failed itself are judged now.
func (c *cell) resume() {
	r := c.rare()
	c.st, r.cause = running, nil
	c.kids().suspend(-1, c.run)
	unsettled := r.unsettled
	r.unsettled = nil
	for i := range unsettled {
		f := &unsettled[i]
		switch {
		case !c.kids().has(f.from):
		case !f.escalated:
			c.send(command{kind: cmdFailure, failure: f}, c.run)
		default:
			d := c.within(f.from, &f.sup, Resume, f.start)
			f.from.send(command{kind: cmdDecided, dir: d, failure: f}, c.run)
		}
	}
}
