package timing

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// stone is an Item of a test that works on a wheel without a clock.
type stone struct{ d Deadline }

func (*stone) Fire(int64) int64      { return 0 }
func (s *stone) Deadline() *Deadline { return &s.d }

// quarry is a wheel and its reference, a list that is searched.
type quarry struct {
	w   wheel
	in  []*stone
	seq uint32
	now int64
}

func (q *quarry) add(s *stone, at int64) {
	q.seq++
	s.d.at, s.d.seq = at, q.seq
	q.w.add(s, &s.d)
	q.in = append(q.in, s)
}

func (q *quarry) remove(i int) *stone {
	s := q.in[i]
	q.w.remove(&s.d)
	q.in = slices.Delete(q.in, i, i+1)
	return s
}

// run is what a clock does at q.now. between is called wherever the clock lets others have the lock.
func (q *quarry) run(t *rapid.T, between func()) {
	for {
		due, more := q.w.due(make([]Item, 0, portion), q.now)
		if !more {
			break
		}
		for _, it := range due {
			least := slices.MinFunc(q.in, func(a, b *stone) int {
				return cmp.Or(cmp.Compare(a.d.at, b.d.at), cmp.Compare(a.d.seq, b.d.seq))
			})
			if s := it.(*stone); s != least || s.d.at > q.now || s.d.loc != 0 {
				t.Fatalf("at %d came %+v, want %+v", q.now, s.d, least.d)
			}
			q.in = slices.DeleteFunc(q.in, func(s *stone) bool { return s == least })
		}
		between()
	}
	at, ok := q.w.next()
	if ok != (len(q.in) > 0) {
		t.Fatalf("next says %t with %d items", ok, len(q.in))
	}
	for _, s := range q.in {
		if s.d.at <= q.now || at > s.d.at {
			t.Fatalf("at %d waits %+v, next is %d", q.now, s.d, at)
		}
	}
}

// check looks at the structure.
func (q *quarry) check(t *rapid.T) {
	w, n := &q.w, len(q.w.near)
	for i, x := range w.near {
		if d := x.item.Deadline(); d.loc != nearBit|uint32(i) || d.at != x.at || d.seq != x.seq || d.at > w.edge {
			t.Fatalf("place %d of near has %+v", i, *d)
		}
	}
	for _, x := range w.near[n:cap(w.near)] {
		if x.item != nil {
			t.Fatal("near holds on to what was taken out")
		}
	}
	live := 0
	for k, l := range w.levels {
		if l == nil {
			continue
		}
		if (w.used>>k&1 != 0) != (l.set != 0) {
			t.Fatalf("level %d: used is %b, set %b", k, w.used, l.set)
		}
		for i := range l.buckets {
			b := &l.buckets[i]
			if (l.set>>i&1 != 0) != (b.head != 0) {
				t.Fatalf("level %d: set is %b, the head of %d %d", k, l.set, i, b.head)
			}
			for id := b.head; id != 0; id = w.pool.chunks[id].next {
				c := w.pool.chunks[id]
				if live++; c.owner != b || c.n == 0 || c.n < chunkLen && id != b.head {
					t.Fatalf("level %d bucket %d: chunk with %d items", k, i, c.n)
				}
				for j, it := range c.items {
					if (it != nil) != (uint32(j) < c.n) {
						t.Fatalf("level %d bucket %d: place %d of %d has %v", k, i, j, c.n, it)
					} else if it == nil {
						break
					}
					if d := it.Deadline(); d.loc != id<<chunkBits|uint32(j) || d.at < b.min || d.at <= w.edge && w.moving != b {
						t.Fatalf("level %d bucket %d: %+v, min is %d, edge %d", k, i, *d, b.min, w.edge)
					}
					n++
				}
			}
		}
	}
	if n != len(q.in) || w.count != n || w.pool.live != live {
		t.Fatalf("%d items, %d counted, want %d; %d chunks, %d counted", n, w.count, len(q.in), live, w.pool.live)
	}
}

