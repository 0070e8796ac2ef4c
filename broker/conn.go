package broker

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// sockets are the net.Conns that one link lent out. It is the uniform loss signal's ground: whatever a driver does, the
// base knows when bytes last came in and can end every blocked read and write.
type sockets struct {
	start time.Time    // stamps are nanoseconds since then, plus 1, on the monotonic clock
	read  atomic.Int64 // 0 is never
	wrote atomic.Int64

	mu     sync.Mutex
	open   map[*netConn]struct{}
	closed bool
}

func (s *sockets) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *sockets) now() int64 { return int64(time.Since(s.start)) + 1 }

func (s *sockets) noteRead() { s.read.Store(s.now()) }

func (s *sockets) at(stamp *atomic.Int64) time.Time {
	n := stamp.Load()
	if n == 0 {
		return time.Time{}
	}
	return s.start.Add(time.Duration(n - 1))
}

// quiet is how long nothing was received, counted from since if that is later than the last read.
func (s *sockets) quiet(since int64) time.Duration {
	return time.Duration(s.now() - max(since, s.read.Load()))
}

func (s *sockets) adopt(nc net.Conn) (*netConn, error) {
	c := &netConn{Conn: nc, s: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = hardClose(nc)
		return nil, ErrLinkClosed
	}
	if s.open == nil {
		s.open = make(map[*netConn]struct{})
	}
	s.open[c] = struct{}{}
	return c, nil
}

// close ends every socket at once and refuses new ones. It may be called again.
func (s *sockets) close() {
	s.mu.Lock()
	s.closed = true
	open := s.open
	s.open = nil
	s.mu.Unlock()
	for c := range open {
		_ = hardClose(c.Conn)
	}
}

// hardClose drops what was not sent: a peer that does not read must not hold the close up, and the connection should not
// linger in the kernel.
func hardClose(nc net.Conn) error {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok { // TLS would say goodbye first, and wait to be able to
		_ = hardClose(t.NetConn())
	}
	if t, ok := nc.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // fails only on a socket that is closed already
	}
	return nc.Close()
}

// netConn is a lent socket.
type netConn struct {
	net.Conn
	s *sockets
}

// Read stamps received bytes.
func (c *netConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.s.noteRead()
	}
	return n, err
}

// Write stamps sent bytes.
func (c *netConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.s.wrote.Store(c.s.now())
	}
	return n, err
}

// Close gives the socket back.
func (c *netConn) Close() error {
	c.s.mu.Lock()
	delete(c.s.open, c)
	c.s.mu.Unlock()
	return c.Conn.Close()
}
