package timing

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/invariants"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// firing is one call of Fire.
type firing struct {
	id int
	at int64
}

// probe notes its firings and adds itself again if it is periodic.
type probe struct {
	entry  Entry
	id     int
	period time.Duration
	k      *Clock
	log    *[]firing
}

func (p *probe) Fire(now int64) int64 {
	*p.log = append(*p.log, firing{p.id, now})
	if p.period > 0 {
		p.k.Add(&p.entry, now+int64(p.period), now)
	}
	return 0
}

// modelEntry is what the reference knows of a probe that is waiting.
type modelEntry struct {
	at  int64
	seq int
}

// TestModel compares a Clock with a list that is sorted each time: who fires, when to the nanosecond, and in which
// order at the same moment.
func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubbled{t}, func(t *rapid.T) {
			checkModel(t, true, rapid.Int64Range(-3, 40), rapid.Int64Range(0, 60))
		})
	})
}

// TestModelFar does so for deadlines and pauses between nanoseconds and years.
func TestModelFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubbled{t}, func(t *rapid.T) { checkModel(t, false, anyScale(56), anyScale(56)) })
	})
}

// anyScale draws numbers of up to that many bits, each magnitude as often as the other, and often a round one, so that
// the same moment is drawn twice.
func anyScale(bits int) *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		n := rapid.IntRange(0, bits).Draw(t, "bits")
		return int64(1)<<n - 1 + rapid.Int64Range(0, min(2, int64(1)<<n)).Draw(t, "more")
	})
}

// bubbled hides the Deadline of a T, which may not be asked for in a bubble.
type bubbled struct{ rapid.TB }

func checkModel(t *rapid.T, periodic bool, in, pause *rapid.Generator[int64]) {
	k := New()
	defer k.Stop()
	var got, want []firing
	seq := 0
	waiting := map[int]modelEntry{}
	probes := make([]*probe, 12)
	for i := range probes {
		probes[i] = &probe{id: i, k: k, log: &got}
		probes[i].entry.Owner = probes[i]
		if periodic && i%4 == 3 {
			probes[i].period = time.Duration(i) * 5
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			i := rapid.IntRange(0, len(probes)-1).Draw(t, "i")
			now := k.Now()
			at := now + in.Draw(t, "in")
			seq++
			waiting[i] = modelEntry{max(at, now), seq}
			k.Add(&probes[i].entry, max(at, now), now)
		},
		"far": func(t *rapid.T) {
			i := rapid.IntRange(0, len(probes)-1).Draw(t, "i")
			seq++
			waiting[i] = modelEntry{math.MaxInt64, seq}
			k.Add(&probes[i].entry, Later(k.Now(), math.MaxInt64), k.Now())
		},
		"remove": func(t *rapid.T) {
			i := rapid.IntRange(0, len(probes)-1).Draw(t, "i")
			_, in := waiting[i]
			delete(waiting, i)
			if k.Remove(&probes[i].entry) != in {
				t.Fatalf("Remove reports %t", !in)
			}
		},
		"sleep": func(t *rapid.T) {
			d := pause.Draw(t, "d")
			want = append(want, modelRun(waiting, probes, &seq, k.Now()+d)...)
			time.Sleep(time.Duration(d))
		},
		"": func(t *rapid.T) {
			want = append(want, modelRun(waiting, probes, &seq, k.Now())...)
			synctest.Wait()
			if !slices.Equal(got, want) {
				t.Fatalf("fired %v, want %v", got, want)
			}
			if k.Len() != len(waiting) {
				t.Fatalf("%d wait, want %d", k.Len(), len(waiting))
			}
		},
	})
}

// modelRun fires everything up to a time.
func modelRun(waiting map[int]modelEntry, probes []*probe, seq *int, until int64) (fired []firing) {
	for {
		next := -1
		for i, e := range waiting {
			if e.at <= until && (next < 0 || cmp.Or(cmp.Compare(e.at, waiting[next].at), cmp.Compare(e.seq, waiting[next].seq)) < 0) {
				next = i
			}
		}
		if next < 0 {
			return fired
		}
		at := waiting[next].at
		delete(waiting, next)
		fired = append(fired, firing{next, at})
		if p := probes[next].period; p > 0 {
			*seq++
			waiting[next] = modelEntry{at + int64(p), *seq}
		}
	}
}

// counter counts its firings and checks that none is early.
type counter struct {
	entry Entry
	due   atomic.Int64
	n     atomic.Int64
	early atomic.Int64
}

func (c *counter) Fire(now int64) int64 {
	if now < c.due.Load() {
		c.early.Add(1)
	}
	c.n.Add(1)
	return 0
}

