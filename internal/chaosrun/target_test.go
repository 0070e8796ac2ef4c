package chaosrun

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// target handles what comes from the source, most of the time.
type target struct {
	id func(msg any) string

	mu      sync.Mutex
	handled map[string]bool
	twice   int
	failed  time.Time // when it failed last
	held    []heldMsg
}

type heldMsg struct {
	id   string
	done actor.Completion
}

var errMood = errors.New("not in the mood")

// receive refuses, discards, fails, holds, or handles.
func (h *target) receive(ctx *actor.Context, msg any) error {
	id := h.id(msg)
	if id == "" {
		return nil
	}
	switch n := rand.IntN(1000); {
	case n < 80:
		return actor.Reject(broker.RetryAfter(errMood, time.Duration(rand.IntN(50))*time.Millisecond))
	case n < 90:
		return actor.Reject(broker.Discard(errMood))
	case n < 92 && h.mayFail():
		return errMood // and a restart
	case n < 120:
		h.hold(id, ctx.Hold())
		return nil
	}
	h.done(id)
	return nil
}

// mayFail keeps the restarts below what its supervisor allows.
func (h *target) mayFail() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.failed) < 8*time.Second {
		return false
	}
	h.failed = time.Now()
	return true
}

// hold keeps a message until there are several, and ends all of them in another order.
func (h *target) hold(id string, done actor.Completion) {
	h.mu.Lock()
	h.held = append(h.held, heldMsg{id, done})
	var end []heldMsg
	if len(h.held) > 4 {
		end, h.held = h.held, nil
	}
	h.mu.Unlock()
	h.endAll(end)
}

// release ends what is held, for the end of a run.
func (h *target) release() {
	h.mu.Lock()
	end := h.held
	h.held = nil
	h.mu.Unlock()
	h.endAll(end)
}

func (h *target) endAll(end []heldMsg) {
	for i := len(end) - 1; i >= 0; i-- {
		h.done(end[i].id)
		if end[i].done != nil {
			end[i].done.Done(nil)
		}
	}
}

func (h *target) done(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.handled[id] {
		h.twice++
	}
	h.handled[id] = true
}

func (h *target) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.handled[id]
}

func spawnTarget(sys *actor.System, id func(msg any) string) (*target, actor.Ref, error) {
	h := &target{id: id, handled: map[string]bool{}}
	ref, err := sys.Spawn("target", func() actor.Actor { return actor.Func(h.receive) })
	return h, ref, err
}
