package jetstream

import (
	"context"
	"time"

	"github.com/troupe-go/troupe/broker"
)

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
