package brokertest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Gate is a point that goroutines pass only while it is open. The zero Gate is open. Its methods may be called from any
// goroutine.
type Gate struct {
	mu      sync.Mutex
	closed  chan struct{} // nil while open
	waiting int
	passed  int
}

// Close makes the gate hold whoever comes from now on.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

// Open lets everybody go on.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// Waiting is the number of goroutines that are held now, Passed that of those that got through.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Passed is described at Waiting.
func (g *Gate) Passed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.passed
}

// Pass waits until the gate is open or ctx ends, which is an error.
func (g *Gate) Pass(ctx context.Context) error {
	return g.pass(ctx.Done(), func() error { return context.Cause(ctx) })
}

// Await waits for the gate alone, as a hook does that ignores its context.
func (g *Gate) Await() { _ = g.pass(nil, nil) }

func (g *Gate) pass(ended <-chan struct{}, cause func() error) error {
	g.mu.Lock()
	c := g.closed
	if c == nil {
		g.passed++
		g.mu.Unlock()
		return nil
	}
	g.waiting++
	g.mu.Unlock()
	var err error
	select {
	case <-c:
	case <-ended:
		err = cause()
	}
	g.mu.Lock()
	g.waiting--
	if err == nil {
		g.passed++
	}
	g.mu.Unlock()
	return err
}

// Jitter sleeps for a random time below limit, so that repeated runs of a race meet at different points. It is the one
// sleep a test of this module may have: never to wait for something, only to move it.
func Jitter(limit time.Duration) {
	if limit > 0 {
		<-time.After(rand.N(limit))
	}
}
