package mailbox

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model is the mailbox as one would write it without a thought for speed.
type model struct {
	lane                []int
	signals             uint32
	owned, held, closed bool
}

func (m *model) push(i int) Result {
	switch {
	case m.closed:
		return Closed
	case m.owned || m.held:
		m.lane = append(m.lane, i)
		return Queued
	}
	m.lane, m.owned = append(m.lane, i), true
	return Wake
}

func pushTo[E any](m *Mailbox[E], e E, p *Pool[E]) Result {
	r := m.Push(e)
	if r == Grow {
		r = m.PushGrow(e, p)
	}
	return r
}

// machine is a mailbox beside its model. n numbers what is pushed; hand is what Next gave out last.
type machine struct {
	mb   Mailbox[int]
	pool Pool[int]
	want model
	n    int
}

// TestModel does the same to a mailbox and to the model, as one owner and everybody else would, and compares what comes
// out.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{}
		t.Repeat(map[string]func(*rapid.T){
			"push": m.push, "flood": m.flood, "signal": m.signal, "signals": m.signals, "next": m.next, "leave": m.leave,
			"prepend": m.prepend, "close": m.close, "mark": m.mark, "": m.compare,
		})
	})
}

func (m *machine) push(t *rapid.T) {
	m.n++
	if got, want := pushTo(&m.mb, m.n, &m.pool), m.want.push(m.n); got != want {
		t.Fatalf("Push(%d) = %v, want %v", m.n, got, want)
	}
}

// flood fills more than one chunk.
func (m *machine) flood(t *rapid.T) {
	for range rapid.IntRange(0, 2*chunkLen+2).Draw(t, "n") {
		m.push(t)
	}
}

func (m *machine) signal(t *rapid.T) {
	bit := uint32(1) << rapid.IntRange(0, 3).Draw(t, "bit")
	wake, ok := m.mb.Signal(bit)
	if ok == m.want.closed || wake != (!m.want.closed && !m.want.owned) {
		t.Fatalf("Signal = %v, %v", wake, ok)
	}
	m.want.signals |= bit
	m.want.owned = m.want.owned || !m.want.closed
}

func (m *machine) signals(t *rapid.T) {
	if !m.want.owned {
		t.Skip("nobody owns it")
	}
	if got := m.mb.Signalled(); got != (m.want.signals != 0) {
		t.Fatalf("Signalled = %v", got)
	}
	if got := m.mb.TakeSignals(); got != m.want.signals {
		t.Fatalf("TakeSignals = %b, want %b", got, m.want.signals)
	}
	m.want.signals = 0
}

// next is how an owner gets an envelope.
func (m *machine) next(t *rapid.T) {
	if !m.want.owned {
		t.Skip("nobody owns it")
	}
	for range rapid.IntRange(1, chunkLen+5).Draw(t, "n") {
		e := m.mb.Next(&m.pool)
		if e == nil && m.mb.Linked() {
			if m.mb.Take() == 0 {
				t.Fatal("Take got nothing although it is linked and nobody else is there")
			}
			e = m.mb.Next(&m.pool)
		}
		if (e == nil) != (len(m.want.lane) == 0) {
			t.Fatalf("Next = %v, want the first of %v", e, m.want.lane)
		}
		if e == nil {
			return
		}
		if *e != m.want.lane[0] {
			t.Fatalf("Next = %d, want %d", *e, m.want.lane[0])
		}
		m.want.lane = m.want.lane[1:]
	}
}

func (m *machine) leave(t *rapid.T) {
	if !m.want.owned {
		t.Skip("nobody owns it")
	}
	hold := rapid.Bool().Draw(t, "hold")
	if !hold {
		if e := m.mb.Next(&m.pool); e != nil { // what Idle asks for
			if *e != m.want.lane[0] {
				t.Fatalf("Next = %d, want %d", *e, m.want.lane[0])
			}
			m.want.lane = m.want.lane[1:]
			return
		}
	}
	word, ok := m.mb.Idle(hold)
	if !ok && m.want.signals != 0 {
		return // it has turned the bit off; the signals are the owner's business
	}
	if idle := hold || len(m.want.lane) == 0; ok && !idle {
		t.Fatalf("Idle although %d wait", len(m.want.lane))
	}
	if !ok {
		return
	}
	if m.want.signals != 0 {
		m.signals(t)
	}
	if !m.mb.Leave(word, hold) {
		t.Fatal("Leave failed although nobody else is there")
	}
	m.want.owned, m.want.held = false, hold
}

func (m *machine) prepend(t *rapid.T) {
	if !m.want.owned {
		t.Skip("not by the owner")
	}
	var es []int
	for range rapid.IntRange(0, chunkLen+3).Draw(t, "n") {
		m.n++
		es = append(es, m.n)
	}
	m.mb.Prepend(es, &m.pool)
	m.want.lane = append(slices.Clone(es), m.want.lane...)
}

func (m *machine) close(t *rapid.T) {
	if !m.want.owned || m.want.closed || rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		t.Skip("not now")
	}
	if got := m.mb.Close(&m.pool); !slices.Equal(got, m.want.lane) {
		t.Fatalf("Close = %v, want %v", got, m.want.lane)
	}
	m.want = model{closed: true, signals: m.want.signals}
}

