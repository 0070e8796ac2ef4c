package actor

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/detached"
	"github.com/troupe-go/troupe/internal/timing"
)

// Detached is for package actortest alone, whose NewContext is what tests should use: a Context that belongs to no
// running system, together with a way to see what an actor does with it. It starts no goroutine. The error is that of
// NewSystem or Context.Spawn.
func Detached(spec detached.Spec, opts ...func(*SystemConfig)) (*detachedCell, error) {
	sys, err := newDetachedSystem(opts)
	if err != nil {
		return nil, err
	}
	k := sys.sched.newCarrier()
	d := &detachment{sys: sys, k: k, known: map[*cell]bool{}}
	sys.root = newCell(sys, nil, "", nil, nil)
	if sys.user, err = d.member(sys.root, "user", true); err != nil {
		return nil, err
	}
	if d.cell, err = d.member(sys.user, spec.Name, false); err != nil {
		return nil, err
	}
	d.cell.run, d.cell.st, k.cell = k, running, d.cell
	if d.letters, err = d.member(sys.root, "deadLetters", true); err != nil {
		return nil, err
	}
	Subscribe[DeadLetter](sys.events, d.letters.ref())
	return &detachedCell{
		Context: d.cell.context(), Receive: d.receive, Ask: d.ask, Next: d.next, Tick: d.tick, Hook: d.hook,
		NewRef: d.newRef, Look: d.look, Piping: d.piping, Wait: sys.helpers.Wait, Close: d.end,
	}, nil
}

type (
	detachedCell = detached.Cell[*Context, Actor, Ref, Envelope, SpawnConfig, DeadLetter]
	detachedSeen = detached.Seen[Actor, Ref, Envelope, SpawnConfig, DeadLetter]
)

// newDetachedSystem makes a system that nothing runs in. It counts as one that has ended, so that what has to wait for an
// actor, Ask above all, fails at once instead of waiting for ever.
//
// Its clock is stopped, so no timer is ever set, and it stands still: the time since the beginning of the year 1 is
// more than a Duration can hold, and is cut to the longest there is. So the delay of a timer can be read exactly.
//
// Its scheduler never starts a carrier, since one seems to be looking for work, and never wakes the watchdog, since that
// seems to be awake. What is woken piles up in the queue, which is emptied after each turn.
func newDetachedSystem(opts []func(*SystemConfig)) (*System, error) {
	var sc SystemConfig
	for _, o := range opts {
		o(&sc)
	}
	if err := sc.Validate(); err != nil {
		return nil, err
	}
	config, settings, err := resolveSettings(sc.Config)
	if err != nil {
		return nil, err
	}
	s := &System{name: "test", log: sc.Logger, config: config, settings: settings, clock: new(timing.Clock), terminated: make(chan struct{})}
	s.clock.Stop()
	s.events = &EventStream{sys: s}
	s.events.letters.closed = true
	s.sched.max, s.sched.single = 1, true
	s.sched.search.Store(1)
	s.sched.dog.on.Store(true)
	s.shutdown.started.Store(true)
	s.over.Store(true)
	close(s.terminated)
	return s, nil
}

// detachment is a cell that the caller owns for ever, and everybody whom its actor can reach. They are all owned by the
// caller as well, so that what they are told only queues.
type detachment struct {
	sys     *System
	k       *carrier
	cell    *cell
	letters *cell // is told the dead letters
	busy    bool  // foreign code is running
	piped   bool  // PipeToSelf may have been used

	mu    sync.Mutex
	told  []*cell        // recorders, one entry per message that has not been taken out yet
	seen  detachedSeen   // since the last look: its lists
	known map[*cell]bool // children that are in seen.Spawned, or were
}

// member makes a cell and takes ownership of it. A recorder has a box, whose priority function is called for each message
// on its way in: that is how messages to different cells get an order. Others have an ordinary mailbox.
func (d *detachment) member(parent *cell, name string, recorder bool) (*cell, error) {
	if err := checkName(name); err != nil {
		return nil, parent.spawnError(name, err)
	}
	var c *cell
	var spec SpawnConfig
	if recorder {
		spec.Mailbox.Priority = func(any) int { d.note(c); return 0 }
	}
	c = newCell(d.sys, parent, name, nil, &spec)
	if parent.kids() == nil {
		parent.x().kids.Store(new(family))
	}
	if err := parent.kids().add(c, name, nil); err != nil { // its signal makes us the owner
		return nil, parent.spawnError(name, err)
	}
	c.mb.TakeSignals()
	d.release()
	return c, nil
}

