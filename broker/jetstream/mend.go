package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/broker"
)

// errUnheard says that nobody took a pull: the consumer is not there, or not quite yet.
var errUnheard = errors.New("jetstream: nobody takes the pulls")

// maxUnheard is how many pulls in a row may go unheard although the consumer is there.
const maxUnheard = 5

// lose stops the pulls, and reports once: every pull that was open says the same.
func (in *intake) lose(cause error) {
	in.mu.Lock()
	first := !in.gone
	in.gone, in.outstanding = true, 0
	in.mu.Unlock()
	if first {
		in.report(cause)
	}
}

// heard notes that the server took a pull.
func (in *intake) heard() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.unheard = 0
}

// mend deals with what the server said about a pull; an error is the loss of the connection.
func (in *intake) mend(ctx context.Context, cause error) error {
	switch {
	case errors.Is(cause, errUnheard):
		return in.listenAgain(ctx)
	case errors.Is(cause, ErrConsumerGone):
		return in.restore(ctx, cause)
	}
	return cause
}

// listenAgain finds out why nobody took a pull. A consumer that somebody makes this moment is known before it listens.
func (in *intake) listenAgain(ctx context.Context) error {
	if !wait(ctx, in.c.p.timing.unheard) {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, in.c.p.timing.restore)
	defer cancel()
	consumer, err := in.c.js.Consumer(asking, in.stream, in.consumer)
	switch {
	case errors.Is(err, js.ErrConsumerNotFound) || errors.Is(err, js.ErrStreamNotFound):
		return in.restore(ctx, ErrConsumerGone)
	case err != nil:
		return fmt.Errorf("%w: %w", errUnheard, err)
	}
	in.mu.Lock()
	in.unheard++
	tries := in.unheard
	in.mu.Unlock()
	if tries > maxUnheard {
		return errUnheard
	}
	in.resume(ctx, &consumer.CachedInfo().Config)
	return nil
}

// restore tells that the consumer is gone and makes it again, or declares the connection lost.
func (in *intake) restore(ctx context.Context, cause error) error {
	key := in.stream + "/" + in.consumer
	in.link.Log().Warn("the consumer is gone", "consumer", key, "error", cause)
	in.c.p.events.Publish(broker.SubscriptionFailed{Path: in.c.p.path, Endpoint: in.link.Label(), Key: key, Cause: cause})
	if !in.c.p.cfg.Consumer.Create {
		return cause
	}
	// A new consumer of the same name, made while the server is still deleting the old one's files, loses its own.
	if !wait(ctx, in.c.p.timing.deleting) {
		return nil
	}
	making, cancel := context.WithTimeout(ctx, in.c.p.timing.restore)
	defer cancel()
	info, err := ensureConsumer(making, in.c.js, in.stream, &in.c.p.cfg.Consumer)
	if err != nil {
		return fmt.Errorf("%w; it could not be made again: %w", cause, err)
	}
	in.link.Log().Info("the consumer was made again", "consumer", key)
	in.resume(ctx, &info.Config)
	return nil
}

// resume lets the pulls begin again, when everything was seen that the server said of the old ones.
func (in *intake) resume(ctx context.Context, cfg *js.ConsumerConfig) {
	ctx, cancel := context.WithTimeout(ctx, in.c.p.timing.restore)
	defer cancel()
	in.settleQueue(ctx)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.adopt(cfg)
	in.gone, in.outstanding = false, 0
	signal(in.hungry)
}

// settleQueue waits until what the driver has queued so far went through receive.
func (in *intake) settleQueue(ctx context.Context) {
	seen := make(chan struct{})
	if in.nc.Barrier(func() { close(seen) }) != nil {
		return // the connection is closed
	}
	select {
	case <-seen:
	case <-ctx.Done():
	}
}

// denied reports whether the server refused our pulls; then the connection is of no use. It may be called on nil.
func (in *intake) denied(subject string, err error) bool {
	if in == nil || subject != in.next {
		return false
	}
	in.report(err)
	return true
}

// wait waits for d and reports whether ctx lasted that long.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
