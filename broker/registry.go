package broker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// registry knows the broker actors of one system, from their start until their stop has ended.
type registry struct {
	mu      sync.Mutex
	entries map[string]reporter // by path
}

// reporter is an engine without its type parameters.
type reporter interface{ status() Status }

type registryKey struct{}

func registryOf(sys *actor.System) *registry {
	return sys.Shared(registryKey{}, func() any { return &registry{entries: map[string]reporter{}} }).(*registry)
}

func (r *registry) add(path string, e reporter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[path] = e
}

// remove takes e out, unless another incarnation has taken its place.
func (r *registry) remove(path string, e reporter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[path] == e {
		delete(r.entries, path)
	}
}

func (r *registry) all() []reporter {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]reporter, 0, len(r.entries))
	for _, e := range r.entries {
		out = append(out, e)
	}
	return out
}

// Statuses returns the status of every broker actor of a system that has started and not stopped, sorted by path. It does
// not go through the mailboxes: it never waits for an actor, and may be called from any goroutine. The slice is the
// caller's.
func Statuses(sys *actor.System) []Status {
	all := registryOf(sys).all()
	out := make([]Status, len(all))
	for i, e := range all {
		out[i] = e.status()
	}
	slices.SortFunc(out, func(a, b Status) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// StatusOf returns the status of the broker actor at path, as Statuses does; false if there is none.
func StatusOf(sys *actor.System, path string) (Status, bool) {
	r := registryOf(sys)
	r.mu.Lock()
	e := r.entries[path]
	r.mu.Unlock()
	if e == nil {
		return Status{}, false
	}
	return e.status(), true
}

// Ready says whether a system can do its work: nil when every broker actor whose setting Required is true is connected,
// and otherwise a *NotReadyError. One that is paused counts as ready while it is connected: it was paused on purpose. It
// never blocks and may be called from any goroutine; a health check calls it.
func Ready(sys *actor.System) error {
	missing := slices.DeleteFunc(Statuses(sys), func(s Status) bool { return !s.Required || s.State == StateConnected })
	if len(missing) == 0 {
		return nil
	}
	return &NotReadyError{missing}
}

// NotReadyError lists the required broker actors that are not connected, sorted by path.
type NotReadyError struct{ Brokers []Status }

// Error names each of them, with its endpoint, state and last error; there is no secret in it.
func (e *NotReadyError) Error() string {
	var b strings.Builder
	b.WriteString("broker: not ready: ")
	for i, s := range e.Brokers {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s (%s) is %s since %s", s.Path, s.Endpoint, s.State, s.Since.Format(time.RFC3339))
		if s.GivenUp {
			b.WriteString(" and has given up")
		}
		if s.LastError != nil {
			fmt.Fprintf(&b, ": %v", s.LastError)
		}
	}
	return b.String()
}
