// Command sessions keeps one actor per customer and lets it retire when the customer is idle. It reads lines such as
//
//	ada 25
//
// from standard input, adds the amount to the customer's total and prints it. A customer that has been quiet for -idle
// gives its memory back; what has to survive goes into a ledger, and the next amount starts a new session from it.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/troupe-go/troupe/actor"
)

func main() {
	idle := flag.Duration("idle", 2*time.Second, "how long a customer may be quiet")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdin, os.Stdout, *idle)
	cancel()
	if err != nil {
		log.Fatal(err)
	}
}

// run handles the lines of in until it ends or ctx does.
func run(ctx context.Context, in io.Reader, out io.Writer, idle time.Duration) error {
	sys, err := actor.NewSystem("sessions")
	if err != nil {
		return err
	}
	// The termination must not be cut short by the same interrupt that ends the input.
	defer sys.Terminate(context.WithoutCancel(ctx))
	shop, err := sys.Spawn("shop", func() actor.Actor {
		return &shop{idle, out, map[string]int{}, map[string]actor.Ref{}, map[string]bool{}}
	})
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan() && ctx.Err() == nil; {
		var p purchase
		if _, err := fmt.Sscan(lines.Text(), &p.customer, &p.amount); err != nil {
			fmt.Fprintf(out, "%q is not a customer and an amount\n", lines.Text())
			continue
		}
		total, err := actor.Ask[int](ctx, shop, p)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			fmt.Fprintln(out, err)
		default:
			fmt.Fprintf(out, "%s has spent %d\n", p.customer, total)
		}
	}
	return nil
}
