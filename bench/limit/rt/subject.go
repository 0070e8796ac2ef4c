package rt

import (
	"time"

	"github.com/troupe-go/troupe/bench/harness"
)

type sys struct {
	rt     *Runtime
	inline bool
	keep   []*Actor
}

// Open starts a runtime.
func Open() (harness.System, error) { return &sys{rt: New()}, nil }

// OpenInline starts one whose asks run an idle target on the caller.
func OpenInline() (harness.System, error) { return &sys{rt: New(), inline: true}, nil }

func (s *sys) Close() { s.rt.Close() }

func (s *sys) Counter(k *harness.Sink, armed bool) (harness.Ref, error) {
	return s.rt.Spawn(Func(func(c *Ctx, m any) {
		switch m.(type) {
		case *harness.Msg:
			k.Hit()
		case Started:
			if armed {
				c.SetReceiveTimeout(time.Hour)
			}
		}
	})), nil
}

func (s *sys) Handler(f func(tell func(harness.Ref))) (harness.Ref, error) {
	return s.rt.Spawn(Func(func(c *Ctx, m any) {
		if _, ok := m.(*harness.Msg); ok {
			f(func(r harness.Ref) { c.Tell(r.(*Actor), harness.M) })
		}
	})), nil
}

func (s *sys) Blast(r harness.Ref, n int) error {
	a := r.(*Actor)
	for range n {
		s.rt.Tell(a, harness.M)
	}
	return nil
}

func (s *sys) BlastAll(rs []harness.Ref, n int) error {
	as := make([]*Actor, len(rs))
	for i, r := range rs {
		as[i] = r.(*Actor)
	}
	for i, j := 0, 0; i < n; i++ {
		s.rt.Tell(as[j], harness.M)
		if j++; j == len(as) {
			j = 0
		}
	}
	return nil
}

type begin struct{}

func (s *sys) PingPong(n int, armed bool) (time.Duration, int64, error) {
	done := make(chan struct{}, 1)
	pong := s.rt.Spawn(Func(func(c *Ctx, m any) {
		switch m.(type) {
		case *harness.Msg:
			c.Tell(c.Sender(), m)
		case Started:
			if armed {
				c.SetReceiveTimeout(time.Hour)
			}
		}
	}))
	var got int64
	ping := s.rt.Spawn(Func(func(c *Ctx, m any) {
		switch m.(type) {
		case *harness.Msg:
			if got++; got == int64(n) {
				done <- struct{}{}
				return
			}
			c.Tell(pong, m)
		case Started:
			if armed {
				c.SetReceiveTimeout(time.Hour)
			}
		case begin:
			c.Tell(pong, harness.M)
		}
	}))
	t := time.Now()
	s.rt.Tell(ping, begin{})
	<-done
	return time.Since(t), got, nil
}

func (s *sys) Ask(lat []int64) (int64, error) {
	a := s.rt.Spawn(Func(func(c *Ctx, m any) {
		if _, ok := m.(*harness.Msg); ok {
			c.Tell(c.Sender(), m)
		}
	}))
	time.Sleep(time.Millisecond) // until it has started
	who := NewCaller()
	var ok int64
	for i := range lat {
		t := time.Now()
		var v any
		var err error
		if s.inline {
			v, err = s.rt.AskInline(who, a, harness.M, 5*time.Second)
		} else {
			v, err = s.rt.Ask(a, harness.M, 5*time.Second)
		}
		if err != nil {
			return ok, err
		}
		lat[i] = int64(time.Since(t))
		if v == any(harness.M) {
			ok++
		}
	}
	return ok, nil
}

func (s *sys) SpawnStop(n int) (l harness.Lives, err error) {
	up, down := harness.NewLatch(n), harness.NewLatch(n)
	f := Func(func(c *Ctx, m any) {
		switch m.(type) {
		case Started:
			up.Hit()
		case Stopped:
			down.Hit()
		}
	})
	as := make([]*Actor, n)
	t := time.Now()
	for i := range as {
		as[i] = s.rt.Spawn(f)
	}
	err = up.Wait(time.Minute)
	l.Start, l.Started = time.Since(t), up.Count()
	if err != nil {
		return l, err
	}
	t = time.Now()
	for _, a := range as {
		s.rt.Stop(a)
	}
	err = down.Wait(time.Minute)
	l.Stop, l.Stopped = time.Since(t), down.Count()
	return l, err
}

type idler struct {
	up    *harness.Latch
	armed bool
}

func (a *idler) Receive(c *Ctx, m any) {
	if _, ok := m.(Started); ok {
		if a.armed {
			c.SetReceiveTimeout(time.Hour)
		}
		a.up.Hit()
	}
}

func (s *sys) Idle(n int, kind harness.Kind) error {
	if kind.Named {
		return harness.Absent("no names in the first prototype")
	}
	up := harness.NewLatch(n)
	s.keep = make([]*Actor, n)
	for i := range s.keep {
		s.keep[i] = s.rt.Spawn(&idler{up, kind.Armed})
	}
	return up.Wait(time.Minute)
}

type node struct {
	parent    *Actor
	done      chan int64
	ord, size int64
	got, sum  int64
}

type value struct{ n int64 }

func (a *node) Receive(c *Ctx, m any) {
	switch m := m.(type) {
	case Started:
		if a.size == 1 {
			c.Tell(a.parent, &value{a.ord})
			c.Stop()
			return
		}
		sub := a.size / 10
		for i := range int64(10) {
			c.Spawn(&node{parent: c.Self(), ord: a.ord + i*sub, size: sub})
		}
	case *value:
		a.sum += m.n
		if a.got++; a.got == 10 {
			if a.done != nil {
				a.done <- a.sum
			} else {
				c.Tell(a.parent, &value{a.sum})
			}
			c.Stop()
		}
	}
}

func (s *sys) Skynet(leaves int) (int64, error) {
	done := make(chan int64, 1)
	s.rt.Spawn(&node{done: done, size: int64(leaves)})
	return <-done, nil
}
