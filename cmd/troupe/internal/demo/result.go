package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/cmd/troupe/internal/order"
	"github.com/troupe-go/troupe/cmd/troupe/internal/session"
)

// Result is what a run came to. Its JSON has exactly these keys.
type Result struct {
	Accepted        int64   `json:"accepted"`   // ids published
	Confirmed       int64   `json:"confirmed"`  // answered Acked
	Delivered       int64   `json:"delivered"`  // handed to the consumer
	Handled         int64   `json:"handled"`    // distinct ids in the ledger
	Duplicates      int64   `json:"duplicates"` // deliveries of an id that was handled already
	Lost            int64   `json:"lost"`       // accepted − handled after the stream is drained
	Reconnects      int     `json:"reconnects"`
	OutageMaxMS     int64   `json:"outage_max_ms"`
	SessionsStarted int64   `json:"sessions_started"`
	SessionsRetired int64   `json:"sessions_retired"`
	PerSecond       float64 `json:"per_second"`

	// Wrong says in sentences what is not as it has to be, besides Lost.
	Wrong []string `json:"-"`
	// Bad lines were left out.
	Bad int64 `json:"-"`
	// Letters is the number of dead letters.
	Letters int64 `json:"-"`
	// Faults is how many things were broken on purpose.
	Faults int `json:"-"`
	// Elapsed is from the first order to the drained stream.
	Elapsed time.Duration `json:"-"`
	// Customers have a total each.
	Customers int `json:"-"`
}

// result compares the ledger with what the input adds up to.
func (s *state) result(ledger session.Ledger, book *order.Book, elapsed time.Duration) Result {
	totals := map[string]int64{}
	var handled int64
	for customer, a := range ledger {
		totals[customer] = a.Total
		handled += int64(len(a.Seen))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Result{
		Accepted: s.accepted, Confirmed: s.confirmed, Delivered: s.delivered, Handled: handled,
		Duplicates: s.counts.Duplicates.Load(), Lost: s.accepted - handled,
		Reconnects: max(0, s.links-1), OutageMaxMS: s.outage.Milliseconds(),
		SessionsStarted: s.counts.Started.Load(), SessionsRetired: s.counts.Retired.Load(),
		Bad: s.bad, Letters: s.letters, Faults: s.faults, Elapsed: elapsed, Customers: len(totals),
		Wrong: book.Difference(totals),
	}
	if sec := elapsed.Seconds(); sec > 0 {
		r.PerSecond = float64(int64(float64(handled)/sec*10)) / 10
	}
	if r.Accepted != int64(book.Len()) {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%d orders were published, the input has %d", r.Accepted, book.Len()))
	}
	if n := s.counts.Broken.Load(); n > 0 {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%d sessions ended without handing back their account", n))
	}
	if n := s.counts.Unreadable.Load(); n > 0 {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%d messages of the stream are no orders", n))
	}
	if s.letters > 0 {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%d dead letters, the last: %s", s.letters, s.lastLetter))
	}
	return r
}

// OK reports whether nothing was lost and every total is right.
func (r Result) OK() bool { return r.Lost == 0 && len(r.Wrong) == 0 }

// JSON is the result as one line.
func (r Result) JSON() string {
	b, err := json.Marshal(r)
	if err != nil { // numbers and nothing else
		return "{}"
	}
	return string(b)
}

// Table is the result for a reader.
func (r Result) Table() string {
	var b strings.Builder
	row := func(name string, value any, note string) {
		fmt.Fprintf(&b, "  %-18s %12v   %s\n", name, value, note)
	}
	row("accepted", r.Accepted, "orders read and published under their id")
	row("confirmed", r.Confirmed, "answered by JetStream: stored")
	row("delivered", r.Delivered, "handed to the consumer actor")
	row("handled", r.Handled, "distinct orders in the sessions' ledger")
	row("duplicates", r.Duplicates, "delivered again after an outage; they changed no total")
	row("lost", r.Lost, "accepted and not handled")
	row("reconnects", r.Reconnects, fmt.Sprintf("after %d faults made on purpose", r.Faults))
	row("longest outage", fmt.Sprintf("%d ms", r.OutageMaxMS), "from the loss to the next connection")
	row("sessions started", r.SessionsStarted, fmt.Sprintf("for %d customers", r.Customers))
	row("sessions retired", r.SessionsRetired, "by their receive timeout, or at the end")
	row("orders per second", r.PerSecond, fmt.Sprintf("in %v, outages included", r.Elapsed.Round(time.Millisecond)))
	if r.Bad > 0 {
		row("bad lines", r.Bad, "left out of the input")
	}
	for i, w := range r.Wrong {
		if i == 20 {
			fmt.Fprintf(&b, "  WRONG: and %d more\n", len(r.Wrong)-i)
			break
		}
		fmt.Fprintf(&b, "  WRONG: %s\n", w)
	}
	if r.OK() {
		b.WriteString("\n  Nothing was lost: every customer's total equals the sum of the input.\n")
	}
	return b.String()
}
