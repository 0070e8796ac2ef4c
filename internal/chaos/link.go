package chaos

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// underWay is how many reads one direction of a link holds between its two sockets, which is what Latency needs to
// delay without throttling.
const underWay = 64

// link is a client's connection and the target's.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	silent bool
	ctx    context.Context // done when the link has ended
	cancel context.CancelFunc

	// What follows belongs to proxy.mu.

	server *net.TCPConn // nil before the target was reached
	passed int64        // bytes since the start or the last CutAfter
	ended  bool
}

// piece is what one read brought: bytes, or the end of that direction.
type piece struct {
	data []byte
	end  error // io.EOF: the writing side was closed; anything else: a reset
	due  time.Time
}

// run is the link's life.
func (l *link) run() {
	if l.silent {
		// Reading is how the end of the client is seen; how it ends does not matter.
		_, _ = io.Copy(io.Discard, l.client)
		l.end(false)
		return
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(l.ctx, "tcp", l.proxy.target)
	if err != nil {
		l.end(true)
		return
	}
	server := conn.(*net.TCPConn)
	if !l.adopt(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.pass(l.client, server) })
	both.Go(func() { l.pass(server, l.client) })
	both.Wait()
	l.end(false)
}

// adopt takes the target's connection into the link, unless that has ended meanwhile.
func (l *link) adopt(server *net.TCPConn) bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.ended {
		drop(server, true)
		return false
	}
	l.server = server
	return true
}

// end closes both connections; the first call counts.
func (l *link) end(reset bool) {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	l.endLocked(reset)
}

func (l *link) endLocked(reset bool) {
	if l.ended {
		return
	}
	l.ended = true
	delete(l.proxy.links, l)
	l.cancel()
	drop(l.client, reset)
	if l.server != nil {
		drop(l.server, reset)
	}
}

// pass moves one direction until it ends. A reader and a writer with a queue between them, so that Latency delays a
// byte and not the bytes behind it once more.
func (l *link) pass(from, to *net.TCPConn) {
	queue := make(chan piece, underWay)
	var writer sync.WaitGroup
	writer.Go(func() { l.write(to, queue) })
	l.read(from, queue)
	writer.Wait()
}

// read fills the queue and closes it after the piece that ends the direction.
func (l *link) read(from io.Reader, queue chan<- piece) {
	defer close(queue)
	buf := make([]byte, 32<<10)
	for l.passable() {
		n, err := from.Read(buf)
		due := time.Now().Add(l.proxy.now().latency)
		if n > 0 && !l.put(queue, piece{data: bytes.Clone(buf[:n]), due: due}) {
			return
		}
		if err != nil {
			l.put(queue, piece{end: err, due: due})
			return
		}
	}
}

func (l *link) put(queue chan<- piece, p piece) bool {
	select {
	case queue <- p:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// write empties the queue. When it returns early it has ended the link, which also ends the reader.
func (l *link) write(to *net.TCPConn, queue <-chan piece) {
	for p := range queue {
		if !pause(l.ctx, time.Until(p.due)) || !l.passable() {
			return
		}
		switch {
		case p.end == nil:
			if !l.forward(to, p.data) {
				l.end(true)
				return
			}
		case errors.Is(p.end, io.EOF):
			// Fails only if that end is gone too; the other direction sees it.
			_ = to.CloseWrite()
		default:
			l.end(true)
		}
	}
}

// forward writes data as the faults want it and reports whether the link goes on.
func (l *link) forward(to io.Writer, data []byte) bool {
	for len(data) > 0 {
		if !l.passable() {
			return false
		}
		n, last := l.portion(len(data))
		if _, err := to.Write(data[:n]); err != nil || last {
			return false
		}
		data = data[n:]
	}
	return true
}

// portion says how many of n bytes to write at once, and whether the link is cut after them.
func (l *link) portion(n int) (now int, last bool) {
	p := l.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.split {
		n = 1
	}
	if cut := p.faults.cut; cut > 0 {
		left := max(cut-l.passed, 0)
		last = int64(n) >= left
		n = int(min(int64(n), left))
	}
	l.passed += int64(n)
	return n, last
}

// passable waits while there is a hole and reports whether the link goes on.
func (l *link) passable() bool {
	for {
		l.proxy.mu.Lock()
		hole, turned := l.proxy.faults.hole, l.proxy.turned
		l.proxy.mu.Unlock()
		if !hole {
			return l.ctx.Err() == nil
		}
		select {
		case <-turned:
		case <-l.ctx.Done():
			return false
		}
	}
}

// now is the faults as they are.
func (p *Proxy) now() faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}
