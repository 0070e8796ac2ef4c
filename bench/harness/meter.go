package harness

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// meter counts what the process allocates between start and stop.
type meter struct{ a, b runtime.MemStats }

func (m *meter) start() {
	runtime.GC()
	runtime.ReadMemStats(&m.a)
}

// stop fills in what was allocated for each of r.Ops.
func (m *meter) stop(r *Result) {
	runtime.ReadMemStats(&m.b)
	if r.Ops > 0 {
		r.Allocs = float64(m.b.Mallocs-m.a.Mallocs) / float64(r.Ops)
		r.Bytes = float64(m.b.TotalAlloc-m.a.TotalAlloc) / float64(r.Ops)
	}
}

// settle gives back to the operating system what is not needed, so that memory reads what is held.
func settle() {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
}

// memory returns the bytes of heap and stacks in use, and of the process's resident set, 0 where /proc has none.
func memory() (heap, rss float64) {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			if n, err := strconv.Atoi(f[1]); err == nil {
				rss = float64(n * os.Getpagesize())
			}
		}
	}
	return float64(ms.HeapAlloc + ms.StackInuse), rss
}

// quiesce waits until this process no longer works by itself (actors that still stop, the collector), so that the next
// subject has the processors; two seconds at most.
func quiesce() {
	for range 100 {
		before := processorTime()
		time.Sleep(20 * time.Millisecond)
		if processorTime()-before < 2*time.Millisecond {
			return
		}
	}
}
