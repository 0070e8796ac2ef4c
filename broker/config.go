package broker

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"github.com/troupe-go/troupe/hocon"
)

// Config holds the settings every protocol has. A protocol's own Config embeds it, and its keys stand beside the
// protocol's own under the same HOCON path. Durations are bare numbers of milliseconds or carry a unit.
type Config struct {
	// OutboundBuffer (outboundBuffer) bounds the unsettled envelopes, queued and in flight, in every state. 0 means that
	// nothing waits. Default 1000.
	OutboundBuffer int
	// OutboundBytes (outboundBytes) bounds their payloads beside their count, for a Protocol that is a Sizer. Default 0: no
	// bound.
	OutboundBytes hocon.Bytes
	// Overflow (overflow) says what happens at a bound: "evictOldest", "evictNewest" or "rejectNewest". Default
	// evictOldest.
	Overflow Overflow
	// MaxAge (maxAge) is how long an envelope may wait to be sent; then it becomes a dead letter. What is in flight is not
	// cut, and Base.EnqueueFor sets an age for one envelope. Default 0: no bound.
	MaxAge time.Duration
	// InFlight (inFlight) is how many envelopes may be unconfirmed at once. Default 0: 256 where the peer confirms, 1
	// where it does not.
	InFlight int
	// InboundWindow (inboundWindow) bounds the inbound messages that were handed to actors and are not handled yet; at
	// the bound the protocol stops reading. Default 256.
	InboundWindow int
	// AckMode (ackMode) says when an inbound message is acknowledged: "onHandled", "manual" or "onDelivery". Default
	// onHandled.
	AckMode AckMode
	// AckTimeout (ackTimeout) is how long a message may go without an answer in AckMode Manual; then it is refused. 0 means
	// for ever. Default 30s.
	AckTimeout time.Duration
	// MaxDeliveries (maxDeliveries) is how often one message is delivered at most. A message that a handler refuses at the
	// last of them is acknowledged and becomes a dead letter. Only refusals by handlers count as reason to give up; the
	// number itself is the peer's where it has one. 0 means no bound. Default 5.
	MaxDeliveries int
	// Redelivery (redelivery) is the wait before a refused message is delivered again.
	Redelivery RedeliveryConfig
	// Required (required) makes Ready fail while this actor is not connected. Default false.
	Required bool
	// FailFast (failFast) says what happens when no retry will follow: true refuses what comes and gives up what waits,
	// false keeps it for a Reconnect command. Default false.
	FailFast bool
	// IdleTimeout (idleTimeout) ends a connection on which nothing was received for so long. Bytes that are sent do not
	// count. It has to be longer than the peer's own heartbeat. Default 0: off.
	IdleTimeout time.Duration
	// ConnectTimeout (connectTimeout) bounds one attempt: the connect and the replay of the subscriptions. Default 0:
	// off.
	ConnectTimeout time.Duration
	// FlushTimeout (flushTimeout) is how long a stop waits for unsettled envelopes while connected; 0 means not at all.
	// Default 2s.
	FlushTimeout time.Duration
	// Reconnect (reconnect) is the wait between attempts; reconnect = false switches retries off.
	Reconnect ReconnectConfig
	// CircuitBreaker (circuitBreaker) pauses the attempts after several failures in a row. Default off.
	CircuitBreaker BreakerConfig
	// Dialer opens the sockets of Link.Dial. It is called from any goroutine, may block and must honour its context.
	// Default net.Dialer. Not in HOCON.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error) `hocon:"-" json:"-"`
}

// ReconnectConfig is the group reconnect. The delay before a retry is
// min(initialDelay × factor^(failures−1), maxDelay), times a random number from 1−randomFactor to 1+randomFactor.
type ReconnectConfig struct {
	// Off disables retries; in HOCON it is reconnect = false. Default false.
	Off bool `hocon:"-"`
	// InitialDelay (initialDelay) is the delay before the first retry. Default 200ms.
	InitialDelay time.Duration
	// MaxDelay (maxDelay) caps the delay before the jitter. Default 30s.
	MaxDelay time.Duration
	// Factor (factor) is the growth per failure. Default 2.
	Factor float64
	// MaxAttempts (maxAttempts) is the number of retries after a failed connect or a loss; 0, in HOCON "infinite", means
	// no bound. Default 0.
	MaxAttempts int
	// RandomFactor (randomFactor) is the width of the jitter, from 0 to 1. Default 0.2.
	RandomFactor float64
	// StableAfter (stableAfter) is how long a connection must last for the delays to start over. Default 10s.
	StableAfter time.Duration
	// Random is the source of the jitter: a number from 0 up to 1; 0.5 gives the unjittered delay. It is read at each use,
	// on the goroutine that owns the connection. Default math/rand/v2. Not in HOCON.
	Random func() float64 `hocon:"-" json:"-"`
}

