package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/troupe-go/troupe/cmd/troupe/internal/demo"
	"github.com/troupe-go/troupe/cmd/troupe/internal/order"
	"github.com/troupe-go/troupe/cmd/troupe/internal/view"
)

// generated is how many orders are made when there is no input.
const generated = 20_000

type demoCmd struct {
	Orders    int           `help:"How many orders to generate. Default 20000, when there is no input."`
	Input     string        `help:"Read orders from this file, one JSON object a line with id, customer and amount (cents); - is standard input. Without it, standard input is read if something is piped in." placeholder:"FILE"`
	Kills     int           `default:"3" help:"How often to kill the server (SIGKILL); a connection reset and a blackhole come on top. -kills=-1 breaks nothing."`
	Idle      time.Duration `default:"2s" help:"Receive timeout of a session: after it, an idle one retires."`
	JSON      bool          `name:"json" help:"Print the result as one JSON object, on the last line."`
	Customers int           `default:"200" help:"How many customers the generated orders have."`
	Seed      uint64        `default:"1" help:"Seed of the generated orders."`
	Port      int           `help:"Port of the server on 127.0.0.1; 0 is a free one."`
	Dir       string        `help:"Directory for the server's store. Default a temporary one, removed at the end." placeholder:"DIR"`
	Config    string        `help:"HOCON file with settings under troupe.actor and troupe.broker.jetstream." placeholder:"FILE"`
	Verbose   bool          `help:"Print the runtime's own log on standard error."`
}

// Run runs the demo and reports it.
func (c demoCmd) Run(std *streams) error {
	o, done, err := c.options(std)
	if err != nil {
		return err
	}
	defer done()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // the root of the program
	defer stop()
	res, err := c.show(ctx, stop, std, o)
	switch {
	case errors.Is(err, demo.ErrInterrupted):
		fmt.Fprintln(std.err, "troupe: interrupted; everything is stopped")
		return exitCode(130)
	case err != nil:
		return err
	}
	fmt.Fprintf(std.out, "\n%s", res.Table())
	if c.JSON {
		fmt.Fprintln(std.out, res.JSON())
	}
	if !res.OK() {
		return exitCode(1)
	}
	return nil
}

// show runs the demo under the view that fits the output.
func (c demoCmd) show(ctx context.Context, interrupt func(), std *streams, o demo.Options) (demo.Result, error) {
	fmt.Fprint(std.out, intro)
	out, ok := std.out.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) {
		v := view.NewPlain(std.out)
		r := demo.New(o, v)
		v.Start(r.Snapshot)
		defer v.Stop()
		return r.Go(ctx)
	}
	var keys io.Reader
	if term.IsTerminal(int(std.in.Fd())) {
		keys = std.in
	}
	var r *demo.Run
	v := view.NewLive(keys, out, func() demo.Snapshot { return r.Snapshot() }, interrupt)
	r = demo.New(o, v)
	v.Start()
	res, err := r.Go(ctx)
	if e := v.Stop(); e != nil && err == nil {
		err = fmt.Errorf("the live view failed: %w", e)
	}
	return res, err
}

const intro = `Orders go through NATS JetStream to one session actor per customer. Meanwhile the server is killed,
the connection is reset and the network goes silent. A publisher actor asks for each order to be stored, a
consumer actor forwards each delivery to its session, and JetStream hears "acknowledged" when the session has
handled it. Idle sessions retire and hand their totals back. In the end every total must equal the input's sum.

`

// options turns the flags into those of a run. done closes what was opened.
func (c demoCmd) options(std *streams) (o demo.Options, done func(), err error) {
	done = func() {}
	exe, err := os.Executable()
	if err != nil {
		return o, done, fmt.Errorf("this program's own file is not known, and it is needed to start the server: %w", err)
	}
	o = demo.Options{
		Orders: c.Orders, Customers: c.Customers, Seed: c.Seed, Kills: c.Kills, Idle: c.Idle,
		Dir: c.Dir, Port: c.Port, Config: c.Config, Exe: exe, InputLines: -1,
	}
	if c.Verbose {
		o.Log = std.err
	}
	switch {
	case c.Input != "" && c.Orders != 0:
		return o, done, errors.New("-input and -orders exclude each other: the orders are either read or generated")
	case c.Input == "-":
		o.Input = std.in
	case c.Input != "":
		if done, err = c.openInput(&o); err != nil {
			return o, done, err
		}
	case c.Orders == 0:
		o.Input = piped(std.in)
	}
	if o.Orders == 0 {
		o.Orders = generated
	}
	return o, done, o.Validate()
}

// openInput opens the file and counts its lines, so that faults can be spread over them.
func (c demoCmd) openInput(o *demo.Options) (done func(), err error) {
	refuse := func(err error) (func(), error) {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return func() {}, fmt.Errorf("the input %s cannot be read: %w", c.Input, err)
	}
	f, err := os.Open(c.Input)
	if err != nil {
		return refuse(err)
	}
	done = func() { _ = f.Close() } // it was only read
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if o.InputLines, err = order.CountLines(f); err != nil {
			done()
			return refuse(err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			done()
			return refuse(err)
		}
	}
	o.Input = f
	return done, nil
}

// patience is how long piped input may take for its first byte before orders are generated instead.
const patience = 2 * time.Second

// piped returns standard input if something is piped in: a program started by another often has a pipe there that is
// empty or never says a word.
func piped(in *os.File) io.Reader {
	if in == nil {
		return nil
	}
	info, err := in.Stat()
	if err != nil || !(info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0) {
		return nil
	}
	type first struct {
		b [1]byte
		n int
	}
	got := make(chan first, 1)
	go func() { // ends with the first byte, or with the program
		var f first
		f.n, _ = io.ReadFull(in, f.b[:])
		got <- f
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case f := <-got:
		if f.n == 1 {
			return io.MultiReader(&one{b: f.b[0]}, in)
		}
	case <-t.C:
	}
	return nil
}

// one is a reader of a single byte.
type one struct {
	b    byte
	read bool
}

// Read gives the byte out once.
func (o *one) Read(p []byte) (int, error) {
	if o.read {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	p[0], o.read = o.b, true
	return 1, nil
}
