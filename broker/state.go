package broker

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

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

// Status is what an operator wants to know of one broker actor, at one moment: the answer to QueryStatus, and to Pause,
// Resume and Reconnect. It holds no secret, however it is printed; as JSON the errors are their texts.
type Status struct {
	// Path and Endpoint are as in Event.
	Path, Endpoint string
	State          State
	// Since is when the state was entered.
	Since time.Time
	// Required is the setting of that name, for Ready.
	Required bool
	// Paused is true between Pause and Resume.
	Paused bool
	// GivenUp is true when no retry will follow until a Reconnect.
	GivenUp bool
	// Attempt counts the failed connects and losses since the last success.
	Attempt int
	// NextAttempt is when the next retry is due; zero if none is scheduled.
	NextAttempt time.Time
	// BreakerOpenUntil is until when the circuit breaker keeps retries back; zero if it is closed.
	BreakerOpenUntil time.Time
	// LastError is the last failure or loss, with credentials removed; nil if there was none. A refused credential is
	// ErrUnauthorized.
	LastError error
	// LastConnected and LastLost are when a connect last succeeded and when a connection was last lost; zero for never.
	LastConnected, LastLost time.Time
	// Connects counts successful connects, Failures failed ones, Losses lost connections, since the actor started.
	Connects, Failures, Losses uint64
	// Subscriptions is the number of desired ones, FailedSubscriptions how often one failed on this connection.
	Subscriptions, FailedSubscriptions int
	Books                              Books
	Inbound                            Inbound
	// Abandoned counts hooks of the protocol that did not return in time.
	Abandoned int
}

// Inbound is the account of the inbound side.
type Inbound struct {
	// Window is the bound, Unhandled how many messages were handed to actors and are not handled yet.
	Window, Unhandled int
	// Delivered counts messages that were told to subscribers, each time counted; Handled those that were acknowledged or
	// wanted no verdict; Refused the refusals after which a message comes again; Dropped the messages that were given up,
	// each of them a dead letter.
	Delivered, Handled, Refused, Dropped uint64
	// Stale counts verdicts that came too late for their connection, Unwanted deliveries without a subscriber.
	Stale, Unwanted uint64
}

// String is one line for people.
func (s Status) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s since %s", s.Path, s.Endpoint, s.State, s.Since.Format(time.RFC3339))
	for _, f := range []struct {
		on   bool
		text string
	}{
		{s.Paused, "paused"},
		{s.GivenUp, "given up"},
		{!s.NextAttempt.IsZero(), fmt.Sprintf("attempt %d at %s", s.Attempt, s.NextAttempt.Format(time.RFC3339))},
		{!s.BreakerOpenUntil.IsZero(), "circuit breaker open until " + s.BreakerOpenUntil.Format(time.RFC3339)},
	} {
		if f.on {
			b.WriteString(", " + f.text)
		}
	}
	fmt.Fprintf(&b, ", %d queued, %d in flight, %d unhandled", s.Books.Queued, s.Books.InFlight, s.Inbound.Unhandled)
	if s.State != StateConnected && s.LastError != nil {
		fmt.Fprintf(&b, ", last error: %v", s.LastError)
	}
	return b.String()
}

// MarshalJSON writes the fields under their names, the state as its word, and the last error as its text.
func (s Status) MarshalJSON() ([]byte, error) {
	type fields Status
	out := struct {
		fields
		State     string
		LastError string
	}{fields: fields(s), State: s.State.String()}
	if s.LastError != nil {
		out.LastError = s.LastError.Error()
	}
	return json.Marshal(out)
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
	s.Path, s.Endpoint, s.Required = e.path, e.label, e.cfg.Required
	if !time.Now().Before(s.BreakerOpenUntil) {
		s.BreakerOpenUntil = time.Time{}
	}
	s.Books = e.out.books()
	s.Subscriptions = e.subs.count()
	used, c := e.in.counts()
	s.Inbound = Inbound{
		Window: e.cfg.InboundWindow, Unhandled: used, Delivered: c.Delivered, Handled: c.Handled, Refused: c.Refused,
		Dropped: c.Dropped, Stale: c.Stale, Unwanted: c.Unwanted,
	}
	return s
}
