package harness

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// probeEvery is the pause between two probes of the blocked workload.
const probeEvery = 3 * time.Millisecond

// blockers is what both workloads need that blocked is made of.
type blockers interface {
	Teller
	Handler
}

// measureBlocked tells q.N actors to sleep, all at once, and looks how long others wait meanwhile: one actor that is
// told from outside every few ms, and for each sleeper one that it tells from inside just before it sleeps, which is
// the harder case for a runtime that lets a goroutine run one actor after the other.
func measureBlocked(sys blockers, q Request) (r Result, err error) {
	b := &blocking{sleep: q.Sleep, awake: NewLatch(q.N), inside: newWaits(), outside: newWaits()}
	sleepers := make([]Ref, q.N)
	for i := range sleepers {
		if sleepers[i], err = b.sleeper(sys); err != nil {
			return r, err
		}
	}
	handled := make(chan time.Time, 1)
	probe, err := sys.Handler(func(func(Ref)) { handled <- time.Now() })
	if err != nil {
		return r, err
	}
	start := time.Now()
	for _, s := range sleepers {
		if err := sys.Blast(s, 1); err != nil {
			return r, err
		}
	}
	for open := true; open; {
		told := time.Now()
		if err := sys.Blast(probe, 1); err != nil {
			return r, err
		}
		select {
		case at := <-handled:
			b.outside.add(at.Sub(told))
		case <-time.After(giveUp):
			return r, errors.New("an actor that was told while others slept never ran")
		}
		select {
		case <-b.awake.done:
			open = false
		case <-time.After(probeEvery):
		}
	}
	r.Ns = int64(time.Since(start))
	if err := b.followed(q.N); err != nil {
		return r, err
	}
	r.Ops = int64(b.outside.count())
	r.Worst, r.Mean = b.outside.worst(), b.outside.mean()
	r.Inside = b.inside.worst()
	r.Asleep = int64(b.last.Sub(start))
	return r, verify(b.awake.Count(), int64(q.N))
}

// blocking is the state of one measureBlocked.
type blocking struct {
	sleep           time.Duration
	awake           *Latch
	inside, outside *waits

	mu   sync.Mutex
	last time.Time // when the last sleeper began; guarded by mu
}

// sleeper starts an actor that sleeps when it is told, and the follower that it tells before.
func (b *blocking) sleeper(sys Handler) (Ref, error) {
	told := make(chan time.Time, 1)
	follower, err := sys.Handler(func(func(Ref)) { b.inside.add(time.Since(<-told)) })
	if err != nil {
		return nil, err
	}
	return sys.Handler(func(tell func(Ref)) {
		now := time.Now()
		b.mu.Lock()
		if now.After(b.last) {
			b.last = now
		}
		b.mu.Unlock()
		told <- time.Now()
		tell(follower)
		time.Sleep(b.sleep)
		b.awake.Hit()
	})
}

// followed waits until each follower has run.
func (b *blocking) followed(n int) error {
	for end := time.Now().Add(giveUp); b.inside.count() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("an actor that was told by a handler that then slept never ran")
		}
	}
	return nil
}

// waits collects durations from any goroutine.
type waits struct {
	mu  sync.Mutex
	all []time.Duration
}

func newWaits() *waits { return &waits{all: make([]time.Duration, 0, 1024)} }

func (w *waits) add(d time.Duration) {
	w.mu.Lock()
	w.all = append(w.all, d)
	w.mu.Unlock()
}

func (w *waits) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// worst is the longest one in ns.
func (w *waits) worst() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) == 0 {
		return 0
	}
	return int64(slices.Max(w.all))
}

// mean is the mean in ns.
func (w *waits) mean() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum time.Duration
	for _, d := range w.all {
		sum += d
	}
	return float64(sum) / float64(max(len(w.all), 1))
}
