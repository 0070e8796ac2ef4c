package actor

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/invariants"
)

// idleStep is one message to an actor with a receive timeout. What it does to the window it does at its end.
type idleStep struct {
	kind   string // "message", "marked", "set", "cancel"
	takes  time.Duration
	window time.Duration // set
}

// sent is a step and when it is told.
type sent struct {
	idleStep
	at time.Duration
}

// idleReference says when an actor that is told these steps receives its timeouts, up to the end. It is the contract
// word for word, one event after the other, with none of the tricks of the runtime. Windows and the ends of handlers
// are such that no two events fall together.
func idleReference(steps []sent, window, end time.Duration) (timeouts []time.Duration) {
	type item struct {
		step idleStep
		rt   bool
		gen  int
	}
	var (
		lane   []item
		now    time.Duration
		since  time.Duration
		gen    int
		queued bool
		busy   *item
		until  time.Duration // when busy ends
	)
	counts := func(i item) bool { return !i.rt && i.step.kind == "message" }
	for {
		if busy == nil && len(lane) > 0 {
			i := lane[0]
			lane = lane[1:]
			if i.rt {
				if i.gen != gen || window == 0 {
					continue
				}
				queued = false
				if slices.ContainsFunc(lane, counts) || since+window > now {
					continue
				}
				timeouts = append(timeouts, now)
				since = now
				continue
			}
			busy, until = &i, now+i.step.takes
			continue
		}
		next, what := end, "end"
		if len(steps) > 0 && steps[0].at < next {
			next, what = steps[0].at, "told"
		}
		if busy != nil && until < next {
			next, what = until, "handled"
		}
		idle := busy == nil || !counts(*busy)
		if due := max(since+window, now); window > 0 && !queued && idle && !slices.ContainsFunc(lane, counts) && due < next {
			next, what = due, "due"
		}
		now = next
		switch what {
		case "end":
			return timeouts
		case "told":
			lane = append(lane, item{step: steps[0].idleStep})
			steps = steps[1:]
		case "due":
			lane = append(lane, item{rt: true, gen: gen})
			queued = true
		case "handled":
			switch busy.step.kind {
			case "message":
				since = now
			case "set":
				window, since, gen, queued = busy.step.window, now, gen+1, false
			case "cancel":
				window, gen, queued = 0, gen+1, false
			}
			busy = nil
		}
	}
}

