// Package chans is the plain Go baseline: one goroutine and one buffered
// channel an actor, no system around it.
package chans

import (
	"time"

	"github.com/troupe-go/troupe/bench/harness"
)

const big, small = 1024, 4

type sys struct{ keep []chan any }

// Open starts nothing.
func Open() (harness.System, error) { return &sys{}, nil }

func (s *sys) Close() {}

func (s *sys) Counter(k *harness.Sink, armed bool) (harness.Ref, error) {
	if armed {
		// The plain Go way: one timer, reset for each message.
		c := make(chan any, big)
		go func() {
			t := time.NewTimer(time.Hour)
			for {
				select {
				case m, ok := <-c:
					if !ok {
						return
					}
					if _, ok := m.(*harness.Msg); ok {
						k.Hit()
					}
					t.Reset(time.Hour)
				case <-t.C:
				}
			}
		}()
		return c, nil
	}
	c := make(chan any, big)
	go func() {
		for m := range c {
			if _, ok := m.(*harness.Msg); ok {
				k.Hit()
			}
		}
	}()
	return c, nil
}

func (s *sys) Handler(f func(tell func(harness.Ref))) (harness.Ref, error) {
	c := make(chan any, small)
	go func() {
		for m := range c {
			if _, ok := m.(*harness.Msg); ok {
				f(func(r harness.Ref) { r.(chan any) <- harness.M })
			}
		}
	}()
	return c, nil
}

func (s *sys) Blast(r harness.Ref, n int) error {
	c := r.(chan any)
	for range n {
		c <- harness.M
	}
	return nil
}

func (s *sys) BlastAll(rs []harness.Ref, n int) error {
	cs := make([]chan any, len(rs))
	for i, r := range rs {
		cs[i] = r.(chan any)
	}
	for i, j := 0, 0; i < n; i++ {
		cs[j] <- harness.M
		if j++; j == len(cs) {
			j = 0
		}
	}
	return nil
}

func (s *sys) PingPong(n int, armed bool) (time.Duration, int64, error) {
	if armed {
		return pingPongArmed(n)
	}
	a, b := make(chan any, small), make(chan any, small)
	done := make(chan struct{})
	var got int64
	go func() {
		for m := range b {
			a <- m
		}
	}()
	go func() {
		for m := range a {
			if got++; got == int64(n) {
				close(b)
				close(done)
				return
			}
			b <- m
		}
	}()
	t := time.Now()
	b <- harness.M
	<-done
	return time.Since(t), got, nil
}

// pingPongArmed has a timer on both, reset for each message.
func pingPongArmed(n int) (time.Duration, int64, error) {
	a, b := make(chan any, small), make(chan any, small)
	done := make(chan struct{})
	var got int64
	loop := func(c chan any, f func(any) bool) {
		t := time.NewTimer(time.Hour)
		for {
			select {
			case m, ok := <-c:
				if !ok || !f(m) {
					return
				}
				t.Reset(time.Hour)
			case <-t.C:
			}
		}
	}
	go loop(b, func(m any) bool { a <- m; return true })
	go loop(a, func(m any) bool {
		if got++; got == int64(n) {
			close(b)
			close(done)
			return false
		}
		b <- m
		return true
	})
	t := time.Now()
	b <- harness.M
	<-done
	return time.Since(t), got, nil
}

type req struct{ reply chan any }

func (s *sys) Ask(lat []int64) (int64, error) {
	c := make(chan any, small)
	go func() {
		for m := range c {
			m.(*req).reply <- harness.M
		}
	}()
	var ok int64
	for i := range lat {
		t := time.Now()
		q := &req{make(chan any, 1)}
		c <- q
		v := <-q.reply
		lat[i] = int64(time.Since(t))
		if v == any(harness.M) {
			ok++
		}
	}
	close(c)
	return ok, nil
}

func (s *sys) SpawnStop(n int) (l harness.Lives, err error) {
	up, down := harness.NewLatch(n), harness.NewLatch(n)
	cs := make([]chan any, n)
	t := time.Now()
	for i := range cs {
		c := make(chan any, small)
		cs[i] = c
		go func() {
			up.Hit()
			for range c {
			}
			down.Hit()
		}()
	}
	err = up.Wait(time.Minute)
	l.Start, l.Started = time.Since(t), up.Count()
	if err != nil {
		return l, err
	}
	t = time.Now()
	for _, c := range cs {
		close(c)
	}
	err = down.Wait(time.Minute)
	l.Stop, l.Stopped = time.Since(t), down.Count()
	return l, err
}

func (s *sys) Idle(n int, kind harness.Kind) error {
	if kind.Named {
		return harness.Absent("a channel has no name")
	}
	up := harness.NewLatch(n)
	s.keep = make([]chan any, n)
	for i := range s.keep {
		c := make(chan any, small)
		s.keep[i] = c
		go func() {
			up.Hit()
			if !kind.Armed {
				for range c {
				}
				return
			}
			t := time.NewTimer(time.Hour)
			for {
				select {
				case _, ok := <-c:
					if !ok {
						return
					}
				case <-t.C:
				}
			}
		}()
	}
	return up.Wait(time.Minute)
}

func (s *sys) Skynet(leaves int) (int64, error) {
	c := make(chan int64, 10)
	go sky(c, 0, int64(leaves))
	return <-c, nil
}

func sky(up chan<- int64, ord, size int64) {
	if size == 1 {
		up <- ord
		return
	}
	c := make(chan int64, 10)
	for i := range int64(10) {
		go sky(c, ord+i*size/10, size/10)
	}
	var sum int64
	for range 10 {
		sum += <-c
	}
	up <- sum
}
