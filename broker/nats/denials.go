package nats

import (
	"errors"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
)

// denials collects refused permissions. The server complains before it answers the ping that follows, but the driver
// tells of it on a goroutine of its own, perhaps later than of the answer.
type denials struct {
	mu      sync.Mutex
	last    error
	list    []error
	arrived chan struct{} // closed and made anew with each
}

// denialWait bounds the wait for the driver's goroutine.
const denialWait = time.Second

// maxDenials bounds what is kept: the oldest go first.
const maxDenials = 256

func newDenials() *denials { return &denials{arrived: make(chan struct{})} }

func (d *denials) add(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = err
	if len(d.list) == maxDenials {
		d.list = d.list[1:]
	}
	d.list = append(d.list, err)
	close(d.arrived)
	d.arrived = make(chan struct{})
}

// before returns the subjects that were refused before the last answer of the server, with the refusals: those of the
// kind that subjectOf recognises. They are taken out. It blocks only if there is one that the driver has not told yet.
func (d *denials) before(nc *natsgo.Conn, subjectOf func(error) (string, bool)) map[string]error {
	want := nc.LastError()
	if want == nil || !errors.Is(want, natsgo.ErrPermissionViolation) {
		return nil
	}
	t := time.NewTimer(denialWait)
	defer t.Stop()
	for {
		d.mu.Lock()
		seen, arrived := d.last == want, d.arrived
		d.mu.Unlock()
		if seen {
			break
		}
		select {
		case <-arrived:
			continue
		case <-t.C:
		}
		break
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]error{}
	rest := d.list[:0]
	for _, err := range d.list {
		if subject, ok := subjectOf(err); ok {
			out[subject] = err
		} else {
			rest = append(rest, err)
		}
	}
	d.list = rest
	return out
}
