// Package router spreads messages over several actors, its routees, through one actor, the router.
//
// Pool and Group make factories for Spawn. A pool spawns its routees from a factory, owns them and supervises them; a
// group routes to actors that others own. Config.Logic says who gets a message: RoundRobin, Random, SmallestMailbox,
// ConsistentHash, FanOut, or a Logic of your own. A Broadcast goes to every routee whatever the logic is.
//
// # What a router does with a message
//
// It forwards it: the routee sees the original sender, so that its reply goes there and not to the router, and the
// message's completion, which ends with what the routee returns. An ask of the router is answered by the routee. This
// costs no allocation. The router itself is one actor, so all messages take one more mailbox, and messages of one sender
// stay in order as far as they go to the same routee.
//
// # What goes to all
//
// A Broadcast, and everything under FanOut, goes to all routees that are not stopping. All get the same value, which
// nobody may change. Its completion ends once: when the last of them has handled it, with nil or with all errors joined.
// An ask ends with the first reply. If every routee has handled it and nobody has replied, it ends with ErrNoReply and
// the errors, since nobody is left who would end it: a routee that wants to reply after its handler has returned keeps
// its copy open by Context.Hold, Stash or Forward. Other senders get every reply.
//
// # What nobody gets
//
// No message is lost silently. With no routee left, with none that is not stopping, without a key, with a logic that
// makes no valid choice or panics, and while draining, the message becomes an actor.DeadLetter to the router with the
// reason, and its completion, or ask, ends with an error that wraps actor.ErrDeadLetter and the reason. The router goes
// on.
//
// # Routees that end
//
// A routee is taken out when its Terminated reaches the router, behind what was told to the router before. Until then the
// logics of this package see by themselves that it is stopping, and leave it out. Refs are compared by incarnation: the
// end of an earlier actor does not remove one that has its path now. What a routee had in its mailbox when it ended
// becomes dead letters, as with every actor.
//
// A pool does not replace routees unless Config.ReplaceAfter is set; it becomes smaller, down to nothing, and Resize
// fills it again. A restart is no end: a routee that fails and is restarted by Config.Supervisor stays.
//
// # Stopping and restarting a router
//
// PoisonPill stops the router when it has routed what was told before. A pool's routees are its children and stop with
// it, after the message in hand: what waits in their mailboxes becomes dead letters. Drain is the stop that loses
// nothing. Broadcast{actor.PoisonPill{}} ends the routees, each after what it was told, and leaves the router running
// without any.
//
// A router fails only if it is told actor.Kill, or if its supervisor escalates. A restart is like any other: the children
// of a pool are stopped and spawned anew, a group has the routees it was made with.
//
// The receive timeout of a routee works as usual: what is routed to it counts. A router has none.
package router
