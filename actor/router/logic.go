package router

import (
	"math/rand/v2"

	"github.com/troupe-go/troupe/actor"
)

const (
	// None is what Logic.Select returns to choose nobody: the message becomes a dead letter.
	None = -1
	// All is what Logic.Select returns to choose every routee, as Broadcast does.
	All = -2
)

// Logic chooses the routee for a message. Each instance of a router has a Logic of its own, made by Config.Logic; it is
// used on the router's goroutine only, so it may have a state without a lock.
type Logic interface {
	// Select returns the index of the routee that gets msg, All, or None. There is at least one routee. It must not block
	// and must not keep or change routees. What it returns beyond that, and a panic, makes msg a dead letter with ErrLogic.
	Select(msg any, routees []actor.Ref) int
}

// Updater is an optional part of a Logic that prepares something from the routees, as ConsistentHash does with its ring.
type Updater interface {
	// Update is called before the first Select, and again before the first one after the routees have changed. It must not
	// block and must not keep or change routees. After a panic in it every message is a dead letter with ErrLogic until the
	// routees change again.
	Update(routees []actor.Ref)
}

// RoundRobin is the Logic that takes one routee after the other. It leaves out those that are stopping or have stopped.
func RoundRobin() Logic { return &roundRobin{} }

type roundRobin struct{ next int }

func (l *roundRobin) Select(_ any, routees []actor.Ref) int {
	i := available(routees, l.next)
	if i >= 0 {
		l.next = i + 1
	}
	return i
}

// Random is the Logic that takes any routee, each as often as the others. Where it hits one that is stopping or has
// stopped it takes the next that is not.
func Random() Logic { return random{} }

type random struct{}

func (random) Select(_ any, routees []actor.Ref) int {
	return available(routees, rand.IntN(len(routees)))
}

// SmallestMailbox is the Logic that takes the routee with the fewest messages waiting. Where several have the fewest they
// take turns, and the first whose mailbox is empty is taken without a look at the others. Routees that are stopping or
// have stopped are left out. The message that a routee has in hand is not counted.
func SmallestMailbox() Logic { return &smallestMailbox{} }

type smallestMailbox struct{ next int }

// Update looks at each mailbox once: a mailbox counts exactly only after somebody has asked.
func (l *smallestMailbox) Update(routees []actor.Ref) {
	for _, ref := range routees {
		ref.Pending()
	}
}

func (l *smallestMailbox) Select(_ any, routees []actor.Ref) int {
	n := len(routees)
	if l.next >= n {
		l.next = 0
	}
	best, fewest := None, 0
	for k := range n {
		i := l.next + k
		if i >= n {
			i -= n
		}
		waiting, ok := routees[i].Pending()
		if !ok || best != None && waiting >= fewest {
			continue
		}
		if best, fewest = i, waiting; waiting == 0 {
			break
		}
	}
	l.next++
	return best
}

// FanOut is the Logic that chooses every routee: each message is sent to all that are not stopping. A completion ends
// once, when all of them have handled the message: with nil, or with their errors joined. An ask ends with the first
// reply. When all have handled it and none has replied, it ends with ErrNoReply and their errors: a routee that replies
// later than its handler returns must have kept the message open until then, by Hold, Stash or Forward.
func FanOut() Logic { return fanOut{} }

type fanOut struct{}

func (fanOut) Select(any, []actor.Ref) int { return All }

// available is the first routee from index from on, round the end, that is not stopping; None if there is none.
func available(routees []actor.Ref, from int) int {
	n := len(routees)
	if from >= n {
		from = 0
	}
	for k := range n {
		i := from + k
		if i >= n {
			i -= n
		}
		if !routees[i].Stopping() {
			return i
		}
	}
	return None
}
