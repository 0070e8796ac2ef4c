package mailbox

// ring is a queue in a circular buffer whose length is a power of two. An empty one that had grown gives its buffer
// back, so that an actor which was flooded once does not keep the memory.
type ring[T any] struct {
	buf  []T
	head int
	n    int
}

const (
	ringFirst = 8  // first buffer
	ringKeep  = 64 // largest buffer an empty ring keeps
)

func (r *ring[T]) len() int    { return r.n }
func (r *ring[T]) at(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring[T]) grow() {
	if r.n < len(r.buf) {
		return
	}
	buf := make([]T, max(ringFirst, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = *r.at(i)
	}
	r.buf, r.head = buf, 0
}

func (r *ring[T]) pushBack(v T) {
	r.grow()
	r.n++
	*r.at(r.n - 1) = v
}

func (r *ring[T]) pushFront(v T) {
	r.grow()
	r.head = (r.head - 1) & (len(r.buf) - 1)
	r.n++
	*r.at(0) = v
}

func (r *ring[T]) popFront() T {
	p := r.at(0)
	v := *p
	var zero T
	*p = zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	if r.n == 0 && len(r.buf) > ringKeep {
		r.buf, r.head = nil, 0
	}
	return v
}

// remove takes out the element at index i and keeps the order of the others.
func (r *ring[T]) remove(i int) {
	for ; i > 0; i-- {
		*r.at(i) = *r.at(i - 1)
	}
	r.popFront()
}
