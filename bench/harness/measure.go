package harness

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// giveUp bounds the waits for a subject in one measurement.
const giveUp = 100 * time.Second

// measure does one request. An ErrAbsent means that the subject has no such feature; every other error, and work that
// arrived in another amount than it was sent, is a failure of the row.
func measure(sys System, q Request) (r Result, err error) {
	switch q.Workload {
	case tell:
		return on(sys, q, measureTell)
	case tell4:
		return on(sys, q, measureTell4)
	case fanout:
		return on(sys, q, measureFanout)
	case pingpong:
		return on(sys, q, measurePingPong)
	case ask:
		return on(sys, q, measureAsk)
	case spawn:
		return on(sys, q, measureSpawn)
	case idle:
		return on(sys, q, measureIdle)
	case skynet:
		return on(sys, q, measureSkynet)
	case blocked:
		return on(sys, q, measureBlocked)
	}
	return r, fmt.Errorf("no workload %q", q.Workload)
}

// on runs f if the subject can do what f needs.
func on[T any](sys System, q Request, f func(T, Request) (Result, error)) (Result, error) {
	t, ok := sys.(T)
	if !ok {
		return Result{}, Absent("the subject has nothing to measure here")
	}
	return f(t, q)
}

// verify compares the work that arrived with what was sent.
func verify(got, want int64) error {
	if got != want {
		return fmt.Errorf("work done %d, want %d", got, want)
	}
	return nil
}

// await waits for a sink's signal. One late serves a whole measurement: a timer for each wait would be measured too, with
// its allocations, where an actor is told one message at a time.
func await(s *Sink, late <-chan time.Time) error {
	select {
	case <-s.Done():
		return nil
	case <-late:
		return errors.New("messages lost or too slow")
	}
}

// measureTell is one sender that tells one actor, waiting after each batch.
func measureTell(sys Teller, q Request) (r Result, err error) {
	q.Batch = max(min(q.Batch, q.N), 1)
	q.N -= q.N % q.Batch
	s := NewSink(int64(q.Batch))
	ref, err := sys.Counter(s, q.Armed)
	if err != nil {
		return r, err
	}
	late := time.After(giveUp)
	var m meter
	m.start()
	t := time.Now()
	for i := 0; i < q.N; i += q.Batch {
		if err := sys.Blast(ref, q.Batch); err != nil {
			return r, err
		}
		if err := await(s, late); err != nil {
			return r, err
		}
	}
	r.Ns, r.Ops = int64(time.Since(t)), s.Count()
	m.stop(&r)
	return r, verify(r.Ops, int64(q.N))
}

// measureTell4 is four senders that tell one actor.
func measureTell4(sys Teller, q Request) (r Result, err error) {
	const senders = 4
	q.N -= q.N % senders
	s := NewSink(int64(q.N))
	ref, err := sys.Counter(s, false)
	if err != nil {
		return r, err
	}
	errs, late := make(chan error, senders), time.After(giveUp)
	var m meter
	m.start()
	t := time.Now()
	for range senders {
		go func() { errs <- sys.Blast(ref, q.N/senders) }()
	}
	if err := await(s, late); err != nil {
		return r, err
	}
	r.Ns, r.Ops = int64(time.Since(t)), s.Count()
	m.stop(&r)
	for range senders {
		if err := <-errs; err != nil {
			return r, err
		}
	}
	return r, verify(r.Ops, int64(q.N))
}

// measureFanout is one sender that tells a thousand actors in turn.
func measureFanout(sys Teller, q Request) (r Result, err error) {
	const actors = 1000
	q.N -= q.N % actors
	sinks, refs := newSinks(actors, int64(q.N/actors)), make([]Ref, actors)
	for i := range sinks {
		if refs[i], err = sys.Counter(sinks[i], false); err != nil {
			return r, err
		}
	}
	late := time.After(giveUp)
	var m meter
	m.start()
	t := time.Now()
	if err := sys.BlastAll(refs, q.N); err != nil {
		return r, err
	}
	if err := await(sinks[0], late); err != nil {
		return r, err
	}
	r.Ns = int64(time.Since(t))
	for _, s := range sinks {
		r.Ops += s.Count()
	}
	m.stop(&r)
	return r, verify(r.Ops, int64(q.N))
}

// measurePingPong is two actors that answer each other.
func measurePingPong(sys PingPonger, q Request) (r Result, err error) {
	var m meter
	m.start()
	d, n, err := sys.PingPong(q.N, q.Armed)
	r.Ns, r.Ops = int64(d), n
	m.stop(&r)
	if err != nil {
		return r, err
	}
	return r, verify(n, int64(q.N))
}

// measureAsk is round trips, one after the other, from outside of the system.
func measureAsk(sys Asker, q Request) (r Result, err error) {
	lat := make([]int64, q.N)
	var m meter
	m.start()
	t := time.Now()
	n, err := sys.Ask(lat)
	r.Ns, r.Ops = int64(time.Since(t)), n
	m.stop(&r)
	if err != nil {
		return r, err
	}
	var sum int64
	for _, l := range lat {
		sum += l
	}
	slices.Sort(lat)
	r.P50, r.P99, r.Mean = lat[len(lat)/2], lat[len(lat)*99/100], float64(sum)/float64(len(lat))
	return r, verify(n, int64(q.N))
}
