package router

import "github.com/troupe-go/troupe/actor"

// Broadcast makes the router send Msg to every routee, whatever its Logic is. All routees share the one Msg. The
// completion of the Broadcast ends once, when every routee has handled Msg: with nil, or with the errors joined; for an
// ask see FanOut. Msg may be actor.PoisonPill{} or actor.Kill{}.
type Broadcast struct{ Msg any }

// AddRoutee makes a group route to Ref, too. A Ref that it has already changes nothing, and one that has stopped is
// taken out again at once. The zero Ref and the router itself are refused with ErrRoutee. There is no reply. A pool does
// not handle it.
type AddRoutee struct{ Ref actor.Ref }

// RemoveRoutee makes a group route to Ref no more. Ref itself is left alone and handles what it has been told. A Ref
// that the group does not have changes nothing, the zero Ref is refused with ErrRoutee. There is no reply. A pool does
// not handle it.
type RemoveRoutee struct{ Ref actor.Ref }

// Resize makes a pool have Size routees, 1 or more, or it is refused with ErrRoutee. New ones are spawned, also for
// those that have ended and were not replaced; of those that are too many the last ones get no more messages, handle
// what they have been told, and stop. There is no reply. A restart of the router goes back to the size it was made with.
// A group does not handle it.
type Resize struct{ Size int }

// QueryRoutees is an ask for the routees of a router: the reply is a []actor.Ref, which is the asker's.
type QueryRoutees struct{}

// Drain ends a pool without losing anything: it takes no more messages, each routee handles what it has been told and
// stops, and then the router stops. What comes later is a dead letter with ErrDraining. An ask ends, with the zero
// value, when all routees have stopped. A group just stops, and leaves its routees alone.
type Drain struct{}

// HashKeyer is what a message may be to have a key for ConsistentHash. HashKey is called on the router's goroutine and
// must not block. The empty key is one like any other.
type HashKeyer interface{ HashKey() string }

// respawn is the tick that replaces a routee.
type respawn struct{ name string }
