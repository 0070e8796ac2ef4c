package broker

import "time"

// State is the state of a broker actor's connection.
type State uint8

const (
	// StateDisconnected: there is no connection; a retry may be scheduled.
	StateDisconnected State = iota
	// StateConnecting: Connect runs, or the replay of the subscriptions after it.
	StateConnecting
	// StateConnected: messages flow.
	StateConnected
	// StateDisconnecting: Disconnect runs, after a loss or for a stop.
	StateDisconnecting
)

// String is the state in one word.
func (s State) String() string {
	return nameOf([]string{"disconnected", "connecting", "connected", "disconnecting"}, int(s))
}

// Status is the answer to QueryStatus.
type Status struct {
	// Path and Endpoint are as in Event.
	Path, Endpoint string
	State          State
	// Since is when the state was entered.
	Since time.Time
	// Attempt counts the failed connects and losses since the last success.
	Attempt int
	// NextAttempt is when the next retry is due; zero if none is scheduled.
	NextAttempt time.Time
	// LastError is the last failure or loss, with credentials removed; nil if there was none.
	LastError error
	Books     Books
	// Inbound is the number of inbound messages that were handed to actors and are not handled yet.
	Inbound int
	// StaleAcks counts verdicts that came too late for their connection, Unwanted messages without a subscriber, and
	// Abandoned hooks of the protocol that did not return in time.
	StaleAcks, Unwanted uint64
	Abandoned           int
}

func (e *engine[O, S]) state() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now.State
}

func (e *engine[O, S]) setState(s State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now.State != s {
		e.now.State, e.now.Since = s, time.Now()
	}
}

// note changes the parts of the status that are not the state.
func (e *engine[O, S]) note(edit func(s *Status)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	edit(&e.now)
}

func (e *engine[O, S]) status() Status {
	e.mu.Lock()
	s := e.now
	e.mu.Unlock()
	s.Path, s.Endpoint = e.path, e.label
	s.Books = e.out.books()
	used, c := e.in.counts()
	s.Inbound, s.StaleAcks, s.Unwanted = used, c.Stale, c.Unwanted
	return s
}
