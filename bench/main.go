// Command bench measures actor runtimes side by side on the same workloads, in the same run: troupe, another library,
// and the limits that plain Go and the project's prototypes reach. docs/performance.md says how to run and read it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/bench/harness"
	"github.com/troupe-go/troupe/bench/limit/chans"
	"github.com/troupe-go/troupe/bench/limit/goq"
	"github.com/troupe-go/troupe/bench/limit/rt"
	"github.com/troupe-go/troupe/bench/limit/rt2"
	"github.com/troupe-go/troupe/bench/subject/protoactor"
	"github.com/troupe-go/troupe/bench/subject/troupe"
)

// ours is the subject that the ratios are of.
const ours = "troupe"

// fullRounds is how many rounds the full measurement has: the median of five is what the targets are about.
const fullRounds = 5

// frameworks are the subjects of this program, in the order of the report.
func frameworks() []harness.Framework {
	return []harness.Framework{
		{Name: ours, Version: "this module", Open: troupe.Open},
		{Name: "protoactor", Version: "v0.0.0-20240822202345-3c0e61ca19c9 (module proxy)", Open: protoactor.Open},
		{Name: "limit/chan", Version: "a goroutine and a channel", Open: chans.Open, Limit: true},
		{Name: "limit/mpsc", Version: "a lock-free queue, a goroutine an activation", Open: goq.OpenMPSC, Limit: true},
		{Name: "limit/mutex", Version: "a locked queue, a goroutine an activation", Open: goq.OpenMutex, Limit: true},
		{Name: "limit/rt", Version: "first prototype", Open: rt.Open, Limit: true},
		{Name: "limit/rt2", Version: "second prototype", Open: rt2.Open, Limit: true},
		{Name: "limit/rt-inline", Version: "first prototype, asks run the idle target on the caller", Open: rt.OpenInline, Limit: true, Only: map[string]bool{"ask": true}},
	}
}

// config is what the command line says.
type config struct {
	quick    bool
	worker   string
	only     string
	subjects string
	out      string
	rounds   int
	merge    bool
	patience time.Duration
	extern   string
	scale    harness.Scale // of quick and rounds
}

func main() {
	// SIGINT ends the run and the workers; what was measured until then is thrown away.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (c config, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&c.quick, "quick", false, "a tenth of the work, 3 rounds, in under two minutes")
	f.StringVar(&c.worker, "worker", "", "serve one subject over standard input and output; used by the driver itself")
	f.StringVar(&c.only, "only", "", "comma separated row keys")
	f.StringVar(&c.subjects, "subjects", "", "comma separated subject names")
	f.StringVar(&c.out, "o", "", "base name of the .json and .md to write; without it the tables are only printed")
	f.IntVar(&c.rounds, "rounds", fullRounds, "rounds of most rows; with -quick 3 unless it is given")
	f.BoolVar(&c.merge, "merge", false, "with -o: keep the cells of the old file that this run does not measure again")
	f.DurationVar(&c.patience, "patience", 2*time.Minute, "time to spend in all on repeating rounds that other processes disturbed; with -quick 15s unless it is given")
	f.StringVar(&c.extern, "extern", "", "comma separated worker programs, which call harness.Worker on -worker NAME, to measure along")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.rounds < 1:
		return c, fmt.Errorf("-rounds %d: it takes at least 1", c.rounds)
	case c.merge && c.out == "":
		return c, fmt.Errorf("-merge wants the file to merge with: give -o as well")
	}
	c.scale = harness.Full(c.rounds)
	if c.quick {
		given := map[string]bool{}
		f.Visit(func(f *flag.Flag) { given[f.Name] = true })
		c.scale = harness.Quick()
		if given["rounds"] {
			c.scale.Rounds = c.rounds
		}
		if !given["patience"] {
			c.patience = 15 * time.Second
		}
	}
	return c, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if c.worker != "" {
		return harness.Worker(frameworks(), c.worker, stdin, stdout)
	}
	subjects, err := c.pickSubjects(ctx)
	if err != nil {
		return err
	}
	rows, err := c.pickRows()
	if err != nil {
		return err
	}
	var old harness.Report
	if c.merge { // before the run, so that a wrong file is noticed at once
		b, err := os.ReadFile(c.out + ".json")
		if err != nil {
			return err
		}
		if old, err = harness.ReadReport(b); err != nil {
			return fmt.Errorf("%s.json: %w", c.out, err)
		}
	}
	start := time.Now()
	report := harness.Report{
		CPU: harness.CPU(), Procs: runtime.GOMAXPROCS(0), Go: runtime.Version(),
		Date: start.UTC().Format(time.RFC3339), Quick: c.quick, Subjects: subjects,
	}
	if report.Rows, err = harness.Run(ctx, subjects, rows, c.patience, stderr); err != nil {
		return err
	}
	report.Seconds = time.Since(start).Seconds()
	if c.merge {
		report.Merge(old)
	}
	table := report.Markdown(ours)
	if c.out != "" {
		if err := write(report, table, c.out); err != nil {
			return err
		}
	}
	fmt.Fprint(stdout, table)
	fmt.Fprintf(stderr, "whole run: %.0fs\n", time.Since(start).Seconds())
	return nil
}

// write writes NAME.json and NAME.md, and the folder for them.
func write(r harness.Report, table, name string) error {
	b, err := r.JSON()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(name+".json", b, 0o644); err != nil {
		return err
	}
	return os.WriteFile(name+".md", []byte(table), 0o644)
}

// list splits what is given on the command line.
func list(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(e string) bool { return e == "" })
}

// pickSubjects returns the subjects of this program and of the extern ones that were asked for.
func (c config) pickSubjects(ctx context.Context) ([]harness.Subject, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	all := harness.Subjects(frameworks(), self)
	for _, program := range list(c.extern) {
		more, err := harness.External(ctx, program)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return pick(all, list(c.subjects), "subject", func(s harness.Subject) string { return s.Name })
}

// pickRows returns the rows that were asked for.
func (c config) pickRows() ([]harness.Workload, error) {
	return pick(harness.Workloads(c.scale), list(c.only), "row", func(w harness.Workload) string { return w.Key })
}

// pick keeps of all what is wanted by name, in the order of all; nothing wanted is everything.
func pick[T any](all []T, want []string, what string, name func(T) string) ([]T, error) {
	if len(want) == 0 {
		return all, nil
	}
	var names []string
	for _, e := range all {
		names = append(names, name(e))
	}
	for _, w := range want {
		if !slices.Contains(names, w) {
			return nil, fmt.Errorf("no %s %q; there are %s", what, w, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(all, func(e T) bool { return !slices.Contains(want, name(e)) }), nil
}
