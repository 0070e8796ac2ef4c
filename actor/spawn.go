package actor

import (
	"errors"
	"fmt"
	"strings"
)

// Overflow says what a full bounded mailbox does with one more message.
type Overflow uint8

const (
	// DropOldest evicts the oldest message, of those with the lowest priority, and takes the new one. The evicted one is a
	// dead letter with ErrMailboxFull.
	DropOldest Overflow = iota
	// DropNewest drops the new message: it is a dead letter with ErrMailboxFull, and TryTell returns nil all the same.
	DropNewest
	// RejectNewest refuses the new message: TryTell returns ErrMailboxFull, Tell makes a dead letter with it.
	RejectNewest
)

// Mailbox configures an actor's mailbox. The default is unbounded and first in, first out; a warning is logged when 10 000
// messages wait in one without a bound, and at each doubling from there. Terminated, ReceiveTimeout, timer ticks, PoisonPill, Kill and what
// comes back from the stash are exempt from the bound: they are taken even if it is exceeded, and never evicted. The
// mailbox outlives a restart, with what waits in it. What a bound drops is logged, counted by System.Stats, and a dead
// letter or the error of its Completion. A sender that is not an actor may wait for room by Ref.TellWait.
type Mailbox struct {
	// Capacity is the bound, in messages that wait. 0, the default, is unbounded.
	Capacity int
	// Overflow is what happens at the bound. Default DropOldest.
	Overflow Overflow
	// Priority ranks messages: lower numbers are handled first, equal ones in the order they came. It is called once for
	// each message, on the sender's goroutine, by several at a time, and again on the actor's for one that comes back
	// from the stash. It must not block; a message that it panics about gets the lowest priority, and the log a line for the first and at each doubling of their number.
	// PoisonPill, Kill, Terminated and timer ticks are ranked too, ticks when their timer is
	// started; ReceiveTimeout is always last. What is unstashed comes
	// before what waits with the same rank. The cost of a message grows with the number of different ranks that wait.
	// Default nil: no priorities.
	Priority func(msg any) int
}

// SpawnConfig configures one actor. The zero value is the default.
type SpawnConfig struct {
	// Mailbox bounds the mailbox, or ranks what waits in it. Default unbounded and first in, first out.
	Mailbox Mailbox
	// Supervisor judges this actor's failures in place of its parent's Supervisor. It is still the parent that judges, on
	// the parent's goroutine. Default nil: the parent's.
	Supervisor *Supervisor
}

// Validate checks the bounds: Mailbox.Capacity must not be negative, Overflow must be a known policy and needs a
// Capacity, and Supervisor must be valid.
func (c *SpawnConfig) Validate() error {
	switch m := c.Mailbox; {
	case m.Capacity < 0:
		return fmt.Errorf("Mailbox.Capacity must be 0 (unbounded) or more, it is %d", m.Capacity)
	case m.Overflow > RejectNewest:
		return fmt.Errorf("Mailbox.Overflow must be DropOldest, DropNewest or RejectNewest, it is %d", m.Overflow)
	case m.Overflow != DropOldest && m.Capacity == 0:
		return errors.New("Mailbox.Overflow needs a Mailbox.Capacity of 1 or more: an unbounded mailbox never overflows")
	}
	if c.Supervisor != nil {
		return c.Supervisor.Validate()
	}
	return nil
}

// spawn may be called by the owner, and by anybody on a guardian. The options are foreign code and run on the caller's
// goroutine.
func (c *cell) spawn(f *family, name string, newActor func() Actor, opts []func(*SpawnConfig), by *carrier) (Ref, error) {
	if newActor == nil {
		return Ref{}, c.spawnError(name, errors.New("the factory is nil"))
	}
	var spec *SpawnConfig
	if len(opts) > 0 {
		spec = new(SpawnConfig)
		for _, o := range opts {
			if o != nil {
				o(spec)
			}
		}
		if err := spec.Validate(); err != nil {
			return Ref{}, c.spawnError(name, err)
		}
	}
	k := newCell(c.sys, c, name, newActor, spec)
	if err := f.add(k, name, by); err != nil {
		return Ref{}, c.spawnError(name, err)
	}
	return k.ref(), nil
}

// spawnChild is spawn for the owner.
func (c *cell) spawnChild(name string, newActor func() Actor, opts []func(*SpawnConfig)) (Ref, error) {
	if c.st >= restarting || c.stopAsked {
		return Ref{}, c.spawnError(name, ErrStopped)
	}
	kids := &c.x().kids
	f := kids.Load()
	if f == nil {
		f = &family{susp: c.susp}
		kids.Store(f)
	}
	return c.spawn(f, name, newActor, opts, c.run)
}

func (c *cell) spawnError(name string, err error) error {
	return fmt.Errorf("actor: spawn %q below %s: %w", name, c.path(), err)
}

// checkName refuses names that would break a path.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrName)
	case name == "." || name == "..":
		return fmt.Errorf("%w: it has a meaning in paths", ErrName)
	case strings.HasPrefix(name, "$"):
		return fmt.Errorf("%w: a leading $ is reserved for generated names", ErrName)
	}
	for _, r := range name {
		if r == '/' || r == '\\' || r < 0x20 || r == 0x7f {
			return fmt.Errorf("%w: the character %q is not allowed", ErrName, r)
		}
	}
	return nil
}
