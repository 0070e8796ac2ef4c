package chaos

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestPassesBothWays(t *testing.T) {
	p, _ := proxied(t, echo)
	conn := dial(t, p)
	send(t, conn, "hello")
	expect(t, conn, "hello")
	if p.Dials() != 1 || p.Live() != 1 {
		t.Errorf("Dials %d, Live %d; want 1, 1", p.Dials(), p.Live())
	}
	conn.CloseWrite()
	if rest, err := io.ReadAll(conn); err != nil || len(rest) != 0 {
		t.Errorf("after the half close: %q, %v; want the end", rest, err)
	}
	conn.Close()
	eventually(t, "Live", 0, p.Live)
}

func TestHalfCloseLetsTheAnswerThrough(t *testing.T) {
	p, _ := proxied(t, func(conn *net.TCPConn) {
		all, _ := io.ReadAll(conn)
		conn.Write(bytes.ToUpper(all))
	})
	conn := dial(t, p)
	send(t, conn, "question")
	conn.CloseWrite()
	if all, err := io.ReadAll(conn); string(all) != "QUESTION" || err != nil {
		t.Errorf("received %q, %v", all, err)
	}
}

func TestAResetOfOneEndReachesTheOther(t *testing.T) {
	end := make(chan error, 1)
	p, _ := proxied(t, func(conn *net.TCPConn) {
		echoed := make([]byte, 1)
		io.ReadFull(conn, echoed)
		conn.Write(echoed)
		_, err := conn.Read(echoed)
		end <- err
	})
	conn := dial(t, p)
	send(t, conn, "x")
	expect(t, conn, "x")
	conn.SetLinger(0)
	conn.Close()
	if err := <-end; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the target saw %v, want a reset", err)
	}
	eventually(t, "Live", 0, p.Live)
}

func TestTargetDown(t *testing.T) {
	p, s := proxied(t, echo)
	s.ln.Close()
	expectDialReset(t, p)
	eventually(t, "Live", 0, p.Live)
}

func TestRefuseAndAccept(t *testing.T) {
	p, _ := proxied(t, echo)
	addr := p.Addr()
	open := dial(t, p)
	send(t, open, "a")
	expect(t, open, "a")
	for range 3 {
		p.Refuse()
		p.Refuse()
		if conn, err := net.Dial("tcp4", addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("dial while refusing: %v, %v", conn, err)
		}
		send(t, open, "b")
		expect(t, open, "b")
		for range 2 {
			if err := p.Accept(); err != nil {
				t.Fatal(err)
			}
		}
		conn := dial(t, p)
		send(t, conn, "c")
		expect(t, conn, "c")
	}
	if p.Addr() != addr {
		t.Errorf("Addr was %s and is %s", addr, p.Addr())
	}
	if p.Dials() != 4 {
		t.Errorf("Dials = %d, want 4: refused ones are not counted", p.Dials())
	}
}

func TestThePortIsKeptWhileRefusing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the port is reserved on Linux only")
	}
	p, _ := proxied(t, echo)
	p.Refuse()
	for range 1000 {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		if ln.Addr().String() == p.Addr() {
			t.Fatalf("somebody else was given %s", p.Addr())
		}
	}
	if err := p.Accept(); err != nil {
		t.Error(err)
	}
}

func TestReset(t *testing.T) {
	ends := make(chan error, 3)
	p, _ := proxied(t, func(conn *net.TCPConn) {
		_, err := io.Copy(conn, conn)
		ends <- err
	})
	var conns []net.Conn
	for range 3 {
		conn := dial(t, p)
		send(t, conn, "x")
		expect(t, conn, "x")
		conns = append(conns, conn)
	}
	p.Reset()
	if p.Live() != 0 {
		t.Errorf("Live = %d after Reset", p.Live())
	}
	for _, conn := range conns {
		expectReset(t, conn)
		if err := <-ends; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the target saw %v, want a reset", err)
		}
	}
	conn := dial(t, p)
	send(t, conn, "y")
	expect(t, conn, "y")
}

