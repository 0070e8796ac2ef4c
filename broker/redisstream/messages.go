package redisstream

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// Publish is the command that appends an entry to a stream. An ask is answered with a broker.Receipt whose Detail is a
// Receipt.
type Publish struct {
	// Stream is the key of the stream. Required.
	Stream string
	// Fields of the entry; values may hold any bytes. At least one, and none of them Config.IDField. They must not be
	// changed after the command was sent.
	Fields map[string]string
	// ID is the message id, in the field Config.IDField. Default: one that is made up when the message is accepted. It stays
	// the same when the message has to be sent again.
	ID string
	// MaxAge is how long the message may wait to be sent; then it is a dead letter. Default 0: Config.MaxAge.
	MaxAge time.Duration
}

// Receipt is the Detail of the broker.Receipt that answers an asked Publish.
type Receipt struct {
	// Entry is the id that the server gave the entry.
	Entry string
}

// Subscribe is the command that consumes one more stream, in the group of the configuration and for its target.
type Subscribe struct{ Stream string }

// Unsubscribe is the command that ends it; what was delivered before may still be acknowledged.
type Unsubscribe struct{ Stream string }

// Message is one entry, told to the target. The acknowledgement follows the handler's return (Forward, Hold and Ask move it
// to later work), or with AckMode Manual the methods Ack and Nack of the embedded Delivery. Fields is the receiver's own,
// but shared by several subscribers.
type Message struct {
	broker.Delivery
	Stream string
	// Entry is the id that the server gave the entry.
	Entry string
	// Fields of the entry, without the one that has the message id.
	Fields map[string]string
	// ID is the message id; empty if the publisher gave none.
	ID string
	// Deliveries is how often the entry was delivered in this group, this time included: above 1 somebody may have
	// handled it.
	Deliveries int
}

// ErrGroupGone is the cause of a broker.SubscriptionFailed: somebody removed the group or the stream while it was in use.
var ErrGroupGone = errors.New("redisstream: the consumer group is gone")

// errNoGroup answers a Subscribe of an actor that has no group.
var errNoGroup = errors.New("redisstream: Subscribe: the actor has no group, set " + Key + ".group and a target")

func (p *Publish) check(idField string) error {
	if p.Stream == "" {
		return errors.New("redisstream: Publish: Stream is empty")
	}
	if len(p.Fields) == 0 {
		return fmt.Errorf("redisstream: Publish to %s: an entry has at least one field", p.Stream)
	}
	if _, taken := p.Fields[idField]; taken && idField != "" {
		return fmt.Errorf("redisstream: Publish to %s: the field %s is for the message id: set ID, or another idField", p.Stream, idField)
	}
	if p.MaxAge < 0 {
		return fmt.Errorf("redisstream: Publish to %s: MaxAge is %v, must not be negative", p.Stream, p.MaxAge)
	}
	return nil
}

// New returns the factory of a Redis Streams actor, for Spawn. The settings are the defaults, then the HOCON block at Key,
// then opts in order; a setting that is wrong fails the start with an *actor.ConfigError that names the dotted key. It
// does not block, and neither does the start: connecting happens beside the mailbox.
//
// The actor takes Publish, Subscribe, Unsubscribe and the base's own commands.
func New(opts ...func(*Config)) func() actor.Actor {
	return broker.New(broker.Definition[Config, Publish, struct{}]{
		Key:     Key,
		Default: DefaultConfig,
		New: func(cfg Config) (broker.Protocol[Publish, struct{}], error) {
			srv, _ := parseURL(string(cfg.URL)) // Validate has looked
			if cfg.User != "" {
				srv.user = cfg.User
			}
			if !cfg.Password.Empty() {
				srv.password = cfg.Password.Reveal()
			}
			return &protocol{cfg: cfg, srv: srv}, nil
		},
	}, opts...)
}

// used reports whether the group of a stream was used before, and notes that it is now.
func (p *protocol) used(stream string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]bool{}
	}
	before := p.known[stream]
	p.known[stream] = true
	return before
}

type base = broker.Base[Publish, struct{}]

// protocol is what outlives the connections.
type protocol struct {
	cfg  Config
	srv  server
	name string // of the consumer

	mu     sync.Mutex
	known  map[string]bool // streams whose group was used on some connection
	path   string
	events *actor.EventStream
}

// EndpointLabel implements broker.Protocol.
func (p *protocol) EndpointLabel() string { return string(p.cfg.URL) }

// Secrets implements broker.SecretHolder.
func (p *protocol) Secrets() []string {
	if p.srv.password == "" {
		return nil
	}
	return []string{p.srv.password}
}

// Size implements broker.Sizer.
func (p *protocol) Size(m Publish) int {
	n := len(m.Stream) + len(m.ID)
	for k, v := range m.Fields {
		n += len(k) + len(v)
	}
	return n
}

// Start implements broker.Starter.
func (p *protocol) Start(b *base) error {
	self := b.Context().Self()
	p.events, p.path = b.Context().System().EventStream(), self.Path()
	if p.name = p.cfg.Consumer; p.name == "" {
		p.name = consumerName(self.Name())
	}
	for _, stream := range p.cfg.Streams {
		p.subscribe(b, stream)
	}
	return nil
}

func (p *protocol) subscribe(b *base, stream string) {
	b.AddSubscriber(stream, p.cfg.Target)
	b.Remember(stream, struct{}{})
}

// Command implements broker.Protocol.
func (p *protocol) Command(b *base, msg any) (handled bool, err error) {
	switch m := msg.(type) {
	case Publish:
		if err := m.check(p.cfg.IDField); err != nil {
			return true, err
		}
		return true, b.EnqueueFor(m, m.MaxAge)
	case Subscribe:
		if p.cfg.Group == "" {
			return true, errNoGroup
		}
		if m.Stream == "" {
			return true, errors.New("redisstream: Subscribe: Stream is empty")
		}
		p.subscribe(b, m.Stream)
		return true, nil
	case Unsubscribe:
		b.RemoveSubscriber(m.Stream, p.cfg.Target)
		b.Forget(m.Stream)
		return true, nil
	}
	return false, nil
}
