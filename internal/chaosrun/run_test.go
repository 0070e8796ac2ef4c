package chaosrun

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// TestMain looks for what the runs have left behind, all of them together.
func TestMain(m *testing.M) {
	before := descriptors()
	code := m.Run()
	// A stream that is made in the moment in which the embedded server ends keeps two goroutines of that server.
	if err := goleak.Find(
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"),
	); err != nil {
		fmt.Println(err)
		code = max(code, 1)
	}
	if after := descriptors(); after > before+2 { // the network poller's own
		fmt.Printf("%d descriptors before, %d after\n", before, after)
		code = max(code, 1)
	}
	os.Exit(code)
}

const (
	publishers = 4
	perTick    = 8  // messages a publisher sends at once
	unanswered = 64 // bound of a publisher
	patience   = 30 * time.Second
)

// subject is what is driven through faults.
type subject struct {
	// spawn starts the broker actor of a generation; stop ends it.
	factory func(gen int) func() actor.Actor
	born    func(ref actor.Ref) // tells a new instance what it has to know
	publish func(id string) any
	id      func(payload any) string
	faults  []func(r *rand.Rand)
	calm    func()          // ends every fault
	sink    func() []string // what has arrived, in order
	stored  bool            // what is confirmed has to be among it
	// missing counts messages of the source that nobody has handled and that were not given up, and names some.
	missing   func(g *grammar) (n int, what string)
	inboundID func(msg any) string
}

// duration of a run: TROUPE_CHAOS, or a few seconds.
func duration(t *testing.T) time.Duration {
	if s := os.Getenv("TROUPE_CHAOS"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("TROUPE_CHAOS: %v", err)
		}
		return d
	}
	return 5 * time.Second
}

func seed(t *testing.T) *rand.Rand {
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("TROUPE_CHAOS_SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("TROUPE_CHAOS_SEED: %v", err)
		}
	}
	t.Logf("TROUPE_CHAOS_SEED=%d", n)
	return rand.New(rand.NewPCG(n, 1))
}

// run is one run over one subject.
type run struct {
	t      *testing.T
	s      *subject
	sys    *actor.System
	g      *grammar
	watch  actor.Ref
	l      *ledger
	rnd    *rand.Rand
	mu     sync.Mutex
	broker actor.Ref
	gen    int
	longS  time.Duration
	looked int
}

// drive is one run.
func drive(t *testing.T, build func(t *testing.T, sys *actor.System) *subject) {
	r := &run{t: t, rnd: seed(t), l: newLedger(publishers)}
	var err error
	r.sys, err = actor.NewSystem("chaos", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if err != nil {
		t.Fatal(err)
	}
	r.s = build(t, r.sys)
	r.g = &grammar{id: r.s.id, inboundID: r.s.inboundID}
	if r.watch, err = r.g.start(r.sys); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.sys.Terminate(context.Background()) }) // after a failure
	r.spawn()
	began, length := time.Now(), duration(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for p := range publishers {
		rnd := rand.New(rand.NewPCG(r.rnd.Uint64(), 2))
		wg.Go(func() { r.publisher(p, rnd, stop) })
	}
	r.faults(began.Add(length))
	close(stop)
	r.s.calm()
	wg.Wait()
	r.settle()
	r.stopBroker(true)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.sys.Terminate(ctx); err != nil {
		t.Errorf("terminate: %v", err)
	}
	r.judge()
}

func (r *run) spawn() {
	ref, err := r.sys.Spawn(fmt.Sprintf("broker-%d", r.gen), r.s.factory(r.gen))
	if err != nil {
		r.t.Fatal(err)
	}
	r.s.born(ref)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broker = ref
	r.gen++
}

func (r *run) current() actor.Ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broker
}

// publisher sends in bursts, by tell and with somebody who waits, and keeps its own bound on the latter.
func (r *run) publisher(p int, rnd *rand.Rand, stop <-chan struct{}) {
	free := make(chan struct{}, unanswered)
	for range unanswered {
		free <- struct{}{}
	}
	done := func() { free <- struct{}{} }
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		to := r.current()
		for range 1 + rnd.IntN(perTick) {
			if rnd.IntN(10) == 0 {
				r.l.publish(to, p, true, r.s.publish, nil)
				continue
			}
			select {
			case <-free:
				r.l.publish(to, p, false, r.s.publish, done)
			default:
			}
		}
	}
}

