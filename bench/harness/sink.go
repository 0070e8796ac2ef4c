package harness

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Sink counts what one actor received. Only the actor calls Hit; nobody else reads n before having received from done,
// so the count needs no atomic.
type Sink struct {
	n     int64
	every int64         // signal after so many messages
	left  *atomic.Int64 // sinks that share done and are not complete; nil: this one alone
	done  chan struct{}
}

// NewSink returns a sink which signals Done after each every messages.
func NewSink(every int64) *Sink {
	return &Sink{every: every, done: make(chan struct{}, 1)}
}

// newSinks returns n sinks that signal one common Done when each has had every messages.
func newSinks(n int, every int64) []*Sink {
	left := new(atomic.Int64)
	left.Store(int64(n))
	done := make(chan struct{}, 1)
	sinks := make([]*Sink, n)
	for i := range sinks {
		sinks[i] = &Sink{every: every, left: left, done: done}
	}
	return sinks
}

// Hit notes one received message. It does not block as long as Done is waited for between the signals.
func (s *Sink) Hit() {
	s.n++
	if s.n%s.every != 0 {
		return
	}
	if s.left == nil || s.left.Add(-1) == 0 {
		s.done <- struct{}{}
	}
}

// Done is signalled after each every messages.
func (s *Sink) Done() <-chan struct{} { return s.done }

// Count is the number of messages received; call it only after Done.
func (s *Sink) Count() int64 { return s.n }

// Latch counts down from any goroutine.
type Latch struct {
	left atomic.Int64
	n    atomic.Int64
	done chan struct{}
}

// NewLatch is open after n calls of Hit.
func NewLatch(n int) *Latch {
	l := &Latch{done: make(chan struct{})}
	l.left.Store(int64(n))
	return l
}

// Hit counts one. Hits beyond the number that opens the latch are counted too.
func (l *Latch) Hit() {
	l.n.Add(1)
	if l.left.Add(-1) == 0 {
		close(l.done)
	}
}

// Wait waits at most d for all hits.
func (l *Latch) Wait(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.done:
		return nil
	case <-t.C:
		return fmt.Errorf("timed out with %d missing", l.left.Load())
	}
}

// Count is the number of hits.
func (l *Latch) Count() int64 { return l.n.Load() }
