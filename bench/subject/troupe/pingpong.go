package troupe

import (
	"context"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/bench/harness"
)

// begin makes the ping actor tell its first ping.
type begin struct{}

// pong answers every message.
type pong struct{ arm }

func (a *pong) Receive(ctx *actor.Context, msg any) error {
	if _, ok := msg.(*harness.Msg); ok {
		ctx.Reply(msg)
	}
	return nil
}

// ping tells to, and again for each answer, until it has n of them.
type ping struct {
	arm
	to     actor.Ref
	n, got int64
	done   chan struct{}
}

func (a *ping) Receive(ctx *actor.Context, msg any) error {
	switch msg.(type) {
	case *harness.Msg:
		if a.got++; a.got == a.n {
			a.done <- struct{}{}
			return nil
		}
		ctx.Tell(a.to, msg)
	case begin:
		ctx.Tell(a.to, harness.M)
	}
	return nil
}

func (s *sys) PingPong(n int, armed bool) (time.Duration, int64, error) {
	to, err := s.s.SpawnAnonymous(func() actor.Actor { return &pong{arm(armed)} })
	if err != nil {
		return 0, 0, err
	}
	p := &ping{arm: arm(armed), to: to, n: int64(n), done: make(chan struct{}, 1)}
	from, err := s.s.SpawnAnonymous(func() actor.Actor { return p })
	if err != nil {
		return 0, 0, err
	}
	t := time.Now()
	from.Tell(begin{})
	<-p.done
	return time.Since(t), p.got, nil
}

func (s *sys) Ask(lat []int64) (int64, error) {
	ref, err := s.s.SpawnAnonymous(func() actor.Actor { return &pong{} })
	if err != nil {
		return 0, err
	}
	ctx := context.Background() // without a deadline, so that the runtime's own timeout applies
	var ok int64
	for i := range lat {
		t := time.Now()
		v, err := actor.Ask[*harness.Msg](ctx, ref, harness.M)
		if err != nil {
			return ok, err
		}
		lat[i] = int64(time.Since(t))
		if v == harness.M {
			ok++
		}
	}
	return ok, nil
}
