package broker

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrNotConnected is returned by Base.Enqueue when there is no connection and outboundBuffer is 0, or failFast is on and
	// no retry will follow.
	ErrNotConnected = errors.New("broker: not connected")
	// ErrBufferFull is returned by Base.Enqueue when the outbound buffer is full and nothing in it may be evicted, and by
	// Link.TryAccept when the inbound window is full.
	ErrBufferFull = errors.New("broker: buffer full")
	// ErrTooLarge is returned by Base.Enqueue for a payload that outboundBytes has no room for even when nothing else is
	// there.
	ErrTooLarge = errors.New("broker: payload larger than outboundBytes")
	// ErrExpired ends an envelope that waited longer than its maximum age.
	ErrExpired = errors.New("broker: older than its maximum age")
	// ErrStopping is returned by Base.Enqueue when the actor stops or the system shuts down.
	ErrStopping = errors.New("broker: stopping")
	// ErrEvicted ends an envelope that made room for a newer one.
	ErrEvicted = errors.New("broker: evicted from the outbound buffer")
	// ErrPoison ends an envelope that took down connection after connection.
	ErrPoison = errors.New("broker: alone in flight at too many losses")
	// ErrUnknown ends an envelope that was in flight when the base had to let go of it: the peer may have it or not.
	ErrUnknown = errors.New("broker: outcome unknown")
	// ErrPaused is returned by Base.Enqueue when outboundBuffer is 0 and the actor is paused.
	ErrPaused = errors.New("broker: paused")
	// ErrUnauthorized is what errors.Is finds in the cause of a failed connect or a loss whose reason was a refused
	// credential (Unauthorized).
	ErrUnauthorized = errors.New("broker: credential refused")
	// ErrLinkClosed is returned by the methods of a Link whose connection is over.
	ErrLinkClosed = errors.New("broker: link closed")
	// ErrNoSubscriber refuses an inbound message that nobody wants.
	ErrNoSubscriber = errors.New("broker: no subscriber")
	// ErrAckTimeout refuses an inbound message that nobody has answered within ackTimeout, in AckMode Manual.
	ErrAckTimeout = errors.New("broker: no answer within ackTimeout")
	// ErrTargetGone refuses an inbound message whose subscribers have stopped without an answer, in AckMode Manual.
	ErrTargetGone = errors.New("broker: the subscriber has stopped without an answer")
	// ErrIdle is the cause of a loss: nothing was received within idleTimeout.
	ErrIdle = errors.New("broker: nothing received within idleTimeout")
	// ErrConnectTimeout fails an attempt that took longer than connectTimeout.
	ErrConnectTimeout = errors.New("broker: not connected within connectTimeout")
	// ErrServeReturned is the cause of a loss: Serve returned without an error.
	ErrServeReturned = errors.New("broker: connection ended")
	// ErrUnconfirmed is the cause of a loss: the peer left the outcome of one envelope open again and again.
	ErrUnconfirmed = errors.New("broker: outcome left open repeatedly")
)

// mark is an error with a meaning for the base; text and chain are those of the error it marks.
type mark struct {
	err   error
	kind  markKind
	delay time.Duration
}

type markKind uint8

const (
	markRejected markKind = iota + 1
	markRetry
	markDiscard
	markUnauthorized
)

func (m *mark) Error() string { return m.err.Error() }
func (m *mark) Unwrap() error { return m.err }

// Is finds ErrUnauthorized.
func (m *mark) Is(target error) bool { return m.kind == markUnauthorized && target == ErrUnauthorized }

func marked(err error, k markKind) *mark {
	for err != nil {
		var m *mark
		if !errors.As(err, &m) {
			return nil
		}
		if m.kind == k {
			return m
		}
		err = m.err
	}
	return nil
}

func newMark(err error, k markKind, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &mark{err, k, d}
}

// Rejected marks the outcome of an outbound envelope as final: the peer refused it and would do so again. The envelope
// becomes a dead letter and the connection stays. Rejected(nil) is nil.
func Rejected(err error) error { return newMark(err, markRejected, 0) }

// IsRejected reports whether err was made by Rejected; errors.ErrUnsupported counts as well.
func IsRejected(err error) bool {
	return marked(err, markRejected) != nil || errors.Is(err, errors.ErrUnsupported)
}

// RetryAfter marks the refusal of an inbound message, returned by a handler or given to Delivery.Nack: deliver it again,
// but not before d. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error { return newMark(err, markRetry, d) }

// DelayOf returns the delay that RetryAfter asked for.
func DelayOf(err error) (d time.Duration, ok bool) {
	if m := marked(err, markRetry); m != nil {
		return m.delay, true
	}
	return 0, false
}

// Discard marks the refusal of an inbound message as final: delivering it again is pointless. Discard(nil) is nil.
func Discard(err error) error { return newMark(err, markDiscard, 0) }

// IsDiscard reports whether err was made by Discard.
func IsDiscard(err error) bool { return marked(err, markDiscard) != nil }

// Unauthorized marks the error of an attempt to connect: the peer refused the credential. The next attempt waits for
// reconnect.maxDelay, so that a wrong password does not hammer the peer, and the cause in events and Status is
// ErrUnauthorized for errors.Is. Unauthorized(nil) is nil.
func Unauthorized(err error) error { return newMark(err, markUnauthorized, 0) }

// UndeliveredError ends the ask on a publish command whose envelope was not delivered. Err is the cause, with
// credentials removed.
type UndeliveredError struct {
	Reason Reason
	Err    error
}

// Error is "broker: not delivered (reason): cause".
func (e *UndeliveredError) Error() string {
	return "broker: not delivered (" + e.Reason.String() + "): " + strings.TrimPrefix(e.Err.Error(), "broker: ")
}

// Unwrap returns the cause.
func (e *UndeliveredError) Unwrap() error { return e.Err }

// FieldError is one setting that is missing or wrong. Key is relative to the protocol's own key; the base prefixes it.
type FieldError struct {
	Key string
	Msg string
}

// Error is "key: what is wrong".
func (e *FieldError) Error() string { return e.Key + ": " + e.Msg }

// Invalid makes the error of a Validate: it names the key, the rule and the value that breaks it. What looks like an
// endpoint in the value is redacted.
func Invalid(key string, value any, rule string) error {
	text := ""
	switch v := value.(type) {
	case string:
		text = `"` + redactValue(v) + `"`
	case []string:
		text = "[" + redactValue(strings.Join(v, ",")) + "]"
	case Endpoints:
		text = "[" + redactValue(strings.Join(v, ",")) + "]"
	default:
		text = redactValue(fmt.Sprint(v))
	}
	return &FieldError{key, rule + ", is " + text}
}

// redactValue hides the credentials of what may be an endpoint.
func redactValue(v string) string {
	if strings.Contains(v, "@") || strings.Contains(v, "://") {
		return RedactEndpoint(v)
	}
	return v
}

// Missing makes the error of a Validate for settings without which the protocol cannot start; it names all of them.
func Missing(keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	return &FieldError{strings.Join(keys, ", "), "required, but not set"}
}