func TestHoleHoldsBackAndResumes(t *testing.T) {
	p, s := proxied(t, echo)
	conn := dial(t, p)
	send(t, conn, "before ")
	expect(t, conn, "before ")
	p.Hole(true)
	want := strings.Repeat("in the hole, in pieces; ", 100)
	for part := range strings.SplitAfterSeq(want, " ") {
		send(t, conn, part)
	}
	expectNothing(t, conn)

	late := dial(t, p) // accepted, as by a machine whose answers get lost
	send(t, late, "late")
	expectNothing(t, late)
	if p.Live() != 2 {
		t.Errorf("Live = %d in the hole, want 2", p.Live())
	}

	p.Hole(false)
	expect(t, conn, want)
	expect(t, late, "late")
	if n := s.dials.Load(); n != 2 {
		t.Errorf("the target saw %d connections, want 2", n)
	}
}

func TestNobodySeesACloseBehindAHole(t *testing.T) {
	for _, reset := range []bool{false, true} {
		closed := make(chan struct{})
		p, _ := proxied(t, func(conn *net.TCPConn) {
			defer close(closed)
			echo(conn)
		})
		conn := dial(t, p)
		send(t, conn, "x")
		expect(t, conn, "x")
		p.Hole(true)
		drop(conn, reset)
		select {
		case <-closed:
			t.Fatalf("reset %v: the target saw the end through the hole", reset)
		case <-time.After(quiet):
		}
		p.Hole(false)
		select {
		case <-closed:
		case <-time.After(patience):
			t.Fatalf("reset %v: the target never saw the end", reset)
		}
		eventually(t, "Live", 0, p.Live)
	}
}

func TestSilent(t *testing.T) {
	p, s := proxied(t, echo)
	open := dial(t, p)
	send(t, open, "x")
	expect(t, open, "x")
	p.Silent(true)
	mute := dial(t, p)
	send(t, mute, strings.Repeat("hello?", 100_000)) // far more than socket buffers hold: it is read
	expectNothing(t, mute)
	send(t, open, "y")
	expect(t, open, "y")
	p.Silent(false)
	expectNothing(t, mute)
	heard := dial(t, p)
	send(t, heard, "z")
	expect(t, heard, "z")
	if n := s.dials.Load(); n != 2 {
		t.Errorf("the target saw %d connections, want 2", n)
	}
	mute.Close()
	eventually(t, "Live", 2, p.Live)
}

func TestResetAfterHandshake(t *testing.T) {
	p, s := proxied(t, echo)
	p.ResetAfterHandshake(20)
	for range 20 {
		expectDialReset(t, p)
	}
	conn := dial(t, p)
	send(t, conn, "x")
	expect(t, conn, "x")
	if p.Dials() != 21 || s.dials.Load() != 1 {
		t.Errorf("Dials %d, the target's %d; want 21, 1", p.Dials(), s.dials.Load())
	}
}

func TestCutAfter(t *testing.T) {
	const text = "0123456789abcdefghijklmnopqrstuvwxyz"
	for n := 1; n <= len(text); n++ {
		got := make(chan string, 1)
		p, _ := proxied(t, func(conn *net.TCPConn) {
			all, _ := io.ReadAll(conn)
			got <- string(all)
		})
		p.CutAfter(int64(n))
		conn := dial(t, p)
		send(t, conn, text)
		expectReset(t, conn)
		if all := <-got; all != text[:n] {
			t.Fatalf("CutAfter(%d): the target got %q", n, all)
		}
		if p.Live() != 0 {
			t.Fatalf("Live = %d after the cut", p.Live())
		}
	}
}

func TestCutAfterCountsBothDirectionsFromTheCall(t *testing.T) {
	p, _ := proxied(t, echo)
	conn := dial(t, p)
	send(t, conn, "12345678")
	expect(t, conn, "12345678")
	p.CutAfter(10)
	send(t, conn, "abc")
	expect(t, conn, "abc")
	send(t, conn, "defg")
	expectReset(t, conn)

	p.CutAfter(0)
	conn = dial(t, p)
	send(t, conn, "12345678")
	expect(t, conn, "12345678")
}

