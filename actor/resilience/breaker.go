package resilience

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// BreakerState is what a Breaker does with calls.
type BreakerState uint8

const (
	// Closed lets every call through.
	Closed BreakerState = iota
	// Open rejects every call.
	Open
	// HalfOpen lets one call through, the probe, and rejects the others until its outcome is known.
	HalfOpen
)

// String names the state.
func (s BreakerState) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	case HalfOpen:
		return "half-open"
	}
	return fmt.Sprintf("BreakerState(%d)", uint8(s))
}

// OpenError is the error of a call that was rejected. It wraps ErrOpen.
type OpenError struct {
	// Name is that of the breaker.
	Name string
	// State is Open, or HalfOpen when a probe is under way.
	State BreakerState
	// Wait is how long the breaker will still reject; 0 in HalfOpen, where that depends on the probe.
	Wait time.Duration
}

// Error says which breaker rejected the call and when it may be tried again.
func (e *OpenError) Error() string {
	name := ""
	if e.Name != "" {
		name = fmt.Sprintf(" %q", e.Name)
	}
	if e.State == HalfOpen {
		return fmt.Sprintf("resilience: circuit breaker%s is half-open and waits for its probe", name)
	}
	return fmt.Sprintf("resilience: circuit breaker%s is open, try again in %v", name, e.Wait)
}

// Unwrap returns ErrOpen.
func (e *OpenError) Unwrap() error { return ErrOpen }

// RetryAfter is Wait, for Retry.
func (e *OpenError) RetryAfter() time.Duration { return e.Wait }

// outcome is what a call says about what it called.
type outcome uint8

const (
	inconclusive outcome = iota
	succeeded
	failed
)

// change is one that OnStateChange has still to be told.
type change struct{ from, to BreakerState }

// Breaker is a circuit breaker: after MaxFailures failures in a row it rejects calls for ResetTimeout, then lets one
// through as a probe. A probe that succeeds closes it, one that fails opens it again, and one that proves nothing makes
// room for the next. All methods may be called from any goroutine; none blocks but Do, which runs the call. A Breaker has
// no goroutine and needs no Close; make one with NewBreaker and share it among all who call the same thing.
type Breaker struct {
	cfg BreakerConfig

	mu       sync.Mutex
	state    BreakerState
	epoch    uint64    // counts the states: an outcome only counts in the one its call began in
	failures int       // Closed: in a row
	until    time.Time // Open: when the next call is the probe
	probing  bool      // HalfOpen: the probe is under way
	changes  []change  // not told yet
	telling  bool      // a goroutine is in tell
}

// NewBreaker makes a closed breaker of DefaultBreakerConfig and opts. The error wraps ErrConfig.
func NewBreaker(opts ...func(*BreakerConfig)) (*Breaker, error) {
	cfg := DefaultBreakerConfig()
	for _, opt := range opts {
		if opt != nil {
			opt(&cfg)
		}
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Breaker{cfg: cfg}, nil
}

// State is the state at this moment. An open breaker whose ResetTimeout is over stays Open until the next call.
func (b *Breaker) State() BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// Trip opens the breaker, or has an open one wait for ResetTimeout again, for a reason the breaker cannot see. Outcomes
// of calls that are under way do not count any more.
func (b *Breaker) Trip() {
	b.mu.Lock()
	b.openLocked()
	b.mu.Unlock()
	b.tell()
}

// Reset closes the breaker, from any state, with no failures counted. Outcomes of calls that are under way do not count
// any more.
func (b *Breaker) Reset() {
	b.mu.Lock()
	b.enterLocked(Closed)
	b.mu.Unlock()
	b.tell()
}

// Allow asks for one call and returns the permit for it, or an *OpenError. It is the form for a call whose outcome comes
// later, such as one that an actor starts and does not wait for; the permit must be given its outcome, see Permit. Do is
// the form for a call that is waited for.
func (b *Breaker) Allow() (*Permit, error) {
	b.mu.Lock()
	if err := b.admitLocked(); err != nil {
		b.mu.Unlock()
		return nil, err
	}
	p := &Permit{b: b, epoch: b.epoch}
	b.mu.Unlock()
	if d := b.cfg.CallTimeout; d > 0 {
		p.fired = make(chan struct{})
		p.timer = time.AfterFunc(d, p.expire)
	}
	b.tell()
	return p, nil
}

// admitLocked decides about one call; b.mu must be held.
func (b *Breaker) admitLocked() error {
	if b.state == Open {
		if wait := time.Until(b.until); wait > 0 {
			return &OpenError{Name: b.cfg.Name, State: Open, Wait: wait}
		}
		b.enterLocked(HalfOpen)
	}
	if b.state == HalfOpen {
		if b.probing {
			return &OpenError{Name: b.cfg.Name, State: HalfOpen}
		}
		b.probing = true
	}
	return nil
}

// record counts an outcome. One of an earlier epoch is of a call that began before the last change: it neither closes
// nor opens anything. No call begins in the state Open, so there is nothing to count in it.
func (b *Breaker) record(epoch uint64, o outcome) {
	b.mu.Lock()
	switch {
	case epoch != b.epoch:
	case b.state == HalfOpen:
		b.probing = false
		switch o {
		case succeeded:
			b.enterLocked(Closed)
		case failed:
			b.openLocked()
		}
	case o == succeeded:
		b.failures = 0
	case o == failed:
		if b.failures++; b.failures >= b.cfg.MaxFailures {
			b.openLocked()
		}
	}
	b.mu.Unlock()
	b.tell()
}

// openLocked begins a new time of rejecting; b.mu must be held.
func (b *Breaker) openLocked() {
	b.enterLocked(Open)
	b.until = time.Now().Add(b.cfg.ResetTimeout)
}

// enterLocked begins an epoch; b.mu must be held.
func (b *Breaker) enterLocked(to BreakerState) {
	if b.state != to && b.cfg.OnStateChange != nil {
		b.changes = append(b.changes, change{b.state, to})
	}
	b.state, b.failures, b.probing = to, 0, false
	b.epoch++
}

// tell hands the changes on. Whoever finds another goroutine at it leaves its own change to that one, so that they are
// told in order and a callback that uses the breaker does not wait for itself.
func (b *Breaker) tell() {
	for b.tellOne() {
	}
}

// tellOne tells one change and reports whether there may be more.
func (b *Breaker) tellOne() (more bool) {
	b.mu.Lock()
	if b.telling || len(b.changes) == 0 {
		b.mu.Unlock()
		return false
	}
	c := b.changes[0]
	if b.changes = b.changes[1:]; len(b.changes) == 0 {
		b.changes = nil
	}
	b.telling = true
	b.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			b.cfg.Logger.Error("OnStateChange of a circuit breaker panicked", "breaker", b.cfg.Name, "from", c.from, "to", c.to,
				"panic", v, "stack", string(debug.Stack()))
		}
		// Here and not after the call: a callback that ends its goroutine must not silence those after it.
		b.mu.Lock()
		b.telling = false
		b.mu.Unlock()
		more = true
	}()
	b.cfg.OnStateChange(c.from, c.to)
	return true
}
