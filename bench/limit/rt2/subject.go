package rt2

import (
	"time"

	"github.com/troupe-go/troupe/bench/harness"
)

type sys struct {
	rt   *Runtime
	keep []*Ref
}

// Open starts a runtime.
func Open() (harness.System, error) { return &sys{rt: New()}, nil }

func (s *sys) Close() { s.rt.Close() }

type counter struct {
	k     *harness.Sink
	armed bool
}

func (a *counter) PreStart(c *Ctx) error {
	if a.armed {
		c.SetReceiveTimeout(time.Hour)
	}
	return nil
}

func (a *counter) Receive(c *Ctx, m any) error {
	if _, ok := m.(*harness.Msg); ok {
		a.k.Hit()
	}
	return nil
}

func (s *sys) Counter(k *harness.Sink, armed bool) (harness.Ref, error) {
	return s.rt.Spawn(func() Receiver { return &counter{k, armed} }), nil
}

func (s *sys) Handler(f func(tell func(harness.Ref))) (harness.Ref, error) {
	return s.rt.Spawn(func() Receiver {
		return Func(func(c *Ctx, m any) error {
			if _, ok := m.(*harness.Msg); ok {
				f(func(r harness.Ref) { c.Tell(r.(*Ref), harness.M) })
			}
			return nil
		})
	}), nil
}

func (s *sys) Blast(r harness.Ref, n int) error {
	a := r.(*Ref)
	for range n {
		a.Tell(harness.M)
	}
	return nil
}

func (s *sys) BlastAll(rs []harness.Ref, n int) error {
	as := make([]*Ref, len(rs))
	for i, r := range rs {
		as[i] = r.(*Ref)
	}
	for i, j := 0, 0; i < n; i++ {
		as[j].Tell(harness.M)
		if j++; j == len(as) {
			j = 0
		}
	}
	return nil
}

type begin struct{}

type pong struct{ armed bool }

func (a *pong) PreStart(c *Ctx) error {
	if a.armed {
		c.SetReceiveTimeout(time.Hour)
	}
	return nil
}

func (a *pong) Receive(c *Ctx, m any) error {
	if _, ok := m.(*harness.Msg); ok {
		c.Tell(c.Sender(), m)
	}
	return nil
}

type ping struct {
	pong
	to     *Ref
	n, got int64
	done   chan struct{}
}

func (a *ping) Receive(c *Ctx, m any) error {
	switch m.(type) {
	case *harness.Msg:
		if a.got++; a.got == a.n {
			a.done <- struct{}{}
			return nil
		}
		c.Tell(a.to, m)
	case begin:
		c.Tell(a.to, harness.M)
	}
	return nil
}

func (s *sys) PingPong(n int, armed bool) (time.Duration, int64, error) {
	to := s.rt.Spawn(func() Receiver { return &pong{armed} })
	p := &ping{pong: pong{armed}, to: to, n: int64(n), done: make(chan struct{}, 1)}
	from := s.rt.Spawn(func() Receiver { return p })
	t := time.Now()
	from.Tell(begin{})
	<-p.done
	return time.Since(t), p.got, nil
}

func (s *sys) Ask(lat []int64) (int64, error) {
	a := s.rt.Spawn(func() Receiver { return &pong{} })
	time.Sleep(time.Millisecond) // until it has started
	var ok int64
	for i := range lat {
		t := time.Now()
		v, err := s.rt.Ask(a, harness.M, 5*time.Second)
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

type updown struct{ up, down *harness.Latch }

func (a *updown) PreStart(*Ctx) error     { a.up.Hit(); return nil }
func (a *updown) PostStop(*Ctx)           { a.down.Hit() }
func (a *updown) Receive(*Ctx, any) error { return nil }

func (s *sys) SpawnStop(n int) (l harness.Lives, err error) {
	up, down := harness.NewLatch(n), harness.NewLatch(n)
	u := &updown{up, down}
	f := func() Receiver { return u }
	as := make([]*Ref, n)
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

func (a *idler) PreStart(c *Ctx) error {
	if a.armed {
		c.SetReceiveTimeout(time.Hour)
	}
	a.up.Hit()
	return nil
}

func (a *idler) Receive(*Ctx, any) error { return nil }

func (s *sys) Idle(n int, kind harness.Kind) error {
	up := harness.NewLatch(n)
	s.keep = make([]*Ref, n)
	f := func() Receiver { return &idler{up, kind.Armed} }
	for i := range s.keep {
		if kind.Named {
			s.keep[i] = s.rt.SpawnNamed(harness.Name(i), f)
			continue
		}
		s.keep[i] = s.rt.Spawn(f)
	}
	return up.Wait(time.Minute)
}

type node1 struct {
	parent    *Ref
	done      chan int64
	ord, size int64
	got, sum  int64
}

type value struct{ n int64 }

func (a *node1) PreStart(c *Ctx) error {
	if a.size == 1 {
		c.Tell(a.parent, &value{a.ord})
		c.Stop()
		return nil
	}
	sub := a.size / 10
	self := c.Self()
	for i := range int64(10) {
		o := a.ord + i*sub
		c.Spawn(func() Receiver { return &node1{parent: self, ord: o, size: sub} })
	}
	return nil
}

func (a *node1) Receive(c *Ctx, m any) error {
	if m, ok := m.(*value); ok {
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
	return nil
}

func (s *sys) Skynet(leaves int) (int64, error) {
	done := make(chan int64, 1)
	s.rt.Spawn(func() Receiver { return &node1{done: done, size: int64(leaves)} })
	return <-done, nil
}