func (m *machine) mark(t *rapid.T) {
	mark := Mark0 << rapid.IntRange(0, 4).Draw(t, "mark")
	was := m.mb.Marked(mark)
	if m.mb.Mark(mark) == was || !m.mb.Marked(mark) {
		t.Fatal("Mark")
	}
	if rapid.Bool().Draw(t, "off") {
		if m.mb.Unmark(mark); m.mb.Marked(mark) {
			t.Fatal("Unmark")
		}
	}
}

// compare looks at what can be seen between two steps.
func (m *machine) compare(t *rapid.T) {
	if m.mb.Closed() != m.want.closed || m.mb.Owned() != m.want.owned {
		t.Fatalf("closed %v, owned %v, want %v, %v", m.mb.Closed(), m.mb.Owned(), m.want.closed, m.want.owned)
	}
	if m.want.owned {
		odd := func(i *int) bool { return *i%2 == 1 }
		if m.mb.Any(odd) != slices.ContainsFunc(m.want.lane, func(i int) bool { return i%2 == 1 }) {
			t.Fatal("Any")
		}
	}
}

// TestLenIsExactOnceObserved lets an owner and others do what they do, and compares the length after each step.
func TestLenIsExactOnceObserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{}
		m.mb.Len()
		t.Repeat(map[string]func(*rapid.T){
			"push": m.push, "flood": m.flood, "signal": m.signal, "signals": m.signals, "next": m.next, "leave": m.leave,
			"prepend": m.prepend, "close": m.close,
			"": func(t *rapid.T) {
				if got := m.mb.Len(); got != len(m.want.lane) {
					t.Fatalf("Len = %d, want %d", got, len(m.want.lane))
				}
			},
		})
	})
}

// TestLongOncePerDoubling counts what waits beside an owner that takes nothing.
func TestLongOncePerDoubling(t *testing.T) {
	var mb Mailbox[int]
	var pool Pool[int]
	var at []int
	pushTo(&mb, 0, &pool) // in the inline place
	for i := 1; i <= 5*LongAt; i++ {
		if pushTo(&mb, i, &pool) == Long {
			at = append(at, i)
		}
	}
	if want := []int{LongAt, 2 * LongAt, 4 * LongAt}; !slices.Equal(at, want) {
		t.Errorf("Long at %v, want %v", at, want)
	}
}

// worker is an owner that checks that there is one activation at a time. What it notes is not locked: the race detector
// would see an activation that does not follow the one before.
type worker struct {
	mb      Mailbox[[2]int]
	pool    Pool[[2]int]
	box     *Box[[2]int]
	t       *testing.T
	wg      sync.WaitGroup
	active  atomic.Int32
	seen    [][]int
	signals int
	held    bool
}

func (o *worker) push(e [2]int) {
	switch pushTo(&o.mb, e, &o.pool) {
	case Wake:
		o.activate()
	case Boxed:
		if r, _, _ := o.box.Push(e, 0, true); r != Taken && r != Grown {
			o.t.Error("the box did not take it")
		}
		if o.mb.Announce() {
			o.activate()
		}
	case Closed:
		o.t.Error("closed")
	}
}

func (o *worker) signal() {
	if wake, ok := o.mb.Signal(1); wake {
		o.activate()
	} else if !ok {
		o.t.Error("closed")
	}
}

func (o *worker) activate() {
	o.wg.Go(func() {
		if o.active.Add(1) != 1 {
			o.t.Error("two activations at a time")
		}
		for !o.step() {
		}
	})
}

// step does one thing, as an actor does. True: the activation is over.
func (o *worker) step() bool {
	if o.mb.Signalled() {
		o.mb.TakeSignals()
		o.signals++
		o.held = o.signals%3 == 1
	}
	if o.held {
		return o.leave()
	}
	e := o.mb.Next(&o.pool)
	if e == nil && o.box != nil {
		b, ok := o.box.Pop()
		if !ok && o.mb.Linked() {
			o.mb.LookIntoBox()
			b, ok = o.box.Pop()
		}
		if ok {
			e = &b
		}
	}
	switch {
	case e != nil:
		o.seen[e[0]] = append(o.seen[e[0]], e[1])
	case o.box == nil && o.mb.Linked():
		o.mb.Take()
	default:
		return o.leave()
	}
	return false
}

func (o *worker) leave() bool {
	word, ok := o.mb.Idle(o.held)
	if !ok {
		return false
	}
	o.active.Add(-1)
	if o.mb.Leave(word, o.held) {
		return true
	}
	o.active.Add(1)
	return false
}

// TestStress has many senders and one owner at a time: no envelope, no signal and no wake-up is lost, nothing overtakes,
// and two activations never overlap.
func TestStress(t *testing.T) {
	for name, box := range map[string]*Box[[2]int]{"chunks": nil, "box": {}} {
		t.Run(name, func(t *testing.T) {
			const senders, each = 8, 3000
			o := &worker{t: t, seen: make([][]int, senders), box: box}
			if box != nil {
				o.mb.UseBox()
			}
			var wg sync.WaitGroup
			for g := range senders {
				wg.Go(func() {
					for i := range each {
						o.push([2]int{g, i})
						if i%7 == 0 {
							o.signal()
						}
						if i%100 == 0 && box == nil {
							o.mb.Len()
						}
					}
				})
			}
			wg.Wait()
			o.wg.Wait()
			for o.held { // the last signals may have been one
				o.signal()
				o.wg.Wait()
			}
			for g, seen := range o.seen {
				if len(seen) != each || !slices.IsSorted(seen) {
					t.Errorf("sender %d: %d of %d, in order %t", g, len(seen), each, slices.IsSorted(seen))
				}
			}
		})
	}
}