// note is called when a recorder is about to be told something, by whoever tells it. All that was told before is in its
// mailbox by now.
func (d *detachment) note(c *cell) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.collect()
	d.told = append(d.told, c)
}

// collect takes out of the mailboxes what is there, with mu held.
func (d *detachment) collect() {
	wait := d.told[:0]
	for _, c := range d.told {
		if e, ok := c.look().box.Pop(); ok {
			d.record(c, &e)
		} else { // another goroutine is about to put it in
			wait = append(wait, c)
		}
	}
	clear(d.told[len(wait):])
	d.told = wait
	d.cell.kids().each(func(k *cell) {
		if !d.known[k] {
			d.known[k] = true
			d.seen.Spawned = append(d.seen.Spawned, detached.Spawned[Actor, Ref, SpawnConfig]{Ref: k.ref(), New: k.newActor, Config: k.config()})
		}
		d.drain(k)
	})
}

// drain takes out what a child has been told. Children have the mailboxes that they were spawned with, so among several
// of them the order is known only from one collect to the next.
func (d *detachment) drain(k *cell) {
	if b := k.look().box; b != nil {
		for e, ok := b.Pop(); ok; e, ok = b.Pop() {
			d.record(k, &e)
		}
		return
	}
	for {
		if e := k.mb.Next(&d.sys.sched.chunks); e != nil {
			d.record(k, e)
		} else if !k.mb.Linked() {
			return
		} else {
			k.mb.Take()
		}
	}
}

func (d *detachment) record(c *cell, e *envelope) {
	if l, ok := e.msg.(DeadLetter); ok && c == d.letters {
		d.seen.DeadLetters = append(d.seen.DeadLetters, l)
		return
	}
	d.seen.Sent = append(d.seen.Sent, detached.Sent[Ref, Envelope]{To: c.ref(), Envelope: e.public()})
}

// public is what others may see of an envelope.
func (e *envelope) public() Envelope {
	p := Envelope{Msg: e.msg, Sender: e.sender}
	if _, pipe := e.done.(*pipeMark); e.done != nil && !pipe && !e.own() {
		p.Done = e.done
	}
	return p
}

// config is what a child was spawned with.
func (c *cell) config() SpawnConfig {
	spec := SpawnConfig{Supervisor: c.look().supervisor}
	if b := c.look().box; b != nil {
		spec.Mailbox = Mailbox{Capacity: b.Capacity, Overflow: Overflow(b.Overflow), Priority: b.priority}
	}
	return spec
}

// release hands over what the actor has woken: that of other systems to them, its own to nobody.
func (d *detachment) release() {
	for c := d.k.takeSlot(); c != nil; c = d.k.takeSlot() {
		d.handOver(c)
	}
	for c := d.k.dequeue(); c != nil; c = d.k.dequeue() {
		d.handOver(c)
	}
}

func (d *detachment) handOver(c *cell) {
	if c.sys != d.sys {
		c.sys.sched.enqueue(c, false)
	}
}

// newRef makes a recorder.
func (d *detachment) newRef(name string) (Ref, error) {
	c, err := d.member(d.sys.user, name, true)
	if err != nil {
		return Ref{}, err
	}
	return c.ref(), nil
}

// piping reports whether a function of PipeToSelf may run: it has the lifetime for its context.
func (d *detachment) piping() bool {
	if d.cell.look().life.Load() != nil {
		d.piped = true
	}
	return d.piped
}

// end ends what is still open, when the test is over.
func (d *detachment) end() {
	d.cell.phase = ours // a test that failed inside of a handler has left it
	d.cell.announceStop()
	d.cell.endHolds(ErrStopped)
	d.release()
}

