// Command lines talks to a TCP server in lines of text, over a protocol actor of its own: lines of standard input go
// out, what the server says comes in. Start a server with nc -lk 7000, then this, and stop and start the server as you
// like: what is typed meanwhile is sent when it is back.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

func main() {
	addr := flag.String("addr", "localhost:7000", "host:port of the server")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdin, os.Stdout, *addr)
	cancel()
	if err != nil {
		log.Fatal(err)
	}
}

// run sends the lines of in until it ends or ctx does. Ending flushes what has not been sent, if there is a connection.
func run(ctx context.Context, in io.Reader, out io.Writer, addr string) error {
	sys, err := actor.NewSystem("lines", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if err != nil {
		return err
	}
	// The termination must not be cut short by the same interrupt that ends the input.
	defer sys.Terminate(context.WithoutCancel(ctx))
	terminal, err := sys.Spawn("terminal", func() actor.Actor { return &terminal{addr: addr, out: out} })
	if err != nil {
		return err
	}
	typed := make(chan string)
	go func() { // ends with the input; nothing else can interrupt a read of a terminal
		defer close(typed)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			select {
			case typed <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case text, ok := <-typed:
			if !ok {
				return nil
			}
			terminal.Tell(text)
		case <-ctx.Done():
			return nil
		}
	}
}

// terminal sends what is typed, and prints what is heard and what becomes of the connection.
type terminal struct {
	addr string
	out  io.Writer
	line actor.Ref
}

// PreStart subscribes to the events before it spawns the connection, so that it misses none.
func (t *terminal) PreStart(ctx *actor.Context) (err error) {
	actor.Subscribe[broker.Event](ctx.System().EventStream(), ctx.Self())
	t.line, err = ctx.Spawn("line", New(func(c *Config) { c.Addr = t.addr }))
	ctx.Tell(t.line, Listen{ctx.Self()})
	return err
}

// Receive sends and prints.
func (t *terminal) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case string:
		ctx.Tell(t.line, Send{m})
	case Line:
		fmt.Fprintln(t.out, m.Text)
	case broker.Connected:
		fmt.Fprintln(t.out, "-- connected to", m.Endpoint)
	case broker.Disconnected:
		fmt.Fprintln(t.out, "-- lost:", m.Cause)
	case broker.ReconnectAttempt:
		fmt.Fprintf(t.out, "-- attempt %d after %v\n", m.Attempt, m.Delay)
	case broker.BufferOverflow:
		fmt.Fprintf(t.out, "-- more than %d lines wait: the oldest is dropped\n", m.Limit)
	}
	return nil
}
