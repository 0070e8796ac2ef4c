package timing

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/troupe-go/troupe/internal/invariants"
)

// Every idle actor has one of these.
func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(Deadline{}); n > 16 {
		t.Errorf("a Deadline has %d bytes, want 16", n)
	}
	if n := unsafe.Sizeof(Entry{}); n > 32 {
		t.Errorf("an Entry has %d bytes, want 32", n)
	}
	if n := unsafe.Sizeof(chunk{}); n != 512 {
		t.Errorf("a chunk has %d bytes, want 512, a size of the allocator", n)
	}
}

// direct is an owner that is an Item itself.
type direct struct {
	d    Deadline
	fire func(now int64)
}

func (s *direct) Fire(now int64) int64 { s.fire(now); return 0 }
func (s *direct) Deadline() *Deadline  { return &s.d }

func TestItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := New()
		defer k.Stop()
		var got []int64
		a := &direct{fire: func(now int64) { got = append(got, now) }}
		b := &direct{fire: a.fire}
		k.Schedule(a, 100, k.Now())
		k.Schedule(b, 50, k.Now())
		k.Schedule(a, 200, k.Now())
		if !k.Cancel(&b.d) || k.Cancel(&b.d) || k.Len() != 1 {
			t.Error("Cancel took out another one")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.Equal(got, []int64{200}) || k.Cancel(&a.d) {
			t.Errorf("fired at %v, want 200", got)
		}
	})
}

// The timer is set again only for an earlier deadline. When the earliest is removed, the clock wakes for it once in vain.
func TestTimerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := New()
		defer k.Stop()
		cs := make([]counter, 3)
		for i := range cs {
			cs[i].entry.Owner = &cs[i]
		}
		set := func() int64 {
			k.mu.Lock()
			defer k.mu.Unlock()
			return k.wake
		}
		hour, five := int64(time.Hour), int64(5*time.Second)
		k.Add(&cs[0].entry, hour, 1)
		if set() != hour {
			t.Fatalf("set to %d, want %d", set(), hour)
		}
		k.Add(&cs[1].entry, five, 1)
		k.Add(&cs[2].entry, five+1, 1)
		k.Remove(&cs[2].entry)
		k.Remove(&cs[1].entry)
		if set() != five {
			t.Fatalf("set to %d, want %d", set(), five)
		}
		before := k.Counts()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if set() != hour {
			t.Errorf("set to %d, want %d", set(), hour)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := k.Counts().Reads - before.Reads; n > 8 {
			t.Errorf("the time was read %d times for one deadline and a removed one", n)
		}
		if cs[0].n.Load() != 1 || cs[1].n.Load()+cs[2].n.Load() != 0 {
			t.Error("fired what was removed, or not what was not")
		}
	})
}

// An hour of asks that are answered at once wakes the clock every 5 s at most.
func TestAnsweredAsksWakeSeldom(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("reads are counted with -race or -tags invariants only")
	}
	synctest.Test(t, func(t *testing.T) {
		k := New()
		defer k.Stop()
		idle := make([]counter, 500)
		for i := range idle {
			idle[i].entry.Owner = &idle[i]
			k.Add(&idle[i].entry, int64(2*time.Hour)+int64(i*i)*7919, 1)
		}
		var c counter
		c.entry.Owner = &c
		before := k.Counts()
		const asks = 36_000
		for range asks {
			now := k.Now()
			k.Add(&c.entry, now+int64(5*time.Second), now)
			k.Remove(&c.entry)
			time.Sleep(100 * time.Millisecond)
		}
		wakes := int64(time.Hour / (5 * time.Second))
		if n := k.Counts().Reads - before.Reads - asks; n > 10*wakes {
			t.Errorf("the time was read %d times in %d wakes", n, wakes)
		}
		if c.n.Load() != 0 || k.Len() != len(idle) {
			t.Errorf("an answered ask timed out, or %d of %d are left", k.Len(), len(idle))
		}
	})
}

// A crowd that is due within the same second fires in order and each at its time, also when it waited for days.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := New()
		defer k.Stop()
		const n = 20_000
		base := int64(100*24*time.Hour) + 1
		rnd := rand.New(rand.NewPCG(5, 6))
		at := make([]int64, n)
		fired := 0
		last := int64(0)
		for i := range at {
			at[i] = base + rnd.Int64N(int64(time.Second))
			k.Schedule(&direct{fire: func(now int64) {
				if fired++; now != at[i] || now < last {
					t.Errorf("fired at %d, want %d; the last was at %d", now, at[i], last)
				}
				last = now
			}}, at[i], 1)
		}
		time.Sleep(101 * 24 * time.Hour)
		synctest.Wait()
		if fired != n || k.Len() != 0 {
			t.Errorf("%d of %d fired, %d wait", fired, n, k.Len())
		}
	})
}

// Stop may come at any moment of firing and of adding. No Fire begins after it and nothing stays in.
func TestStopWhileFiring(t *testing.T) {
	for range 30 {
		k := New()
		var over atomic.Bool
		var late atomic.Int64
		ready := make(chan struct{}, 1)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				items := make([]direct, 200)
				for i := range items {
					items[i].fire = func(now int64) {
						if over.Load() {
							late.Add(1)
						}
						select {
						case ready <- struct{}{}:
						default:
						}
						k.Schedule(&items[i], now+int64(i), now)
					}
				}
				for i := range 4000 {
					it := &items[(i*7+g)%len(items)]
					if now := k.Now(); i%3 == 0 {
						k.Cancel(&it.d)
					} else {
						k.Schedule(it, now+int64(i%50)*1000, now)
					}
				}
			})
		}
		<-ready
		k.Stop()
		over.Store(true)
		wg.Wait()
		if late.Load() > 0 || k.Len() > 0 {
			t.Fatalf("%d firings after Stop, %d wait", late.Load(), k.Len())
		}
	}
}

func TestAllocations(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, n := range []int{0, 10_000} {
		k, _ := armed(n)
		var c idler
		c.entry.Owner = &c
		now := int64(1)
		ask := func() {
			now += 500
			k.Add(&c.entry, now+int64(5*time.Second), now)
			k.Remove(&c.entry)
		}
		ask() // the first of its level
		if a := testing.AllocsPerRun(1000, ask); a != 0 {
			t.Errorf("with %d armed an ask allocates %v times", n, a)
		}
		k.Stop()
	}
}

// What an armed entry costs beyond itself, whatever the order of the deadlines, and that it is given back.
func TestMemory(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the race detector takes memory too")
	}
	const n, most = 100_000, 20
	cs := make([]idler, n)
	for _, step := range []int64{1, 3000, int64(time.Millisecond) * 100} {
		before := heapInUse()
		k := New()
		for i := range cs {
			cs[i].entry.Owner = &cs[i]
			k.Add(&cs[i].entry, int64(time.Hour)+int64(i*7919%n)*step, 1)
		}
		if used := int64(heapInUse()) - int64(before); used > most*n {
			t.Errorf("%d ns apart: %.1f bytes each, want %d", step, float64(used)/n, most)
		}
		for _, i := range rand.Perm(n)[:n-n/100] {
			k.Remove(&cs[i].entry)
		}
		if used := int64(heapInUse()) - int64(before); used > n*most/10 {
			t.Errorf("%d ns apart: %d bytes are kept for %d entries", step, used, k.Len())
		}
		k.Stop()
	}
}
