// Package mailbox is the queue of one actor and the word that says who owns the actor.
//
// # Ownership
//
// Whoever turns the owned bit of the word on owns the actor until Leave turns it off: the owner alone runs handlers and
// touches what belongs to the owner. A push or a signal that finds the bit off turns it on in the same instruction in
// which it makes its message visible, and makes its caller the one who has to have the actor run. Leave turns the bit
// off by a compare-and-swap of the very word in which the owner saw that nothing is left to do. So at most one
// activation of an actor exists, no wake-up is lost, and what one activation wrote the next one sees: the word orders
// them.
//
// # Where a message is
//
// An idle mailbox owns no buffer: the first message goes into an inline place, and by one compare-and-swap. While the
// actor is busy, further ones go into chunks of a pool, which are linked under the locked bit, a few instructions long;
// the owner takes all linked chunks at once and then handles them without looking at the word again. Order is that of
// the pushes: what the owner has taken, then the inline place, then the linked chunks. The inline place is used only
// while no chunk is linked, and the owner takes chunks only when the inline place is done.
//
// A mailbox with a bound or with priorities keeps its messages in a Box, which has a lock of its own; the word then
// only says that the box has something.
package mailbox
