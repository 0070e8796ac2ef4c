package actor

import (
	"log/slog"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/mailbox"
	"github.com/troupe-go/troupe/internal/timing"
)

// state is the life of a cell. Only the owner, the goroutine of the current activation, reads and writes it.
type state uint8

const (
	creating   state = iota // no instance yet
	running                 // handles messages
	failed                  // waits for its supervisor
	restarting              // waits for its children before the next instance is built
	stopping                // waits for its children before PostStop
	gone
)

// cell is the runtime's side of one actor: mailbox, instance, children. What is not atomic and not guarded by a lock
// belongs to the owner.
type cell struct {
	node
	sys      *System
	parent   *cell
	name     string
	newActor func() Actor
	spec     SpawnConfig
	mb       mailbox.Mailbox[envelope, command]
	ctx      Context

	st          state
	phase       phase // what kind of foreign code is running, see interrupt.go
	stopAsked   bool  // StopSelf was called in the current turn
	taken       bool  // the current message was stashed, forwarded or held
	built       bool  // an instance has been built at least once
	announced   bool  // ActorStarted has been published
	postStopped bool  // this instance has had its PostStop
	touched     bool  // see idleWindow
	susp        int32 // suspended ancestors
	instance    uint32
	actor       Actor
	stack       []Func
	cur         envelope // in hand
	curErr      error    // what its handler returned
	cause       error    // why it failed or was stopped by a supervisor
	replaced    *failure // what the restart under way is for
	judging     *failure // the failure of a child that is being judged
	unsettled   []failure
	stash       []envelope
	timers      map[string]*timer
	kids        *family
	watches     map[Ref]watch
	watchers    cellSet
	closing     *closing
	idle        idleWindow
	held        heldList
	life        atomic.Pointer[lifetime]
	ended       chan struct{} // closed at the end; guardians only
	activation  func()        // run, made once: a go statement with arguments allocates

	stopping    atomic.Bool // a stop was asked for: the lifetime's context is cancelled
	subscribed  atomic.Bool // has, or had, subscriptions on the event stream
	startFailed atomic.Bool // the last failure was that of a start
}

func newCell(sys *System, parent *cell, name string, newActor func() Actor, spec SpawnConfig) *cell {
	c := &cell{sys: sys, parent: parent, name: name, newActor: newActor, spec: spec}
	c.node.cell = c
	c.ctx.c = c
	c.mb.Owner = c
	c.mb.Capacity = spec.Mailbox.Capacity
	c.mb.Overflow = mailbox.Overflow(spec.Mailbox.Overflow)
	c.mb.Suspend(true) // until the start has succeeded
	c.idle.entry.Owner = c
	c.activation = func() { c.run(nil) }
	return c
}

func (c *cell) ref() Ref { return Ref{&c.node} }

func (c *cell) path() string {
	if c.parent == nil {
		return "troupe://" + c.sys.name
	}
	return c.parent.path() + "/" + c.name
}

func (c *cell) log() *slog.Logger { return c.sys.log.With("actor", c.path()) }

// push puts an envelope into the user lane. The error says that it was not taken; its completion is still the caller's.
func (c *cell) push(e *envelope) error {
	r, wake, victim := c.mb.Push(*e, e.droppable())
	if wake {
		c.activate()
	}
	switch r {
	case mailbox.Full:
		return ErrMailboxFull
	case mailbox.Closed:
		return ErrStopped
	case mailbox.Evicted:
		c.sys.undelivered(&victim, c.ref(), ErrMailboxFull)
	}
	return nil
}

// command is an entry of the system lane.
type command struct {
	kind    commandKind
	dir     Directive // cmdDecided
	from    *cell     // child, watcher
	failure *failure  // cmdFailure, cmdDecided
}

type commandKind uint8

const (
	cmdCreate    commandKind = iota
	cmdStop                  // by the parent or the system
	cmdFailure               // from a child
	cmdDecided               // by the parent
	cmdChildGone             // from a child
	cmdSuspend               // an ancestor has failed
	cmdUnsuspend             // and goes on
	cmdWatch                 // from a watcher
	cmdUnwatch               // from a watcher
)

// send puts a command into the system lane; false when the cell is gone.
func (c *cell) send(m command) bool {
	wake, ok := c.mb.PushSystem(m)
	if wake {
		c.activate()
	}
	return ok
}

// stop asks for an immediate stop: the current handler ends, what is queued becomes dead letters. The context of the
// actor is cancelled at once, so that a handler which waits for I/O returns.
func (c *cell) stop() {
	c.stopping.Store(true)
	c.life.Load().end(ErrStopped)
	c.send(command{kind: cmdStop})
}

// activate starts an activation. The caller has just become the one that must.
func (c *cell) activate() {
	c.sys.enter()
	go c.activation()
}

// run is one activation: it owns the cell until the mailbox gives it nothing to do. interrupted is nil but for an
// activation that takes over from one which foreign code has ended.
func (c *cell) run(interrupted error) {
	released := false
	defer func() {
		if released {
			c.sys.leave()
			return
		}
		err := ErrGoexit
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
		go c.run(err) // this goroutine ends, the actor goes on with another
	}()
	if c.st != gone {
		c.ctx.turn.Store(true)
	}
	if interrupted != nil {
		c.interrupted(interrupted)
	}
	var e envelope
	var m command
	for {
		switch c.mb.Next(&e, &m) {
		case mailbox.System:
			c.system(m)
		case mailbox.User:
			c.user(&e)
			e = envelope{}
		case mailbox.None:
			released = true
			return
		}
	}
}

// Idle is called by the mailbox, locked, when the activation is about to end. The turn ends here and not in run: after
// the lock is gone another activation may already have begun.
func (c *cell) Idle() {
	c.ctx.turn.Store(false)
	c.idleLocked()
}

// system handles one command of the system lane.
func (c *cell) system(m command) {
	c.sealIdle() // what follows may take its time, and is not the last message's
	switch m.kind {
	case cmdCreate:
		c.start()
	case cmdStop:
		c.beginStop(nil)
	case cmdFailure:
		c.judge(m.failure)
	case cmdDecided:
		c.decided(m.dir, m.failure)
	case cmdChildGone:
		c.childGone(m.from)
	case cmdSuspend:
		c.susp++
		c.suspend()
		c.kids.suspend(1)
	case cmdUnsuspend:
		c.susp--
		c.suspend()
		c.kids.suspend(-1)
	case cmdWatch:
		c.watchers.add(m.from)
	case cmdUnwatch:
		c.watchers.remove(m.from)
	}
	if c.stopAsked && c.st < stopping { // StopSelf in a decider
		c.beginStop(nil)
	}
}

// suspend makes the mailbox agree with the state: only a running cell with no suspended ancestor gets user messages.
func (c *cell) suspend() { c.mb.Suspend(c.st != running || c.susp > 0) }

var _ timing.Firer = (*cell)(nil)