// TestWheelModel compares a wheel with a list that is searched each time, with crowds of items close together, late
// clocks, and additions and removals while items are being moved between levels.
func TestWheelModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &quarry{now: 1}
		scale := anyScale(62)
		one := func(t *rapid.T, in int64) {
			at := q.now + in
			if at < 0 {
				at = math.MaxInt64
			}
			q.add(new(stone), at)
		}
		some := func(t *rapid.T) {
			if len(q.in) > 0 && rapid.Bool().Draw(t, "remove") {
				q.remove(rapid.IntRange(0, len(q.in)-1).Draw(t, "i"))
			} else {
				one(t, scale.Draw(t, "in"))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":  func(t *rapid.T) { one(t, scale.Draw(t, "in")) },
			"past": func(t *rapid.T) { q.add(new(stone), max(1, q.now-scale.Draw(t, "ago"))) },
			"crowd": func(t *rapid.T) {
				in, apart := scale.Draw(t, "in"), rapid.SampledFrom([]int64{0, 1, 7, 1000, 1 << 20, 1 << 40}).Draw(t, "apart")
				for i := range rapid.Int64Range(1, 150).Draw(t, "n") {
					one(t, in+i*apart)
				}
			},
			"move": func(t *rapid.T) {
				if len(q.in) == 0 {
					t.Skip("empty")
				}
				s := q.remove(rapid.IntRange(0, len(q.in)-1).Draw(t, "i"))
				q.add(s, min(math.MaxInt64-q.now, scale.Draw(t, "in"))+q.now)
			},
			"remove": func(t *rapid.T) {
				for range min(len(q.in), rapid.IntRange(1, 100).Draw(t, "n")) {
					q.remove(rapid.IntRange(0, len(q.in)-1).Draw(t, "i"))
				}
			},
			"wait": func(t *rapid.T) {
				q.now += min(scale.Draw(t, "d"), math.MaxInt64-q.now)
				q.run(t, func() {
					if rapid.IntRange(0, 3).Draw(t, "meanwhile") == 0 {
						some(t)
						q.check(t)
					}
				})
			},
			"next": func(t *rapid.T) {
				if at, ok := q.w.next(); ok {
					q.now = max(q.now, at)
				}
				q.run(t, func() {})
			},
			"": q.check,
		})
		q.w.forget()
		for _, s := range q.in {
			if s.d.loc != 0 {
				t.Fatal("one was not forgotten")
			}
		}
	})
}

// Items of the same moment come in the order they were added, whichever level each of them was added to: the first to
// a far bucket of an empty wheel, the later ones as the clock approaches.
func TestSameMomentAcrossLevels(t *testing.T) {
	const at = 0xAA_AAAA_AAAA_AAAA
	q := &quarry{now: 1}
	var want []*stone
	same := func(n int) {
		for range n {
			s := new(stone)
			want = append(want, s)
			q.add(s, at)
		}
	}
	same(40)
	levels := map[uint16]bool{q.w.used: true}
	for n := 54; n >= 0; n-- {
		q.now = at - 1<<n
		q.add(new(stone), q.now) // moves the edge
		for more := true; more; {
			_, more = q.w.due(make([]Item, 0, portion), q.now)
		}
		levels[q.w.used] = true
		same(3)
	}
	if len(levels) < 5 {
		t.Errorf("the items were in levels %v only", levels)
	}
	q.now = at
	var got []*stone
	for more := true; more; {
		var due []Item
		due, more = q.w.due(make([]Item, 0, portion), q.now)
		for _, it := range due {
			got = append(got, it.(*stone))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d of %d items came, or in another order", len(got), len(want))
	}
}

// The buckets of the highest level are apart too: what is in one is not due with what is in the one before.
func TestHighestLevel(t *testing.T) {
	q := &quarry{now: 1}
	far, end := new(stone), new(stone)
	q.add(end, math.MaxInt64)
	q.add(far, 1<<62-1)
	q.now = 1<<62 - 1
	due, _ := q.w.due(make([]Item, 0, portion), q.now)
	if len(due) != 1 || due[0] != far || q.w.edge != 1<<62-1 {
		t.Fatalf("%d are due, and the edge is at %d", len(due), q.w.edge)
	}
	if at, ok := q.w.next(); !ok || at != math.MaxInt64 {
		t.Errorf("next is %d", at)
	}
}

// A crowd of one moment passes through the heap, whose memory is given back.
func TestHeapShrinks(t *testing.T) {
	const n = 50_000
	var h heap
	for i := range n {
		s := &stone{Deadline{at: 5, seq: uint32(i)}}
		h.push(s, &s.d)
	}
	for i := range n {
		if d := h[0].item.Deadline(); d.seq != uint32(i) {
			t.Fatalf("%d came as number %d", d.seq, i)
		}
		h.remove(0)
	}
	if cap(h) >= 2*heapKeep {
		t.Errorf("%d places are kept", cap(h))
	}
}