// look gives out what has been recorded, and the present.
func (d *detachment) look() detachedSeen {
	d.piping()
	d.mu.Lock()
	d.collect()
	s := d.seen
	d.seen = detachedSeen{}
	d.mu.Unlock()
	c, r := d.cell, d.cell.look()
	s.Window = time.Duration(c.idle.window.Load())
	s.Stopping, s.Behaviors = c.stopAsked || c.st >= stopping, r.stack.depth()
	r.held.mu.Lock()
	for h := r.held.first; h != nil; h = h.next {
		s.Held++
	}
	r.held.mu.Unlock()
	for _, t := range r.timers {
		s.Timers = append(s.Timers, detached.Timer{
			Key: t.key, Msg: t.msg, Delay: time.Duration(t.at - d.sys.clock.Now()), Interval: t.interval, FixedRate: t.rate,
		})
	}
	slices.SortFunc(s.Timers, func(a, b detached.Timer) int { return strings.Compare(a.Key, b.Key) })
	if w := c.ext.Load().watch; w != nil {
		for ref := range w.of {
			s.Watched = append(s.Watched, ref)
		}
		slices.SortFunc(s.Watched, func(a, b Ref) int { return strings.Compare(a.Path(), b.Path()) })
	}
	for i := range r.stash {
		s.Stash = append(s.Stash, r.stash[i].public())
	}
	c.takeBack()
	c.mb.Any(func(e *envelope) bool {
		s.Mailbox = append(s.Mailbox, e.public())
		return false
	})
	return s
}

// turn runs foreign code as the actor. What the actor has woken is handed over when it is over.
func (d *detachment) turn(f func() error) error {
	if err := d.refused(); err != nil {
		return err
	}
	d.busy = true
	defer func() {
		d.busy = false
		d.cell.phase, d.k.e, d.k.own = ours, &d.k.none, nil // a failing test has ended the handler's goroutine, which is its own
		d.release()
		d.piping()
	}()
	return f()
}

// refused says why nothing can be run now; nil if it can.
func (d *detachment) refused() error {
	if d.busy {
		return fmt.Errorf("actor: %s is handling something already; let the handler return first", d.cell.path())
	}
	if d.cell.st == gone {
		return fmt.Errorf("actor: %s: %w", d.cell.path(), ErrStopped)
	}
	return nil
}

// receive is what happens to a message that somebody told. A Terminated is taken for the real one.
func (d *detachment) receive(a Actor, m Envelope) error {
	e := envelope{msg: m.Msg, sender: m.Sender, done: m.Done}
	err := d.refused()
	if err == nil && d.cell.stopAsked {
		err = fmt.Errorf("actor: %s has stopped itself: %w", d.cell.path(), ErrStopped)
	}
	if err != nil {
		d.sys.finish(&e, ErrDeadLetter)
		return err
	}
	return d.turn(func() error {
		t, isEnd := e.msg.(Terminated)
		switch {
		case e.done != nil: // the runtime's own have none
		case isEnd:
			d.bury(t.Ref)
			e.done = deathMark{}
		case e.msg == any(ReceiveTimeout{}) && d.cell.idle.window.Load() != 0:
			e.done = &idleMark{gen: d.cell.idle.gen, replayed: true}
		}
		delivered, err := d.handle(a, &e)
		if isEnd && !delivered {
			return fmt.Errorf("actor: %s does not watch %s: %w", d.cell.path(), t.Ref, ErrForged)
		}
		return err
	})
}

// bury ends a child, as its parent knows it: its name is free when Terminated comes.
func (d *detachment) bury(ref Ref) {
	f := d.cell.kids()
	if ref.n == nil || ref.n.ask || !f.has(ref.n.cell()) {
		return
	}
	d.mu.Lock()
	d.collect()
	d.mu.Unlock()
	k := ref.n.cell()
	k.st = gone
	for _, e := range k.shut() { // told by another goroutine just now
		d.sys.undelivered(&e, ref, ErrStopped)
	}
	f.mu.Lock()
	f.remove(k)
	f.mu.Unlock()
}