func TestSplit(t *testing.T) {
	p, _ := proxied(t, echo)
	p.Split(true)
	conn := dial(t, p)
	want := strings.Repeat("a whole frame", 100)
	send(t, conn, want)
	expect(t, conn, want)

	// What a socket delivers may be joined again, so how it is written is looked at without one.
	var sizes []int
	l := &link{proxy: p, ctx: t.Context()}
	l.forward(writerFunc(func(b []byte) (int, error) {
		sizes = append(sizes, len(b))
		if len(sizes) == 3 {
			p.Split(false)
		}
		return len(b), nil
	}), []byte("123456"))
	if len(sizes) != 4 || sizes[0] != 1 || sizes[3] != 3 {
		t.Errorf("written in pieces of %v, want 1 1 1 and, switched off, 3", sizes)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestLatencyDelaysWithoutThrottling(t *testing.T) {
	const delay = 30 * time.Millisecond
	p, _ := proxied(t, echo)
	p.Latency(delay)
	conn := dial(t, p)
	start := time.Now()
	send(t, conn, "x")
	expect(t, conn, "x")
	if took := time.Since(start); took < 2*delay {
		t.Errorf("a round trip took %v, want at least %v", took, 2*delay)
	}

	// 40 frames, each written after a pause shorter than the delay: one after the other they would take 40 delays.
	start = time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 40 {
		send(t, conn, "frame")
		<-tick.C
	}
	expect(t, conn, strings.Repeat("frame", 40))
	if took := time.Since(start); took < 2*delay || took > 40*delay/2 {
		t.Errorf("40 frames took %v, want about %v", took, 2*delay+40*time.Millisecond)
	}
}

func TestCloseEndsEverythingInEveryState(t *testing.T) {
	states := map[string]func(*testing.T, *Proxy){
		"idle":       func(t *testing.T, p *Proxy) {},
		"refusing":   func(t *testing.T, p *Proxy) { p.Refuse() },
		"hole":       func(t *testing.T, p *Proxy) { p.Hole(true); send(t, dial(t, p), "x") },
		"silent":     func(t *testing.T, p *Proxy) { p.Silent(true); send(t, dial(t, p), "x") },
		"latency":    func(t *testing.T, p *Proxy) { p.Latency(time.Hour); send(t, dial(t, p), "x") },
		"unread":     func(t *testing.T, p *Proxy) { flood(dial(t, p)) },
		"just begun": func(t *testing.T, p *Proxy) { dial(t, p) },
	}
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			p, _ := proxied(t, func(*net.TCPConn) { <-t.Context().Done() }) // reads nothing
			state(t, p)
			start := time.Now()
			var all sync.WaitGroup
			for range 3 {
				all.Go(p.Close)
			}
			all.Wait()
			p.Close()
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("Close took %v", took)
			}
			if p.Live() != 0 {
				t.Errorf("Live = %d after Close", p.Live())
			}
			if err := p.Accept(); !errors.Is(err, ErrClosed) {
				t.Errorf("Accept after Close: %v, want ErrClosed", err)
			}
			if _, err := net.Dial("tcp4", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial after Close: %v, want refused", err)
			}
		})
	}
}

// flood writes until the buffers up to the target are full.
func flood(conn net.Conn) {
	conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	for buf := make([]byte, 1<<20); ; {
		if _, err := conn.Write(buf); err != nil {
			return
		}
	}
}

func TestEveryFaultAtOnce(t *testing.T) {
	p, _ := proxied(t, echo)
	stop := make(chan struct{})
	var clients, levers sync.WaitGroup
	for range 8 {
		clients.Go(func() { hammer(p, stop) })
	}
	for _, lever := range []func(on bool){
		p.Hole, p.Silent, p.Split,
		func(on bool) { p.Latency(map[bool]time.Duration{true: time.Millisecond}[on]) },
		func(on bool) { p.CutAfter(map[bool]int64{true: 100}[on]) },
		func(on bool) { p.ResetAfterHandshake(1) },
		func(on bool) { p.Reset() },
		func(on bool) {
			if on {
				p.Refuse()
			} else if err := p.Accept(); err != nil {
				t.Error(err)
			}
		},
	} {
		levers.Go(func() {
			tick := time.NewTicker(700 * time.Microsecond)
			defer tick.Stop()
			for i := range 200 {
				lever(i%2 == 0)
				p.Dials()
				p.Live()
				<-tick.C
			}
			lever(false)
		})
	}
	levers.Wait()
	p.ResetAfterHandshake(0)
	close(stop)
	clients.Wait()
	eventually(t, "Live", 0, p.Live)
	conn := dial(t, p)
	send(t, conn, "well again")
	expect(t, conn, "well again")
}

// hammer dials and echoes until told to stop; what it reads must be what it sent.
func hammer(p *Proxy, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		conn, err := net.Dial("tcp4", p.Addr())
		if err != nil {
			continue
		}
		conn.SetDeadline(time.Now().Add(20 * time.Millisecond))
		buf := make([]byte, 50)
		for err == nil {
			if _, err = conn.Write(buf); err == nil {
				_, err = io.ReadFull(conn, buf)
			}
		}
		conn.Close()
	}
}
