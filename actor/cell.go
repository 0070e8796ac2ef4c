package actor

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"unsafe"

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

// cell is the runtime's side of one actor. It is what an idle actor costs, so what most actors never need is in ext,
// and what belongs to the handling of a message is in the carrier. What is not atomic and not said to be somebody
// else's belongs to the owner.
type cell struct {
	node
	mb     mailbox.Mailbox[envelope]
	actor  Actor
	run    *carrier // that runs the cell now
	sys    *System
	parent *cell
	ext    atomic.Pointer[ext]
	idle   idleWindow

	st        state
	phase     phase  // what kind of foreign code is running, see interrupt.go
	raised    uint8  // signals that are being handled
	susp      uint16 // suspended ancestors
	stopAsked bool   // StopSelf was called in the current turn
	became    bool   // the behaviour is on the stack, not the actor's own
	touched   bool   // a handler that counts has run, or is running, since the window's since; see idleWindow
	linked    bool   // the window's entry is in the clock
	queued    bool   // its marker is on its way
	built     bool   // an instance has been built at least once
	announced bool   // ActorStarted has been published
	stopRan   bool   // this instance has had its PostStop
	member    bool   // of the parent's family: the parent's, with the family's lock
	stopTold  bool   // ActorStopped has been published

	newActor   func() Actor
	qnext      *cell // in the queue; at the end, in the parent's list of the ended
	prev, next *cell // siblings: the parent's, with the family's lock
}

// ext is what many actors do not need. It has 48 bytes, which is a size class, because it is part of every actor with a
// name.
type ext struct {
	name  string                 // empty: it is called by its number
	kids  atomic.Pointer[family] // set by the owner; whoever looks for what does not stop reads it too
	watch *watches
	rare  atomic.Pointer[rare]
	sysq  atomic.Pointer[command] // commands that came, last first; anybody's
}

// rare is what hardly any actor needs. It is the owner's but for life. mu is for what a method of Context changes in
// several steps: a goroutine that has kept the Context may do that at the same moment, and must not bring the process down.
type rare struct {
	mu         sync.Mutex               // of stash, back and timers
	life       atomic.Pointer[lifetime] // anybody's
	box        *box                     // of a mailbox with a bound or priorities; set when the cell is made
	supervisor *Supervisor
	instance   uint32 // how many times an instance was replaced
	stack      *behavior
	stash      []envelope
	back       []envelope // unstashed, not in the mailbox yet
	timers     map[string]*timer
	held       heldList
	commands   *command   // taken, not carried out yet
	cause      error      // why it failed or was stopped by a supervisor
	handover   *handover  // of an activation whose goroutine has ended
	replaced   *failure   // what the restart under way is for
	judging    *failure   // the failure of a child that is being judged
	failing    *failure   // the last of its own, which a decision has to be about
	round      uint32     // of the last decision about it and all its siblings, see family.decideAll
	unsettled  []*failure // of children, that wait until it goes on itself
	closing    *closing
	ended      chan struct{} // closed at the end; guardians only
}

// The marks of a cell's mailbox.
const (
	markStopping    = mailbox.Mark0 // a stop was asked for: the lifetime's context is cancelled
	markSubscribed  = mailbox.Mark1 // has, or had, subscriptions on the event stream
	markStartFailed = mailbox.Mark2 // the last failure was that of a start
	markEnded       = mailbox.Mark4 // everybody who waited for the end knows
	markWarned      = mailbox.Mark3 // a Context was used after its turn, and that was logged
)

// newCell makes a cell that nobody has seen. It is part of its Context, so that an idle actor has both in one piece.
func newCell(sys *System, parent *cell, name string, newActor func() Actor, spec *SpawnConfig) *cell {
	c := &new(Context).c
	c.sys, c.parent, c.newActor = sys, parent, newActor
	if name != "" {
		c.x().name = name
	}
	if spec == nil {
		return c
	}
	if spec.Supervisor != nil {
		sup := *spec.Supervisor // a snapshot: what the caller does with its own later has no effect
		c.rare().supervisor = &sup
	}
	if b := newBox(&spec.Mailbox); b != nil {
		c.rare().box = b
		c.mb.UseBox()
	}
	return c
}

