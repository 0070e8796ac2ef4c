package nats

import (
	"sync"
	"sync/atomic"

	natsgo "github.com/nats-io/nats.go"
)

// drops turns the driver's counters of dropped messages into events. The driver tells of the first of a series only; the
// others are found when the subscription has worked off what it kept.
type drops struct {
	c *conn

	mu   sync.Mutex
	subs map[*natsgo.Subscription]*dropped
}

// dropped is the account of one subscription.
type dropped struct {
	slow  atomic.Bool // a series has begun
	count int         // already reported; under mu
}

func newDrops(c *conn) *drops { return &drops{c: c, subs: map[*natsgo.Subscription]*dropped{}} }

// of returns the account of a subscription.
func (d *drops) of(sub *natsgo.Subscription) *dropped {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.subs[sub]
	if a == nil {
		a = &dropped{}
		d.subs[sub] = a
	}
	return a
}

// begin is called for the first of a series.
func (d *drops) begin(sub *natsgo.Subscription) {
	d.of(sub).slow.Store(true)
	d.report(sub)
}

// handled is called after each message of a subscription, with its account.
func (d *drops) handled(sub *natsgo.Subscription, a *dropped) {
	if !a.slow.Load() {
		return
	}
	if n, _, err := sub.Pending(); err == nil && n <= 1 { // this one counts until its callback returns
		a.slow.Store(false)
		d.report(sub)
	}
}

// end reports what is left of all subscriptions; of one that is closed already nothing can be learnt.
func (d *drops) end() {
	d.mu.Lock()
	subs := make([]*natsgo.Subscription, 0, len(d.subs))
	for sub := range d.subs {
		subs = append(subs, sub)
	}
	d.mu.Unlock()
	for _, sub := range subs {
		d.report(sub)
	}
}

// report publishes what a subscription has dropped since the last report.
func (d *drops) report(sub *natsgo.Subscription) {
	a := d.of(sub)
	d.mu.Lock()
	total, err := sub.Dropped()
	n := total - a.count
	if err == nil {
		a.count = total
	}
	d.mu.Unlock()
	if err != nil || n <= 0 {
		return
	}
	d.c.link.Log().Warn("messages dropped: the target is too slow", "subject", sub.Subject, "queue", sub.Queue, "count", n)
	d.c.p.events.Publish(MessagesDropped{
		Path: d.c.p.path, Endpoint: d.c.link.Label(), Subject: sub.Subject, Queue: sub.Queue, Count: n,
	})
}
