package actor

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// stormed is an actor whose receive timeout is watched: the end of its last handler is noted as late as a handler can.
type stormed struct {
	window time.Duration
	end    time.Time
	peers  []Ref
	seen   *stormCount
}

type stormCount struct{ early, afterCancel, fired atomic.Int64 }

func (a *stormed) PreStart(ctx *Context) error {
	a.window, a.end = time.Millisecond, time.Now()
	ctx.SetReceiveTimeout(a.window)
	return nil
}

func (a *stormed) Receive(ctx *Context, msg any) error {
	switch m := msg.(type) {
	case ReceiveTimeout:
		a.seen.fired.Add(1)
		switch idle := time.Since(a.end); {
		case a.window == 0:
			a.seen.afterCancel.Add(1)
		case idle < a.window:
			a.seen.early.Add(1)
		}
	case []Ref:
		a.peers = m
	case int:
		switch m % 16 {
		case 0:
			a.window = 0
			ctx.CancelReceiveTimeout()
		case 1, 2, 3:
			a.window = time.Duration(m%16) * time.Millisecond
			ctx.SetReceiveTimeout(a.window)
		case 4:
			<-time.After(time.Duration(m%3) * time.Millisecond / 2)
		case 5:
			return Reject(errBoom)
		default:
			if len(a.peers) > 0 { // goes on in this carrier's slot, so that epochs are shared
				ctx.Tell(a.peers[m%len(a.peers)], m/2+4)
			}
		}
	}
	a.end = time.Now()
	return nil
}

// TestReceiveTimeoutIsNeverEarlyUnderCarriers is outside of a bubble, where the end of a handler may be an epoch's.
func TestReceiveTimeoutIsNeverEarlyUnderCarriers(t *testing.T) {
	s := newTestSystem(t)
	seen := &stormCount{}
	refs := make([]Ref, 60)
	for i := range refs {
		ref, err := s.SpawnAnonymous(func() Actor { return &stormed{seen: seen} })
		if err != nil {
			t.Fatal(err)
		}
		refs[i] = ref
	}
	for _, ref := range refs {
		ref.Tell(refs)
	}
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(g)))
			for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); {
				for range 30 {
					refs[rnd.IntN(len(refs))].Tell(rnd.IntN(1 << 20))
				}
				<-time.After(time.Duration(rnd.IntN(1500)) * time.Microsecond)
			}
		})
	}
	wg.Wait()
	if e, c := seen.early.Load(), seen.afterCancel.Load(); e+c > 0 {
		t.Errorf("%d came early and %d after a cancel", e, c)
	}
	// And none is lost: armed once more, each of them gets its own.
	before := seen.fired.Load()
	for _, ref := range refs {
		ref.Tell(16 + 1)
	}
	deadline := time.Now().Add(10 * time.Second)
	for seen.fired.Load() < before+int64(3*len(refs)) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d came in 10 s", seen.fired.Load()-before, 3*len(refs))
		}
		<-time.After(time.Millisecond)
	}
	t.Logf("%d receive timeouts", seen.fired.Load())
}

// The clock must not write a time for an epoch that is open: the time it has read may be older than the end of a handler
// that refers to the same epoch.
func TestFireLeavesAnOpenEpochAlone(t *testing.T) {
	s := newTestSystem(t)
	armed := make(chan struct{})
	a := mustSpawn(t, s, "a", always(&script{
		pre:  do(func(ctx *Context) { ctx.SetReceiveTimeout(time.Hour) }),
		recv: func(*Context, any) error { close(armed); return nil },
	}))
	a.Tell("m")
	<-armed
	c := a.n.cell()
	for deadline := time.Now().Add(10 * time.Second); c.mb.Owned(); {
		if time.Now().After(deadline) {
			t.Fatal("the actor does not come to rest")
		}
	}
	const number = -1 << 40
	c.idle.since.Store(number)
	now := s.clock.Now() + int64(2*time.Hour)
	if again := c.Fire(now); again <= now {
		t.Errorf("fires again %v after now", time.Duration(again-now))
	}
	if since := c.idle.since.Load(); since != number {
		t.Errorf("since is %d", since)
	}
	if c.mb.Signalled() || c.mb.Owned() {
		t.Error("the receive timeout is on its way")
	}
	c.idle.since.Store(now)
}
