package actor

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/timing"
)

// Stats are totals since the system's start.
type Stats struct {
	DeadLetters uint64 // as on the event stream, whether anybody is subscribed or not
	Dropped     uint64 // messages that a bounded mailbox refused or evicted, those included of which the sender was told
}

// Stats counts what was not handled. It may be called from any goroutine, also after the system's end, and does not
// block.
func (s *System) Stats() Stats {
	return Stats{DeadLetters: s.events.letters.total.Load(), Dropped: uint64(s.stats.dropped.Load())}
}

// letters counts the dead letters of a system and logs some of them: the first few in a window that begins with the first
// of them. The end of the window is in the clock only if there is something to say then.
type letters struct {
	total   atomic.Uint64
	skipped atomic.Uint64 // not logged, and not reported yet
	full    atomic.Bool   // the window's share is used up and the clock will end the window: the way for a flood

	mu     sync.Mutex
	since  time.Time // start of the window; zero: there was none yet
	logged int       // in it
	entry  timing.Entry
	closed bool           // the clock does not serve us any more
	lines  sync.WaitGroup // goroutines that log for the clock
}

// note is called where somebody tells: it must not fail, and holds no lock while it logs.
func (l *letters) note(s *System, e *envelope, to Ref, reason error) {
	l.total.Add(1)
	conf := &s.settings.DeadLetters
	if conf.Log == 0 {
		return
	}
	if l.full.Load() {
		l.skipped.Add(1)
		return
	}
	ok, skipped := l.admit(s, conf)
	reportSkipped(s, skipped)
	if !ok {
		return
	}
	args := []any{"type", typeName(e.msg), "to", to.String(), "reason", reason}
	if !e.sender.IsZero() {
		args = append(args, "sender", e.sender.Path())
	}
	s.report(slog.LevelWarn, "dead letter", args...)
}

// admit says whether a dead letter is logged. skipped is what has to be reported of the window before: the clock does
// that, unless it has been stopped.
func (l *letters) admit(s *System, conf *letterSettings) (ok bool, skipped uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.since.IsZero() || now.Sub(l.since) >= conf.Window {
		l.since, l.logged = now, 0
		l.full.Store(false)
		skipped = l.skipped.Swap(0)
	}
	if l.logged < conf.Log {
		l.logged++
		return true, skipped
	}
	l.skipped.Add(1)
	if !l.closed && !l.full.Swap(true) {
		l.entry.Owner = endOfWindow{s}
		at := s.clock.Now()
		s.clock.Add(&l.entry, timing.Later(at, conf.Window-now.Sub(l.since)), at)
	}
	return false, skipped
}

// endOfWindow is what the clock wakes.
type endOfWindow struct{ s *System }

// Fire ends the window. It logs on another goroutine, since a logger may block and others wait for the clock.
func (f endOfWindow) Fire(int64) int64 {
	l := &f.s.events.letters
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0
	}
	l.since = time.Time{}
	l.full.Store(false)
	if n := l.skipped.Swap(0); n > 0 {
		l.lines.Go(func() { reportSkipped(f.s, n) })
	}
	return 0
}

// close reports what is left at the end of the system, before the clock is stopped. What comes later is reported with
// the first that is logged in another window.
func (l *letters) close(s *System) {
	l.mu.Lock()
	l.closed = true
	l.full.Store(false)
	n := l.skipped.Swap(0)
	l.mu.Unlock()
	s.clock.Remove(&l.entry)
	l.lines.Wait()
	reportSkipped(s, n)
}

func reportSkipped(s *System, n uint64) {
	if n > 0 {
		s.report(slog.LevelWarn, "more dead letters were not logged", "number", n, "limit", s.settings.DeadLetters.Log, "window", s.settings.DeadLetters.Window)
	}
}
