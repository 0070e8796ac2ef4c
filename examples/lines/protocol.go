package main

import (
	"bufio"
	"context"
	"fmt"
	"net"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// Send is a command: a line for the server.
type Send struct{ Text string }

// Listen is a command: To gets a Line for each line of the server.
type Listen struct{ To actor.Ref }

// Line is a line of the server.
type Line struct{ Text string }

// Config has the settings: those of every protocol, and the address. Its key is troupe.broker.line.
type Config struct {
	broker.Config
	// Addr (addr) is host:port. Required.
	Addr string
}

// Validate is called after all settings are in.
func (c *Config) Validate() error {
	if c.Addr == "" {
		return broker.Missing("addr")
	}
	return nil
}

// New returns the factory of an actor that talks to one server.
func New(opts ...func(*Config)) func() actor.Actor {
	return broker.New(broker.Definition[Config, string, struct{}]{
		Key: "troupe.broker.line",
		New: func(c Config) (broker.Protocol[string, struct{}], error) { return &protocol{c.Addr}, nil },
	}, opts...)
}

// protocol has the settings and nothing that dies with a connection.
type protocol struct{ addr string }

// EndpointLabel is the server's address.
func (p *protocol) EndpointLabel() string { return "tcp://" + p.addr }

// Connect opens one connection.
func (p *protocol) Connect(ctx context.Context, link *broker.Link) (broker.Conn[string], error) {
	nc, err := link.Dial(ctx, "tcp", p.addr)
	if err != nil {
		return nil, err
	}
	return &conn{link, nc}, nil
}

// Command takes the two commands.
func (p *protocol) Command(b *broker.Base[string, struct{}], msg any) (handled bool, err error) {
	switch m := msg.(type) {
	case Send:
		return true, b.Enqueue(m.Text)
	case Listen:
		b.AddSubscriber("", m.To)
		return true, nil
	}
	return false, nil
}

// conn is one connection.
type conn struct {
	link *broker.Link
	nc   net.Conn
}

// Serve reads lines until the connection ends.
func (c *conn) Serve(context.Context) error {
	in := bufio.NewScanner(c.nc)
	for in.Scan() {
		if err := c.link.Push("", Line{in.Text()}); err != nil {
			return err
		}
	}
	return in.Err()
}

// Dispatch writes one line.
func (c *conn) Dispatch(_ context.Context, env broker.Envelope[string]) error {
	_, err := fmt.Fprintln(c.nc, env.Payload)
	return err
}

// Disconnect closes the connection.
func (c *conn) Disconnect(context.Context) error { return c.nc.Close() }
