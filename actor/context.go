package actor

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Context is what an actor has of the runtime while it handles a message or runs a hook. It is valid only on the
// actor's own goroutine, inside hooks and Receive. Used after its turn, for example by a goroutine that the handler
// started, a method does nothing but log a warning, once per actor. While the same actor handles another message such a
// use cannot be told apart and acts on that one; it is a data race, which the race detector reports. Self, System and Context may be used anywhere. No
// method blocks.
type Context struct{ c cell }

// ok reports whether the context is used in its turn: while somebody owns the cell.
func (x *Context) ok(method string) bool {
	return x.c.run != nil && x.c.mb.Owned() || x.late(method)
}

// late logs the first use after a turn.
func (x *Context) late(method string) bool {
	if x.c.sys != nil && x.c.mb.Mark(markWarned) {
		x.c.log().Warn("actor.Context used after its turn; the call did nothing", "method", method)
	}
	return false
}

// current is the carrier that runs the actor, nil if the context is not used in its turn. The field is read once, and
// what it says is compared with what the carrier says: a goroutine that has kept the Context may come here while the turn
// ends or another begins, and must neither crash nor get at the message of another actor.
func (x *Context) current(method string) *carrier {
	if k := x.c.run; k != nil && k.cell == &x.c && x.c.mb.Owned() {
		return k
	}
	x.late(method)
	return nil
}

// handling is current for a handler, so that there is a current message; nil in hooks.
func (x *Context) handling(method string) *carrier {
	if k := x.current(method); k != nil && x.c.phase == inReceive {
		return k
	}
	return nil
}

// Self is the actor's ref.
func (x *Context) Self() Ref { return x.c.ref() }

// System is the actor's system.
func (x *Context) System() *System { return x.c.sys }

// Context is cancelled when this instance of the actor ends: at a restart, and as soon as a stop has been asked for.
// Meant for the I/O of a handler. It never has a deadline.
func (x *Context) Context() context.Context { return x.c.lifetime() }

// Log is the system's logger with the actor's path and, while a message is handled that came with a context of WithLog, the
// attributes of that. A goroutine that the handler starts may use the logger, but not call Log.
func (x *Context) Log() *slog.Logger {
	log := x.c.log()
	if k := x.c.run; k != nil && k.cell == &x.c && x.c.mb.Owned() {
		if ctx := k.ctx; ctx != nil { // read once, see current
			for _, a := range logAttrs(ctx) {
				log = log.With(a)
			}
		}
	}
	return log
}

// Parent is the ref of the parent.
func (x *Context) Parent() Ref {
	if x.c.parent == nil {
		return Ref{}
	}
	return x.c.parent.ref()
}

// Sender is who sent the current message: an actor that used Context.Tell, Forward's original sender, an ask. It is the
// zero Ref when nobody is known, in hooks, and for signals.
func (x *Context) Sender() Ref {
	k := x.current("Sender")
	if k == nil {
		return Ref{}
	}
	return k.e.sender
}

// Spawn starts a child under a name. The ref is valid at once; the child's PreStart runs beside the caller, and what is
// told meanwhile waits. The factory is called for the first instance and for each restart, on the child's goroutine. The
// error wraps ErrName for a name that is empty, taken, reserved or has a character that is not allowed, and ErrStopped
// when the actor is stopping.
func (x *Context) Spawn(name string, newActor func() Actor, opts ...func(*SpawnConfig)) (Ref, error) {
	if !x.ok("Spawn") {
		return Ref{}, ErrStopped
	}
	if err := checkName(name); err != nil {
		return Ref{}, x.c.spawnError(name, err)
	}
	return x.c.spawnChild(name, newActor, opts)
}

// SpawnAnonymous is Spawn under a generated name, which begins with "$".
func (x *Context) SpawnAnonymous(newActor func() Actor, opts ...func(*SpawnConfig)) (Ref, error) {
	if !x.ok("SpawnAnonymous") {
		return Ref{}, ErrStopped
	}
	return x.c.spawnChild("", newActor, opts)
}

