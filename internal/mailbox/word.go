package mailbox

import "runtime"

// The bits of the word. Those from Mark0 on mean nothing here.
const (
	locked   uint32 = 1 << iota // the queue is being changed, a few instructions
	owned                       // somebody owns the actor: it is scheduled or runs
	full                        // the inline place is taken
	more                        // chunks are linked; or: look into the box
	system                      // a signal came: look at it before leaving
	held                        // messages do not wake the actor: it is suspended
	closed                      // it takes nothing any more
	boxed                       // messages are in a Box
	observed                    // somebody asks for the length: keep count

	// Mark0 to Mark4 are bits that anybody may turn on by Mark.
	Mark0
	Mark1
	Mark2
	Mark3
	Mark4

	// idle says which bits have to be off for a push to take the short way.
	idle = locked | owned | full | more | system | held | closed | boxed
)

// spin waits a little for the locked bit to go off, the longer the more often it was seen on: each look takes the cache
// line away from the holder. A holder that lost its processor needs one, so the waiter gives up its own now and then;
// that, and the few instructions for which the bit is on, bound the wait.
func spin(i int) {
	if i%32 == 0 {
		runtime.Gosched()
		return
	}
	Pause(spinBase << min(i, 5))
}

const spinBase = 256

// Pause lets about n turns of an empty loop pass, some 0.3 ns each.
//
//go:noinline
func Pause(n int) {
	for range n {
	}
}

// Marked reports whether a mark is on.
func (m *Mailbox[E]) Marked(mark uint32) bool { return m.w.Load()&mark != 0 }

// Mark turns a mark on and reports whether it was off.
func (m *Mailbox[E]) Mark(mark uint32) bool {
	for i := 1; ; i++ {
		w := m.w.Load()
		switch {
		case w&mark != 0:
			return false
		case w&locked != 0:
			spin(i)
		case m.w.CompareAndSwap(w, w|mark):
			return true
		}
	}
}

// Unmark turns a mark off.
func (m *Mailbox[E]) Unmark(mark uint32) {
	for i := 1; ; i++ {
		w := m.w.Load()
		switch {
		case w&mark == 0:
			return
		case w&locked != 0:
			spin(i)
		case m.w.CompareAndSwap(w, w&^mark):
			return
		}
	}
}

// Closed reports whether Close was called.
func (m *Mailbox[E]) Closed() bool { return m.w.Load()&closed != 0 }

// Owned reports whether somebody owns the actor.
func (m *Mailbox[E]) Owned() bool { return m.w.Load()&owned != 0 }