// TestConcurrent has many goroutines add, move and remove in real time. It is meant for the race detector.
func TestConcurrent(t *testing.T) {
	k := New()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 3))
			cs := make([]*counter, 50)
			for i := range cs {
				cs[i] = new(counter)
				cs[i].entry.Owner = cs[i]
			}
			for range 3000 {
				c := cs[rnd.IntN(len(cs))]
				if rnd.IntN(3) == 0 {
					k.Remove(&c.entry)
					continue
				}
				now := k.Now()
				at := now + rnd.Int64N(int64(2*time.Millisecond))
				if due := c.due.Load(); due == 0 || at < due { // one that moves may still fire for an earlier deadline
					c.due.Store(at)
				}
				k.Add(&c.entry, at, now)
			}
			deadline := time.Now().Add(10 * time.Second)
			for _, c := range cs {
				now := k.Now()
				c.n.Store(0)
				k.Add(&c.entry, now+int64(time.Millisecond), now)
			}
			for _, c := range cs {
				for c.n.Load() == 0 && time.Now().Before(deadline) {
					<-time.After(100 * time.Microsecond)
				}
				if c.n.Load() == 0 || c.early.Load() > 0 {
					t.Errorf("fired %d times, %d of them early", c.n.Load(), c.early.Load())
				}
			}
		})
	}
	wg.Wait()
	k.Stop()
	k.Stop()
	if k.Len() != 0 {
		t.Error("entries are left")
	}
	c := new(counter)
	c.entry.Owner = c
	k.Add(&c.entry, k.Now(), k.Now()) // does nothing any more
	if k.Len() != 0 || k.Remove(&c.entry) {
		t.Error("a stopped clock takes entries")
	}
}

// stopper checks that Stop waits for a firing that is under way.
type stopper struct {
	entry    Entry
	started  chan struct{}
	returned atomic.Bool
}

func (s *stopper) Fire(int64) int64 {
	close(s.started)
	time.Sleep(time.Second)
	s.returned.Store(true)
	return 0
}

func TestStopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := New()
		s := &stopper{started: make(chan struct{})}
		s.entry.Owner = s
		late := new(counter)
		late.entry.Owner = late
		k.Add(&s.entry, k.Now()+10, k.Now())
		k.Add(&late.entry, k.Now()+10, k.Now())
		<-s.started
		k.Stop()
		if !s.returned.Load() {
			t.Error("Stop returned during Fire")
		}
	})
}

// Nothing ticks: without a deadline that is due the clock does not wake, however many entries wait, and one that has
// become idle does not either.
func TestNothingTicks(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("reads are counted with -race or -tags invariants only")
	}
	synctest.Test(t, func(t *testing.T) {
		k := New()
		defer k.Stop()
		cs := make([]counter, 1000)
		for i := range cs {
			cs[i].entry.Owner = &cs[i]
			k.Add(&cs[i].entry, int64(time.Hour)*24+int64(i), 1)
		}
		before := k.Counts()
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		if after := k.Counts(); after != before {
			t.Errorf("%+v became %+v in 23 idle hours", before, after)
		}
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		before = k.Counts()
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if after := k.Counts(); after != before {
			t.Errorf("%+v became %+v after the last deadline", before, after)
		}
		for i := range cs {
			if cs[i].n.Load() != 1 {
				t.Fatalf("entry %d fired %d times", i, cs[i].n.Load())
			}
		}
	})
}

func TestLater(t *testing.T) {
	for _, c := range []struct {
		t    int64
		d    time.Duration
		want int64
	}{{1, 2, 3}, {1, math.MaxInt64, math.MaxInt64}, {math.MaxInt64, 0, math.MaxInt64}, {math.MaxInt64 - 1, 1, math.MaxInt64}} {
		if got := Later(c.t, c.d); got != c.want {
			t.Errorf("Later(%d, %d) = %d", c.t, c.d, got)
		}
	}
}

// The memory is given back when the entries are gone.
func TestMassRemoval(t *testing.T) {
	k := New()
	defer k.Stop()
	cs := make([]counter, 100_000)
	for i := range cs {
		cs[i].entry.Owner = &cs[i]
		k.Add(&cs[i].entry, int64(time.Hour)+int64(i*7919%len(cs)), 1)
	}
	for i := range cs {
		if !k.Remove(&cs[i].entry) {
			t.Fatal("not in it")
		}
	}
	p := &k.w.pool
	kept := 0
	for _, c := range p.chunks {
		if c != nil {
			kept++
		}
	}
	if kept > spareMin || cap(p.chunks) > 2*numberMin || p.live != 0 {
		t.Errorf("%d chunks and %d numbers are kept, %d in use", kept, cap(p.chunks), p.live)
	}
}
