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

// item is an envelope of the tests: the number says which, and odd ones are signals.
type item int

func (i item) droppable() bool { return i%2 == 0 }

// model is the mailbox as one would write it without a thought for speed.
type model struct {
	user                         []modelItem
	sys                          []int
	capacity                     int
	overflow                     Overflow
	scheduled, suspended, closed bool
	idle                         int
}

type modelItem struct {
	i       item
	bounded bool
}

func (m *model) Idle() { m.idle++ }

func (m *model) push(i item) (r Result, wake bool, victim item) {
	if m.closed {
		return Closed, false, 0
	}
	n := 0
	for _, u := range m.user {
		if u.bounded {
			n++
		}
	}
	if i.droppable() && m.capacity > 0 && n >= m.capacity {
		if m.overflow == Reject {
			return Full, false, 0
		}
		at := slices.IndexFunc(m.user, func(u modelItem) bool { return u.bounded })
		victim, r = m.user[at].i, Evicted
		m.user = slices.Delete(m.user, at, at+1)
	}
	m.user = append(m.user, modelItem{i, i.droppable()})
	wake = !m.scheduled && !m.suspended
	m.scheduled = m.scheduled || wake
	return r, wake, victim
}

func (m *model) next() (k Kind, i item, s int) {
	switch {
	case len(m.sys) > 0:
		s, m.sys = m.sys[0], m.sys[1:]
		return System, 0, s
	case !m.suspended && len(m.user) > 0:
		i, m.user = m.user[0].i, m.user[1:]
		return User, i, 0
	}
	if !m.closed {
		m.idle++
	}
	m.scheduled = false
	return None, 0, 0
}

// TestModel does the same to a mailbox and to the model, as one owner and everybody else would, and compares what comes
// out.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{got: &model{}}
		m.want = &model{capacity: rapid.IntRange(0, 4).Draw(t, "capacity"), overflow: Overflow(rapid.IntRange(0, 1).Draw(t, "overflow"))}
		m.mb = &Mailbox[item, int]{Owner: m.got, Capacity: m.want.capacity, Overflow: m.want.overflow}
		t.Repeat(map[string]func(*rapid.T){
			"push": m.push, "system": m.system, "next": m.next, "suspend": m.suspend, "prepend": m.prepend, "close": m.close, "": m.compare,
		})
	})
}

// machine is a mailbox beside its model. n numbers what is pushed.
type machine struct {
	mb        *Mailbox[item, int]
	want, got *model
	n         int
}

func (m *machine) push(t *rapid.T) {
	m.n++
	i := item(2*m.n + rapid.IntRange(0, 1).Draw(t, "signal"))
	r, wake, victim := m.mb.Push(i, i.droppable())
	wr, ww, wv := m.want.push(i)
	if r != wr || wake != ww || victim != wv {
		t.Fatalf("Push(%d) = %v, %v, %v, want %v, %v, %v", i, r, wake, victim, wr, ww, wv)
	}
}

func (m *machine) system(t *rapid.T) {
	m.n++
	wake, ok := m.mb.PushSystem(m.n)
	wantWake := !m.want.closed && !m.want.scheduled
	if ok == m.want.closed || wake != wantWake {
		t.Fatalf("PushSystem = %v, %v", wake, ok)
	}
	if !m.want.closed {
		m.want.sys = append(m.want.sys, m.n)
		m.want.scheduled = true
	}
}

func (m *machine) next(t *rapid.T) {
	if !m.want.scheduled {
		t.Skip("nobody owns it")
	}
	var i item
	var s int
	k := m.mb.Next(&i, &s)
	if wk, wi, ws := m.want.next(); k != wk || i != wi || s != ws || m.got.idle != m.want.idle {
		t.Fatalf("Next = %v, %v, %v, want %v, %v, %v; Idle %d times, want %d", k, i, s, wk, wi, ws, m.got.idle, m.want.idle)
	}
}

func (m *machine) suspend(t *rapid.T) {
	if m.want.scheduled {
		m.want.suspended = rapid.Bool().Draw(t, "on")
		m.mb.Suspend(m.want.suspended)
	}
}

