package broker

// ring is a double-ended queue. It grows by doubling and gives its memory back when it runs empty after it grew large.
type ring[T any] struct {
	buf  []T // length is a power of two, or 0
	head int
	n    int
}

// keep is the capacity up to which an empty ring holds on to its memory.
const keep = 1024

func (r *ring[T]) len() int { return r.n }

func (r *ring[T]) at(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring[T]) room() {
	if r.n < len(r.buf) {
		return
	}
	buf := make([]T, max(8, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = *r.at(i)
	}
	r.buf, r.head = buf, 0
}

func (r *ring[T]) pushBack(v T) {
	r.room()
	r.n++
	*r.at(r.n - 1) = v
}

// insert puts v before the element at i, 0 <= i <= len. It moves the i elements in front, so it is cheap at the head.
func (r *ring[T]) insert(i int, v T) {
	r.room()
	r.head = (r.head - 1) & (len(r.buf) - 1)
	r.n++
	for j := range i {
		*r.at(j) = *r.at(j + 1)
	}
	*r.at(i) = v
}

// popBack takes out the last element.
func (r *ring[T]) popBack() T {
	r.n--
	at := (r.head + r.n) & (len(r.buf) - 1)
	v := r.buf[at]
	var zero T
	r.buf[at] = zero
	return v
}

// remove takes out the element at i; like insert it is cheap at the head.
func (r *ring[T]) remove(i int) T {
	v := *r.at(i)
	for ; i > 0; i-- {
		*r.at(i) = *r.at(i - 1)
	}
	var zero T
	r.buf[r.head] = zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	if r.n--; r.n == 0 && len(r.buf) > keep {
		r.buf, r.head = nil, 0
	}
	return v
}
