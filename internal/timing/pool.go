package timing

// pool has the chunks of all buckets of a wheel. They are numbered, so that a place has 32 bits.
type pool struct {
	chunks []*chunk // by number; 0 is none
	unused []uint32 // numbers without a chunk
	spare  uint32   // list of empty chunks
	spares int
	live   int // chunks in buckets
}

// chunk has 512 bytes, which is what the allocator would round up to: 16.5 bytes an item.
type chunk struct {
	items [chunkLen]Item
	owner *bucket
	next  uint32
	n     uint32
}

const (
	chunkBits = 5
	chunkLen  = 1<<chunkBits - 1
)

// push puts it into b and returns its place.
func (p *pool) push(b *bucket, it Item) uint32 {
	if b.head == 0 || p.chunks[b.head].n == chunkLen {
		p.extend(b)
	}
	c := p.chunks[b.head]
	loc := b.head<<chunkBits | c.n
	c.items[c.n] = it
	c.n++
	return loc
}

func (p *pool) extend(b *bucket) {
	id := p.spare
	if id != 0 {
		p.spare = p.chunks[id].next
		p.spares--
	} else {
		id = p.number()
		p.chunks[id] = new(chunk)
	}
	c := p.chunks[id]
	c.owner, c.next = b, b.head
	b.head = id
	p.live++
}

func (p *pool) number() uint32 {
	if n := len(p.unused); n > 0 {
		id := p.unused[n-1]
		p.unused = p.unused[:n-1]
		return id
	}
	if len(p.chunks) == 0 {
		p.chunks = append(p.chunks, nil)
	}
	p.chunks = append(p.chunks, nil)
	return uint32(len(p.chunks) - 1)
}

// last is the item of b that is the cheapest to remove.
func (p *pool) last(b *bucket) Item {
	c := p.chunks[b.head]
	return c.items[c.n-1]
}

// remove frees a place and returns its bucket. The bucket's last item takes the place.
func (p *pool) remove(loc uint32) *bucket {
	c, i := p.chunks[loc>>chunkBits], loc%(1<<chunkBits)
	b := c.owner
	h := p.chunks[b.head]
	h.n--
	if c != h || i != h.n {
		it := h.items[h.n]
		c.items[i] = it
		it.Deadline().loc = loc
	}
	h.items[h.n] = nil
	if h.n == 0 {
		id := b.head
		b.head = h.next
		p.release(id)
	}
	return b
}

const (
	spareMin  = 64   // chunks that are kept at least, 32 KiB
	numberMin = 1024 // numbers up to which they are not begun anew
)

// release keeps a few empty chunks and gives the others back.
func (p *pool) release(id uint32) {
	p.live--
	p.chunks[id].owner, p.chunks[id].next = nil, p.spare
	p.spare = id
	p.spares++
	if p.live == 0 && len(p.chunks) > numberMin {
		*p = pool{}
		return
	}
	for keep := spareMin + p.live/16; p.spares > keep; p.spares-- {
		id := p.spare
		p.spare = p.chunks[id].next
		p.chunks[id] = nil
		p.unused = append(p.unused, id)
	}
}
