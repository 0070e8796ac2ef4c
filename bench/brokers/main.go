// Command brokers measures what a protocol costs through troupe, beside its bare driver: publish with confirmation and
// consume with acknowledgement, in one run, with the same number of messages outstanding and the same batch. The server
// is a process of its own. Rounds alternate; the table has the median of each side and the ratio of the medians.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// settings are the same for both sides.
type settings struct {
	messages    int
	size        int
	outstanding int
	rounds      int
}

// side is one way to do the work: it returns how long n messages took from the first to the last confirmation.
type side func(ctx context.Context, addr string, s settings) (time.Duration, error)

// row is one line of the table.
type row struct {
	name         string
	server       func(ctx context.Context) (*child, error)
	bare, troupe side
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "brokers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s settings
	f := flag.NewFlagSet("brokers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.messages, "messages", 50_000, "messages of one round")
	f.IntVar(&s.size, "size", 100, "bytes of a payload")
	f.IntVar(&s.outstanding, "outstanding", 256, "unconfirmed messages, and the size of a pull")
	f.IntVar(&s.rounds, "rounds", 5, "rounds of each side")
	serve := f.Bool("serve", false, "be the server; used by the program itself")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.messages < 1 || s.outstanding < 1 || s.rounds < 1 || s.size < 1 {
		return errors.New("messages, size, outstanding and rounds must be at least 1")
	}
	if *serve {
		return serveNATS(ctx, os.Stdin, stdout)
	}
	fmt.Fprintf(stdout, "| row (%d messages of %d bytes, %d outstanding) | bare driver | through troupe | ratio |\n|---|---|---|---|\n",
		s.messages, s.size, s.outstanding)
	for _, r := range rows() {
		bare, troupe, err := measure(ctx, r, s)
		if errors.Is(err, errNotInstalled) {
			fmt.Fprintf(stdout, "| %s | %v | | |\n", r.name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintf(stdout, "| %s | %.0f/s | %.0f/s | %.0f %% |\n", r.name, bare, troupe, 100*troupe/bare)
	}
	return nil
}

// measure returns the medians of both sides, in messages per second. Each round has a server of its own, so that nothing
// that one round stored slows the next.
func measure(ctx context.Context, r row, s settings) (bare, troupe float64, err error) {
	var rates [2][]float64
	for range s.rounds {
		for i, do := range []side{r.bare, r.troupe} {
			took, err := once(ctx, r, do, s)
			if err != nil {
				return 0, 0, err
			}
			rates[i] = append(rates[i], float64(s.messages)/took.Seconds())
		}
	}
	return median(rates[0]), median(rates[1]), nil
}

func once(ctx context.Context, r row, do side, s settings) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	srv, err := r.server(ctx)
	if err != nil {
		return 0, err
	}
	took, err := do(ctx, srv.addr, s)
	return took, errors.Join(err, srv.stop())
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