// context is the Context that the cell is part of, as its first field.
func (c *cell) context() *Context { return (*Context)(unsafe.Pointer(c)) }

// x is the cell's ext, made if need be. Anybody may call it.
func (c *cell) x() *ext {
	for {
		if x := c.ext.Load(); x != nil {
			return x
		}
		c.ext.CompareAndSwap(nil, new(ext))
	}
}

// rare is the cell's rare, made if need be. Anybody may call it.
func (c *cell) rare() *rare {
	x := c.x()
	for {
		if r := x.rare.Load(); r != nil {
			return r
		}
		x.rare.CompareAndSwap(nil, new(rare))
	}
}

// look is the cell's rare to read; that of the system for a cell which has none.
func (c *cell) look() *rare {
	if x := c.ext.Load(); x != nil {
		if r := x.rare.Load(); r != nil {
			return r
		}
	}
	return &c.sys.none
}

// kids is the family, nil if the cell never had a child.
func (c *cell) kids() *family {
	if x := c.ext.Load(); x != nil {
		return x.kids.Load()
	}
	return nil
}

func (c *cell) ref() Ref { return Ref{&c.node} }

func (c *cell) path() string {
	if c.parent == nil {
		return "troupe://" + c.sys.name
	}
	return c.parent.path() + "/" + c.name()
}

func (c *cell) log() *slog.Logger { return c.sys.log.With("actor", c.path()) }

// report logs between two steps of the actor's life: a logger that panics must not cost it the second. next is what goes
// on there if it ends the goroutine.
func (c *cell) report(next phase, level slog.Level, msg string, args ...any) {
	was := c.phase
	defer func() {
		if recover() != nil {
			c.phase = was
		}
	}()
	c.phase = next
	c.log().Log(context.Background(), level, msg, args...) // there is no request that this belongs to
	c.phase = was
}

// push puts an envelope into the user lane. The error says that it was not taken; its completion is still the caller's.
// by is the carrier that the caller runs on, nil outside of actors.
func (c *cell) push(e envelope, by *carrier) error {
	p := c.mb.Push(e)
	if p == mailbox.Queued && by == nil {
		return nil
	}
	return c.pushed(p, e, by)
}

// pushed goes on with what became of an envelope.
func (c *cell) pushed(p mailbox.Result, e envelope, by *carrier) error {
	if p == mailbox.Grow {
		p = c.mb.PushGrow(e, &c.sys.sched.chunks)
	}
	switch p {
	case mailbox.Wake:
		c.schedule(by)
	case mailbox.Queued:
		if by != nil && by.cell == c {
			by.self = true
		}
	case mailbox.Long:
		c.noteLong()
	case mailbox.Boxed:
		return c.pushBox(e, by)
	case mailbox.Closed:
		return ErrStopped
	}
	return nil
}

// noteLong warns of a mailbox that grows, once for each doubling. It must not fail: it runs where somebody tells.
func (c *cell) noteLong() {
	defer func() { _ = recover() }()
	c.log().Warn("many messages wait in an unbounded mailbox", "messages", c.pending())
}

// schedule has a cell run that the caller owns now.
func (c *cell) schedule(by *carrier) {
	if by != nil {
		by.wake(c)
	} else {
		c.sys.sched.enqueue(c, false)
	}
}

// pending is about how many envelopes wait.
func (c *cell) pending() int {
	if b := c.look().box; b != nil {
		return b.Len()
	}
	return c.mb.Len()
}

// anyWaiting reports whether a waiting envelope satisfies the predicate.
func (c *cell) anyWaiting(pred func(*envelope) bool) bool {
	if b := c.look().box; b != nil {
		return b.Any(pred)
	}
	return c.mb.Any(pred)
}

// serving says whether the user lane is served: only a running cell with no suspended ancestor gets messages.
func (c *cell) serving() bool { return c.st == running && c.susp == 0 }

var _ timing.Item = (*cell)(nil)