// startIdle spawns an actor whose window is armed at 0, and returns what it has received of timeouts so far.
func startIdle(t testing.TB, s *System, name string, window time.Duration) (Ref, func() []time.Duration) {
	t.Helper()
	t0 := time.Now()
	var mu sync.Mutex
	var got []time.Duration
	play := func(ctx *Context, step idleStep) error {
		time.Sleep(step.takes)
		switch step.kind {
		case "set":
			ctx.SetReceiveTimeout(step.window)
		case "cancel":
			ctx.CancelReceiveTimeout()
		}
		return nil
	}
	ref := mustSpawn(t, s, name, always(&script{
		pre: do(func(ctx *Context) { ctx.SetReceiveTimeout(window) }),
		recv: func(ctx *Context, msg any) error {
			switch m := msg.(type) {
			case ReceiveTimeout:
				mu.Lock()
				got = append(got, time.Since(t0))
				mu.Unlock()
			case idleStep:
				return play(ctx, m)
			case mark:
				return m.f(ctx)
			}
			return nil
		},
	}))
	return ref, func() []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

// tellStep tells a step as what it is: everything but a message is marked as not counting.
func tellStep(ref Ref, step idleStep) {
	if step.kind == "message" {
		ref.Tell(step)
		return
	}
	ref.Tell(mark{step.kind, func(ctx *Context) error {
		time.Sleep(step.takes)
		switch step.kind {
		case "set":
			ctx.SetReceiveTimeout(step.window)
		case "cancel":
			ctx.CancelReceiveTimeout()
		}
		return nil
	}})
}

// TestReceiveTimeoutEverySequence plays every sequence of four steps, told 20 ms apart, against the reference: messages,
// messages that do not count, re-arming and cancelling, quick and slow ones, so that expiry falls before, between, behind
// and into each of them.
func TestReceiveTimeoutEverySequence(t *testing.T) {
	kinds := []idleStep{
		{"message", 0, 0}, {"message", 71 * ms, 0}, {"marked", 0, 0}, {"marked", 71 * ms, 0},
		{"set", 0, 30*ms + 1}, {"set", 31 * ms, 60*ms + 1}, {"cancel", 0, 0}, {"cancel", 53 * ms, 0},
	}
	seqs := [][]sent{nil}
	for i := range 4 {
		var longer [][]sent
		for _, seq := range seqs {
			for _, k := range kinds {
				longer = append(longer, append(slices.Clone(seq), sent{k, time.Duration(i+1) * 20 * ms}))
			}
		}
		seqs = longer
	}
	for part := range slices.Chunk(seqs, 256) { // not all at once: each has a goroutine
		bubble(t, func(t *testing.T, s *System, _ *record) { playAll(t, s, part) })
	}
}

// playAll gives each sequence an actor of its own.
func playAll(t *testing.T, s *System, seqs [][]sent) {
	t.Helper()
	const window, end = 50*ms + 1, 600 * ms
	refs := make([]Ref, len(seqs))
	got := make([]func() []time.Duration, len(seqs))
	for i := range seqs {
		refs[i], got[i] = startIdle(t, s, fmt.Sprint(i), window)
	}
	now := time.Duration(0)
	for j, step := range seqs[0] {
		time.Sleep(step.at - now)
		now = step.at
		for i, ref := range refs {
			tellStep(ref, seqs[i][j].idleStep)
		}
		synctest.Wait()
	}
	time.Sleep(end - now)
	synctest.Wait()
	for i := range seqs {
		if g, want := got[i](), idleReference(seqs[i], window, end); !slices.Equal(g, want) {
			t.Fatalf("%+v: timeouts at %v, want %v", seqs[i], g, want)
		}
	}
}

// TestReceiveTimeoutModel is the same with longer sequences at random times.
func TestReceiveTimeoutModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSystem(t)
		n := 0
		rapid.Check(bubbled{t}, func(rt *rapid.T) {
			const window, end = 50*ms + 1, 2 * time.Second
			var steps []sent
			at := time.Duration(0)
			for range rapid.IntRange(1, 12).Draw(rt, "n") {
				at += time.Duration(rapid.IntRange(1, 80).Draw(rt, "after")) * ms
				step := idleStep{kind: rapid.SampledFrom([]string{"message", "marked", "set", "cancel"}).Draw(rt, "kind")}
				if tenths := rapid.IntRange(-500, 900).Draw(rt, "takes"); tenths > 0 {
					step.takes = time.Duration(tenths)*ms/10 + 10*time.Microsecond // ends when nothing is told
				}
				step.window = time.Duration(rapid.IntRange(1, 9).Draw(rt, "window"))*10*ms + 1
				steps = append(steps, sent{step, at})
			}
			n++
			ref, got := startIdle(t, s, fmt.Sprint(n), window)
			now := time.Duration(0)
			for _, step := range steps {
				time.Sleep(step.at - now)
				now = step.at
				tellStep(ref, step.idleStep)
				synctest.Wait()
			}
			time.Sleep(end - now)
			synctest.Wait()
			if g, want := got(), idleReference(steps, window, end); !slices.Equal(g, want) {
				rt.Errorf("%v: timeouts at %v, want %v", steps, g, want)
			}
			ref.Tell(PoisonPill{})
		})
	})
}

// TestReceiveTimeoutCostsNothingPerMessage counts what the clock is asked to do: no timer operation per message, one
// reading when an armed actor's mailbox runs empty, and none at all for an unarmed one or while nothing happens.
func TestReceiveTimeoutCostsNothingPerMessage(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("it is counted with -race or -tags invariants only")
	}
	bubble(t, func(t *testing.T, s *System, r *record) {
		armed := mustSpawn(t, s, "armed", r.idler(time.Hour))
		plain := mustSpawn(t, s, "plain", always(Func(func(*Context, any) error { return nil })))
		r.at(0)
		const rounds, batch = 10, 100
		before := s.clock.Counts()
		for range rounds * batch {
			plain.Tell("m")
			synctest.Wait()
		}
		if after := s.clock.Counts(); after != before {
			t.Errorf("unarmed: %+v became %+v", before, after)
		}
		for range rounds { // a batch is handled in one activation, since its first message waits
			armed.Tell(mark{"gate", do(func(*Context) { time.Sleep(ms) })})
			synctest.Wait()
			for range batch {
				armed.Tell(func(*Context) error { return nil })
			}
			r.at(time.Since(r.t0) + 2*ms)
		}
		after := s.clock.Counts()
		if after.Adds != before.Adds || after.Removes != before.Removes {
			t.Errorf("armed: timer operations: %+v became %+v", before, after)
		}
		if n := after.Reads - before.Reads; n != rounds {
			t.Errorf("armed: the clock was read %d times for %d batches", n, rounds)
		}
		for range batch { // nothing that counts, so nothing to note
			armed.Tell(mark{"m", do(func(*Context) {})})
			synctest.Wait()
		}
		if marked := s.clock.Counts(); marked != after {
			t.Errorf("marked: %+v became %+v", after, marked)
		}
		r.at(50 * time.Minute) // the window runs, nothing happens
		if idle := s.clock.Counts(); idle != after {
			t.Errorf("idle: %+v became %+v", after, idle)
		}
	})
}
