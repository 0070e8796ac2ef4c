package chaos

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen, quiet how long it looks at what must not.
const (
	patience = 10 * time.Second
	quiet    = 50 * time.Millisecond
)

// target is a server that hands every connection to one function and counts them.
type target struct {
	ln    net.Listener
	dials atomic.Int64
	work  sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
}

// serve starts a target; it ends with the test.
func serve(t *testing.T, handle func(*net.TCPConn)) *target {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &target{ln: ln}
	s.work.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			s.dials.Add(1)
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			s.work.Go(func() {
				defer conn.Close()
				handle(conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.work.Wait()
	})
	return s
}

func echo(conn *net.TCPConn) { io.Copy(conn, conn) }

// proxied starts a proxy before a target; it ends before the target does.
func proxied(t *testing.T, handle func(*net.TCPConn)) (*Proxy, *target) {
	t.Helper()
	s := serve(t, handle)
	p, err := New(s.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, s
}

// dial connects to the proxy; the connection ends with the test and no call on it blocks for longer than patience.
func dial(t *testing.T, p *Proxy) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp4", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return conn.(*net.TCPConn)
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatalf("send %q: %v", text, err)
	}
}

func expect(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	buf := make([]byte, len(text))
	if n, err := io.ReadFull(conn, buf); err != nil || string(buf) != text {
		t.Fatalf("received %q, %v; want %q", buf[:n], err, text)
	}
}

// expectNothing checks that neither bytes nor an end arrive.
func expectNothing(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(quiet))
	defer conn.SetReadDeadline(time.Now().Add(patience))
	n, err := conn.Read(make([]byte, 100))
	var timeout net.Error
	if n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("received %d bytes, %v; want nothing", n, err)
	}
}

// expectReset checks that the next thing to arrive is an RST.
func expectReset(t *testing.T, conn net.Conn) {
	t.Helper()
	if n, err := conn.Read(make([]byte, 100)); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("received %d bytes, %v; want a reset", n, err)
	}
}

// eventually waits until got is want.
func eventually(t *testing.T, what string, want int, got func() int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); got() != want; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s is %d, want %d", what, got(), want)
		}
	}
}

// expectDialReset checks that a new connection is reset, which the dial itself may already notice.
func expectDialReset(t *testing.T, p *Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp4", p.Addr())
	if err == nil {
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(patience))
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the dial or the first read: %v, want a reset", err)
	}
}
