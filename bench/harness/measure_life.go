package harness

import (
	"runtime"
	"time"
)

// measureSpawn starts actors, all alive at once, and stops them.
func measureSpawn(sys Spawner, q Request) (r Result, err error) {
	var m meter
	m.start()
	l, err := sys.SpawnStop(q.N)
	r.Ns, r.Ops = int64(l.Start+l.Stop), l.Stopped
	r.Start, r.Stop = float64(l.Start)/float64(q.N), float64(l.Stop)/float64(q.N)
	m.stop(&r)
	if err != nil {
		return r, err
	}
	if err := verify(l.Started, int64(q.N)); err != nil {
		return r, err
	}
	return r, verify(l.Stopped, int64(q.N))
}

// measureIdle weighs actors that do nothing, and with q.Quiet watches what they use of the processors.
func measureIdle(sys Spawner, q Request) (r Result, err error) {
	settle()
	h0, r0 := memory()
	var m meter
	m.start()
	t := time.Now()
	if err := sys.Idle(q.N, Kind{Armed: q.Armed, Named: q.Named}); err != nil {
		return r, err
	}
	r.Ns, r.Ops = int64(time.Since(t)), int64(q.N)
	m.stop(&r)
	settle()
	h1, r1 := memory()
	r.Heap = (h1 - h0) / float64(q.N)
	r.RSS = (r1 - r0) / float64(q.N)
	if q.Quiet > 0 {
		quiesce()
		t, used := time.Now(), processorTime()
		time.Sleep(q.Quiet)
		r.Busy = float64(processorTime()-used) / float64(time.Since(t)) * 100
	}
	runtime.KeepAlive(sys)
	return r, nil
}

// measureSkynet builds a tree whose leaves report to the root.
func measureSkynet(sys Spawner, q Request) (r Result, err error) {
	var m meter
	m.start()
	t := time.Now()
	sum, err := sys.Skynet(q.N)
	r.Ns, r.Ops = int64(time.Since(t)), int64(q.N)
	m.stop(&r)
	if err != nil {
		return r, err
	}
	return r, verify(sum, SkynetSum(q.N))
}
