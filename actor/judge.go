package actor

import "log/slog"

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
	round     uint32 // of the last decision that the failed one had got together with all its siblings
}

// fail suspends the cell and its children and asks the parent.
func (c *cell) fail(f *failure) {
	if c.st >= stopping || c.st == failed {
		return
	}
	f.from, f.round = c, c.look().round
	if f.start {
		c.mb.Mark(markStartFailed)
	} else {
		c.mb.Unmark(markStartFailed)
	}
	c.st = failed
	c.rare().cause, c.rare().failing = f.err, f
	c.kids().suspend(1, c.run)
	if c.parent == nil {
		c.sys.beginTerminate()
		c.report(ours, slog.LevelError, "the root failed; the system terminates", "error", f.err)
		return
	}
	c.parent.send(command{kind: cmdFailure, failure: f}, c.run)
}

// judge decides about a failed child. A cell that is stopping or restarting stops its children anyway, and one that has
// failed itself judges when, and if, it goes on. A child that is being stopped together with a sibling needs no judgement.
func (c *cell) judge(f *failure) {
	switch {
	case !c.kids().has(f.from) || c.st >= restarting:
		return
	case c.st == failed:
		c.rare().unsettled = append(c.rare().unsettled, f)
		return
	case c.covered(f) && f.from.mb.Marked(markStopping):
		c.logJudgement(f, Stop)
		return
	}
	c.rare().judging = f
	sup, d := Supervisor{}, Escalate
	err := c.guard(inJudge, func() error {
		sup = c.supervisorOf(f.from)
		if err := sup.Validate(); err != nil {
			return err
		}
		if sup.Decide == nil {
			sup.Decide = DefaultDecider
		}
		d = sup.Decide(f.from.ref(), f.err)
		return nil
	})
	if err != nil {
		c.report(inJudge, slog.LevelError, "supervisor or decider failed; the failure is escalated", "child", f.from.path(), "error", err)
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
	if d > Escalate && c.kids().has(f.from) {
		c.report(inJudge, slog.LevelError, "decider returned an unknown directive; the child is stopped", "child", f.from.path(), "directive", d.String())
		d = Stop
	}
	c.rare().judging = nil
	if !c.kids().has(f.from) {
		return
	}
	all := sup.AllForOne && d != Resume // there is nothing to resume in the others
	d = c.within(f.from, &sup, d, f.start)
	if d == Escalate {
		f.escalated, f.sup = true, sup
		c.rare().unsettled = append(c.rare().unsettled, f)
		c.fail(&failure{err: f.err, msg: f.msg})
	} else {
		c.carryOut(d, f, all)
	}
	c.logJudgement(f, d)
}

func (c *cell) logJudgement(f *failure, d Directive) {
	level := slog.LevelWarn
	if d == Stop || d == Escalate {
		level = slog.LevelError
	}
	c.report(ours, level, "child failed", "child", f.from.path(), "decision", d.String(), "error", f.err)
}

// covered says that a child failed before it got the last decision about all children. If that was a restart, it has
// restarted the child, or will: once is enough, for the child and for its siblings.
func (c *cell) covered(f *failure) bool { return f.round != c.kids().round }

// carryOut tells the failed child the decision, or all children. One that a restart of all has reached, or will reach,
// is told no more than a stop.
func (c *cell) carryOut(d Directive, f *failure, all bool) {
	m := command{kind: cmdDecided, dir: d, failure: f}
	switch {
	case d != Stop && c.covered(f):
	case all:
		c.kids().decideAll(m, c.run)
	default:
		f.from.send(m, c.run)
	}
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

// decided carries out the parent's decision about this cell, or about a sibling and all others, unless a stop came first.
// A decision about a failure that a restart of all has dealt with meanwhile is void.
func (c *cell) decided(m *command) {
	f := m.failure
	if m.round != 0 {
		c.rare().round = m.round
	}
	switch own := c.look().failing; {
	case c.st >= stopping:
	case m.dir == Stop:
		c.beginStop(f.err)
	case f.from == c && (c.st != failed || own != f):
	case m.dir == Resume:
		c.resume()
	case c.st == failed: // for its own failure, even if it is a sibling's that was judged
		c.restart(own)
	case c.st == running: // along with a sibling
		c.kids().suspend(1, c.run)
		c.restart(&failure{from: c, err: f.err})
	}
}

// resume goes on with the same instance. So do the children whose failure this one stood for; those that failed while
// it was failed itself are judged now.
func (c *cell) resume() {
	r := c.rare()
	c.st, r.cause, r.failing = running, nil, nil
	c.kids().suspend(-1, c.run)
	unsettled := r.unsettled
	r.unsettled = nil
	for _, f := range unsettled {
		switch {
		case !c.kids().has(f.from):
		case !f.escalated:
			c.send(command{kind: cmdFailure, failure: f}, c.run)
		case c.covered(f):
		default:
			d := c.within(f.from, &f.sup, Resume, f.start)
			f.from.send(command{kind: cmdDecided, dir: d, failure: f}, c.run)
		}
	}
}
