package harness

import (
	"errors"
	"os"
	"sync"
	"time"
)

// fake is a subject without actors: it does the work, or what is wrong with it, on the calling goroutine.
type fake struct {
	mu      sync.Mutex // what an actor would be to its sink: one message at a time
	loses   bool       // one message of each batch
	failing error
}

// fakes are the subjects of the test program as a worker.
func fakes() []Framework {
	return []Framework{
		{Name: "good", Version: "v1", Open: func() (System, error) { return &fake{}, nil }},
		{Name: "loses", Open: func() (System, error) { return &fake{loses: true}, nil }},
		{Name: "fails", Open: func() (System, error) { return &fake{failing: errors.New("out of luck")}, nil }},
		{Name: "closed", Open: func() (System, error) { return nil, errors.New("does not open") }},
		{Name: "dies", Open: func() (System, error) { os.Exit(3); return nil, nil }},
		{Name: "little", Open: func() (System, error) { return little{}, nil }, Limit: true},
		{Name: "small", Open: func() (System, error) { return &fake{}, nil }, MaxIdle: 5, MaxSkynet: 5},
		{Name: "picky", Open: func() (System, error) { return &fake{}, nil }, Only: map[string]bool{"ask": true}},
	}
}

// little can do nothing.
type little struct{}

func (little) Close() {}

func (*fake) Close() {}

func (f *fake) Counter(s *Sink, armed bool) (Ref, error) {
	if armed {
		return nil, Absent("no clock")
	}
	return s, f.failing
}

func (f *fake) Blast(r Ref, n int) error {
	if f.loses {
		n--
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		r.(*Sink).Hit()
	}
	return nil
}

func (f *fake) BlastAll(rs []Ref, n int) error {
	for i := range n {
		rs[i%len(rs)].(*Sink).Hit()
	}
	return nil
}

func (f *fake) PingPong(n int, armed bool) (time.Duration, int64, error) {
	if armed {
		return 0, 0, Absent("no clock")
	}
	if f.loses {
		n--
	}
	return time.Microsecond, int64(n), f.failing
}

func (f *fake) Ask(lat []int64) (int64, error) {
	for i := range lat {
		lat[i] = int64(i + 1)
	}
	n := len(lat)
	if f.loses {
		n--
	}
	return int64(n), f.failing
}

func (f *fake) SpawnStop(n int) (Lives, error) {
	l := Lives{Start: time.Microsecond, Stop: 2 * time.Microsecond, Started: int64(n), Stopped: int64(n)}
	if f.loses {
		l.Stopped--
	}
	return l, f.failing
}

func (f *fake) Idle(int, Kind) error { return f.failing }

func (f *fake) Skynet(leaves int) (int64, error) {
	sum := SkynetSum(leaves)
	if f.loses {
		sum--
	}
	return sum, f.failing
}
