// Package protoactor measures github.com/asynkron/protoactor-go with its defaults
// (unbounded ring mailbox, goroutine dispatcher of throughput 300).
package protoactor

import (
	"io"
	"log/slog"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-go/troupe/bench/harness"
)

type sys struct {
	s    *actor.ActorSystem
	root *actor.RootContext
	keep []*actor.PID
}

// Open starts a system.
func Open() (harness.System, error) {
	s := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}))
	return &sys{s: s, root: s.Root}, nil
}

func (s *sys) Close() { s.s.Shutdown() }

func (s *sys) Counter(k *harness.Sink, armed bool) (harness.Ref, error) {
	pid := s.root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *harness.Msg:
			k.Hit()
		case *actor.Started:
			if armed {
				c.SetReceiveTimeout(time.Hour)
			}
		}
	}))
	return pid, nil
}

func (s *sys) Handler(f func(tell func(harness.Ref))) (harness.Ref, error) {
	return s.root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*harness.Msg); ok {
			f(func(r harness.Ref) { c.Send(r.(*actor.PID), harness.M) })
		}
	})), nil
}

func (s *sys) Blast(r harness.Ref, n int) error {
	pid := r.(*actor.PID)
	for range n {
		s.root.Send(pid, harness.M)
	}
	return nil
}

func (s *sys) BlastAll(rs []harness.Ref, n int) error {
	pids := make([]*actor.PID, len(rs))
	for i, r := range rs {
		pids[i] = r.(*actor.PID)
	}
	for i, j := 0, 0; i < n; i++ {
		s.root.Send(pids[j], harness.M)
		if j++; j == len(pids) {
			j = 0
		}
	}
	return nil
}

// begin makes the ping actor send its first ping.
type begin struct{}

func (s *sys) PingPong(n int, armed bool) (time.Duration, int64, error) {
	arm := func(c actor.Context) {
		if armed {
			c.SetReceiveTimeout(time.Hour)
		}
	}
	done := make(chan struct{}, 1)
	pong := s.root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			arm(c)
		case *harness.Msg:
			c.Send(c.Sender(), m)
		}
	}))
	var got int64
	ping := s.root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *harness.Msg:
			if got++; got == int64(n) {
				done <- struct{}{}
				return
			}
			c.Request(pong, m)
		case *actor.Started:
			arm(c)
		case *begin:
			c.Request(pong, harness.M)
		}
	}))
	t := time.Now()
	s.root.Send(ping, &begin{})
	<-done
	return time.Since(t), got, nil
}

func (s *sys) Ask(lat []int64) (int64, error) {
	pid := s.root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *harness.Msg:
			c.Respond(m)
		}
	}))
	var ok int64
	for i := range lat {
		t := time.Now()
		v, err := s.root.RequestFuture(pid, harness.M, 5*time.Second).Result()
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
	props := actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			up.Hit()
		case *actor.Stopped:
			down.Hit()
		}
	})
	pids := make([]*actor.PID, n)
	t := time.Now()
	for i := range pids {
		pids[i] = s.root.Spawn(props)
	}
	err = up.Wait(time.Minute)
	l.Start, l.Started = time.Since(t), up.Count()
	if err != nil {
		return l, err
	}
	t = time.Now()
	for _, p := range pids {
		s.root.Stop(p)
	}
	err = down.Wait(time.Minute)
	l.Stop, l.Stopped = time.Since(t), down.Count()
	return l, err
}

func (s *sys) Idle(n int, kind harness.Kind) (err error) {
	up := harness.NewLatch(n)
	props := actor.PropsFromProducer(func() actor.Actor { return &idler{up: up, armed: kind.Armed} })
	s.keep = make([]*actor.PID, n)
	for i := range s.keep {
		if !kind.Named {
			s.keep[i] = s.root.Spawn(props)
			continue
		}
		if s.keep[i], err = s.root.SpawnNamed(props, harness.Name(i)); err != nil {
			return err
		}
	}
	return up.Wait(2 * time.Minute)
}

type idler struct {
	up    *harness.Latch
	armed bool
}

func (a *idler) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *actor.Started:
		if a.armed {
			c.SetReceiveTimeout(time.Hour)
		}
		a.up.Hit()
	}
}

type node struct {
	parent    *actor.PID
	done      chan int64
	ord, size int64
	got, sum  int64
}

type value struct{ n int64 }

func (a *node) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		if a.size == 1 {
			c.Send(a.parent, &value{a.ord})
			c.Stop(c.Self())
			return
		}
		sub := a.size / 10
		for i := range int64(10) {
			o := a.ord + i*sub
			c.Spawn(actor.PropsFromProducer(func() actor.Actor {
				return &node{parent: c.Self(), ord: o, size: sub}
			}))
		}
	case *value:
		a.sum += m.n
		if a.got++; a.got == 10 {
			if a.done != nil {
				a.done <- a.sum
			} else {
				c.Send(a.parent, &value{a.sum})
			}
			c.Stop(c.Self())
		}
	}
}

func (s *sys) Skynet(leaves int) (int64, error) {
	done := make(chan int64, 1)
	s.root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &node{done: done, size: int64(leaves)}
	}))
	v := <-done
	runtime.KeepAlive(s)
	return v, nil
}
