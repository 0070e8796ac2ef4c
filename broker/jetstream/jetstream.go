package jetstream

import (
	"crypto/rand"
	"strconv"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/internal/natsconn"
)

// Subscribe is the command that adds a target to the consumer's; each of them gets every message, which is acknowledged
// when all are done. It is how a target that was stopped is replaced: while none is left, consuming pauses.
type Subscribe struct{ Target actor.Ref }

// Unsubscribe is the command that takes a target out.
type Unsubscribe struct{ Target actor.Ref }

// New returns the factory of a JetStream actor, for Spawn. The settings are the defaults, then the HOCON block at Key,
// then opts in order; a setting that is wrong fails the start with an *actor.ConfigError that names the dotted key. It
// does not block, and neither does the start: connecting happens beside the mailbox.
//
// The actor takes Publish, Subscribe, Unsubscribe and the base's own commands.
func New(opts ...func(*Config)) func() actor.Actor {
	return broker.New(broker.Definition[Config, Publish, struct{}]{
		Key:     Key,
		Default: DefaultConfig,
		New:     func(cfg Config) (broker.Protocol[Publish, struct{}], error) { return newProtocol(cfg), nil },
	}, opts...)
}

// topic is the only one: all targets of the consumer.
const topic = "consumer"

// protocol is what outlives the connections.
type protocol struct {
	cfg    Config
	events *actor.EventStream
	path   string
	timing timing

	idPrefix string
	idCount  atomic.Uint64
}

func newProtocol(cfg Config) *protocol {
	return &protocol{cfg: cfg, timing: defaultTiming(), idPrefix: rand.Text()[:16] + "-"}
}

// EndpointLabel implements broker.Protocol.
func (p *protocol) EndpointLabel() string { return p.cfg.connection().Label() }

// Secrets implements broker.SecretHolder.
func (p *protocol) Secrets() []string { return p.cfg.connection().Secrets() }

// Start implements broker.Starter.
func (p *protocol) Start(b *broker.Base[Publish, struct{}]) error {
	p.events, p.path = b.Context().System().EventStream(), b.Context().Self().Path()
	if p.cfg.Consumer.Name != "" {
		b.AddSubscriber(topic, p.cfg.Target)
	}
	return nil
}

// Command implements broker.Protocol.
func (p *protocol) Command(b *broker.Base[Publish, struct{}], msg any) (handled bool, err error) {
	switch m := msg.(type) {
	case Publish:
		return true, p.publish(b, m)
	case Subscribe:
		return true, p.subscribe(b, m.Target)
	case Unsubscribe:
		b.RemoveSubscriber(topic, m.Target)
		return true, nil
	}
	return false, nil
}

func (p *protocol) publish(b *broker.Base[Publish, struct{}], m Publish) error {
	if err := m.check(); err != nil {
		return err
	}
	if m.ID == "" {
		m.ID = p.idOf(&m)
	}
	return b.EnqueueFor(m, m.MaxAge)
}

// Size implements broker.Sizer.
func (p *protocol) Size(m Publish) int {
	return len(m.Subject) + len(m.ID) + len(m.Data) + natsconn.HeaderSize(m.Header)
}

// idOf is the id of a message without one of its own. It is made once, here: what is sent again has the same.
func (p *protocol) idOf(m *Publish) string {
	if v := m.Header[headerID]; len(v) > 0 && v[0] != "" {
		return v[0]
	}
	return p.idPrefix + strconv.FormatUint(p.idCount.Add(1), 36)
}

func (p *protocol) subscribe(b *broker.Base[Publish, struct{}], target actor.Ref) error {
	switch {
	case p.cfg.Consumer.Name == "":
		return errNoConsumer
	case target.IsZero():
		return errNoTarget
	}
	b.AddSubscriber(topic, target)
	return nil
}