// handle is cell.user without what follows from a failure or a stop: that is for the test to see and to decide.
func (d *detachment) handle(a Actor, e *envelope) (delivered bool, err error) {
	c, k := d.cell, d.k
	c.actor = a
	k.e, k.own, k.taken = e, nil, false
	if e.done != nil && !c.admit(e) {
		return false, nil
	}
	if k.own == nil {
		switch e.msg.(type) {
		case PoisonPill:
			c.stopAsked = true
			d.sys.finish(e, nil)
			return true, nil
		case Kill:
			d.sys.finish(e, nil)
			return true, ErrKilled
		case Terminated:
			d.sys.undelivered(e, c.ref(), ErrForged)
			return false, nil
		}
	}
	err = c.guard(inReceive, func() error {
		if c.became {
			return c.behave(e.msg)
		}
		return a.Receive(c.context(), e.msg)
	})
	if k.e.done != nil && !(err == nil && isAsk(k.e.done)) {
		d.sys.finish(k.e, err)
	}
	c.endTick()
	return true, err
}

// ask is receive with a promise as the sender and the completion.
func (d *detachment) ask(a Actor, msg any) (outcome func() (v any, ended bool, err error)) {
	p := &promise{sys: d.sys, wake: make(chan struct{}, 1)}
	p.ask = true
	_ = d.receive(a, Envelope{Msg: msg, Sender: Ref{&p.node}, Done: p}) // the handler's error is that of the ask
	ended := false
	return func() (any, bool, error) {
		if !ended {
			select {
			case <-p.wake:
				ended = true
			default:
				return nil, false, nil
			}
		}
		return p.value, true, p.err
	}
}

// next takes the first message of the actor's own mailbox that is not void.
func (d *detachment) next(a Actor) (ok bool, err error) {
	err = d.turn(func() (err error) {
		c := d.cell
		for !ok && !c.stopAsked {
			c.takeBack()
			e := c.mb.Next(&d.sys.sched.chunks)
			switch {
			case e != nil:
				ok, err = d.handle(a, e)
			case c.mb.Linked():
				c.mb.Take()
			default:
				return nil
			}
		}
		return err
	})
	return ok, err
}

// tick is the tick of a timer, as if its time had come.
func (d *detachment) tick(a Actor, key string) error {
	return d.turn(func() error {
		tm := d.cell.look().timers[key]
		if tm == nil {
			return fmt.Errorf("actor: %s has no timer %q", d.cell.path(), key)
		}
		tm.at = d.sys.clock.Now()
		_, err := d.handle(a, &envelope{msg: tm.msg, done: tickMark{tm}})
		return err
	})
}

// hook runs one, in the way of lifecycle.go and stop.go.
func (d *detachment) hook(a Actor, h detached.Hook, cause error, msg any) error {
	return d.turn(func() error {
		c := d.cell
		switch h {
		case detached.PreStart:
			return d.build(a, nil)
		case detached.PostRestart:
			c.endHolds(ErrPreviousInstance)
			c.disarm()
			c.cancelTimers()
			c.endLifetime(ErrPreviousInstance)
			r := c.rare()
			r.stack, c.became, c.stopRan = nil, false, false
			r.instance++
			return d.build(a, &failure{err: cause})
		case detached.PreRestart:
			c.st = restarting
			c.disarm()
			c.cancelTimers()
			c.rare().replaced = &failure{err: cause, msg: msg}
			c.endLifetime(cause)
			c.dropStash()
			c.actor = a
			return c.guard(inBeforeStart, c.beforeRestart)
		default:
			return d.stop(a)
		}
	})
}

// build starts an instance that there is already.
func (d *detachment) build(a Actor, restart *failure) error {
	c := d.cell
	c.st, c.newActor, c.built = running, func() Actor { return a }, restart != nil
	c.rare().replaced = restart
	return c.guard(inStart, c.build)
}

// stop is the end. Children would end before PostStop; here nobody runs them, so they are just there no more.
func (d *detachment) stop(a Actor) error {
	c := d.cell
	c.st = stopping
	c.disarm()
	c.announceStop()
	c.kids().close()
	c.cancelTimers()
	c.actor = a
	err := c.guard(inPostStop, c.postStop)
	d.mu.Lock()
	d.collect()
	d.mu.Unlock()
	c.dropStash()
	for _, e := range c.shut() {
		d.sys.undelivered(&e, c.ref(), ErrStopped)
	}
	c.endHolds(ErrStopped)
	c.st = gone
	return err
}
