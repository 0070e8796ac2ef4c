package broker

import (
	"context"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Protocol is what one kind of broker or peer adds to the base. O is the payload of an outbound message, S that of a
// subscription. A Protocol holds settings and what outlives a connection; everything that dies with a connection lives
// in the Conn that Connect returns, so that no stale handle can survive a reconnect.
type Protocol[O, S any] interface {
	// EndpointLabel names the peer for people, exactly as it was configured: the base redacts every use. It must not
	// block and may be called from any goroutine.
	EndpointLabel() string
	// Connect makes one attempt, without a retry of its own. It runs on a goroutine of its own, never twice at once, may
	// block, and must return soon after ctx ends or after the sockets of link.Dial are closed under it. It returns
	// (conn, nil); (nil, err) with nothing left open; or (conn, err) for a half-open connection, whose Disconnect the
	// base calls at once. An error made by Unauthorized waits for the longest delay before the next attempt.
	Connect(ctx context.Context, link *Link) (Conn[O], error)
	// Command handles one mailbox message on the actor's goroutine and must not block. False means that the message is
	// not one of the protocol's. An error is the result of this message only: its asker gets it, a told one becomes a
	// dead letter; connection, buffer and subscriptions stay. A panic is treated in the same way.
	Command(b *Base[O, S], msg any) (handled bool, err error)
}

// Conn is one live connection. The base calls Serve, Dispatch (with Flush), Acknowledge and the subscription methods on
// one goroutine each, so that none of them runs twice at once but different ones do run at the same time.
type Conn[O any] interface {
	// Serve reads until the connection ends and says why; any return, nil too, is the loss of the connection. It must
	// return soon after ctx ends.
	Serve(ctx context.Context) error
	// Dispatch hands one envelope to the wire, in order. It may block; ctx ends with the connection. Nil means written
	// and settles the envelope as Written, unless the Conn is a Confirmer or a Flusher: then it stays in flight. An error
	// made by Rejected settles this envelope only; any other error is the loss of the connection, and the envelope is
	// sent again on the next one.
	Dispatch(ctx context.Context, env Envelope[O]) error
	// Disconnect releases what Connect acquired. It is called exactly once, also on a dead connection; ctx bounds it, and
	// after that the base closes the sockets. Outcomes reported by Link.Settle during Disconnect still count.
	Disconnect(ctx context.Context) error
}

// Confirmer is a Conn whose peer confirms later: every envelope ends by Link.Settle or Link.SettleThrough.
type Confirmer interface {
	// ConfirmWindow is how many envelopes may be unconfirmed on this connection; 0 leaves it to the configuration, else
	// the smaller one rules. It is asked once, after Connect.
	ConfirmWindow() int
}

// Flusher is a Conn that buffers and can have a whole run confirmed at once.
type Flusher interface {
	// Flush is called after the last Dispatch of a run: when nothing more is queued or the window is full. It may block;
	// nil settles every envelope of the run as Acked unless the Conn is a Confirmer too; an error is the loss of the
	// connection.
	Flush(ctx context.Context) error
}

// Acknowledger is a Conn whose peer wants to know what became of inbound messages.
type Acknowledger interface {
	// Acknowledge passes on verdicts in the order in which they fell, many at once. It may block. The slice belongs to
	// the base and is valid until Acknowledge returns. An error is the loss of the connection.
	Acknowledge(ctx context.Context, acks []Ack) error
}

// Subscriber is a Conn with subscriptions on the peer's side.
type Subscriber[S any] interface {
	// ApplySubscription makes one subscription. It must tolerate a key that is live already: with a Revoker it comes
	// after a revoke, else it replaces. It may block; ctx ends with the connection. An error is a warning and a
	// SubscriptionFailed event, and the key is not tried again on this connection.
	ApplySubscription(ctx context.Context, key string, sub S) error
}

// Revoker is a Subscriber that can end one subscription on a live connection. Without it Base.Forget reaches the peer at
// the next connect.
type Revoker interface {
	// RevokeSubscription ends one subscription. It may block; an error is logged as a warning.
	RevokeSubscription(ctx context.Context, key string) error
}

// BatchSubscriber is a Subscriber that can make many subscriptions at once; it is used for the replay after a connect.
type BatchSubscriber[S any] interface {
	Subscriber[S]
	// ApplySubscriptions returns one error per subscription, in the same order, or nil if none failed. The slice belongs
	// to the callee.
	ApplySubscriptions(ctx context.Context, subs []Subscription[S]) []error
}

// Subscription is one entry of the desired set.
type Subscription[S any] struct {
	// Key identifies the subscription: a topic, a subject, a queue.
	Key string
	// Sub is what the protocol needs to make it again.
	Sub S
}

// Starter is a Protocol with configured subscriptions or targets.
type Starter[O, S any] interface {
	// Start runs once per start of the actor, on its goroutine and before the first connect; it may call Remember,
	// AddSubscriber and Context().Watch. An error fails the start.
	Start(b *Base[O, S]) error
}

// TerminatedHandler is a Protocol that watches actors of its own.
type TerminatedHandler[O, S any] interface {
	// Terminated is called on the actor's goroutine for every death that reaches the actor, after the base has removed
	// the dead incarnation from its subscribers. It must not block.
	Terminated(b *Base[O, S], t actor.Terminated)
}

// SecretHolder is a Protocol that was given secrets outside of its endpoint label: a token, a password field.
type SecretHolder interface {
	// Secrets returns them; those of at least 4 characters are removed from every text of the base, verbatim and
	// URL-escaped. It is asked once per start.
	Secrets() []string
}

// Envelope is one outbound message on its way to the peer. It is a value: keep the Token, not the Envelope.
type Envelope[O any] struct {
	// Payload is what was given to Base.Enqueue.
	Payload O
	// Token names this dispatch in Link.Settle.
	Token Token
	// Resends is how often the envelope was handed to a connection before; above 0 the peer may have it already.
	Resends int

	asked  bool
	seq    uint64
	origin string
}

// ID is an id for a message that was given none: the same each time this envelope is sent, on every connection, and never
// that of another one. It allocates. A peer or a consumer that knows ids recognises by it what was sent again.
func (e Envelope[O]) ID() string { return e.origin + strconv.FormatUint(e.seq, 36) }

// Asked reports whether somebody waits for the receipt: a Conn may skip building one otherwise.
func (e Envelope[O]) Asked() bool { return e.asked }

// Token names one dispatch of one envelope. It is comparable and never reused, so that a late one is harmless. The zero
// Token names none.
type Token struct {
	ord  uint64
	slot int32
}

// Slot is a small number from 0, unique among the envelopes in flight and always below the window: an index for what a
// Conn keeps per dispatch, without a map or an allocation. It is free for reuse as soon as the envelope is settled.
// The zero Token has slot -1.
func (t Token) Slot() int { return int(t.slot) - 1 }

// Ack is one verdict on an inbound message, for the peer.
type Ack struct {
	// Ref and ID are what was given to Link.Accept.
	Ref any
	ID  uint64
	// Err is nil for an acknowledgement, and otherwise why the message has to be delivered again.
	Err error
	// Delay is how long the peer is to wait before it delivers a refused message again. It is 0 unless the Conn is a
	// Delayer: otherwise the base has waited already.
	Delay time.Duration
	// Dropped is why a message that is acknowledged was given up, and nil for one that was handled. The base has made a
	// dead letter of it; a peer that tells the two apart may be told. IsDiscard says that a handler wanted it so.
	Dropped error
}

// Delayer is an Acknowledger whose peer waits by itself before it delivers a refused message again. Without it the base
// keeps the message in the window for the delay and refuses it then.
type Delayer interface {
	// DelaysRedelivery reports whether Ack.Delay is honoured. It is asked once, after Connect.
	DelaysRedelivery() bool
}

// Sizer is a Protocol that knows the size of its payloads, for Config.OutboundBytes.
type Sizer[O any] interface {
	// Size is the number of bytes a payload takes in the outbound buffer. It is called on the actor's goroutine, once per
	// payload, and must not block.
	Size(payload O) int
}
