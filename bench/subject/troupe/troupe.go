// Package troupe is the runtime of this repository as a subject, with its defaults and by its public API only.
package troupe

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/bench/harness"
)

// window is the receive timeout of armed actors: it never ends during a run.
const window = time.Hour

type sys struct {
	s    *actor.System
	keep []actor.Ref // what Idle keeps alive
}

// Open starts a system whose log goes nowhere, formatted as the other subjects' is.
func Open() (harness.System, error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := actor.NewSystem("bench", func(c *actor.SystemConfig) { c.Logger = log })
	if err != nil {
		return nil, err
	}
	return &sys{s: s}, nil
}

// Close stops every actor and waits for that, ten seconds at most.
func (s *sys) Close() {
	// Close has no caller's context; the harness waits for it without a bound.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = s.s.Terminate(ctx) // a worker process ends anyway
}

// arm is the PreStart of the actors that may have a receive timeout.
type arm bool

func (a arm) PreStart(ctx *actor.Context) error {
	if a {
		ctx.SetReceiveTimeout(window)
	}
	return nil
}

type counter struct {
	arm
	sink *harness.Sink
}

func (a *counter) Receive(_ *actor.Context, msg any) error {
	if _, ok := msg.(*harness.Msg); ok {
		a.sink.Hit()
	}
	return nil
}

func (s *sys) Counter(k *harness.Sink, armed bool) (harness.Ref, error) {
	return s.s.SpawnAnonymous(func() actor.Actor { return &counter{arm(armed), k} })
}

func (s *sys) Handler(f func(tell func(harness.Ref))) (harness.Ref, error) {
	return s.s.SpawnAnonymous(func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			if _, ok := msg.(*harness.Msg); ok {
				f(func(r harness.Ref) { ctx.Tell(r.(actor.Ref), harness.M) })
			}
			return nil
		})
	})
}

func (s *sys) Blast(r harness.Ref, n int) error {
	a := r.(actor.Ref)
	for range n {
		a.Tell(harness.M)
	}
	return nil
}

func (s *sys) BlastAll(rs []harness.Ref, n int) error {
	as := make([]actor.Ref, len(rs))
	for i, r := range rs {
		as[i] = r.(actor.Ref)
	}
	for i, j := 0, 0; i < n; i++ {
		as[j].Tell(harness.M)
		if j++; j == len(as) {
			j = 0
		}
	}
	return nil
}
