package timing

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// idler is what a benchmark arms: an owner that does nothing, of about the size of an actor's cell.
type idler struct {
	entry Entry
	_     [128]byte
}

func (*idler) Fire(int64) int64 { return 0 }

// armed is a Clock with n receive timeouts of an hour that were armed over the last seconds.
func armed(n int) (*Clock, []idler) {
	k, cs := New(), make([]idler, n)
	for i := range cs {
		cs[i].entry.Owner = &cs[i]
		k.Add(&cs[i].entry, int64(time.Hour)+int64(i)*3000, 1)
	}
	return k, cs
}

var sizes = []int{0, 100_000, 1_000_000}

// BenchmarkAddRemoveShort is what an ask costs: a deadline in 5 s that is taken back at once.
func BenchmarkAddRemoveShort(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k, _ := armed(n)
			defer k.Stop()
			var c idler
			c.entry.Owner = &c
			now := int64(1)
			b.ReportAllocs()
			for b.Loop() {
				now += 500
				k.Add(&c.entry, now+int64(5*time.Second), now)
				k.Remove(&c.entry)
			}
		})
	}
}

// BenchmarkAddRemoveParallel is the same from every processor, each with 64 asks open.
func BenchmarkAddRemoveParallel(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k, _ := armed(n)
			defer k.Stop()
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				open := make([]idler, 64)
				for i := range open {
					open[i].entry.Owner = &open[i]
				}
				for i, now := 0, int64(1); pb.Next(); i, now = i+1, now+500 {
					e := &open[i%len(open)].entry
					k.Remove(e)
					k.Add(e, now+int64(5*time.Second), now)
				}
			})
		})
	}
}

// BenchmarkMove moves receive timeouts in random order, each to an hour from then.
func BenchmarkMove(b *testing.B) {
	for _, n := range sizes[1:] {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k, cs := armed(n)
			defer k.Stop()
			rnd := rand.New(rand.NewPCG(1, 2))
			now := int64(n) * 3000
			b.ReportAllocs()
			for b.Loop() {
				now += 500
				k.Add(&cs[rnd.IntN(n)].entry, now+int64(time.Hour), now)
			}
		})
	}
}

// BenchmarkArmMany arms that many receive timeouts and reports what one costs in time and in memory beyond the Entry.
func BenchmarkArmMany(b *testing.B) {
	for _, n := range sizes[1:] {
		for _, order := range []string{"ascending", "random"} {
			b.Run(fmt.Sprintf("%d/%s", n, order), func(b *testing.B) {
				at := make([]int64, n)
				for i := range at {
					at[i] = int64(time.Hour) + int64(i)*3000
				}
				if order == "random" {
					rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { at[i], at[j] = at[j], at[i] })
				}
				cs := make([]idler, n)
				var spent time.Duration
				var bytes uint64
				for b.Loop() {
					before := heapInUse()
					k := New()
					start := time.Now()
					for i := range cs {
						cs[i] = idler{entry: Entry{Owner: &cs[i]}}
						k.Add(&cs[i].entry, at[i], 1)
					}
					spent += time.Since(start)
					bytes += heapInUse() - before
					k.Stop()
				}
				b.ReportMetric(float64(spent)/float64(b.N)/float64(n), "ns/entry")
				b.ReportMetric(float64(bytes)/float64(b.N)/float64(n), "B/entry")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// again adds itself again at each firing, as the window of a busy actor does.
type again struct {
	entry  Entry
	k      *Clock
	period int64
	left   *int
	done   chan struct{}
}

func (a *again) Fire(now int64) int64 {
	if *a.left--; *a.left == 0 {
		close(a.done)
	}
	if *a.left > 0 {
		a.k.Add(&a.entry, now+a.period, now)
	}
	return 0
}

// BenchmarkFire is one firing and the Add that follows, with 1024 such entries among the armed. They are due as fast as
// the clock can fire them.
func BenchmarkFire(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k, _ := armed(n)
			defer k.Stop()
			left, done := b.N, make(chan struct{})
			as := make([]again, 1024)
			now := k.Now()
			at := now + int64(10*time.Millisecond)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range as {
				as[i] = again{k: k, period: 1000 + int64(i), left: &left, done: done}
				as[i].entry.Owner = &as[i]
				k.Add(&as[i].entry, at+int64(i), now)
			}
			<-done
		})
	}
}
