package actor

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// stopActors stops what is below /user, then what is below /system, then the root. Each of them has a budget; the error
// names those that are still at work when it is used up.
func (s *System) stopActors() error {
	var stuck []string
	budget := s.settings.StopTimeout
	for _, g := range s.guardians {
		g.stop()
		if g.parent == nil && len(stuck) > 0 {
			break // the root waits for them
		}
		if g.endsWithin(budget) {
			continue
		}
		// An actor stops its children when its handler has returned. Those of one whose handler does not are stopped here.
		g.below(func(c *cell) { c.stop() })
		if g.endsWithin(budget / 10) {
			continue
		}
		g.below(func(c *cell) {
			// What waits for a child is not owned, and what is closed and not among the ended runs completions.
			if c.mb.Owned() || c.mb.Closed() {
				stuck = append(stuck, c.path())
			}
		})
	}
	if len(stuck) == 0 {
		return nil
	}
	slices.Sort(stuck)
	names := shorten(stuck, 20)
	s.report(slog.LevelError, "actors do not stop, since their handlers or hooks do not return; the system ends without them",
		"actors", names, "waited", budget)
	return fmt.Errorf("actor: system %s has ended, but not these actors, which are at work: %s: %w", s.name, names, ErrAbandoned)
}

// shorten joins at most the first n names.
func shorten(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// endsWithin waits for the end of a guardian.
func (c *cell) endsWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.look().ended:
		return true
	case <-t.C:
		return false
	}
}

// below calls do for everything below the cell that has not ended. Anybody may call it.
func (c *cell) below(do func(*cell)) {
	for _, k := range c.kids().living() {
		do(k)
		k.below(do)
	}
}

// living returns the children that have not ended.
func (f *family) living() (all []*cell) {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ended := map[*cell]bool{}
	for k := f.gone.Load(); k != nil; k = k.qnext { // nobody takes them from there without the lock
		ended[k] = true
	}
	for k := f.first; k != nil; k = k.next {
		if !ended[k] {
			all = append(all, k)
		}
	}
	return all
}
