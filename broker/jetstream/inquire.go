package jetstream

import (
	"context"
	"errors"
	"fmt"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/broker"
)

// maxDoubts bounds the refusals that wait for a second look.
const maxDoubts = 1024

// doubt is a message that was refused, perhaps not for good.
type doubt struct {
	token   broker.Token
	subject string
	err     error
	again   *condition
	stream  string // that refused it, if it said so
}

// condition is that of a message which was sent before: the stream may have it, and then it is its own obstacle.
type condition struct {
	id    string
	after uint64
	of    string // the subject whose sequence is meant; empty is the stream's
}

// conditionOf returns the condition of a message that is sent again, nil without one.
func conditionOf(env broker.Envelope[Publish]) *condition {
	m := &env.Payload
	switch {
	case env.Resends == 0:
	case m.ExpectedLastSequence != nil:
		return &condition{id: m.ID, after: *m.ExpectedLastSequence}
	case m.ExpectedLastSubjectSequence != nil:
		return &condition{id: m.ID, after: *m.ExpectedLastSubjectSequence, of: m.Subject}
	}
	return nil
}

// doubt leaves a refusal to inquire. It does not block: more than maxDoubts end as unknown at once.
func (o *outbound) doubt(d doubt) {
	select {
	case o.doubts <- d:
	default:
		o.link.Settle(d.token, nil, d.err)
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
		batch = o.decide(ctx, batch)
		if len(batch) == 0 {
			continue
		}
		if !wait(ctx, o.p.timing.refused) {
			return nil
		}
		for _, d := range batch {
			o.link.Settle(d.token, nil, fmt.Errorf("jetstream: publish to %s: %w", d.subject, d.err))
		}
	}
}

// decide settles what can be told for good, and returns the rest.
func (o *outbound) decide(ctx context.Context, batch []doubt) (rest []doubt) {
	missing := map[string]bool{} // one question per subject
	for _, d := range batch {
		switch {
		case wrongSequence(d.err):
			if !o.findOwn(ctx, d) {
				rest = append(rest, d)
			}
			continue
		case !errors.Is(d.err, ErrNoStream):
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

// findOwn looks whether a message that was sent again failed its condition because the stream has it already: newer
// servers judge the condition before the id. If the stream took it, it took it directly behind the expected sequence.
// False is that nothing could be found out.
func (o *outbound) findOwn(ctx context.Context, d doubt) bool {
	stream, err := o.js.Stream(ctx, d.stream)
	if err != nil {
		return false
	}
	var opts []js.GetMsgOpt
	if d.again.of != "" {
		opts = append(opts, js.WithGetMsgSubject(d.again.of))
	}
	m, err := stream.GetMsg(ctx, d.again.after+1, opts...)
	switch {
	case err == nil && m.Header.Get(headerID) == d.again.id:
		o.link.Settle(d.token, Receipt{d.stream, m.Sequence, true}, nil)
		return true
	case err == nil || errors.Is(err, js.ErrMsgNotFound):
		o.link.Settle(d.token, nil, rejected(d.subject, d.err))
		return true
	}
	return false
}
