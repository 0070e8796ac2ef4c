package broker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

// piped gives every connection of the fake one end of a pipe; the test has the others. read runs on the connection's end.
type piped struct {
	peers []net.Conn
	read  func(l *broker.Link, nc net.Conn)
}

func (p *piped) config(c *broker.Config) {
	c.Dialer = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		p.peers = append(p.peers, there)
		return here, nil
	}
}

func (p *piped) connect(ctx context.Context, _ int, l *broker.Link) error {
	nc, err := l.Dial(ctx, "tcp", "peer:1")
	if err != nil {
		return err
	}
	go p.read(l, nc)
	return nil
}

func discard(_ *broker.Link, nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }

func (p *piped) close() {
	for _, c := range p.peers {
		c.Close()
	}
}

func idle(p *piped, d time.Duration) []func(*brokertest.Config) {
	return set(func(c *broker.Config) { p.config(c); c.IdleTimeout = d })
}

// TestF753_OnlyInboundBytesCount writes all the time into a peer that reads and says nothing.
func TestF753_OnlyInboundBytesCount(t *testing.T) {
	p := &piped{read: func(l *broker.Link, nc net.Conn) {
		go discard(nil, nc)
		for l.Context().Err() == nil {
			if _, err := nc.Write([]byte("hello")); err != nil {
				return
			}
			select {
			case <-time.After(100 * ms):
			case <-l.Context().Done():
			}
		}
	}}
	bubble(t, func(w *world) { w.fake.OnConnect = p.connect }, idle(p, time.Second), func(w *world) {
		defer p.close()
		go func() { _, _ = io.Copy(io.Discard, p.peers[0]) }()
		w.after(time.Second - 1)
		w.events("Connected")
		w.after(1)
		w.events("Connected", "Disconnected")
		if d := w.rec.Events()[1].(broker.Disconnected); !errors.Is(d.Cause, broker.ErrIdle) {
			t.Errorf("cause %v", d.Cause)
		}
		if _, err := p.peers[0].Write([]byte("x")); err == nil {
			t.Error("the socket is still open")
		}
	})
}

func TestIdleDeadlineIsReset(t *testing.T) {
	p := &piped{read: discard}
	bubble(t, func(w *world) { w.fake.OnConnect = p.connect }, idle(p, time.Second), func(w *world) {
		defer p.close()
		for range 10 { // one byte is enough, a comment for instance
			w.after(999 * ms)
			if _, err := p.peers[0].Write([]byte(":")); err != nil {
				t.Fatal(err)
			}
		}
		w.after(time.Second - 1)
		w.events("Connected")
		w.after(1)
		w.events("Connected", "Disconnected")
	})
	t.Run("by NoteInbound", func(t *testing.T) {
		bubble(t, nil, set(func(c *broker.Config) { c.IdleTimeout = time.Second }), func(w *world) {
			w.after(600 * ms)
			w.fake.Link(1).NoteInbound()
			w.after(600 * ms)
			w.events("Connected")
			w.after(time.Second)
			w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
		})
	})
	t.Run("off by default", func(t *testing.T) {
		p := &piped{read: discard}
		bubble(t, func(w *world) { w.fake.OnConnect = p.connect }, set(p.config), func(w *world) {
			defer p.close()
			w.after(24 * time.Hour)
			w.events("Connected")
		})
	})
}

// TestIdleExpiryIsReportedOnce: the socket's own end arrives as well.
func TestIdleExpiryIsReportedOnce(t *testing.T) {
	p := &piped{read: func(l *broker.Link, nc net.Conn) {
		_, err := io.Copy(io.Discard, nc)
		l.Lost(err)
	}}
	bubble(t, func(w *world) { w.fake.OnConnect = p.connect }, idle(p, time.Second), func(w *world) {
		defer p.close()
		w.after(1100 * ms)
		w.events("Connected", "Disconnected")
		equal(t, "disconnects", w.fake.Disconnects(), 1)
	})
}

// TestIdleTimerOfAnEarlierConnection must not fire against the next.
func TestIdleTimerOfAnEarlierConnection(t *testing.T) {
	p := &piped{read: discard}
	bubble(t, func(w *world) { w.fake.OnConnect = p.connect }, idle(p, time.Second), func(w *world) {
		defer p.close()
		w.after(900 * ms)
		w.drop(errGone)
		w.after(200 * ms) // connected again at 1.1 s
		w.after(time.Second - 1)
		w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
		w.after(1)
		w.events("Connected", "Disconnected", "Attempt(1)", "Connected", "Disconnected")
	})
}

// TestStuckHandshake: the peer accepts and never answers, and the hook waits for its bytes with no regard to the context.
func TestStuckHandshake(t *testing.T) {
	p := &piped{}
	stuck := func(ctx context.Context, _ int, l *broker.Link) error {
		nc, err := l.Dial(ctx, "tcp", "peer:1")
		if err != nil {
			return err
		}
		_, err = nc.Read(make([]byte, 1))
		return err
	}
	bubble(t, func(w *world) { w.fake.OnConnect = stuck }, set(func(c *broker.Config) { p.config(c); c.ConnectTimeout = time.Second }), func(w *world) {
		defer p.close()
		w.after(time.Second - 1)
		equal(t, "state", w.status().State, broker.StateConnecting)
		w.after(1)
		equal(t, "state", w.status().State, broker.StateDisconnected)
		w.after(200 * ms)
		w.events("Attempt(1)")
		if err := w.status().LastError; !errors.Is(err, broker.ErrConnectTimeout) {
			t.Errorf("last error %v", err)
		}
	})
	t.Run("stop", func(t *testing.T) {
		p := &piped{}
		bubble(t, func(w *world) { w.fake.OnConnect = stuck }, set(p.config), func(w *world) {
			defer p.close()
			w.after(time.Hour)
			equal(t, "stop took", w.stop(), 0)
			w.events()
		})
	})
}

