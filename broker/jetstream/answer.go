package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/broker"
)

// readAnswer reads what came back for a publish. later says that the refusal need not be the last word.
func readAnswer(m *natsgo.Msg, asked bool) (receipt any, err error, later bool) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return nil, ErrNoStream, true // or the stream has no leader now
	}
	if !asked && plainAck(m.Data) {
		return nil, nil, false
	}
	var a struct {
		Error     *js.APIError `json:"error"`
		Stream    string       `json:"stream"`
		Sequence  uint64       `json:"seq"`
		Duplicate bool         `json:"duplicate"`
	}
	switch err := json.Unmarshal(m.Data, &a); {
	case err != nil:
		return nil, fmt.Errorf("unreadable answer: %w", err), true
	case a.Error != nil:
		return nil, a.Error, temporary(a.Error)
	case a.Stream == "":
		return nil, errors.New("the answer names no stream"), true
	}
	return Receipt{a.Stream, a.Sequence, a.Duplicate}, nil, false
}

// plainAck recognises the common answer without reading it in full: it names a stream and no error. Neither name can be
// part of a value, for values have no quotation marks in them.
func plainAck(data []byte) bool {
	return bytes.HasPrefix(data, []byte(`{"stream":"`)) && !bytes.Contains(data, []byte(`"error"`))
}

// Error codes of the server that say that it cannot now; every other refusal, except those with the status 503, is final.
const (
	codeMemoryExceeded  = 10028
	codeStorageExceeded = 10047
	codeStoreFailed     = 10077
	codeStreamOffline   = 10118
	statusUnavailable   = 503
)

// temporary tells what may pass by itself (no leader, no quorum, disk full) from what will not (wrong sequence, too
// large, a full stream that was told to refuse).
func temporary(e *js.APIError) bool {
	switch e.ErrorCode {
	case codeMemoryExceeded, codeStorageExceeded, codeStreamOffline:
		return true
	case codeStoreFailed:
		return !strings.Contains(e.Description, "maximum ") // messages, bytes, messages per subject: discard new
	}
	return e.Code == statusUnavailable
}

// maxDoubts bounds the refusals that wait for a second look.
const maxDoubts = 1024

// doubt is a message that was refused, perhaps not for good.
type doubt struct {
	token   broker.Token
	subject string
	err     error
}

// doubt leaves a refusal to inquire. It does not block: more than maxDoubts end as unknown at once.
func (o *outbound) doubt(t broker.Token, subject string, err error) {
	select {
	case o.doubts <- doubt{t, subject, err}:
	default:
		o.link.Settle(t, nil, err)
	}
}

// inquire finds out whether a refusal is final, some at a time. What is not is sent again after a while.
func (o *outbound) inquire(ctx context.Context) error {
	var batch []doubt
	for {
		batch = batch[:0]
		select {
		case d := <-o.doubts:
			batch = append(batch, d)
		case <-ctx.Done():
			return nil
		}
		for more := true; more; {
			select {
			case d := <-o.doubts:
				batch = append(batch, d)
			default:
				more = false
			}
		}
		batch = o.reject(ctx, batch)
		if len(batch) == 0 {
			continue
		}
		pause := time.NewTimer(o.p.timing.refused)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil
		}
		for _, d := range batch {
			o.link.Settle(d.token, nil, fmt.Errorf("jetstream: publish to %s: %w", d.subject, d.err))
		}
	}
}

// reject settles those for which there is no stream, and returns the rest. It asks the server once per subject.
func (o *outbound) reject(ctx context.Context, batch []doubt) (rest []doubt) {
	missing := map[string]bool{}
	for _, d := range batch {
		if !errors.Is(d.err, ErrNoStream) {
			rest = append(rest, d)
			continue
		}
		none, asked := missing[d.subject]
		if !asked {
			_, err := o.js.StreamNameBySubject(ctx, d.subject)
			none = errors.Is(err, js.ErrStreamNotFound)
			missing[d.subject] = none
		}
		if none {
			o.link.Settle(d.token, nil, broker.Rejected(fmt.Errorf("%w: %s", ErrNoStream, d.subject)))
		} else {
			rest = append(rest, d)
		}
	}
	return rest
}

// expire gives up waiting for answers that are overdue. It sleeps until the next one is due, or for as long as nothing is
// in flight.
func (o *outbound) expire(ctx context.Context) error {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		overdue, next := o.sweep()
		for _, token := range overdue {
			o.link.Settle(token, nil, ErrNoAnswer)
		}
		var due <-chan time.Time
		if next > 0 {
			t.Reset(next)
			due = t.C
		}
		select {
		case <-due:
		case <-o.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// sweep takes out what is overdue and says when the next one will be; 0 is never.
func (o *outbound) sweep() (overdue []broker.Token, next time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Since(o.start)
	for i := range o.slots {
		f := &o.slots[i]
		if !f.busy {
			continue
		}
		left := f.at + o.p.cfg.PublishTimeout - now
		if left <= 0 {
			overdue = append(overdue, f.token)
			o.release(f, true)
		} else if next == 0 || left < next {
			next = left
		}
	}
	o.asleep = o.flying == 0
	return overdue, next
}
