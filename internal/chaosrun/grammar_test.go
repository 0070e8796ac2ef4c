package chaosrun

import (
	"fmt"
	"sync"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// grammar listens to the events of all brokers and says which of them should not have come.
type grammar struct {
	mu        sync.Mutex
	up        map[string]bool
	over      map[string]bool
	attempts  map[string]int
	restarts  map[string]int // that were asked for: the end of an instance publishes nothing
	wrong     []string
	counts    map[string]int
	overflows int
	letters   map[string][]broker.Reason // dead letters of outbound messages, by id
	runtime   map[string]int             // dead letters of the runtime, of commands that reached nobody
	evicted   int                        // accepted, and dead letters for an overflow
	dropped   map[string]int             // dead letters of inbound ones
	id        func(payload any) string
	inboundID func(msg any) string
}

// restart is told before a broker actor is made to restart.
type restart struct{ path string }

// over is told when a broker actor has stopped: what it publishes from now on is wrong.
type over struct{ path string }

func (g *grammar) start(sys *actor.System) (actor.Ref, error) {
	g.up, g.over, g.attempts = map[string]bool{}, map[string]bool{}, map[string]int{}
	g.counts, g.letters = map[string]int{}, map[string][]broker.Reason{}
	g.restarts = map[string]int{}
	g.runtime, g.dropped = map[string]int{}, map[string]int{}
	ref, err := sys.Spawn("grammar", func() actor.Actor { return actor.Func(g.receive) })
	if err != nil {
		return ref, err
	}
	actor.Subscribe[broker.Event](sys.EventStream(), ref)
	actor.Subscribe[actor.DeadLetter](sys.EventStream(), ref)
	return ref, nil
}

func (g *grammar) fail(format string, args ...any) {
	if len(g.wrong) < 20 {
		g.wrong = append(g.wrong, fmt.Sprintf(format, args...))
	}
}

func (g *grammar) receive(_ *actor.Context, msg any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch m := msg.(type) {
	case restart:
		g.restarts[m.path]++
	case over:
		g.over[m.path] = true
	case actor.DeadLetter:
		g.letter(m)
	case broker.Event:
		g.event(m)
	}
	return nil
}

// restarted takes one restart into account, if there was one.
func (g *grammar) restarted(path string) bool {
	if g.restarts[path] == 0 {
		return false
	}
	g.restarts[path]--
	g.up[path], g.attempts[path] = false, 0
	return true
}

func (g *grammar) letter(d actor.DeadLetter) {
	switch m := d.Msg.(type) {
	case broker.Undelivered:
		id := g.id(m.Payload)
		g.letters[id] = append(g.letters[id], m.Reason)
		switch {
		case m.Reason == broker.ReasonOverflow && !m.Refused:
			g.evicted++
		case m.Reason == broker.ReasonPoison:
			g.fail("%s: %s was taken for poison", m.Path, id)
		}
		if g.over[m.Path] {
			g.fail("%s: dead letter of %s after the stop", m.Path, id)
		}
	case broker.Dropped:
		g.dropped[g.inboundID(m.Message)]++
	default:
		if id := g.id(d.Msg); id != "" {
			g.runtime[id]++
		}
	}
}

func (g *grammar) event(e broker.Event) {
	path, _ := e.Source()
	g.counts[fmt.Sprintf("%T", e)]++
	if g.over[path] {
		g.fail("%s: %T after the stop", path, e)
	}
	switch e := e.(type) {
	case broker.Connected:
		if g.up[path] && !g.restarted(path) {
			g.fail("%s: Connected twice", path)
		}
		g.up[path], g.attempts[path] = true, 0
	case broker.Disconnected:
		if !g.up[path] {
			g.fail("%s: Disconnected, but it was not connected", path)
		}
		if e.Cause == nil {
			g.fail("%s: Disconnected without a cause", path)
		}
		g.up[path] = false
	case broker.ReconnectAttempt:
		if g.up[path] && !g.restarted(path) {
			g.fail("%s: ReconnectAttempt while connected", path)
		}
		if g.attempts[path]++; e.Attempt != g.attempts[path] && e.Attempt == 1 && g.restarted(path) {
			g.attempts[path] = 1
		} else if e.Attempt != g.attempts[path] {
			g.fail("%s: attempt %d after %d", path, e.Attempt, g.attempts[path]-1)
		}
	case broker.BufferOverflow:
		g.overflows += e.Count
	case broker.ReconnectFailed:
		g.fail("%s: ReconnectFailed, and attempts are not bounded", path)
	}
}

// ended is how one message has ended, as far as dead letters say; nobody says that it reached no broker actor.
func (g *grammar) ended(id string) (letters []broker.Reason, nobody bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.letters[id], g.runtime[id] > 0
}

// unknown says that a message was let go of while it was in flight: it may arrive at any time.
func (g *grammar) unknown(id string) bool {
	letters, _ := g.ended(id)
	return len(letters) > 0 && letters[0] == broker.ReasonUnknown
}

func (g *grammar) givenUp(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dropped[id] > 0
}

func (g *grammar) faults() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.wrong...)
}
