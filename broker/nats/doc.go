// Package nats connects actors to core NATS: publish, subscribe with or without a queue group, and request with a reply.
//
// Spawn the actor that New makes, and tell or ask it Publish, Subscribe, Unsubscribe and Request. Core NATS is at most
// once: a server passes a message on to who is there and keeps nothing. What the actor adds is that a publish is not
// called written before the server has read it, that nothing is lost between an outage and the reconnect, and that
// subscriptions come back by themselves. For messages that must arrive there is package jetstream.
//
// docs/nats.md has the guarantees, the settings and the outcomes in tables.
package nats
