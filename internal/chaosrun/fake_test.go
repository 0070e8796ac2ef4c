package chaosrun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

var errFault = errors.New("fault")

// fakeServer is the world behind the fakes of all generations: what has arrived, and a source of messages.
type fakeServer struct {
	wg   sync.WaitGroup
	stop chan struct{}

	mu      sync.Mutex
	fake    *brokertest.Fake // of the current generation
	arrived []string
	last    uint64          // newest message of the source
	unacked map[uint64]bool // of the source, and not acknowledged
	redo    map[uint64]bool // refused on the current link, to be delivered again there
	failing int             // dispatches that fail
}

type sourced struct {
	broker.Delivery
	ID uint64
}

func sourceID(msg any) string {
	if m, ok := msg.(sourced); ok {
		return fmt.Sprint("s", m.ID)
	}
	return ""
}

func (f *fakeServer) factory(int) func() actor.Actor {
	fake := &brokertest.Fake{
		Label: "fake://u:secret@server", Mode: brokertest.ModeConfirm, HoldConfirms: true,
		ReplayInConnect: rand.IntN(2) == 0, Batch: rand.IntN(2) == 0, NoDelay: rand.IntN(2) == 0,
		Initial: []string{"k", "1"},
	}
	fake.OnDispatch = f.dispatch
	fake.OnVerdict = f.verdict
	fake.OnConnect = func(_ context.Context, _ int, l *broker.Link) error {
		f.wg.Go(func() { f.feed(l, rand.IntN(4)) })
		if rand.IntN(20) == 0 {
			return errFault
		}
		return nil
	}
	f.mu.Lock()
	f.fake = fake
	f.mu.Unlock()
	return fake.New(func(c *brokertest.Config) {
		c.OutboundBuffer, c.InboundWindow, c.FlushTimeout = 300, 64, 2*time.Second
		c.Reconnect.InitialDelay, c.Reconnect.MaxDelay = 5*time.Millisecond, 100*time.Millisecond
		c.Reconnect.StableAfter = 500 * time.Millisecond
		c.Redelivery.InitialDelay, c.Redelivery.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
		c.Overflow = broker.Overflow(rand.IntN(int(broker.RejectNewest) + 1))
		c.ConnectTimeout = 2 * time.Second
	})
}

func (f *fakeServer) current() *brokertest.Fake {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fake
}

// dispatch takes a message in, or loses it, or takes it in and fails all the same.
func (f *fakeServer) dispatch(_ context.Context, s brokertest.Sent) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fail := f.failing > 0
	if fail {
		f.failing--
	}
	if fail && f.failing%2 == 0 {
		return errFault
	}
	f.arrived = append(f.arrived, s.Payload)
	if fail {
		return errFault
	}
	return nil
}

func (f *fakeServer) verdict(v brokertest.Verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case v.Err == nil:
		delete(f.unacked, v.ID)
	case f.unacked[v.ID]:
		f.redo[v.ID] = true
	}
}

// feed delivers on one link what is not acknowledged, in order, and what is new. kind 3 has no sequence, so that the
// source delivers again itself.
func (f *fakeServer) feed(l *broker.Link, kind int) {
	var seq *broker.Sequence
	if kind < 3 {
		seq = l.Sequence(broker.Hold(kind))
	}
	f.mu.Lock()
	clear(f.redo)
	f.mu.Unlock()
	sent := uint64(0)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.Context().Done():
			return
		case <-tick.C:
		}
		for _, id := range f.next(sent) {
			var d broker.Delivery
			var err error
			if seq != nil {
				d, err = seq.Accept(nil, id)
			} else {
				d, err = l.Accept(nil, id)
			}
			if err != nil {
				return
			}
			l.Deliver(d, sourced{d, id}, "x")
			sent = max(sent, id)
		}
	}
}

// next lists what is to be delivered now on a link that has seen everything up to sent.
func (f *fakeServer) next(sent uint64) (ids []uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.redo {
		ids = append(ids, id)
	}
	clear(f.redo)
	for id := range f.unacked {
		if id > sent {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), 32)]
}

