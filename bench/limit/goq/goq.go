// Package goq is two hand-written baselines with the least an actor needs: a
// queue, an idle/running state, and a goroutine started on the first message
// and ended when the queue is empty. MPSC uses a lock-free linked queue with
// one node a message, Mutex a locked slice swapped with a spare on drain.
package goq

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/bench/harness"
)

// mpsc is a Vyukov queue: producers swap head, the one consumer follows next.
type mpsc struct {
	head  atomic.Pointer[node]
	tail  *node
	state atomic.Uint32
	recv  func(any)
}

type node struct {
	next atomic.Pointer[node]
	m    any
}

func newMPSC(recv func(any)) teller {
	a := &mpsc{recv: recv, tail: &node{}}
	a.head.Store(a.tail)
	return a
}

func (a *mpsc) tell(m any) {
	n := &node{m: m}
	a.head.Swap(n).next.Store(n)
	if a.state.Load() == 0 && a.state.CompareAndSwap(0, 1) {
		go a.run()
	}
}

func (a *mpsc) run() {
	for {
		t := a.tail
		for n := t.next.Load(); n != nil; n = n.next.Load() {
			t = n
			m := n.m
			n.m = nil
			a.recv(m)
		}
		a.tail = t
		a.state.Store(0)
		if t.next.Load() == nil || !a.state.CompareAndSwap(0, 1) {
			return
		}
	}
}

// locked is a mutex and two slices.
type locked struct {
	mu      sync.Mutex
	running bool
	q, old  []any
	recv    func(any)
}

func newLocked(recv func(any)) teller { return &locked{recv: recv} }

func (a *locked) tell(m any) {
	a.mu.Lock()
	a.q = append(a.q, m)
	start := !a.running
	a.running = true
	a.mu.Unlock()
	if start {
		go a.run()
	}
}

func (a *locked) run() {
	for {
		a.mu.Lock()
		if len(a.q) == 0 {
			a.running = false
			a.mu.Unlock()
			return
		}
		b := a.q
		a.q, a.old = a.old[:0], b
		a.mu.Unlock()
		for i, m := range b {
			b[i] = nil
			a.recv(m)
		}
	}
}

type teller interface{ tell(any) }

// bare is why rows are absent.
const bare = "a queue and nothing else"

type sys struct {
	make func(func(any)) teller
	keep []teller
}

// OpenMPSC opens the lock-free baseline.
func OpenMPSC() (harness.System, error) { return &sys{make: newMPSC}, nil }

// OpenMutex opens the locked baseline.
func OpenMutex() (harness.System, error) { return &sys{make: newLocked}, nil }

func (s *sys) Close() {}

func (s *sys) Counter(k *harness.Sink, armed bool) (harness.Ref, error) {
	if armed {
		return nil, harness.Absent(bare)
	}
	return s.make(func(m any) {
		if _, ok := m.(*harness.Msg); ok {
			k.Hit()
		}
	}), nil
}

func (s *sys) Handler(f func(tell func(harness.Ref))) (harness.Ref, error) {
	return s.make(func(m any) {
		if _, ok := m.(*harness.Msg); ok {
			f(func(r harness.Ref) { r.(teller).tell(harness.M) })
		}
	}), nil
}

func (s *sys) Blast(r harness.Ref, n int) error {
	switch a := r.(type) {
	case *mpsc:
		for range n {
			a.tell(harness.M)
		}
	case *locked:
		for range n {
			a.tell(harness.M)
		}
	}
	return nil
}

func (s *sys) BlastAll(rs []harness.Ref, n int) error {
	as := make([]teller, len(rs))
	for i, r := range rs {
		as[i] = r.(teller)
	}
	for i, j := 0, 0; i < n; i++ {
		as[j].tell(harness.M)
		if j++; j == len(as) {
			j = 0
		}
	}
	return nil
}

func (s *sys) PingPong(n int, armed bool) (time.Duration, int64, error) {
	if armed {
		return 0, 0, harness.Absent(bare)
	}
	var a, b teller
	done := make(chan struct{}, 1)
	var got int64
	b = s.make(func(m any) { a.tell(m) })
	a = s.make(func(m any) {
		if got++; got == int64(n) {
			done <- struct{}{}
			return
		}
		b.tell(m)
	})
	t := time.Now()
	b.tell(harness.M)
	<-done
	return time.Since(t), got, nil
}

type req struct{ reply chan any }

func (s *sys) Ask(lat []int64) (int64, error) {
	a := s.make(func(m any) { m.(*req).reply <- harness.M })
	var ok int64
	for i := range lat {
		t := time.Now()
		q := &req{make(chan any, 1)}
		a.tell(q)
		v := <-q.reply
		lat[i] = int64(time.Since(t))
		if v == any(harness.M) {
			ok++
		}
	}
	return ok, nil
}

type started struct{}
type stop struct{}

func (s *sys) SpawnStop(n int) (l harness.Lives, err error) {
	up, down := harness.NewLatch(n), harness.NewLatch(n)
	as := make([]teller, n)
	recv := func(m any) {
		switch m.(type) {
		case started:
			up.Hit()
		case stop:
			down.Hit()
		}
	}
	t := time.Now()
	for i := range as {
		as[i] = s.make(recv)
		as[i].tell(started{})
	}
	err = up.Wait(time.Minute)
	l.Start, l.Started = time.Since(t), up.Count()
	if err != nil {
		return l, err
	}
	t = time.Now()
	for _, a := range as {
		a.tell(stop{})
	}
	err = down.Wait(time.Minute)
	l.Stop, l.Stopped = time.Since(t), down.Count()
	return l, err
}

func (s *sys) Idle(n int, kind harness.Kind) error {
	if kind.Armed || kind.Named {
		return harness.Absent(bare)
	}
	up := harness.NewLatch(n)
	s.keep = make([]teller, n)
	recv := func(any) { up.Hit() }
	for i := range s.keep {
		s.keep[i] = s.make(recv)
		s.keep[i].tell(started{})
	}
	return up.Wait(time.Minute)
}

func (s *sys) Skynet(leaves int) (int64, error) {
	done := make(chan int64, 1)
	s.sky(nil, done, 0, int64(leaves)).tell(started{})
	return <-done, nil
}

type value struct{ n int64 }

func (s *sys) sky(parent teller, done chan int64, ord, size int64) teller {
	var sum, got int64
	var self teller
	self = s.make(func(m any) {
		switch m := m.(type) {
		case started:
			if size == 1 {
				parent.tell(&value{ord})
				return
			}
			for i := range int64(10) {
				s.sky(self, nil, ord+i*size/10, size/10).tell(started{})
			}
		case *value:
			sum += m.n
			if got++; got == 10 {
				if done != nil {
					done <- sum
				} else {
					parent.tell(&value{sum})
				}
			}
		}
	})
	return self
}
