// Package actor is a runtime for actors: small pieces of state, each with a mailbox and a goroutine's worth of time only
// while it has something to do.
//
// A System is a tree of actors. Spawn starts one from a factory and returns its Ref; Ref.Tell puts a message into its
// mailbox; the actor's Receive handles the messages one after the other. An error or a panic is a failure, and the
// parent decides what follows. The package needs nothing but the standard library and troupe's own HOCON parser.
//
// # Order
//
// Messages from one sender to one actor arrive in the order they were told. Between several senders there is no order.
// An actor handles one message at a time, and what one handler wrote is seen by the next, without a lock. A mailbox has
// two lanes: the system lane, for starting, stopping, failures and watching, is always served first; the user lane has
// everything else in order of arrival. Terminated and ReceiveTimeout come at the tail of the user lane.
//
// # Who may call what
//
// Refs, the System and the EventStream may be used from any goroutine. A Context belongs to the actor's goroutine, inside
// hooks and Receive, and must not be used elsewhere, see Context; Self, System and Context work anywhere. A handler
// may block: it delays its own actor and no other. Ask blocks its goroutine; inside a handler PipeToSelf is the better
// way to wait for something.
//
// # Life
//
// The factory is called for the first instance and for each restart, so Spawn takes a function and never an instance.
// Hooks are optional methods: PreStart before the first message, PostStop after the last one and after all children have
// ended, PreRestart on the old instance, PostRestart on the new one. A method that has a hook's name and not its shape
// is a failed start. A restart keeps the mailbox, the name and the Ref, and nothing else: behaviours, timers, stash,
// children and the receive timeout are gone, and the new instance sets up what it wants.
//
// PoisonPill, and Context.Stop, end an actor when everything told before has been handled. Context.StopSelf and the stop
// of a parent end it after the current message, and what waits becomes dead letters. An actor's children are stopped
// before its PostStop. Its name is free again when Terminated reaches a parent that watches it.
//
// # Failure
//
// A returned error and a recovered panic are the same thing. The actor and its children are suspended, and the parent's
// Supervisor decides: Resume, Restart, Stop or Escalate. By default a start that failed by configuration stops, and
// everything else restarts, at most 10 times in 60 s for each child: 11 starts, and the next failure stops it. Reject
// refuses one message without failing the actor: the way to treat a bad message.
//
// # Completion
//
// Every message ends in exactly one way, and a Completion sent along learns which: nil when the handler returned nil; the
// handler's error, or *PanicError; ErrDeadLetter or ErrMailboxFull when nobody handled it; ErrStopped when it was held by
// an actor that stopped, ErrPreviousInstance when the instance that held it was replaced by a restart. Forward hands the completion on with the message, Stash keeps it, and Hold takes it out for
// work that ends later. It is how a broker's message is acknowledged only after the work on it is done.
//
// An ask is a message whose completion is the asker: it ends with the reply, the handler's error, a dead letter or its
// context, whichever is first. A handler that returns nil without a reply leaves it open, since the reply may come by
// another way.
//
// What nobody handled is published as a DeadLetter. The runtime loses nothing silently.
//
// # Receive timeout
//
// Context.SetReceiveTimeout arms the actor's own idle clock. When no message that counts has been handled for the window,
// the actor receives ReceiveTimeout, and again after each further window, until it is cancelled. Everything that was told
// counts, timer ticks and events included, but for messages that are marked NotInfluenceReceiveTimeout; Terminated,
// PoisonPill, Kill and all of supervision do not. The window begins at the end of a handler: time spent working is not
// idle. It is checked again when ReceiveTimeout is about to be delivered: if a message that counts was handled since it
// was due, or waits in the mailbox, it is dropped and the window runs anew, so an actor that retires on it is really idle.
// Times are exact, and a window costs nothing per message: no timer is touched, the clock is read when the mailbox runs
// empty.
//
// # Time in tests
//
// Everything uses package time and works in a testing/synctest bubble: a test of a window of 15 minutes takes a
// millisecond. Package actortest has a probe and a system for tests.
//
// # Termination
//
// System.Terminate runs five phases (unbind, drain, brokers, cluster, terminate), whose tasks are registered with
// OnShutdown, then stops the actors, and returns when no goroutine and no timer of the system is left.
package actor
