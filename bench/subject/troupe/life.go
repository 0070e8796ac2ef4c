package troupe

import (
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/bench/harness"
)

// upDown notes its start and its stop.
type upDown struct{ up, down *harness.Latch }

func (a *upDown) PreStart(*actor.Context) error { a.up.Hit(); return nil }

func (a *upDown) PostStop(*actor.Context) error { a.down.Hit(); return nil }

func (a *upDown) Receive(*actor.Context, any) error { return nil }

func (s *sys) SpawnStop(n int) (l harness.Lives, err error) {
	a := &upDown{harness.NewLatch(n), harness.NewLatch(n)} // it has no state of its own, so one instance serves all
	f := func() actor.Actor { return a }
	refs := make([]actor.Ref, n)
	t := time.Now()
	for i := range refs {
		if refs[i], err = s.s.SpawnAnonymous(f); err != nil {
			return l, err
		}
	}
	err = a.up.Wait(time.Minute)
	l.Start, l.Started = time.Since(t), a.up.Count()
	if err != nil {
		return l, err
	}
	t = time.Now()
	for _, r := range refs {
		r.Tell(actor.PoisonPill{})
	}
	err = a.down.Wait(time.Minute)
	l.Stop, l.Stopped = time.Since(t), a.down.Count()
	return l, err
}

// idler has what the smallest real actor has: two words of state.
type idler struct {
	up    *harness.Latch
	armed bool
}

func (a *idler) PreStart(ctx *actor.Context) error {
	if a.armed {
		ctx.SetReceiveTimeout(window)
	}
	a.up.Hit()
	return nil
}

func (a *idler) Receive(*actor.Context, any) error { return nil }

func (s *sys) Idle(n int, kind harness.Kind) (err error) {
	up := harness.NewLatch(n)
	f := func() actor.Actor { return &idler{up, kind.Armed} }
	s.keep = make([]actor.Ref, n)
	for i := range s.keep {
		if kind.Named {
			s.keep[i], err = s.s.Spawn(harness.Name(i), f)
		} else {
			s.keep[i], err = s.s.SpawnAnonymous(f)
		}
		if err != nil {
			return err
		}
	}
	return up.Wait(2 * time.Minute)
}

// node is one of a skynet tree: a leaf when its size is 1.
type node struct {
	parent    actor.Ref
	done      chan int64 // of the root only
	ord, size int64
	got, sum  int64
}

type value struct{ n int64 }

func (a *node) PreStart(ctx *actor.Context) error {
	if a.size == 1 {
		ctx.Tell(a.parent, &value{a.ord})
		ctx.StopSelf()
		return nil
	}
	sub, self := a.size/10, ctx.Self()
	for i := range int64(10) {
		ord := a.ord + i*sub
		if _, err := ctx.SpawnAnonymous(func() actor.Actor { return &node{parent: self, ord: ord, size: sub} }); err != nil {
			return err
		}
	}
	return nil
}

func (a *node) Receive(ctx *actor.Context, msg any) error {
	v, ok := msg.(*value)
	if !ok {
		return nil
	}
	a.sum += v.n
	if a.got++; a.got < 10 {
		return nil
	}
	if a.done != nil {
		a.done <- a.sum
	} else {
		ctx.Tell(a.parent, &value{a.sum})
	}
	ctx.StopSelf()
	return nil
}

func (s *sys) Skynet(leaves int) (int64, error) {
	done := make(chan int64, 1)
	if _, err := s.s.SpawnAnonymous(func() actor.Actor { return &node{done: done, size: int64(leaves)} }); err != nil {
		return 0, err
	}
	return <-done, nil
}
