package actor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// family is the children of one cell, a list in the order of their spawning. Only the owner uses that of an ordinary
// cell; children of the guardians are spawned from any goroutine, which is what the lock is for. Lock order: a family's
// lock before the scheduler's.
type family struct {
	mu          sync.Mutex
	closed      bool // no further children: the cell is stopping
	susp        uint16
	size        int
	numbered    uint64
	round       uint32 // counts the decisions about all children
	first, last *cell
	byName      map[string]*cell    // those that were given a name
	budgets     map[*cell]*restarts // of those that have failed

	gone atomic.Pointer[cell] // children that have ended, not buried yet; linked by qnext
}

// restarts is what a child has used up of its budget.
type restarts struct {
	at    []int64 // times within the window, at most MaxRestarts of them
	total int     // for a window that never forgets
}

var errNameTaken = errors.New("the name is taken by a child that has not ended")

// add takes a new child in, under a number if it has no name, and starts it.
func (f *family) add(k *cell, name string, by *carrier) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if by == nil && f.byName[name] != nil {
		// From outside, the name is free when the actor has ended. An actor that spawns its own children finds it free when
		// it has processed the end, and not at some moment within a handler.
		f.buryEnded()
	}
	switch {
	case f.closed:
		return ErrStopped
	case name == "":
		f.numbered++
		k.setNumber(f.numbered)
	case f.byName[name] != nil:
		return fmt.Errorf("%w: %w", ErrName, errNameTaken)
	default:
		if f.byName == nil {
			f.byName = map[string]*cell{}
		}
		f.byName[name] = k
	}
	k.prev, k.member = f.last, true
	if f.last != nil {
		f.last.next = k
	} else {
		f.first = k
	}
	f.last = k
	f.size++
	k.susp = f.susp   // it will be told when each of these is over
	if f.round != 0 { // the decisions up to here are not about it
		k.rare().round = f.round
	}
	k.signal(sigStart, by)
	return nil
}

// ended notes the end of a child. Anybody may call it; the owner buries the child when it gets the signal that follows.
func (f *family) ended(k *cell) {
	for {
		k.qnext = f.gone.Load()
		if f.gone.CompareAndSwap(k.qnext, k) {
			return
		}
	}
}

// bury releases the names of the children that have ended and reports whether none is left.
func (f *family) bury() (empty bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buryEnded()
	return f.size == 0
}

// buryEnded is called with mu held.
func (f *family) buryEnded() {
	for k := f.gone.Swap(nil); k != nil; {
		next := k.qnext
		f.remove(k)
		k = next
	}
}

// remove is called with mu held.
func (f *family) remove(k *cell) {
	if k.prev != nil {
		k.prev.next = k.next
	} else {
		f.first = k.next
	}
	if k.next != nil {
		k.next.prev = k.prev
	} else {
		f.last = k.prev
	}
	k.prev, k.next, k.qnext, k.member = nil, nil, nil, false
	f.size--
	delete(f.budgets, k)
	if x := k.ext.Load(); x != nil && x.name != "" {
		delete(f.byName, x.name)
	}
}

func (f *family) empty() bool {
	if f == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size == 0
}

// find returns a child by name, nil if there is none. One that has only a number is looked for one by one.
func (f *family) find(name string) *cell {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.byName[name]; k != nil || !strings.HasPrefix(name, "$") {
		return k
	}
	for k := f.first; k != nil; k = k.next {
		if k.name() == name {
			return k
		}
	}
	return nil
}

// has reports whether this very child is in the family.
func (f *family) has(k *cell) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return k.member
}

// budget is what a child has used up.
func (f *family) budget(k *cell) *restarts {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.budgets[k]
	if b == nil {
		if f.budgets == nil {
			f.budgets = map[*cell]*restarts{}
		}
		b = new(restarts)
		f.budgets[k] = b
	}
	return b
}

// each calls do for every child, with the family's lock.
func (f *family) each(do func(*cell)) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := f.first; k != nil; k = k.next {
		do(k)
	}
}

// decideAll sends a decision about one child to all of them. Each decision of that kind has a number, which a child keeps
// when it gets the decision and puts into its failures: so the parent sees which failures are older than the last of
// them, see cell.covered.
func (f *family) decideAll(m command, run *carrier) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.round++; f.round == 0 {
		f.round++
	}
	m.round = f.round
	for k := f.first; k != nil; k = k.next {
		if m.dir == Stop {
			k.announceStop()
		}
		k.send(m, run)
	}
}

// suspend tells every child that one more ancestor is suspended, or with -1 one less. A child that is spawned meanwhile
// inherits the number.
func (f *family) suspend(by int, run *carrier) {
	if f == nil {
		return
	}
	kind := cmdSuspend
	if by < 0 {
		kind = cmdUnsuspend
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.susp += uint16(by)
	for k := f.first; k != nil; k = k.next {
		k.send(command{kind: kind}, run)
	}
}

// reset sets the number of suspended ancestors that children to come start with. There is no child when it is called.
func (f *family) reset(susp uint16) {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.susp = susp
	f.mu.Unlock()
}

// close refuses further children.
func (f *family) close() {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
}

// cellSet is a set of cells: a slice while it is small, which it nearly always is.
type cellSet struct {
	few  []*cell
	many map[*cell]struct{}
}

const cellSetFew = 16

func (s *cellSet) add(c *cell) {
	switch {
	case s.many != nil:
		s.many[c] = struct{}{}
	case slices.Contains(s.few, c):
	case len(s.few) < cellSetFew:
		s.few = append(s.few, c)
	default:
		s.many = make(map[*cell]struct{}, 2*cellSetFew)
		for _, k := range s.few {
			s.many[k] = struct{}{}
		}
		s.many[c] = struct{}{}
		s.few = nil
	}
}

func (s *cellSet) remove(c *cell) {
	delete(s.many, c)
	if i := slices.Index(s.few, c); i >= 0 {
		s.few = slices.Delete(s.few, i, i+1)
	}
}

// take empties the set and calls f for each, also if one of the calls ends the goroutine.
func (s *cellSet) take(f func(*cell)) {
	defer func() {
		if len(s.few)+len(s.many) > 0 {
			s.take(f)
		}
	}()
	for len(s.few) > 0 {
		c := s.few[0]
		s.few = s.few[1:]
		f(c)
	}
	for c := range s.many {
		delete(s.many, c)
		f(c)
	}
	*s = cellSet{}
}
