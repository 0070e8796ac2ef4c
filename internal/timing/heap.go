package timing

// heap has the items that are due soon, ordered by deadline and number of the Add. It is 4-ary with the keys inside:
// shallower than a binary one, and comparing touches no item.
type heap []near

type near struct {
	at   int64
	seq  uint32
	item Item
}

// heapKeep is the capacity that the heap is not made smaller than.
const heapKeep = 1024

// before compares the numbers of two Adds by their distance, so that it survives the counter's wrap-around.
func (a *near) before(b *near) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return int32(a.seq-b.seq) < 0
}

func (h *heap) push(it Item, d *Deadline) {
	*h = append(*h, near{})
	h.up(len(*h)-1, near{d.at, d.seq, it})
}

func (h *heap) remove(i int) {
	s := *h
	last := len(s) - 1
	x := s[last]
	s[last] = near{}
	s = s[:last]
	*h = s
	if i < last {
		if i > 0 && x.before(&s[(i-1)/4]) {
			h.up(i, x)
		} else {
			h.down(i, x)
		}
	}
	if c := cap(s); c >= 2*heapKeep && last < c/4 {
		*h = append(make(heap, 0, c/2), s...)
	}
}

func (h heap) set(i int, x near) {
	h[i] = x
	x.item.Deadline().loc = nearBit | uint32(i)
}

// up puts x where it belongs between the free place i and the root.
func (h heap) up(i int, x near) {
	for i > 0 {
		p := (i - 1) / 4
		if !x.before(&h[p]) {
			break
		}
		h.set(i, h[p])
		i = p
	}
	h.set(i, x)
}

// down puts x where it belongs between the free place i and the leaves.
func (h heap) down(i int, x near) {
	for {
		c := 4*i + 1
		if c >= len(h) {
			break
		}
		least := c
		for j := c + 1; j < min(c+4, len(h)); j++ {
			if h[j].before(&h[least]) {
				least = j
			}
		}
		if !h[least].before(&x) {
			break
		}
		h.set(i, h[least])
		i = least
	}
	h.set(i, x)
}