// serve confirms, refuses and leaves open, and has new messages at its source.
func (f *fakeServer) serve(end <-chan struct{}) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		fake := f.current()
		if fake == nil {
			continue
		}
		switch n := rand.IntN(1000); {
		case n < 3:
			if p := fake.Pending(); len(p) > 0 {
				fake.LeaveOpen(p[rand.IntN(len(p))])
			}
		case n < 6:
			if p := fake.Pending(); len(p) > 0 {
				fake.Refuse(p[rand.IntN(len(p))])
			}
		case n < 200:
			if p := fake.Pending(); len(p) > 0 {
				fake.ConfirmThrough(p[rand.IntN(len(p))], nil)
			}
		default:
			fake.Confirm(rand.IntN(24))
		}
	}
}

func (f *fakeServer) produce() {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
		}
		f.mu.Lock()
		if len(f.unacked) < 500 {
			f.last++
			f.unacked[f.last] = true
		}
		f.mu.Unlock()
	}
}

func (f *fakeServer) missing(h *target, g *grammar) (n int, what string) {
	h.release()
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := uint64(1); id <= f.last; id++ {
		if s := fmt.Sprint("s", id); !h.has(s) && !g.givenUp(s) {
			n++
			what = s
		}
	}
	return n, what
}

func (f *fakeServer) faults() []func(*rand.Rand) {
	return []func(*rand.Rand){
		func(*rand.Rand) { f.current().Drop(errFault) },
		func(*rand.Rand) { f.current().Drop(nil) },
		func(r *rand.Rand) { f.current().FailConnects(1 + r.IntN(5)); f.current().Drop(errFault) },
		func(r *rand.Rand) {
			f.mu.Lock()
			f.failing = 1 + r.IntN(4)
			f.mu.Unlock()
		},
		func(r *rand.Rand) { pause(r, &f.current().DispatchGate) },
		func(r *rand.Rand) { f.current().Drop(errFault); pause(r, &f.current().ConnectGate) },
		func(r *rand.Rand) { f.current().Drop(errFault); pause(r, &f.current().DialGate) },
		func(r *rand.Rand) { f.current().Drop(errFault); pause(r, &f.current().DisconnectGate) },
		func(r *rand.Rand) { f.current().Drop(errFault); pause(r, &f.current().ApplyGate) },
		func(*rand.Rand) { // a driver that speaks up too late, from everywhere
			for n := range 3 {
				if l := f.current().Link(n + 1); l != nil && l.Context().Err() != nil {
					l.Lost(errFault)
					l.SettleThrough(broker.Token{}, nil)
				}
			}
		},
	}
}

func pause(r *rand.Rand, g *brokertest.Gate) {
	g.Close()
	<-time.After(time.Duration(r.IntN(200)) * time.Millisecond)
	g.Open()
}

// TestFake is the run over the fake protocol.
func TestFake(t *testing.T) {
	t.Parallel()
	f := &fakeServer{stop: make(chan struct{}), unacked: map[uint64]bool{}, redo: map[uint64]bool{}}
	drive(t, func(t *testing.T, sys *actor.System) *subject {
		h, to, err := spawnTarget(sys, sourceID)
		if err != nil {
			t.Fatal(err)
		}
		calm := sync.OnceFunc(func() { close(f.stop) })
		end := make(chan struct{})
		f.wg.Go(f.produce)
		f.wg.Go(func() { f.serve(end) })
		t.Cleanup(func() { calm(); close(end); f.wg.Wait() })
		return &subject{
			factory: f.factory,
			born: func(ref actor.Ref) {
				ref.Tell(brokertest.Do{Func: func(b *brokertest.Base) error { b.AddSubscriber("x", to); return nil }})
			},
			publish: func(id string) any { return brokertest.Publish{Payload: id} },
			id: func(payload any) string {
				switch m := payload.(type) {
				case string:
					return m
				case brokertest.Publish:
					return m.Payload
				}
				return ""
			},
			faults:    f.faults(),
			calm:      calm,
			sink:      func() []string { f.mu.Lock(); defer f.mu.Unlock(); return slices.Clone(f.arrived) },
			stored:    true,
			missing:   func(g *grammar) (int, string) { return f.missing(h, g) },
			inboundID: sourceID,
		}
	})
}