// RedeliveryConfig is the group redelivery. The delay after the n-th refusal is min(initialDelay × factor^(n−1), maxDelay),
// unless the refusal says otherwise by RetryAfter.
type RedeliveryConfig struct {
	// InitialDelay (initialDelay) is the delay after the first refusal. Default 1s.
	InitialDelay time.Duration
	// MaxDelay (maxDelay) caps the delay. Default 30s.
	MaxDelay time.Duration
	// Factor (factor) is the growth per refusal. Default 2.
	Factor float64
}

// BreakerConfig is the group circuitBreaker: after FailureThreshold failed connects in a row no attempt is made for
// Reset. Both are given or none.
type BreakerConfig struct {
	// FailureThreshold (failureThreshold) is the number of failures that opens the breaker. Default 0: off.
	FailureThreshold int
	// Reset (reset) is how long it stays open; the next attempt comes between Reset and Reset × (1 + randomFactor).
	// Default 0.
	Reset time.Duration
}

// Overflow is the policy of a full outbound buffer.
type Overflow uint8

const (
	// EvictOldest drops the oldest envelope that is not in flight; if all are in flight, the new one is refused.
	EvictOldest Overflow = iota
	// EvictNewest drops the newest envelope that is not in flight; if all are in flight, the new one is refused.
	EvictNewest
	// RejectNewest refuses the new one.
	RejectNewest
)

// AckMode says when an inbound message is acknowledged to the peer.
type AckMode uint8

const (
	// OnHandled acknowledges when the actor's handler returned nil and refuses when it failed.
	OnHandled AckMode = iota
	// Manual leaves it to Delivery.Ack and Delivery.Nack; a handler that fails refuses.
	Manual
	// OnDelivery acknowledges when the message was put into the mailbox: at most once.
	OnDelivery
)

// String is the word used in HOCON.
func (o Overflow) String() string { return nameOf(overflowNames(), int(o)) }

// String is the word used in HOCON.
func (m AckMode) String() string { return nameOf(ackModeNames(), int(m)) }

func overflowNames() []string { return []string{"evictOldest", "evictNewest", "rejectNewest"} }
func ackModeNames() []string  { return []string{"onHandled", "manual", "onDelivery"} }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "invalid"
}

// DefaultConfig returns the defaults named at the fields of Config.
func DefaultConfig() Config {
	return Config{
		OutboundBuffer: 1000,
		InboundWindow:  256,
		AckTimeout:     30 * time.Second,
		MaxDeliveries:  5,
		Redelivery:     RedeliveryConfig{InitialDelay: time.Second, MaxDelay: 30 * time.Second, Factor: 2},
		FlushTimeout:   2 * time.Second,
		Reconnect: ReconnectConfig{
			InitialDelay: 200 * time.Millisecond,
			MaxDelay:     30 * time.Second,
			Factor:       2,
			RandomFactor: 0.2,
			StableAfter:  10 * time.Second,
		},
	}
}

// common is promoted to every Config that embeds this one.
func (c *Config) common() *Config { return c }

// Validate reports the first setting that is out of bounds, as a *FieldError.
func (c *Config) Validate() error {
	for _, f := range []struct {
		key string
		n   int
		min int
	}{
		{"outboundBuffer", c.OutboundBuffer, 0},
		{"inFlight", c.InFlight, 0},
		{"inboundWindow", c.InboundWindow, 1},
		{"maxDeliveries", c.MaxDeliveries, 0},
		{"reconnect.maxAttempts", c.Reconnect.MaxAttempts, 0},
		{"circuitBreaker.failureThreshold", c.CircuitBreaker.FailureThreshold, 0},
	} {
		if f.n < f.min || f.n > math.MaxInt32 {
			return Invalid(f.key, f.n, fmt.Sprintf("must be between %d and %d", f.min, math.MaxInt32))
		}
	}
	for _, f := range []struct {
		key string
		d   time.Duration
	}{
		{"maxAge", c.MaxAge}, {"ackTimeout", c.AckTimeout}, {"idleTimeout", c.IdleTimeout},
		{"connectTimeout", c.ConnectTimeout}, {"flushTimeout", c.FlushTimeout},
	} {
		if f.d < 0 {
			return Invalid(f.key, f.d, "must not be negative")
		}
	}
	if c.OutboundBytes < 0 {
		return Invalid("outboundBytes", int64(c.OutboundBytes), "must not be negative; 0 means no bound")
	}
	if c.Reconnect.StableAfter <= 0 {
		return Invalid("reconnect.stableAfter", c.Reconnect.StableAfter, "must be positive")
	}
	if c.Overflow > RejectNewest {
		return Invalid("overflow", uint8(c.Overflow), "must be one of "+strings.Join(overflowNames(), ", "))
	}
	if c.AckMode > OnDelivery {
		return Invalid("ackMode", uint8(c.AckMode), "must be one of "+strings.Join(ackModeNames(), ", "))
	}
	if err := c.Redelivery.validate(); err != nil {
		return err
	}
	if err := c.Reconnect.validate(); err != nil {
		return err
	}
	return c.CircuitBreaker.validate()
}

