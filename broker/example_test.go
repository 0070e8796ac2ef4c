package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// Line is a protocol of one's own: lines of text over TCP.
type Line struct{ cfg LineConfig }

// LineConfig holds its settings; every broker setting is among them.
type LineConfig struct {
	broker.Config
	Addr   string
	Target actor.Ref `hocon:"-"`
}

// Send is its command, Heard what its target gets.
type (
	Send  struct{ Text string }
	Heard struct{ Text string }
)

// NewLine returns the factory of the actor, for Spawn.
func NewLine(opts ...func(*LineConfig)) func() actor.Actor {
	return broker.New(broker.Definition[LineConfig, string, struct{}]{
		Key: "troupe.broker.line",
		New: func(c LineConfig) (broker.Protocol[string, struct{}], error) {
			if c.Addr == "" {
				return nil, broker.Missing("addr")
			}
			return Line{c}, nil
		},
	}, opts...)
}

func (p Line) EndpointLabel() string { return "line://" + p.cfg.Addr }

func (p Line) Start(b *broker.Base[string, struct{}]) error {
	b.AddSubscriber("lines", p.cfg.Target)
	return nil
}

func (p Line) Command(b *broker.Base[string, struct{}], msg any) (bool, error) {
	if m, ok := msg.(Send); ok {
		return true, b.Enqueue(m.Text)
	}
	return false, nil
}

func (p Line) Connect(ctx context.Context, link *broker.Link) (broker.Conn[string], error) {
	nc, err := link.Dial(ctx, "tcp", p.cfg.Addr)
	if err != nil {
		return nil, err
	}
	return &lineConn{nc, link}, nil
}

type lineConn struct {
	nc   net.Conn
	link *broker.Link
}

func (c *lineConn) Serve(context.Context) error {
	lines := bufio.NewScanner(c.nc)
	for lines.Scan() {
		if err := c.link.Push("lines", Heard{lines.Text()}); err != nil { // waits while the target is behind
			return err
		}
	}
	return lines.Err()
}

func (c *lineConn) Dispatch(_ context.Context, e broker.Envelope[string]) error {
	_, err := io.WriteString(c.nc, e.Payload+"\n")
	return err
}

func (c *lineConn) Disconnect(context.Context) error { return c.nc.Close() }

// A protocol of one's own, against a server that answers every line.
func Example() {
	ctx := context.Background()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ln.Close()
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		for lines := bufio.NewScanner(nc); lines.Scan(); {
			fmt.Fprintf(nc, "you said %s\n", lines.Text())
		}
	}()

	sys, err := actor.NewSystem("example", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if err != nil {
		fmt.Println(err)
		return
	}
	heard := make(chan string, 1)
	target, _ := sys.Spawn("target", func() actor.Actor {
		return actor.Func(func(_ *actor.Context, msg any) error {
			heard <- msg.(Heard).Text
			return nil
		})
	})
	line, _ := sys.Spawn("line", NewLine(func(c *LineConfig) { c.Addr, c.Target = ln.Addr().String(), target }))

	receipt, err := actor.Ask[broker.Receipt](ctx, line, Send{"hello"}) // accepted at once, sent when connected
	fmt.Println(receipt.Outcome, err)
	fmt.Println(<-heard)
	fmt.Println(sys.Terminate(ctx))
	// Output:
	// written <nil>
	// you said hello
	// <nil>
}
