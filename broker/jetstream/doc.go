// Package jetstream connects actors to streams of NATS JetStream: it publishes with a confirmation for every message, and
// consumes with an acknowledgement after the handler is done.
//
// Spawn the actor that New makes, tell or ask it Publish, and name a target for what it consumes. A message that was
// accepted is confirmed by the stream, or ends as a dead letter that says why; through an outage it is kept and sent
// again under the same message id, which the stream recognises. A consumed message is acknowledged when its handler
// returned nil, delivered again when it failed, and kept from being redelivered while a slow handler is at work.
//
// docs/jetstream.md has the guarantees, the settings and the outcomes in tables.
package jetstream