func (m *machine) prepend(t *rapid.T) {
	if !m.want.scheduled || m.want.closed {
		t.Skip("not by the owner")
	}
	var es []item
	var ms []modelItem
	for range rapid.IntRange(0, 12).Draw(t, "n") {
		m.n++
		es, ms = append(es, item(2*m.n)), append(ms, modelItem{item(2 * m.n), false})
	}
	m.mb.Prepend(es)
	m.want.user = append(ms, m.want.user...)
}

func (m *machine) close(t *rapid.T) {
	if !m.want.scheduled || m.want.closed || rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		t.Skip("not now")
	}
	user, sys := m.mb.Close()
	var wu []item
	for _, u := range m.want.user {
		wu = append(wu, u.i)
	}
	if !slices.Equal(user, wu) || !slices.Equal(sys, m.want.sys) {
		t.Fatalf("Close = %v, %v, want %v, %v", user, sys, wu, m.want.sys)
	}
	m.want.user, m.want.sys, m.want.closed = nil, nil, true
}

// compare looks at what can be seen between two steps.
func (m *machine) compare(t *rapid.T) {
	if m.mb.Len() != len(m.want.user) {
		t.Fatalf("%d wait, want %d", m.mb.Len(), len(m.want.user))
	}
	m.mb.Lock()
	defer m.mb.Unlock()
	odd := func(i *item) bool { return *i%2 == 1 }
	if m.mb.AnyLocked(odd) != slices.ContainsFunc(m.want.user, func(u modelItem) bool { return odd(&u.i) }) {
		t.Fatal("AnyLocked")
	}
	if m.mb.ClosedLocked() != m.want.closed || m.mb.ScheduledLocked() != m.want.scheduled {
		t.Fatal("closed or scheduled")
	}
}

// overlap is an owner that checks that there is one activation at a time. What it notes is not locked: the race detector
// would see an activation that does not follow the one before.
type overlap struct {
	mb        *Mailbox[[2]int, int]
	t         *testing.T
	wg        sync.WaitGroup
	active    atomic.Int32
	seen      [][]int
	sys       int
	suspended bool
}

// Idle is the last moment of an activation.
func (o *overlap) Idle() { o.active.Add(-1) }

func (o *overlap) activate() {
	o.wg.Go(func() {
		if o.active.Add(1) != 1 {
			o.t.Error("two activations at a time")
		}
		var e [2]int
		var s int
		for {
			switch o.mb.Next(&e, &s) {
			case System:
				o.sys++
				o.suspended = s%3 == 1
				o.mb.Suspend(o.suspended)
			case User:
				if o.suspended {
					o.t.Error("a suspended mailbox gave an envelope")
				}
				o.seen[e[0]] = append(o.seen[e[0]], e[1])
			case None:
				return
			}
		}
	})
}

// TestStress has many senders and one owner at a time: no envelope and no wake-up is lost, nothing overtakes, and two
// activations never overlap.
func TestStress(t *testing.T) {
	const senders, each = 8, 3000
	o := &overlap{t: t, seen: make([][]int, senders)}
	o.mb = &Mailbox[[2]int, int]{Owner: o}
	var wg sync.WaitGroup
	for g := range senders {
		wg.Go(func() {
			for i := range each {
				if _, wake, _ := o.mb.Push([2]int{g, i}, true); wake {
					o.activate()
				}
				if i%7 == 0 {
					if wake, ok := o.mb.PushSystem(i); wake {
						o.activate()
					} else if !ok {
						t.Error("closed")
					}
				}
			}
		})
	}
	wg.Wait()
	if wake, _ := o.mb.PushSystem(0); wake { // no longer suspended
		o.activate()
	}
	o.wg.Wait()
	for g, seen := range o.seen {
		if len(seen) != each || !slices.IsSorted(seen) {
			t.Errorf("sender %d: %d of %d, in order %t", g, len(seen), each, slices.IsSorted(seen))
		}
	}
	if want := senders*((each+6)/7) + 1; o.sys != want {
		t.Errorf("%d commands, want %d", o.sys, want)
	}
}
