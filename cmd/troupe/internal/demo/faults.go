package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/cmd/troupe/internal/natsd"
	"github.com/troupe-go/troupe/internal/chaos"
)

const (
	idleDeadline  = 900 * time.Millisecond // the broker actor's idle timeout in the demo
	blackhole     = 2 * idleDeadline
	deadFor       = 300 * time.Millisecond // between a kill and the next start
	recoverWithin = 30 * time.Second       // for the connection to come back after a fault
	unknownEvery  = 1000                   // orders between faults when the input's length is unknown
)

// gate makes faults happen in the middle of the flow, however short the input is: the publisher stops at the place of a
// fault until that fault has begun, with its last orders still unanswered.
type gate struct {
	mu       sync.Mutex
	places   []int64 // accepted orders at which the next faults are due
	accepted int64
	shut     bool
	ended    bool          // the input has ended
	due      chan struct{} // capacity 1: a fault is due
	over     chan struct{} // closed when no fault will be due any more
	wake     func()        // makes the publisher go on
}

// newGate spreads n faults over total orders, or places one every so many when total is unknown.
func newGate(n, total int) *gate {
	g := &gate{due: make(chan struct{}, 1), over: make(chan struct{})}
	for i := range int64(n) {
		at := (i + 1) * unknownEvery
		if total >= 0 {
			at = max(1, (i+1)*int64(total)/int64(n+1))
		}
		g.places = append(g.places, at)
	}
	return g
}

func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.shut
}

// passed notes the number of accepted orders; at the place of a fault it shuts the gate.
func (g *gate) passed(accepted int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accepted = accepted
	g.look()
}

// end notes that the input has ended: what was planned for later orders is left out.
func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.look()
}

// again looks whether the next fault is due already, when one is over: a short input has several at one place.
func (g *gate) again() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look()
}

// look makes a fault due whose place is reached, or notes that none is left. With mu held.
func (g *gate) look() {
	switch {
	case g.shut:
	case len(g.places) > 0 && g.accepted >= g.places[0]:
		g.places = g.places[1:]
		g.shut = true
		g.due <- struct{}{}
	case g.ended || len(g.places) == 0:
		select {
		case <-g.over:
		default:
			close(g.over)
		}
	}
}

// reopen lets the publisher go on.
func (g *gate) reopen() {
	g.mu.Lock()
	g.shut = false
	wake := g.wake
	g.mu.Unlock()
	if wake != nil {
		wake()
	}
}

// fault is one thing that is broken on purpose.
type fault uint8

const (
	kill fault = iota
	reset
	hole
)

// script is the order of the faults: a kill first and last, the reset and the blackhole between.
func script(kills int) []fault {
	if kills < 0 {
		return nil
	}
	var fs []fault
	for i := range kills {
		fs = append(fs, kill)
		if i == 0 {
			fs = append(fs, reset)
		}
		if i == (kills-1)/2 {
			fs = append(fs, hole)
		}
	}
	if kills == 0 {
		fs = []fault{reset, hole}
	}
	return fs
}

// breaker breaks things.
type breaker struct {
	s      *state
	server *natsd.Server
	proxy  *chaos.Proxy
	gate   *gate
	faults []fault
}

// run carries out the script, each fault when its place in the flow is reached, one at a time. It ends with the last one,
// with an input that is too short for more, or with ctx.
func (b *breaker) run(ctx context.Context) error {
	for i, f := range b.faults {
		select {
		case <-b.gate.due:
		case <-b.gate.over:
			return nil
		case <-ctx.Done():
			return nil
		}
		links, _ := b.s.connections()
		if err := b.strike(ctx, f); err != nil {
			return err
		}
		b.s.with(func() { b.s.faults = i + 1 })
		if err := b.recovered(ctx, links); err != nil {
			return err
		}
		b.gate.again()
	}
	return nil
}

func (b *breaker) strike(ctx context.Context, f fault) error {
	switch f {
	case kill:
		b.s.say("fault", "SIGKILL to the server")
		b.server.Kill()
		b.gate.reopen() // the publisher goes on into the dead connection
		pause(ctx, deadFor)
		if err := b.server.Start(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("the server did not come back: %w", err)
		}
		b.s.say("fault", "server started again on the same port")
	case reset:
		b.s.say("fault", "connection reset")
		b.proxy.Reset()
		b.gate.reopen()
	case hole:
		b.s.say("fault", "blackhole: the network swallows everything for %v, the idle deadline is %v", blackhole, idleDeadline)
		b.proxy.Hole(true)
		b.gate.reopen()
		pause(ctx, blackhole)
		b.proxy.Hole(false)
		b.s.say("fault", "blackhole over")
	}
	return nil
}

// recovered waits for a connection that is newer than the fault.
func (b *breaker) recovered(ctx context.Context, before int) error {
	t := time.NewTimer(recoverWithin)
	defer t.Stop()
	for {
		if n, up := b.s.connections(); n > before && up {
			return nil
		}
		select {
		case <-b.s.changed:
		case <-ctx.Done():
			return nil
		case <-t.C:
			return fmt.Errorf("the connection did not come back within %v", recoverWithin)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// wakes returns what makes an actor look for work.
func wakes(ref actor.Ref) func() { return func() { ref.Tell(goOn{}) } }
