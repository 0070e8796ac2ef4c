// Package broker is the base of every actor that talks to the outside world: it connects, reconnects, buffers, confirms,
// acknowledges and stops, so that a protocol only says how its bytes go.
//
// A protocol is a Protocol (settings) and a Conn (everything that dies with a connection); New makes an actor of it. The
// protocols of this module live in the packages below this one; package brokertest has a fake one and the conformance
// suite that each of them passes.
//
// # States and events
//
// An actor is disconnected, connecting, connected or disconnecting. One goroutine owns the connection; a start returns at
// once, and connecting happens beside the mailbox. Each attempt has a Link of its own that carries its epoch: whatever a
// driver says about a connection that is over is ignored. At most one of Connect and Disconnect runs at a time, and no
// attempt begins before the last one's Disconnect has returned or run out of time (5 s).
//
// Events are published on the system's event stream, with the actor's path and the redacted endpoint: Connected and
// Disconnected alternate, beginning with Connected; ReconnectAttempt comes when a retry starts, immediately before its
// Connect, and not for the first connect; ReconnectFailed comes once when no retry will follow. An orderly stop publishes
// nothing. Whoever wants to know that a peer is away has to listen to ReconnectAttempt too: a connect that never
// succeeded is no Disconnected.
//
// # Reconnecting
//
// The delay before a retry is min(initialDelay × factor^(failures−1), maxDelay) × (1 ± randomFactor). The number in the
// events counts from the last successful connect; the exponent, and the circuit breaker's count, start over only when a
// connection has lasted for stableAfter, so that a peer which accepts and closes at once is met with growing delays. A
// breaker that is open is probed late, never early. A refused credential (Unauthorized) waits for maxDelay.
//
// # Outbound: order, window, books
//
// Base.Enqueue accepts a payload or says why not; it never blocks. Nil means accepted, not sent. One writer per connection
// sends in the order of acceptance, with at most inFlight unconfirmed. After a loss everything unconfirmed returns to the
// head in that order and is sent again: a consumer may see a b c b c, and order is judged by first occurrences. A peer that
// can refuse one of a pipelined group and take the next breaks that order; inFlight = 1 keeps it.
//
// outboundBuffer bounds the unsettled envelopes, queued and in flight, in every state, and outboundBytes their payloads. At
// a bound the oldest one that is not in flight is evicted, or, if all are in flight, the new one refused; overflow names
// other policies. maxAge ends what has waited too long.
//
// Every accepted envelope ends once: Acked, Written, or as one dead letter with an Undelivered message that names the
// Reason. So at any time
//
//	accepted = acked + written + undelivered + queued + in flight
//
// and Status has these figures. An ask on a publish command is answered with the final Receipt, or ends with an
// UndeliveredError. Backpressure is asks: a publisher that keeps at most n of them unanswered cannot overflow the buffer.
//
// An envelope that takes down one connection after the other is found and becomes a dead letter (ReasonPoison): after three
// losses in a row the window closes to one; what was alone in flight at two further losses is held back; and on a next
// connection that confirms another envelope and outlives the others, or proves stable, it is sent once more, alone, and
// convicted if that falls. A peer that dies of everything convicts nobody.
//
// # Inbound: acknowledgement after handling
//
// A protocol takes a place in a bounded window for each message (Link.Accept) and delivers it to the subscribers of its
// topics. The verdict for the peer falls when all of them are done: nil acknowledges, an error refuses, RetryAfter and
// Discard say how. A refused message comes again after a growing delay, from the peer or, where that cannot (Sequence),
// from the window; after maxDeliveries it is acknowledged and a dead letter (Dropped). Context.Forward and Context.Hold hand the verdict on to whoever does the real work; a plain Tell inside
// the handler starts a new message that is not covered. A full window stops the reader, so a fast peer cannot flood a
// mailbox. To refuse a message is actor.Reject(err): it costs no restart.
//
// # Subscriptions
//
// Base.Remember and Base.Forget change the desired set, which belongs to no connection. One goroutine per connection keeps
// the peer in line with it, one call at a time: a full replay before Connected is published, changes afterwards. One that
// fails is a SubscriptionFailed event; the others and the connection go on.
//
// # Liveness
//
// idleTimeout ends a connection on which nothing was received for so long; sent bytes do not count, because writing into a
// black hole succeeds. The base lends out every socket (Link.Dial) and closes it hard when the connection is over, so
// neither a loss nor a stop waits for a peer that is gone.
//
// # Stopping
//
// A stop flushes and tears down. The flush happens only when connected and lasts until everything is settled, the link is
// lost or flushTimeout (2 s) is over; nothing new is accepted meanwhile. The teardown takes at most 100 ms whatever the
// peer does, and leaves no goroutine, timer or socket behind. A hook of a driver that does not return even when its
// context has ended and its sockets are closed is given up with a warning; what it opens late is closed. What is left is
// dead-lettered: stopped if it was never sent, unknown if it was. A system that terminates stops its brokers in
// actor.PhaseBrokers, before it leaves its cluster.
//
// # Secrets
//
// Endpoints are redacted in every event, log line, dead letter and error: see RedactEndpoint and Redact. Credentials that
// are part of the endpoint, and those of a SecretHolder, are removed from error texts wherever a driver quotes them: as
// they are, escaped, quoted, or in a header of basic authentication. A secret of less than 4 characters is removed where an
// endpoint is quoted, and not elsewhere, because it would take ports and words with it; one that is a word of the text
// around it, such as the name of the actor, cannot be told from that word.
//
// A Config holds passwords as hocon.Secret and addresses as Endpoint or Endpoints, which do not show what is in them when
// the Config is printed, logged or written as JSON.
//
// # Concurrency
//
// Base is used on the actor's goroutine only. Link and Delivery may be used from any goroutine. No lock of this package is
// held while it calls a protocol, completes a message or publishes an event, and no two of its locks are ever held
// together.
package broker
