package timing

import "math/bits"

// wheel keeps items by their deadlines, to the nanosecond. A Clock's lock guards it.
//
// All items due at edge or before are in near, a heap. Any other is in a bucket: its level is that of the highest digit
// (of 6 bits) in which its deadline differs from edge, its slot is that digit of the deadline. So a bucket of level k
// spans 64^k ns, and the buckets are ordered: all of one level are due before those of the next, within a level by slot.
//
// Once near is empty and the first bucket that is not has something due, edge moves into that bucket, and its items
// into near and into lower levels. All other items stay where they are, since edge keeps the digits they are placed by.
// An item moves down at most ten times and edge never goes back; the order within a bucket does not matter, because
// near sorts by deadline and number of the Add.
//
// A bucket knows a lower bound of its deadlines, exact until the earliest is removed. That is what the clock sleeps
// until, so it never wakes for a boundary of slots.
type wheel struct {
	edge   int64
	count  int
	near   heap
	used   uint16     // levels with items
	levels [11]*level // 63 bits have 11 digits
	moving *bucket    // its items are being moved to below edge and to lower levels
	pool   pool
}

const (
	digit = 6
	slots = 1 << digit
	// ahead is how far edge may be ahead of the earliest deadline, so that items that are close together share one step;
	// near stays small all the same.
	ahead = 1 << 17
)

type level struct {
	set     uint64 // slots with items
	buckets [slots]bucket
}

// bucket is a list of chunks of which only the first may have free places. It is empty when head is 0.
type bucket struct {
	min         int64 // no item is due before
	head        uint32
	level, slot uint8
}

// nearBit marks a loc in near, the rest is the index. Any other loc is the number of a chunk, which is never 0, and the
// place in it.
const nearBit = 1 << 31

func (w *wheel) add(it Item, d *Deadline) {
	w.count++
	w.place(it, d)
}

func (w *wheel) place(it Item, d *Deadline) {
	if d.at <= w.edge {
		w.near.push(it, d)
		return
	}
	n := (bits.Len64(uint64(d.at^w.edge)) - 1) / digit
	l := w.levels[n]
	if l == nil {
		l = w.newLevel(n)
	}
	slot := uint64(d.at) >> (digit * n) % slots
	b := &l.buckets[slot]
	if b.head == 0 {
		b.min = d.at
		l.set |= 1 << slot
		w.used |= 1 << n
	} else {
		b.min = min(b.min, d.at)
	}
	d.loc = w.pool.push(b, it)
}

func (w *wheel) newLevel(n int) *level {
	l := new(level)
	for i := range l.buckets {
		l.buckets[i].level, l.buckets[i].slot = uint8(n), uint8(i)
	}
	w.levels[n] = l
	return l
}

// remove takes out the item with the deadline d, which is in.
func (w *wheel) remove(d *Deadline) {
	w.count--
	if d.loc&nearBit != 0 {
		w.near.remove(int(d.loc &^ nearBit))
	} else if b := w.pool.remove(d.loc); b.head == 0 {
		w.emptied(b)
	}
	d.loc = 0
}

func (w *wheel) emptied(b *bucket) {
	l := w.levels[b.level]
	if l.set &^= 1 << b.slot; l.set == 0 {
		w.used &^= 1 << b.level
	}
	if w.moving == b {
		w.moving = nil
	}
}

// first is the bucket that is due first, nil if all are empty.
func (w *wheel) first() *bucket {
	if w.used == 0 {
		return nil
	}
	l := w.levels[bits.TrailingZeros16(w.used)]
	return &l.buckets[bits.TrailingZeros64(l.set)]
}

// next is when something may be due, provided due has just said that there is no more.
func (w *wheel) next() (at int64, ok bool) {
	if len(w.near) > 0 {
		return w.near[0].at, true
	}
	if b := w.first(); b != nil {
		return b.min, true
	}
	return 0, false
}

// due takes out what is due at now, a portion of at most cap(out), in order. more says that it has to be called again,
// also after a call that only moved items.
func (w *wheel) due(out []Item, now int64) (due []Item, more bool) {
	for steps := 2 * portion; ; {
		if w.moving != nil {
			if steps = w.move(steps); w.moving != nil {
				return out, true
			}
		}
		for len(w.near) > 0 && len(out) < cap(out) && w.near[0].at <= now {
			it := w.near[0].item
			w.remove(it.Deadline())
			out = append(out, it)
		}
		if len(out) == cap(out) || len(w.near) > 0 {
			return out, len(out) > 0
		}
		b := w.first()
		if b == nil || b.min > now {
			return out, len(out) > 0
		}
		w.enter(b, now)
	}
}

// enter moves edge into b, the first bucket. A long one is entered only as far as its items are due, a short one a bit
// further.
func (w *wheel) enter(b *bucket, now int64) {
	end := b.min | (1<<(digit*b.level) - 1)
	to := b.min + min(ahead, end-b.min)
	if w.pool.chunks[b.head].next != 0 {
		to = min(to, now)
	}
	w.edge, w.moving = to, b
}

// move places items of the bucket that was entered, one in each step, and returns how many steps are left.
func (w *wheel) move(steps int) int {
	for ; steps > 0 && w.moving != nil; steps-- {
		b := w.moving
		it := w.pool.last(b)
		d := it.Deadline()
		if w.pool.remove(d.loc); b.head == 0 {
			w.emptied(b)
		}
		w.place(it, d)
	}
	return steps
}

// forget takes out everything and returns it.
func (w *wheel) forget() (left []Item) {
	left = make([]Item, 0, w.count)
	for _, s := range w.near {
		s.item.Deadline().loc = 0
		left = append(left, s.item)
	}
	for _, c := range w.pool.chunks {
		if c == nil {
			continue
		}
		for _, it := range c.items[:c.n] {
			it.Deadline().loc = 0
			left = append(left, it)
		}
	}
	*w = wheel{edge: w.edge}
	return left
}
