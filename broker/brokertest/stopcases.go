package brokertest

import (
	"fmt"
	"os"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// slack is what a bound in real time is multiplied by before a case fails: it is measured and printed, but the machine has
// other things to do.
const slack = 10

// rounds is how often each stop is measured; TROUPE_SOAK asks for the long run.
func rounds() int {
	if os.Getenv("TROUPE_SOAK") != "" {
		return 200
	}
	return 20
}

// stopTimes collects the durations of stops and judges them.
type stopTimes struct {
	b     *bench
	what  string
	worst time.Duration
	late  int
}

func (s *stopTimes) add(d time.Duration) {
	s.worst = max(s.worst, d)
	if d > s.b.f.StopWithin {
		s.late++
	}
}

func (s *stopTimes) judge() {
	s.b.Logf("stop %s: at most %s in %d rounds, %d of them beyond %s", s.what, s.worst.Round(10*time.Microsecond), rounds(), s.late, s.b.f.StopWithin)
	if s.worst > slack*s.b.f.StopWithin {
		s.b.Errorf("stop %s took %s, the bound is %s", s.what, s.worst, s.b.f.StopWithin)
	}
}

// descriptors counts the open ones, where that is possible.
func descriptors() int {
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(es)
}

// noFlush lets a stop begin with the teardown.
func noFlush(c *broker.Config) { c.FlushTimeout = 0 }

func caseStopSilent(b *bench) {
	b.proxy.Silent(true)
	times := stopTimes{b: b, what: "against a silent peer"}
	before := descriptors()
	for i := range rounds() {
		dials := b.proxy.Dials()
		ref := b.spawn(fmt.Sprintf("silent%d", i), b.p.New(b.proxy.Addr(), all([]func(*broker.Config){noFlush})))
		b.until("dialled", func() bool { return b.proxy.Dials() > dials })
		Jitter(3 * time.Millisecond)
		times.add(b.stop(ref))
	}
	times.judge()
	b.until("no connection left", func() bool { return b.proxy.Live() == 0 })
	b.until("no descriptor left", func() bool { return descriptors() <= before })
}

func caseStopHole(b *bench) {
	times := stopTimes{b: b, what: "with a hole in the link"}
	for i := range rounds() {
		ref := b.spawn(fmt.Sprintf("hole%d", i), b.p.New(b.proxy.Addr(), all([]func(*broker.Config){noFlush})))
		b.connected(ref)
		b.proxy.Hole(true)
		for j := range 20 {
			ref.Tell(b.p.Publish(id(j)))
		}
		Jitter(3 * time.Millisecond)
		times.add(b.stop(ref))
		b.proxy.Hole(false)
	}
	times.judge()
	b.until("no connection left", func() bool { return b.proxy.Live() == 0 })
}

func caseStopBackoff(b *bench) {
	b.proxy.Refuse()
	times := stopTimes{b: b, what: "between two attempts"}
	for i := range rounds() {
		ref := b.spawn(fmt.Sprintf("backoff%d", i), b.p.New(b.proxy.Addr(), all(nil)))
		ref.Tell(b.p.Publish(id(i)))
		b.until("an attempt", func() bool { return b.status(ref).LastError != nil })
		times.add(b.stop(ref))
	}
	times.judge()
	// The recorder is an actor of its own and may have the last of them still in its mailbox.
	b.until("a dead letter for each buffered message", func() bool {
		n := 0
		for _, u := range b.rec.Undelivered() {
			if u.Reason == broker.ReasonStopped {
				n++
			}
		}
		return n == rounds()
	})
}

// caseStopFlush stops with a full queue on a healthy connection: everything is sent first.
func caseStopFlush(b *bench) {
	const n = 500
	ref := b.publisher(func(c *broker.Config) { c.FlushTimeout = 5 * time.Second })
	b.connected(ref)
	for i := range n {
		ref.Tell(b.p.Publish(id(i)))
	}
	got := make(chan broker.Books, 1)
	go func() {
		s, err := actor.Ask[broker.Status](b.Context(), ref, broker.QueryStatus{})
		if err == nil {
			got <- s.Books
		}
		close(got)
	}()
	k := <-got
	b.Logf("stopped with %d queued and %d in flight, took %s", k.Queued, k.InFlight, b.stop(ref).Round(time.Millisecond))
	if us := b.rec.Undelivered(); len(us) != 0 {
		b.Errorf("%d messages were not flushed: %s", len(us), us[0].Reason)
	}
}

// caseStopAnytime stops at random moments of the first milliseconds, between the dial and the first confirmations.
func caseStopAnytime(b *bench) {
	times := stopTimes{b: b, what: "at a random moment"}
	before := descriptors()
	for i := range rounds() {
		ref := b.spawn(fmt.Sprintf("anytime%d", i), b.p.New(b.proxy.Addr(), all([]func(*broker.Config){noFlush})))
		for j := range 5 {
			ref.Tell(b.p.Publish(id(j)))
		}
		Jitter(5 * time.Millisecond)
		times.add(b.stop(ref))
	}
	times.judge()
	b.until("no connection left", func() bool { return b.proxy.Live() == 0 })
	b.until("no descriptor left", func() bool { return descriptors() <= before })
	// A dial that was over before its actor stopped may still stand in the proxy's accept queue, and is counted when it
	// leaves it. A retry would come after its delay; so the count has to come to rest first, and to stay.
	dials, rest := b.proxy.Dials(), time.Now()
	b.until("no dial left in the accept queue", func() bool {
		if n := b.proxy.Dials(); n != dials {
			dials, rest = n, time.Now()
		}
		return time.Since(rest) > 20*time.Millisecond
	})
	<-time.After(150 * time.Millisecond) // longer than the first two delays of retries together
	if n := b.proxy.Dials(); n != dials {
		b.Errorf("%d dials after every actor had stopped", n-dials)
	}
}
