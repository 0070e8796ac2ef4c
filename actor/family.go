package actor

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// family is the children of one cell. Only the owner uses that of an ordinary cell; children of the guardians are
// spawned from any goroutine, which is what the lock is for. Lock order: a family's lock before a mailbox's.
type family struct {
	mu        sync.Mutex
	closed    bool // no further children: the cell is stopping
	susp      int32
	anonymous uint64
	byName    map[string]*child
}

// child is the parent's record of one child.
type child struct {
	cell     *cell
	restarts []int64 // times within the window, at most MaxRestarts of them
	total    int     // for a window that never forgets
}

var errNameTaken = errors.New("the name is taken by a child that has not ended")

// add takes a new child in, under a generated name if it has none, and has it created.
func (f *family) add(k *cell) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrStopped
	}
	if k.name == "" {
		f.anonymous++
		k.name = fmt.Sprintf("$%d", f.anonymous)
	}
	if f.byName[k.name] != nil {
		return fmt.Errorf("%w: %w", ErrName, errNameTaken)
	}
	if f.byName == nil {
		f.byName = map[string]*child{}
	}
	f.byName[k.name] = &child{cell: k}
	k.susp = f.susp // it will be told when each of these is over
	k.send(command{kind: cmdCreate})
	return nil
}

// remove releases the name of an ended child and reports whether none is left.
func (f *family) remove(gone *cell) (empty bool) {
	if f == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.byName[gone.name]; k != nil && k.cell == gone {
		delete(f.byName, gone.name)
	}
	return len(f.byName) == 0
}

func (f *family) empty() bool {
	if f == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.byName) == 0
}

// find returns the record of a child by name, nil if there is none.
func (f *family) find(name string) *child {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byName[name]
}

// of returns the record of this very child, nil if it has ended.
func (f *family) of(k *cell) *child {
	if r := f.find(k.name); r != nil && r.cell == k {
		return r
	}
	return nil
}

// cells lists the children, ordered by name so that what is done to all of them is done in the same order each time.
func (f *family) cells() []*cell {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	cells := make([]*cell, 0, len(f.byName))
	for _, k := range f.byName {
		cells = append(cells, k.cell)
	}
	slices.SortFunc(cells, func(a, b *cell) int {
		switch {
		case a.name < b.name:
			return -1
		case a.name > b.name:
			return 1
		}
		return 0
	})
	return cells
}

// suspend tells every child that one more ancestor is suspended, or with -1 one less. A child that is spawned meanwhile
// inherits the number.
func (f *family) suspend(by int32) {
	if f == nil {
		return
	}
	kind := cmdSuspend
	if by < 0 {
		kind = cmdUnsuspend
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.susp += by
	for _, k := range f.byName {
		k.cell.send(command{kind: kind})
	}
}

// reset sets the number of suspended ancestors that children to come start with. There is no child when it is called.
func (f *family) reset(susp int32) {
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

// take empties the set and calls f for each.
func (s *cellSet) take(f func(*cell)) {
	few, many := s.few, s.many
	*s = cellSet{}
	for _, c := range few {
		f(c)
	}
	for c := range many {
		f(c)
	}
}
