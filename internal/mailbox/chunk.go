package mailbox

import "sync"

// chunkLen makes a chunk of 40-byte envelopes fit in 1024 bytes.
const chunkLen = 25

// chunk is a piece of the queue, filled from the front and emptied from the front.
type chunk[E any] struct {
	next   *chunk[E]
	n, pos int32
	e      [chunkLen]E
}

// Pool has the chunks that no mailbox uses. The zero value is ready; one Pool serves all mailboxes of a system, from any
// goroutine.
type Pool[E any] struct{ p sync.Pool }

func (p *Pool[E]) get() *chunk[E] {
	if c, ok := p.p.Get().(*chunk[E]); ok {
		return c
	}
	return new(chunk[E])
}

// put takes back a chunk that was never filled.
func (p *Pool[E]) put(c *chunk[E]) {
	if c != nil {
		p.p.Put(c)
	}
}

// empty takes back a chunk whose envelopes are done.
func (p *Pool[E]) empty(c *chunk[E]) {
	clear(c.e[:c.n])
	c.n, c.pos, c.next = 0, 0, nil
	p.p.Put(c)
}
