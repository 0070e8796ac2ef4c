package demo

import (
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/cmd/troupe/internal/session"
)

// Snapshot is the run at one moment, for whoever shows it.
type Snapshot struct {
	Elapsed    time.Duration
	Phase      string
	Link       string // state of the connection
	Total      int    // lines of the input, -1 when unknown
	Accepted   int64
	Confirmed  int64
	Unanswered int64
	Delivered  int64
	Handled    int64
	Duplicates int64
	Bad        int64
	Buffer     int // envelopes in the outbound buffer and in flight
	Alive      int64
	Started    int64
	Retired    int64
	Reconnects int
	Faults     int
	FaultsAll  int
}

// Line is one entry of the timeline.
type Line struct {
	At   time.Duration
	What string // fault, link, input, run
	Text string
}

// Viewer shows a run. Line is called for each entry of the timeline, one call at a time.
type Viewer interface {
	Line(Line)
}

// state is what the parts of a run know together. Everything in it is safe for concurrent use.
type state struct {
	began   time.Time
	viewer  Viewer
	counts  session.Counts
	changed chan struct{} // capacity 1: something happened to the connection

	mu         sync.Mutex
	phase      string
	total      int
	accepted   int64
	confirmed  int64
	unanswered int64
	retries    int64
	delivered  int64
	bad        int64
	letters    int64 // dead letters of messages
	lastLetter string
	links      int // connections made
	down       time.Time
	up         bool
	outage     time.Duration // longest
	buffer     int
	faults     int
	faultsAll  int
	linkState  string
	lineMu     sync.Mutex // one line at a time, in order
	lastLoss   error      // why the connection was lost last
}

func newState(v Viewer) *state {
	return &state{began: time.Now(), viewer: v, changed: make(chan struct{}, 1), phase: "starting", linkState: "disconnected", total: -1}
}

// say puts a line into the timeline.
func (s *state) say(what, format string, args ...any) {
	s.lineMu.Lock()
	defer s.lineMu.Unlock()
	s.viewer.Line(Line{At: time.Since(s.began), What: what, Text: fmt.Sprintf(format, args...)})
}

func (s *state) with(edit func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edit()
}

// Snapshot returns the run as it is now.
func (s *state) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Snapshot{
		Elapsed: time.Since(s.began), Phase: s.phase, Link: s.linkState, Total: s.total,
		Accepted: s.accepted, Confirmed: s.confirmed, Unanswered: s.unanswered, Delivered: s.delivered,
		Handled: s.counts.Handled.Load(), Duplicates: s.counts.Duplicates.Load(), Bad: s.bad, Buffer: s.buffer,
		Alive: s.counts.Alive.Load(), Started: s.counts.Started.Load(), Retired: s.counts.Retired.Load(),
		Reconnects: max(0, s.links-1), Faults: s.faults, FaultsAll: s.faultsAll,
	}
}

func (s *state) setPhase(p string) { s.with(func() { s.phase = p }) }

// connections is how often the connection has been made, and whether it stands.
func (s *state) connections() (n int, up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links, s.up
}

// monitor is the actor that watches the event stream and the broker actor.
type monitor struct {
	s      *state
	broker actor.Ref
	failed func(error) // the broker actor has ended
}

// watchBroker tells the monitor which actor to watch.
type watchBroker struct{ ref actor.Ref }

// sample is the monitor's tick: the depth of the outbound buffer.
type sample struct{}

// PreStart subscribes.
func (m *monitor) PreStart(ctx *actor.Context) error {
	actor.Subscribe[broker.Event](ctx.System().EventStream(), ctx.Self())
	actor.Subscribe[actor.DeadLetter](ctx.System().EventStream(), ctx.Self())
	return ctx.Timers().StartFixedDelay("sample", sample{}, 100*time.Millisecond, 100*time.Millisecond)
}

// Receive keeps the figures and writes the timeline.
func (m *monitor) Receive(ctx *actor.Context, msg any) error {
	switch e := msg.(type) {
	case watchBroker:
		m.broker = e.ref
		ctx.Watch(e.ref)
	case sample:
		if !m.broker.IsZero() {
			ctx.Tell(m.broker, broker.QueryStatus{})
		}
	case broker.Status:
		m.s.with(func() {
			m.s.buffer = e.Books.Queued + e.Books.InFlight
			m.s.linkState = e.State.String()
		})
	case actor.Terminated:
		if e.Cause != nil {
			m.failed(e.Cause)
		}
	case actor.DeadLetter:
		m.letter(e)
	case broker.Event:
		m.event(e)
	}
	return nil
}

// letter counts the dead letters that lost something. The monitor's own questions to a broker that has just ended are
// none.
func (m *monitor) letter(d actor.DeadLetter) {
	if _, own := d.Msg.(broker.QueryStatus); own {
		return
	}
	text := fmt.Sprintf("dead letter: %T to %s: %v", d.Msg, d.To, d.Reason)
	m.s.with(func() {
		m.s.letters++
		m.s.lastLetter = text
	})
	m.s.say("link", "%s", text)
}

func (m *monitor) event(e broker.Event) {
	s := m.s
	switch e := e.(type) {
	case broker.Connected:
		s.connected(e.Endpoint)
	case broker.Disconnected:
		s.with(func() { s.up, s.down, s.linkState, s.lastLoss = false, time.Now(), "disconnected", e.Cause })
		s.say("link", "disconnected: %v", e.Cause)
	case broker.ReconnectAttempt:
		s.with(func() { s.linkState = "connecting" })
		s.say("link", "reconnect attempt %d, after waiting %v", e.Attempt, e.Delay.Round(time.Millisecond))
	case broker.ReconnectFailed:
		m.failed(fmt.Errorf("no connection after %d retries: %w", e.Attempts, e.Cause))
	case broker.BufferOverflow:
		s.say("link", "the outbound buffer evicted %d", e.Count)
	case broker.SubscriptionFailed:
		s.say("link", "subscription %s failed: %v", e.Key, e.Cause)
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *state) connected(endpoint string) {
	s.mu.Lock()
	first := s.links == 0
	s.links++
	s.up, s.linkState = true, "connected"
	var out time.Duration
	if !first {
		out = time.Since(s.down)
		s.outage = max(s.outage, out)
	}
	waiting := s.buffer
	s.mu.Unlock()
	if first {
		s.say("link", "connected to %s", endpoint)
	} else {
		s.say("link", "connected again after %v; %d messages had waited in the buffer or in flight", out.Round(time.Millisecond), waiting)
	}
}