// TestLossNotification reports losses from everywhere: three goroutines, inside the connect hook, during the teardown, and
// when the next connection is up.
func TestLossNotification(t *testing.T) {
	bubble(t, func(w *world) { w.fake.DisconnectGate.Close() }, nil, func(w *world) {
		l := w.fake.Link(1)
		for range 3 {
			go l.Lost(errGone)
		}
		synctest.Wait()
		l.Lost(errors.New("during the teardown"))
		w.fake.DisconnectGate.Open()
		w.after(time.Second)
		l.Lost(errors.New("after the next connect"))
		w.after(time.Hour)
		w.events("Connected", "Disconnected", "Attempt(1)", "Connected")
		equal(t, "disconnects", w.fake.Disconnects(), 1)
	})
	t.Run("Serve returns nil", func(t *testing.T) {
		bubble(t, nil, nil, func(w *world) {
			w.drop(nil)
			w.events("Connected", "Disconnected")
			if d := w.rec.Events()[1].(broker.Disconnected); !errors.Is(d.Cause, broker.ErrServeReturned) {
				t.Errorf("cause %v", d.Cause)
			}
		})
	})
}

// TestW05_LossInsideConnect fails that attempt and nothing else.
func TestW05_LossInsideConnect(t *testing.T) {
	for name, also := range map[string]error{"then it succeeds": nil, "then it fails too": errors.New("refused")} {
		t.Run(name, func(t *testing.T) {
			lose := func(_ context.Context, n int, l *broker.Link) error {
				if n > 1 {
					return nil
				}
				l.Lost(errGone)
				return also
			}
			bubble(t, func(w *world) { w.fake.OnConnect = lose }, nil, func(w *world) {
				w.after(time.Hour)
				w.events("Attempt(1)", "Connected")
				equal(t, "connects", w.fake.Connects(), 2)
				if n := w.fake.Disconnects(); also == nil && n != 1 {
					t.Errorf("the attempt's connection was closed %d times", n)
				}
			})
		})
	}
}

// TestHooksThatPanic: every hook of a connection.
func TestHooksThatPanic(t *testing.T) {
	once := func(n int) {
		if n == 1 {
			panic("driver bug")
		}
	}
	for name, prepare := range map[string]func(w *world){
		"connect": func(w *world) {
			w.fake.OnConnect = func(_ context.Context, n int, _ *broker.Link) error { once(n); return nil }
		},
		"dispatch": func(w *world) {
			w.fake.OnDispatch = func(_ context.Context, s brokertest.Sent) error { once(s.Link); return nil }
		},
		"apply": func(w *world) {
			w.fake.Initial = []string{"a", "1"}
			w.fake.OnApply = func(context.Context, string) error { once(w.fake.Connects()); return nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, prepare, nil, func(w *world) {
				w.publish("a")
				w.after(time.Hour)
				equal(t, "sent", w.fake.Payloads(), []string{"a"})
				equal(t, "connects", w.fake.Connects(), 2)
			})
		})
	}
}

// TestSocketsAreClosedBeforeDisconnect: on a dead link nothing may wait for the peer, not even a Disconnect that first
// waits for its own reader.
func TestSocketsAreClosedBeforeDisconnect(t *testing.T) {
	read := make(chan struct{})
	p := &piped{read: func(_ *broker.Link, nc net.Conn) { discard(nil, nc); close(read) }}
	wait := func(_ context.Context, n int) error {
		if n == 1 {
			<-read
		}
		return nil
	}
	once := func(ctx context.Context, n int, l *broker.Link) error {
		if n == 1 {
			return p.connect(ctx, n, l)
		}
		return nil
	}
	prepare := func(w *world) { read = make(chan struct{}); w.fake.OnConnect, w.fake.OnDisconnect = once, wait }
	bubble(t, prepare, set(p.config), func(w *world) {
		defer p.close()
		w.drop(errGone)
		equal(t, "state", w.status().State, broker.StateDisconnected)
		equal(t, "stop took", w.stop(), 0)
	})
}

// TestLentSockets: what the base knows of them, and that none survives its link.
func TestLentSockets(t *testing.T) {
	p := &piped{read: discard}
	bubble(t, func(w *world) { w.fake.OnConnect = p.connect }, set(p.config), func(w *world) {
		defer p.close()
		l := w.fake.Link(1)
		equal(t, "nothing yet", [2]bool{l.LastRead().IsZero(), l.LastWrite().IsZero()}, [2]bool{true, true})
		w.after(time.Second)
		if _, err := p.peers[0].Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		equal(t, "last read", l.LastRead(), time.Now())
		here, there := net.Pipe()
		own, err := l.Adopt(here)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, there) }()
		w.after(time.Second)
		if _, err := own.Write([]byte("y")); err != nil {
			t.Fatal(err)
		}
		equal(t, "last write", l.LastWrite(), time.Now())
		w.drop(errGone)
		if _, err := own.Write([]byte("z")); err == nil {
			t.Error("an adopted socket survives its link")
		}
		late, other := net.Pipe()
		defer other.Close()
		if _, err := l.Adopt(late); !errors.Is(err, broker.ErrLinkClosed) {
			t.Errorf("adopted on a dead link: %v", err)
		}
		if _, err := late.Write([]byte("z")); err == nil {
			t.Error("a socket adopted too late is open")
		}
	})
}
