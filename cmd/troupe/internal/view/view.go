// Package view shows a run of the demo: a live status below a scrolling timeline on a terminal, plain lines elsewhere.
package view

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/cmd/troupe/internal/demo"
)

// status is the state of a run in a few lines of plain text.
func status(s demo.Snapshot) []string {
	total := "?"
	if s.Total >= 0 {
		total = fmt.Sprint(s.Total)
	}
	return []string{
		fmt.Sprintf("%-10s %6.1fs   connection %-13s reconnects %d   faults %d of %d", s.Phase, s.Elapsed.Seconds(), s.Link, s.Reconnects, s.Faults, s.FaultsAll),
		fmt.Sprintf("orders     accepted %d of %s   confirmed %d   unanswered %d   buffer %d", s.Accepted, total, s.Confirmed, s.Unanswered, s.Buffer),
		fmt.Sprintf("sessions   alive %d   started %d   retired %d   handled %d   duplicates %d", s.Alive, s.Started, s.Retired, s.Handled, s.Duplicates),
	}
}

// text is a timeline entry as a line.
func text(l demo.Line) string {
	return fmt.Sprintf("%8.3fs  %-6s %s", l.At.Seconds(), l.What, l.Text)
}

// Plain writes one line for each entry of the timeline, and one of the status now and then. It implements demo.Viewer.
// Make it with NewPlain.
type Plain struct {
	mu   sync.Mutex
	w    io.Writer
	stop chan struct{}
	done chan struct{}
}

// every is how often the plain view writes a status.
const every = 2 * time.Second

// NewPlain returns a view that writes to w.
func NewPlain(w io.Writer) *Plain { return &Plain{w: w} }

// Line writes an entry.
func (p *Plain) Line(l demo.Line) { p.print(text(l)) }

func (p *Plain) print(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.w, line)
}

// Start begins to write the status, on a goroutine that Stop ends.
func (p *Plain) Start(snapshot func() demo.Snapshot) {
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.done)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				s := snapshot()
				for i, line := range status(s)[1:] {
					what := "status"
					if i > 0 {
						what = ""
					}
					p.print(fmt.Sprintf("%8.3fs  %-6s %s", s.Elapsed.Seconds(), what, squeeze(line)))
				}
			case <-p.stop:
				return
			}
		}
	}()
}

// Stop ends the status and waits for its goroutine.
func (p *Plain) Stop() {
	if p.stop != nil {
		close(p.stop)
		<-p.done
		p.stop = nil
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
