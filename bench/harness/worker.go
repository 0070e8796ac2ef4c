package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Request asks a worker process for one measurement.
type Request struct {
	Workload string
	N        int
	Batch    int
	Armed    bool
	Named    bool          `json:",omitempty"`
	Quiet    time.Duration `json:",omitempty"` // ns; how long to watch idle actors
	Sleep    time.Duration `json:",omitempty"` // ns; how long the blocked handlers sleep
}

// Result is the answer.
type Result struct {
	Ns     int64   // wall time of the measured part
	Ops    int64   // operations in it, as counted at the receiver
	Allocs float64 // mallocs per op
	Bytes  float64 // bytes allocated per op
	P50    int64   `json:",omitempty"` // ns
	P99    int64   `json:",omitempty"` // ns
	Mean   float64 `json:",omitempty"` // ns
	Heap   float64 `json:",omitempty"` // bytes of heap and stacks per actor
	RSS    float64 `json:",omitempty"` // bytes of RSS per actor
	Start  float64 `json:",omitempty"` // ns per actor to start
	Stop   float64 `json:",omitempty"` // ns per actor to stop
	Busy   float64 `json:",omitempty"` // percent of one core that idle actors use
	Worst  int64   `json:",omitempty"` // ns; the longest wait while handlers sleep, told from outside
	Inside int64   `json:",omitempty"` // ns; the same, told by the handlers that then sleep
	Asleep int64   `json:",omitempty"` // ns; until all those handlers had begun
	// Others is the share of the processors that other processes used around this round: how far it is to be trusted on
	// a machine that is not quiet.
	Others float64 `json:",omitempty"`
	Skip   string  `json:",omitempty"`
	Err    string  `json:",omitempty"`
}

// List writes the frameworks a worker program has, as External reads them.
func List(fs []Framework, w io.Writer) error {
	var l []Subject
	for _, f := range fs {
		l = append(l, subject(f))
	}
	return json.NewEncoder(w).Encode(l)
}

// Worker is the main of a worker program: with the name "list" it writes List to out, with that of a framework it serves
// it until in is closed. The caller should then exit at once, and not wait for the framework's own shutdown.
func Worker(fs []Framework, name string, in io.Reader, out io.Writer) error {
	if name == "list" {
		return List(fs, out)
	}
	for _, f := range fs {
		if f.Name == name {
			return Serve(f, in, out)
		}
	}
	return fmt.Errorf("no framework %q", name)
}

// Serve answers requests, one line of JSON each, until in is closed. The system is opened with the first request.
func Serve(f Framework, in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
	var sys System
	for lines.Scan() {
		var q Request
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("worker of %s: request %q: %w", f.Name, lines.Bytes(), err)
		}
		if sys == nil {
			s, err := f.Open()
			if err != nil {
				if err := answers.Encode(Result{Err: err.Error()}); err != nil {
					return err
				}
				continue
			}
			sys = s
		}
		r, err := measure(sys, q)
		quiesce()
		switch {
		case errors.Is(err, ErrAbsent):
			r = Result{Skip: strings.TrimPrefix(err.Error(), ErrAbsent.Error()+": ")}
		case err != nil:
			r = Result{Err: err.Error()}
		}
		if err := answers.Encode(r); err != nil {
			return err
		}
	}
	return lines.Err()
}