func (r *ReconnectConfig) validate() error {
	if r.Off {
		return nil
	}
	if r.InitialDelay <= 0 {
		return Invalid("reconnect.initialDelay", r.InitialDelay, "must be positive")
	}
	if r.MaxDelay <= 0 {
		return Invalid("reconnect.maxDelay", r.MaxDelay, "must be positive")
	}
	if !(r.Factor >= 1) || math.IsInf(r.Factor, 0) {
		return Invalid("reconnect.factor", r.Factor, "must be finite and at least 1")
	}
	if !(r.RandomFactor >= 0 && r.RandomFactor <= 1) {
		return Invalid("reconnect.randomFactor", r.RandomFactor, "must be between 0 and 1")
	}
	return nil
}

func (r *RedeliveryConfig) validate() error {
	switch {
	case r.InitialDelay < 0:
		return Invalid("redelivery.initialDelay", r.InitialDelay, "must not be negative")
	case r.MaxDelay < 0:
		return Invalid("redelivery.maxDelay", r.MaxDelay, "must not be negative")
	case !(r.Factor >= 1) || math.IsInf(r.Factor, 0):
		return Invalid("redelivery.factor", r.Factor, "must be finite and at least 1")
	}
	return nil
}

func (b *BreakerConfig) validate() error {
	switch {
	case b.FailureThreshold > 0 && b.Reset <= 0:
		return Invalid("circuitBreaker.reset", b.Reset, "must be positive when failureThreshold is set")
	case b.FailureThreshold == 0 && b.Reset != 0:
		return Invalid("circuitBreaker.failureThreshold", b.FailureThreshold, "must be at least 1 when reset is set")
	}
	return nil
}

// reconnectGroup has the keys of ReconnectConfig without its method, so that decoding the group does not recurse.
type reconnectGroup struct {
	InitialDelay, MaxDelay time.Duration
	Factor                 float64
	MaxAttempts            attempts
	RandomFactor           float64
	StableAfter            time.Duration
}

// UnmarshalHOCON takes reconnect = false, reconnect = true or the group.
func (r *ReconnectConfig) UnmarshalHOCON(v hocon.Value) error {
	if on, err := v.Bool(); err == nil {
		r.Off = !on
		return nil
	}
	g := reconnectGroup{r.InitialDelay, r.MaxDelay, r.Factor, attempts(r.MaxAttempts), r.RandomFactor, r.StableAfter}
	if err := v.Decode(&g); err != nil {
		return err
	}
	r.Off = false
	r.InitialDelay, r.MaxDelay, r.Factor = g.InitialDelay, g.MaxDelay, g.Factor
	r.MaxAttempts, r.RandomFactor, r.StableAfter = int(g.MaxAttempts), g.RandomFactor, g.StableAfter
	return nil
}

// attempts is an int that may be written as infinite.
type attempts int

// UnmarshalHOCON takes infinite or a number of at least 1.
func (a *attempts) UnmarshalHOCON(v hocon.Value) error {
	if s, err := v.String(); err == nil && strings.EqualFold(s, "infinite") {
		*a = 0
		return nil
	}
	var n int
	if err := v.Decode(&n); err != nil {
		return fmt.Errorf("must be a whole number of at least 1, or infinite: %w", err)
	}
	if n < 1 {
		return fmt.Errorf("must be a whole number of at least 1, or infinite, is %d", n)
	}
	*a = attempts(n)
	return nil
}

// UnmarshalHOCON takes evictOldest, evictNewest or rejectNewest.
func (o *Overflow) UnmarshalHOCON(v hocon.Value) error {
	i, err := enum(v, overflowNames())
	*o = Overflow(i)
	return err
}

// UnmarshalHOCON takes onHandled, manual or onDelivery.
func (m *AckMode) UnmarshalHOCON(v hocon.Value) error {
	i, err := enum(v, ackModeNames())
	*m = AckMode(i)
	return err
}

func enum(v hocon.Value, names []string) (int, error) {
	s, err := v.String()
	if err != nil {
		return 0, err
	}
	for i, n := range names {
		if s == n {
			return i, nil
		}
	}
	return 0, fmt.Errorf("must be one of %s, is %q", strings.Join(names, ", "), s)
}
