package chaosrun

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// ledger knows every message that was published and how it ended.
type ledger struct {
	mu      sync.Mutex
	entries [][]entry // by publisher, in the order of publishing
	wrong   []string
	open    atomic.Int64
}

type entry struct {
	told bool // nobody waits for it
	ends int
	err  error
}

func newLedger(publishers int) *ledger { return &ledger{entries: make([][]entry, publishers)} }

func idOf(publisher, n int) string { return fmt.Sprintf("p%d-%d", publisher, n) }

// parse undoes idOf.
func parse(id string) (publisher, n int, ok bool) {
	p, rest, found := strings.Cut(strings.TrimPrefix(id, "p"), "-")
	if !found || !strings.HasPrefix(id, "p") {
		return 0, 0, false
	}
	publisher, err1 := strconv.Atoi(p)
	n, err2 := strconv.Atoi(rest)
	return publisher, n, err1 == nil && err2 == nil
}

// publish sends the next message of a publisher; done is called when a message that somebody waits for has ended.
func (l *ledger) publish(to actor.Ref, publisher int, told bool, cmd func(id string) any, done func()) {
	l.mu.Lock()
	n := len(l.entries[publisher])
	l.entries[publisher] = append(l.entries[publisher], entry{told: told})
	l.mu.Unlock()
	msg := cmd(idOf(publisher, n))
	if told {
		to.Tell(msg)
		return
	}
	l.open.Add(1)
	actor.Send(to, actor.Envelope{Msg: msg, Done: &completion{l: l, publisher: publisher, n: n, done: done}})
}

// completion is told how its message has ended.
type completion struct {
	l            *ledger
	publisher, n int
	done         func()
}

func (c *completion) Done(err error) {
	c.l.mu.Lock()
	e := &c.l.entries[c.publisher][c.n]
	e.ends++
	e.err = err
	if e.ends > 1 {
		c.l.wrong = append(c.l.wrong, fmt.Sprintf("%s ended %d times", idOf(c.publisher, c.n), e.ends))
	}
	first := e.ends == 1
	c.l.mu.Unlock()
	if first {
		c.l.open.Add(-1)
		c.done()
	}
}

// totals of what the ledger holds.
type totals struct {
	published, confirmed, undelivered, told, refused int
	reasons                                          map[string]int
}

// audit holds the ledger against the dead letters and what has arrived at the other side.
func (l *ledger) audit(g *grammar, sink []string, stored bool) (t totals, wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wrong = append(wrong, l.wrong...)
	seen := make([]map[int]bool, len(l.entries))
	last := make([]int, len(l.entries))
	for i := range seen {
		seen[i], last[i] = map[int]bool{}, -1
	}
	for _, id := range sink {
		p, n, ok := parse(id)
		if !ok || p >= len(seen) || seen[p][n] {
			continue
		}
		seen[p][n] = true
		if n < last[p] && !g.unknown(id) {
			wrong = append(wrong, fmt.Sprintf("%s was seen first after %s", id, idOf(p, last[p])))
		}
		last[p] = max(last[p], n)
	}
	t.reasons = map[string]int{}
	for p, es := range l.entries {
		for n := range es {
			wrong = append(wrong, es[n].check(idOf(p, n), g, &t, seen[p][n], stored)...)
		}
	}
	return t, wrong
}

func (e *entry) check(id string, g *grammar, t *totals, seen, stored bool) (wrong []string) {
	letters, nobody := g.ended(id)
	t.published++
	for _, r := range letters {
		t.reasons[r.String()]++
	}
	var u *broker.UndeliveredError
	switch {
	case e.told:
		t.told++
		if len(letters) > 1 {
			wrong = append(wrong, fmt.Sprintf("%s has dead letters %v", id, letters))
		}
		if stored && len(letters) == 0 && !seen && !nobody {
			wrong = append(wrong, fmt.Sprintf("%s has no dead letter, and never arrived", id))
		}
	case e.ends == 0:
		wrong = append(wrong, fmt.Sprintf("%s has not ended", id))
	case e.err == nil:
		t.confirmed++
		if len(letters) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s is confirmed, and has dead letters %v", id, letters))
		}
		if stored && !seen {
			wrong = append(wrong, fmt.Sprintf("%s is confirmed, and never arrived", id))
		}
	case errors.As(e.err, &u):
		t.undelivered++
		if len(letters) != 1 || letters[0] != u.Reason {
			wrong = append(wrong, fmt.Sprintf("%s ended with %v, and has dead letters %v", id, e.err, letters))
		}
	default: // never accepted
		t.refused++
		if len(letters) > 0 && !errors.Is(e.err, actor.ErrDeadLetter) {
			wrong = append(wrong, fmt.Sprintf("%s was refused with %v, and has dead letters %v", id, e.err, letters))
		}
	}
	return wrong
}