// faults makes one after the other until the time is over.
func (r *run) faults(end time.Time) {
	for time.Now().Before(end) {
		<-time.After(time.Duration(20+r.rnd.IntN(300)) * time.Millisecond)
		r.books()
		switch n := r.rnd.IntN(100); {
		case n < 3:
			r.stopBroker(false)
			r.spawn()
		case n < 6:
			r.watch.Tell(restart{r.current().Path()})
			r.current().Tell(actor.Kill{}) // a restart by its supervisor
			r.s.born(r.current())
		case n < 10:
			r.current().Tell(broker.Reconnect{})
		default:
			r.s.faults[r.rnd.IntN(len(r.s.faults))](r.rnd)
		}
	}
}

// status asks the broker actor; its last incarnation may be gone.
func (r *run) status() broker.Status {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	s, err := actor.Ask[broker.Status](ctx, r.current(), broker.QueryStatus{})
	if err != nil {
		if !errors.Is(err, actor.ErrDeadLetter) {
			r.t.Errorf("status: %v", err)
		}
	}
	return s
}

// books looks whether they balance at this moment.
func (r *run) books() broker.Books {
	b := r.status().Books
	r.looked++
	if b.Accepted != b.Acked+b.Written+b.Undelivered+uint64(b.Queued)+uint64(b.InFlight) {
		r.t.Errorf("books do not balance: %+v", b)
	}
	return b
}

// settle waits until everything has ended and the actor has nothing left.
func (r *run) settle() {
	r.eventually("every message has ended", func() bool {
		b := r.books()
		return r.l.open.Load() == 0 && b.Queued == 0 && b.InFlight == 0
	})
	// A backlog may take as long as it shrinks.
	for was := -1; ; {
		n, what := r.s.missing(r.g)
		if n == 0 {
			return
		}
		if was >= 0 && n >= was {
			r.t.Fatalf("not handled, and no fewer than %s ago: %s, %+v", patience, what, r.status())
		}
		was = n
		r.waitFor(patience, func() bool { m, _ := r.s.missing(r.g); return m == 0 })
	}
}

// waitFor polls until ok or for d.
func (r *run) waitFor(d time.Duration, ok func() bool) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(d); !ok() && time.Now().Before(deadline); <-tick.C {
	}
}

func (r *run) eventually(what string, ok func() bool) {
	r.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within %s: %s; open %d, %+v", patience, what, r.l.open.Load(), r.status())
		}
	}
}

// stopBroker ends the current generation and tells the grammar that it is over.
func (r *run) stopBroker(last bool) {
	ref := r.current()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	if err := ref.Stop(ctx); err != nil {
		r.t.Errorf("stop of %s: %v", ref.Path(), err)
	}
	took := time.Since(began)
	r.longS = max(r.longS, took)
	if took > 2*time.Second+time.Second { // the flush, and ten times the teardown
		r.t.Errorf("stop of %s took %s", ref.Path(), took)
	}
	r.watch.Tell(over{ref.Path()})
	if last {
		<-time.After(100 * time.Millisecond) // what should not come, comes now
	}
}

func (r *run) judge() {
	sink := r.s.sink()
	t, wrong := r.l.audit(r.g, sink, r.s.stored)
	wrong = append(wrong, r.g.faults()...)
	for i, w := range wrong {
		if i == 20 {
			r.t.Errorf("and %d more", len(wrong)-i)
			break
		}
		r.t.Error(w)
	}
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	r.t.Logf("%d published, %d of them told; %d confirmed, %d undelivered, %d refused; %d arrived, dead letters %v",
		t.published, t.told, t.confirmed, t.undelivered, t.refused, len(sink), t.reasons)
	r.t.Logf("%d generations, longest stop %s, books looked at %d times, events %v, inbound given up %d",
		r.gen, r.longS.Round(time.Millisecond), r.looked, r.g.counts, len(r.g.dropped))
	if r.g.overflows != r.g.evicted {
		r.t.Errorf("overflow events for %d messages, dead letters for %d", r.g.overflows, r.g.evicted)
	}
	if t.confirmed == 0 || r.g.counts["broker.Disconnected"] == 0 {
		r.t.Error("nothing was confirmed, or no connection was lost: this run shows nothing")
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
