package nats

import (
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/internal/natsconn"
)

// New returns the factory of a NATS actor, for Spawn. The settings are the defaults, then the HOCON block at Key, then
// opts in order; a setting that is wrong fails the start with an *actor.ConfigError that names the dotted key. It does
// not block, and neither does the start: connecting happens beside the mailbox.
//
// The actor takes Publish, Subscribe, Unsubscribe, Request and the base's own commands.
func New(opts ...func(*Config)) func() actor.Actor {
	return broker.New(broker.Definition[Config, Publish, subscription]{
		Key:     Key,
		Default: DefaultConfig,
		New: func(cfg Config) (broker.Protocol[Publish, subscription], error) {
			return &protocol{cfg: cfg, keys: map[string]subscription{}}, nil
		},
	}, opts...)
}

// subscription is one subscription on the wire.
type subscription struct{ subject, queue string }

// key names it; a subject has no spaces.
func (s subscription) key() string {
	if s.queue == "" {
		return s.subject
	}
	return s.subject + " " + s.queue
}

// base is the base as this protocol sees it.
type base = broker.Base[Publish, subscription]

// protocol is what outlives the connections.
type protocol struct {
	cfg    Config
	events *actor.EventStream
	path   string
	live   atomic.Pointer[conn]    // the connection, for requests; nil without one
	keys   map[string]subscription // what is subscribed; on the actor's goroutine only
}

// EndpointLabel implements broker.Protocol.
func (p *protocol) EndpointLabel() string { return p.cfg.connection().Label() }

// Secrets implements broker.SecretHolder.
func (p *protocol) Secrets() []string { return p.cfg.connection().Secrets() }

// Start implements broker.Starter.
func (p *protocol) Start(b *base) error {
	p.events, p.path = b.Context().System().EventStream(), b.Context().Self().Path()
	for _, s := range p.cfg.Subscriptions {
		p.subscribe(b, s)
	}
	return nil
}

// Command implements broker.Protocol.
func (p *protocol) Command(b *base, msg any) (handled bool, err error) {
	switch m := msg.(type) {
	case Publish:
		if err := m.check(); err != nil {
			return true, err
		}
		return true, b.EnqueueFor(m, m.MaxAge)
	case Subscribe:
		if err := m.check(); err != nil {
			return true, err
		}
		p.subscribe(b, m)
		return true, nil
	case Unsubscribe:
		s := subscription{m.Subject, m.Queue}
		b.RemoveSubscriber(s.key(), m.Target)
		p.tidy(b, s.key())
		return true, nil
	case Request:
		return true, p.request(b, m)
	}
	return false, nil
}

func (p *protocol) subscribe(b *base, m Subscribe) {
	s := subscription{m.Subject, m.Queue}
	key := s.key()
	b.AddSubscriber(key, m.Target)
	if _, known := p.keys[key]; !known {
		p.keys[key] = s
		b.Remember(key, s)
	}
}

// tidy ends a subscription that has no target left.
func (p *protocol) tidy(b *base, key string) {
	if _, known := p.keys[key]; known && b.SubscriberCount(key) == 0 {
		delete(p.keys, key)
		b.Forget(key)
	}
}

// Size implements broker.Sizer.
func (p *protocol) Size(m Publish) int {
	return len(m.Subject) + len(m.Reply) + len(m.Data) + natsconn.HeaderSize(m.Header)
}

// Terminated implements broker.TerminatedHandler.
func (p *protocol) Terminated(b *base, _ actor.Terminated) {
	for key := range p.keys {
		p.tidy(b, key)
	}
}

func (p *protocol) request(b *base, m Request) error {
	if err := m.check(); err != nil {
		return err
	}
	if m.Timeout == 0 {
		m.Timeout = p.cfg.RequestTimeout
	}
	done := b.Context().Hold()
	asker, ok := done.(actor.Answerer)
	switch {
	case !ok && done != nil: // a message bridged from elsewhere
		done.Done(ErrNotAsked)
		return nil
	case !ok:
		return ErrNotAsked
	}
	c := p.live.Load()
	if c == nil {
		asker.Done(broker.ErrNotConnected)
		return nil
	}
	if err := c.requests.start(m, asker); err != nil {
		asker.Done(err)
	}
	return nil
}