// Child finds a child by name. A child that is stopping is still found, and its name still taken, until the parent has
// processed its end.
func (x *Context) Child(name string) (Ref, bool) {
	if !x.ok("Child") {
		return Ref{}, false
	}
	k := x.c.kids().find(name)
	if k == nil {
		return Ref{}, false
	}
	return k.ref(), true
}

// Children are the refs of all children, ordered by name. The slice is the caller's.
func (x *Context) Children() []Ref {
	if !x.ok("Children") {
		return nil
	}
	var refs []Ref
	x.c.kids().each(func(k *cell) { refs = append(refs, k.ref()) })
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.Name(), b.Name()) })
	return refs
}

// Stop tells ref, which need not be a child, a PoisonPill: it stops when everything told before has been handled.
func (x *Context) Stop(ref Ref) {
	if x.ok("Stop") {
		x.c.stopRef(ref)
	}
}

// StopSelf stops the actor after the current message; what waits in the mailbox becomes dead letters.
func (x *Context) StopSelf() {
	if x.ok("StopSelf") {
		x.c.stopAsked = true
	}
}

// Watch asks for a Terminated when ref has stopped, at once if it has already. It comes at the tail of the mailbox,
// exceeds its bound if it must, and is not counted by the receive timeout. Watching again replaces the registration.
// Watching oneself or the zero Ref does nothing.
func (x *Context) Watch(ref Ref) {
	if x.ok("Watch") {
		x.c.watchRef(ref, watch{})
	}
}

// WatchWith is Watch with msg in place of Terminated.
func (x *Context) WatchWith(ref Ref, msg any) {
	if x.ok("WatchWith") {
		x.c.watchRef(ref, watch{with: msg, hasWith: true})
	}
}

// Unwatch takes a Watch back. A Terminated that waits in the mailbox already is not delivered.
func (x *Context) Unwatch(ref Ref) {
	if x.ok("Unwatch") {
		x.c.unwatchRef(ref)
	}
}

// SetReceiveTimeout arms the idle window: when for d no message that counts has been handled, the actor receives
// ReceiveTimeout, and again after every further d. The window begins when the handler or hook that sets it ends, runs
// anew with each message, and is off after a restart until set again. Setting replaces an earlier window, and a
// ReceiveTimeout of it that is on its way is void; 0 or less switches it off; a positive d below 1 ms is taken as 1 ms.
// Refused while the actor is stopping and in PreRestart.
func (x *Context) SetReceiveTimeout(d time.Duration) {
	if x.ok("SetReceiveTimeout") {
		x.c.setWindow(d)
	}
}

// CancelReceiveTimeout is SetReceiveTimeout(0).
func (x *Context) CancelReceiveTimeout() {
	if x.ok("CancelReceiveTimeout") {
		x.c.setWindow(0)
	}
}

// Timers are the actor's timers.
func (x *Context) Timers() Timers { return Timers{x} }

// Become makes f handle the next messages, in place of the behaviour in force. It lasts until the next Become or
// Unbecome, or a restart; nil stands for the actor's own Receive; mailbox, timers, stash and receive timeout are untouched.
func (x *Context) Become(f Func) {
	if x.ok("Become") {
		x.c.become(f, false)
	}
}

// BecomeStacked is Become that keeps the behaviour in force for Unbecome to return to.
func (x *Context) BecomeStacked(f Func) {
	if x.ok("BecomeStacked") {
		x.c.become(f, true)
	}
}

// Unbecome returns to the behaviour before the last BecomeStacked, and in the end to the actor's own Receive.
func (x *Context) Unbecome() {
	if x.ok("Unbecome") {
		x.c.unbecome()
	}
}

// Stash parks the current message, with its sender and completion, for UnstashAll. It returns ErrStashOutside when there
// is no current message and ErrStashFull beyond StashCapacity. At a stop and at a restart what is stashed becomes dead
// letters.
func (x *Context) Stash() error {
	if !x.ok("Stash") {
		return ErrStashOutside
	}
	return x.c.stashCurrent()
}

// UnstashAll puts the stashed messages in front of the mailbox, in the order they were stashed, beyond its bound if need
// be.
func (x *Context) UnstashAll() {
	if x.ok("UnstashAll") {
		x.c.unstash()
	}
}
