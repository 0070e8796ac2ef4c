package brokertest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lineServer is a tiny broker: "P id" publishes and is answered "A id", "S" subscribes and gets "M id", "?" gets "!".
type lineServer struct {
	ln   net.Listener
	wg   sync.WaitGroup
	mu   sync.Mutex
	subs map[net.Conn]bool
	all  map[net.Conn]bool
}

func newLineServer(t *testing.T) *lineServer {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lineServer{ln: ln, subs: map[net.Conn]bool{}, all: map[net.Conn]bool{}}
	s.wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.all[nc] = true
			s.mu.Unlock()
			s.wg.Go(func() { s.serve(nc) })
		}
	})
	t.Cleanup(s.close)
	return s
}

func (s *lineServer) close() {
	s.ln.Close()
	s.mu.Lock()
	for nc := range s.all {
		nc.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *lineServer) serve(nc net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.subs, nc)
		delete(s.all, nc)
		s.mu.Unlock()
		nc.Close()
	}()
	sc := bufio.NewScanner(nc)
	for sc.Scan() {
		verb, id, _ := strings.Cut(sc.Text(), " ")
		s.mu.Lock()
		switch verb {
		case "P":
			for sub := range s.subs {
				fmt.Fprintf(sub, "M %s\n", id)
			}
			fmt.Fprintf(nc, "A %s\n", id)
		case "S":
			s.subs[nc] = true
			fmt.Fprint(nc, "S\n")
		case "?":
			fmt.Fprint(nc, "!\n")
		}
		s.mu.Unlock()
	}
}

// line is the protocol.
type line struct {
	cfg lineConfig
}

type lineConfig struct {
	broker.Config
	Addr   string
	Target actor.Ref `hocon:"-"`
}

type send struct{ ID string }
type heard struct{ ID string }

const linePassword = "s3cr3t-pw"

func newLine(addr string, target actor.Ref, tune func(*broker.Config)) func() actor.Actor {
	return broker.New(broker.Definition[lineConfig, string, struct{}]{
		Key: "troupe.broker.line",
		New: func(c lineConfig) (broker.Protocol[string, struct{}], error) { return &line{c}, nil },
	}, func(c *lineConfig) { c.Addr, c.Target = addr, target; tune(&c.Config) })
}

func (p *line) EndpointLabel() string { return "line://svc:" + linePassword + "@" + p.cfg.Addr }

func (p *line) Start(b *broker.Base[string, struct{}]) error {
	if !p.cfg.Target.IsZero() {
		b.AddSubscriber("all", p.cfg.Target)
		b.Remember("all", struct{}{})
	}
	return nil
}

func (p *line) Command(b *broker.Base[string, struct{}], msg any) (bool, error) {
	if m, ok := msg.(send); ok {
		return true, b.Enqueue(m.ID)
	}
	return false, nil
}

func (p *line) Connect(ctx context.Context, l *broker.Link) (broker.Conn[string], error) {
	nc, err := l.Dial(ctx, "tcp", p.cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("line://svc:%s@%s: %w", linePassword, p.cfg.Addr, err)
	}
	c := &lineConn{l: l, nc: nc, sc: bufio.NewScanner(nc), subscribed: make(chan struct{}, 1), quit: make(chan struct{}), ping: p.cfg.IdleTimeout / 3}
	if _, err := fmt.Fprint(nc, "?\n"); err != nil { // the handshake
		return c, err
	}
	if !c.sc.Scan() {
		return c, io.ErrUnexpectedEOF
	}
	return c, nil
}

type lineConn struct {
	l          *broker.Link
	nc         net.Conn
	sc         *bufio.Scanner
	subscribed chan struct{}
	quit       chan struct{}
	ping       time.Duration
	mu         sync.Mutex
	tokens     []broker.Token
	pings      sync.WaitGroup
}

func (c *lineConn) ConfirmWindow() int { return 64 }

func (c *lineConn) Serve(context.Context) error {
	if c.ping > 0 {
		c.pings.Go(func() {
			t := time.NewTicker(c.ping)
			defer t.Stop()
			for {
				select {
				case <-t.C:
					fmt.Fprint(c.nc, "?\n")
				case <-c.quit:
					return
				}
			}
		})
	}
	for c.sc.Scan() {
		verb, id, _ := strings.Cut(c.sc.Text(), " ")
		switch verb {
		case "A":
			c.mu.Lock()
			t := c.tokens[0]
			c.tokens = c.tokens[1:]
			c.mu.Unlock()
			c.l.Settle(t, id, nil)
		case "M":
			if err := c.l.Push("all", heard{id}); err != nil {
				return err
			}
		case "S":
			c.subscribed <- struct{}{}
		}
	}
	return c.sc.Err()
}

func (c *lineConn) Dispatch(_ context.Context, e broker.Envelope[string]) error {
	c.mu.Lock()
	c.tokens = append(c.tokens, e.Token)
	c.mu.Unlock()
	_, err := fmt.Fprintf(c.nc, "P %s\n", e.Payload)
	return err
}

// ApplySubscription needs Serve to read the answer.
func (c *lineConn) ApplySubscription(ctx context.Context, _ string, _ struct{}) error {
	if _, err := fmt.Fprint(c.nc, "S\n"); err != nil {
		return err
	}
	select {
	case <-c.subscribed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *lineConn) Disconnect(context.Context) error {
	close(c.quit)
	err := c.nc.Close()
	c.pings.Wait()
	return err
}

func TestConformance(t *testing.T) {
	brokertest.Run(t, brokertest.Features{Outcome: broker.Acked, Pings: true, Secret: linePassword}, func(t *testing.T) brokertest.Protocol {
		s := newLineServer(t)
		return brokertest.Protocol{
			Addr: s.ln.Addr().String(),
			New: func(addr string, tune func(*broker.Config)) func() actor.Actor {
				return newLine(addr, actor.Ref{}, tune)
			},
			NewConsumer: newLine,
			Publish:     func(id string) any { return send{id} },
			ID: func(msg any) string {
				h, _ := msg.(heard)
				return h.ID
			},
		}
	})
}
