package mailbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// parcel is an envelope of the tests.
type parcel struct {
	i, rank   int
	droppable bool
}

// boxModel is a Box as a sorted list.
type boxModel struct {
	items    []parcel // in the order of Pop
	capacity int
	overflow Overflow
	dropped  int64
}

func (m *boxModel) bounded() (n int) {
	for _, b := range m.items {
		if b.droppable {
			n++
		}
	}
	return n
}

func (m *boxModel) insert(b parcel) {
	at := slices.IndexFunc(m.items, func(o parcel) bool { return o.rank > b.rank })
	if at < 0 {
		at = len(m.items)
	}
	m.items = slices.Insert(m.items, at, b)
}

func (m *boxModel) push(b parcel) (BoxResult, parcel) {
	if !b.droppable || m.capacity == 0 || m.bounded() < m.capacity {
		m.insert(b)
		return Taken, parcel{}
	}
	m.dropped++
	switch m.overflow {
	case Reject:
		return Full, parcel{}
	case DropNewest:
		return Evicted, b
	}
	m.insert(b)
	lowest := 0
	for _, o := range m.items {
		if o.droppable {
			lowest = o.rank
		}
	}
	at := slices.IndexFunc(m.items, func(o parcel) bool { return o.rank == lowest && o.droppable })
	victim := m.items[at]
	m.items = slices.Delete(m.items, at, at+1)
	return Evicted, victim
}

// TestBoxModel compares a Box with the list, for every policy, with and without a bound and priorities.
func TestBoxModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &boxModel{capacity: rapid.IntRange(0, 4).Draw(t, "capacity"), overflow: Overflow(rapid.IntRange(0, 2).Draw(t, "overflow"))}
		got := &Box[parcel]{Capacity: want.capacity, Overflow: want.overflow}
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		n := 0
		make1 := func(t *rapid.T) parcel {
			n++
			return parcel{n, rapid.IntRange(0, ranks-1).Draw(t, "rank"), rapid.IntRange(0, 3).Draw(t, "droppable") > 0}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				b := make1(t)
				r, victim, dropped := got.Push(b, b.rank, b.droppable)
				wr, wv := want.push(b)
				if r != wr || victim != wv || r != Taken && dropped != want.dropped {
					t.Fatalf("Push(%v) = %v, %v, %d, want %v, %v, %d", b, r, victim, dropped, wr, wv, want.dropped)
				}
			},
			"pop": func(t *rapid.T) {
				e, ok := got.Pop()
				if ok != (len(want.items) > 0) || ok && e.i != want.items[0].i {
					t.Fatalf("Pop = %v, %v, want the first of %v", e, ok, want.items)
				}
				if ok {
					want.items = want.items[1:]
				}
			},
			"prepend": func(t *rapid.T) {
				var es []parcel
				for range rapid.IntRange(0, 4).Draw(t, "n") {
					es = append(es, make1(t))
				}
				var ranks []int
				for _, b := range es {
					ranks = append(ranks, b.rank)
				}
				got.Prepend(es, ranks)
				for i := len(es) - 1; i >= 0; i-- {
					b := es[i]
					b.droppable = false
					at := slices.IndexFunc(want.items, func(o parcel) bool { return o.rank >= b.rank })
					if at < 0 {
						at = len(want.items)
					}
					want.items = slices.Insert(want.items, at, b)
				}
			},
			"": func(t *rapid.T) {
				if got.Len() != len(want.items) {
					t.Fatalf("Len = %d, want %d", got.Len(), len(want.items))
				}
				odd := func(b *parcel) bool { return b.i%2 == 1 }
				if got.Any(odd) != slices.ContainsFunc(want.items, func(b parcel) bool { return odd(&b) }) {
					t.Fatal("Any")
				}
			},
		})
		rest := got.Close()
		if !slices.EqualFunc(rest, want.items, func(a, b parcel) bool { return a.i == b.i }) {
			t.Fatalf("Close = %v, want %v", rest, want.items)
		}
		if r, _, _ := got.Push(parcel{}, 0, true); r != Shut {
			t.Fatalf("Push after Close = %v", r)
		}
	})
}

// TestPushWait has more waiters than room: all get in, in their order if nobody else pushes, and who gives up leaves its
// turn to the next.
func TestPushWait(t *testing.T) {
	b := &Box[int]{Capacity: 2}
	ctx := t.Context()
	const n = 50
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := b.PushWait(ctx, i, 0); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			gone, cancel := context.WithCancelCause(ctx)
			cancel(errors.New("gave up"))
			if err := b.PushWait(gone, -1, 0); err != nil && err.Error() != "gave up" {
				t.Error(err)
			}
		})
	}
	got := map[int]bool{}
	for len(got) < n {
		if e, ok := b.Pop(); ok && e >= 0 {
			got[e] = true
		}
		if l := b.Len(); l > 2 {
			t.Fatalf("%d in a box for 2", l)
		}
	}
	wg.Wait()

	for range 2 {
		if err := b.PushWait(ctx, 0, 0); err != nil && b.Len() < 2 {
			t.Fatal(err)
		}
		if b.Len() >= 2 {
			break
		}
	}
	ended := make(chan error)
	go func() { ended <- b.PushWait(ctx, 1, 0) }()
	for {
		b.mu.Lock()
		waiting := len(b.waiters)
		b.mu.Unlock()
		if waiting == 1 {
			break
		}
	}
	b.Close()
	if err := <-ended; !errors.Is(err, ErrShut) {
		t.Errorf("after Close: %v", err)
	}
}
