package broker_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// fickle answers by a plan: how many of the next deliveries it refuses, of each message. Some of its answers come late.
type fickle struct {
	mu     sync.Mutex // a timer's goroutine knows nothing of the test's
	refuse map[uint64]int
	told   []uint64
	held   []actor.Completion
	later  bool
}

func (f *fickle) Receive(ctx *actor.Context, msg any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := msg.(inboundMsg).ID
	f.told = append(f.told, id)
	refuse := f.refuse[id] > 0
	if refuse {
		f.refuse[id]--
	}
	if f.later {
		done := ctx.Hold()
		if refuse {
			done = refusing{done}
		}
		f.held = append(f.held, done)
		return nil
	}
	if refuse {
		return actor.Reject(errNo)
	}
	return nil
}

type refusing struct{ actor.Completion }

func (r refusing) Done(error) { r.Completion.Done(errNo) }

func (f *fickle) answer() {
	f.mu.Lock()
	held := f.held
	f.held = nil
	f.mu.Unlock()
	for _, d := range held {
		d.Done(nil)
	}
}

// expect plans a message and returns how many were told so far.
func (f *fickle) expect(id uint64, refusals int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse[id] = refusals
	return len(f.told)
}

func (f *fickle) delay(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.later = on
}

func (f *fickle) sofar() []uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.told)
}

// TestSequenceModel drives two sequences at random and holds them against what a Sequence promises: the peer hears of
// each message once and in order, nothing that was held back is told before what held it, and nothing is left over.
func TestSequenceModel(t *testing.T) {
	if testing.Short() {
		t.Skip("random schedules; not with -short")
	}
	rapid.Check(t, func(rt *rapid.T) {
		hold := rapid.SampledFrom([]broker.Hold{broker.HoldNothing, broker.HoldVerdicts, broker.HoldMessages}).Draw(rt, "hold")
		ops := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(rt, "ops")
		refuse := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 9}), 60, 60).Draw(rt, "refusals")
		var wrong []string
		bubble(t, nil, nil, func(w *world) { wrong = sequences(w, hold, ops, refuse) })
		for _, s := range wrong {
			rt.Error(s)
		}
	})
}

func sequences(w *world, hold broker.Hold, ops, refuse []int) (wrong []string) {
	f := &fickle{refuse: map[uint64]int{}}
	ref, err := w.sys.Spawn("fickle", func() actor.Actor { return f })
	if err != nil {
		w.t.Fatal(err)
	}
	w.subscribe("x", ref)
	l := w.fake.Link(1)
	runs := [2]*broker.Sequence{l.Sequence(hold), l.Sequence(hold)}
	next := uint64(1)
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for i, op := range ops {
		switch {
		case op < 6: // a message of run 0 or 1: their ids are odd or even
			known := f.expect(next, refuse[i])
			blocked := runs[next%2].Held()
			w.into(runs[next%2], l, next, "x")
			if blocked && slices.Contains(f.sofar()[known:], next) {
				fail("%d was told although its sequence was held", next)
			}
			next++
		case op == 6:
			w.after(700 * time.Millisecond)
		case op == 7:
			w.after(5 * time.Second)
		case op == 8:
			f.delay(i%2 == 0)
		case op == 9:
			f.answer()
			synctest.Wait()
		}
	}
	f.delay(false)
	for range 100 {
		f.answer()
		w.after(time.Minute)
	}
	judge(w, hold, f, next, fail)
	return wrong
}

func judge(w *world, hold broker.Hold, f *fickle, next uint64, fail func(string, ...any)) {
	vs := w.fake.Verdicts()
	var byRun [2][]uint64
	dropped := 0
	for _, v := range vs {
		if v.Err != nil {
			fail("the peer was told to redeliver %d", v.ID)
		}
		if v.Dropped != nil {
			dropped++
		}
		byRun[v.ID%2] = append(byRun[v.ID%2], v.ID)
	}
	if uint64(len(vs)) != next-1 {
		fail("%d verdicts for %d messages", len(vs), next-1)
	}
	if n := len(w.dropped()); n != dropped {
		fail("%d dead letters, %d verdicts that say dropped", n, dropped)
	}
	firsts := [2][]uint64{}
	seen := map[uint64]bool{}
	for _, id := range f.sofar() {
		if !seen[id] {
			seen[id] = true
			firsts[id%2] = append(firsts[id%2], id)
		}
	}
	for run := range 2 {
		if hold != broker.HoldNothing && !slices.IsSorted(byRun[run]) {
			fail("verdicts of run %d: %v", run, byRun[run])
		}
		if !slices.IsSorted(firsts[run]) {
			fail("first deliveries of run %d: %v", run, firsts[run])
		}
	}
	if n := w.status().Inbound.Unhandled; n != 0 {
		fail("%d places are still taken", n)
	}
}
