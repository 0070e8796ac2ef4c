package jetstream

import "errors"

var (
	// ErrNoStream rejects a message whose subject no stream takes.
	ErrNoStream = errors.New("jetstream: no stream takes this subject")
	// ErrNoAnswer leaves the outcome of a message unknown: the stream did not answer within publishTimeout.
	ErrNoAnswer = errors.New("jetstream: no answer from the stream within publishTimeout")
	// ErrConsumerGone is the cause of a SubscriptionFailed event: somebody deleted the consumer or its stream.
	ErrConsumerGone = errors.New("jetstream: the consumer is gone")
	// ErrConsumerSilent is the cause of a loss: a pull was neither answered nor kept alive.
	ErrConsumerSilent = errors.New("jetstream: the consumer does not answer")

	errNoConsumer = errors.New("jetstream: Subscribe: this actor has no consumer; set consumer.name")
	errNoTarget   = errors.New("jetstream: Subscribe: target must not be the zero Ref")
)
