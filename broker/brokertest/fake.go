package brokertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// Base is the base as the commands of a Fake see it.
type Base = broker.Base[string, string]

// Commands of a Fake, besides those every broker actor has.
type (
	// Publish enqueues a payload, with an age if MaxAge is not 0. An ask is answered with the broker.Receipt.
	Publish struct {
		Payload string
		MaxAge  time.Duration
	}
	// Remember adds a desired subscription, Forget removes one.
	Remember struct{ Key, Label string }
	// Forget is described at Remember.
	Forget struct{ Key string }
	// Do runs a function on the actor's goroutine; what it returns is the result of the command.
	Do struct{ Func func(b *Base) error }
)

// Mode says how a Fake settles what it is given.
type Mode uint8

const (
	// ModeWritten: a Dispatch that returned is the end of it.
	ModeWritten Mode = iota
	// ModeConfirm: the server confirms, at once or, with HoldConfirms, when it is told to.
	ModeConfirm
	// ModeFlush: a flush confirms the run before it.
	ModeFlush
)

// Sent is one dispatch that reached the server.
type Sent struct {
	// Link counts the connections from 1.
	Link    int
	Payload string
	Resends int
}

// Verdict is one acknowledgement or refusal that reached the server.
type Verdict struct {
	Link int
	ID   uint64
	Err  error
	// Delay and Dropped are those of the broker.Ack.
	Delay   time.Duration
	Dropped error
}

// Fake is a protocol without a network, and the memory of the server it talks to. The exported fields are settings: set
// them before the actor starts. The gates and the methods may be used at any time and from any goroutine.
type Fake struct {
	// Label is the raw endpoint label. Default "fake://server".
	Label string
	Mode  Mode
	// Window is the ConfirmWindow in ModeConfirm; 0 leaves it to the configuration.
	Window int
	// HoldConfirms leaves confirming to Confirm, Refuse and LeaveOpen.
	HoldConfirms bool
	// ReplayInConnect makes Connect call Link.Replay, before ConnectGate.
	ReplayInConnect bool
	// Batch gives the connection ApplySubscriptions, NoRevoke takes RevokeSubscription away.
	Batch, NoRevoke bool
	// NoDelay makes the server one that delivers a refused message again at once, so that the base has to wait.
	NoDelay bool
	// Stubborn makes Connect and Disconnect ignore their context while they wait at their gates.
	Stubborn bool
	// Initial are the configured subscriptions, key and label in turn.
	Initial []string
	// Secrets are returned to the base.
	Held []string
	// OnConnect, OnDispatch, OnApply and OnDisconnect are called in the hooks of these names; an error is the hook's. They
	// may block.
	OnConnect  func(ctx context.Context, link int, l *broker.Link) error
	OnDispatch func(ctx context.Context, s Sent) error
	OnApply    func(ctx context.Context, key string) error
	// OnDisconnect is described at OnConnect.
	OnDisconnect func(ctx context.Context, link int) error
	// OnEnvelope is called with each envelope that is dispatched, before OnDispatch.
	OnEnvelope func(env broker.Envelope[string])
	// OnVerdict is called for each verdict that reaches the server, in order.
	OnVerdict func(v Verdict)
	// OnTerminated is called for deaths the protocol hears of.
	OnTerminated func(t actor.Terminated)

	// DialGate is passed at the beginning of Connect, ConnectGate at its end when the handle is made, DisconnectGate in
	// Disconnect after it was counted.
	DialGate, ConnectGate, DispatchGate, ApplyGate, DisconnectGate Gate

	mu          sync.Mutex
	connects    int
	failConnect int
	failSend    int
	sent        []Sent
	links       []*broker.Link
	conns       []*fakeConn
	closed      []int // links whose handle was closed, in order
	disconnects int
	hooks       int // Connect and Disconnect calls in progress
	overlaps    int
	applied     []string
	appliedEver []string
	revoked     []string
	refuseKeys  map[string]error
	verdicts    []Verdict
}

// Config is the configuration of a Fake's actor.
type Config struct{ broker.Config }

// New returns the factory of the actor. Its HOCON path is troupe.broker.fake.
func (f *Fake) New(opts ...func(*Config)) func() actor.Actor {
	return broker.New(f.Definition(), opts...)
}

// Definition is what New gives to broker.New.
func (f *Fake) Definition() broker.Definition[Config, string, string] {
	return broker.Definition[Config, string, string]{
		Key:     "troupe.broker.fake",
		Default: func() Config { return Config{broker.DefaultConfig()} },
		New:     func(Config) (broker.Protocol[string, string], error) { return f, nil },
	}
}

// EndpointLabel implements broker.Protocol.
func (f *Fake) EndpointLabel() string {
	if f.Label == "" {
		return "fake://server"
	}
	return f.Label
}

// Secrets implements broker.SecretHolder.
func (f *Fake) Secrets() []string { return f.Held }

// Start implements broker.Starter.
func (f *Fake) Start(b *Base) error {
	for i := 0; i+1 < len(f.Initial); i += 2 {
		b.Remember(f.Initial[i], f.Initial[i+1])
	}
	return nil
}

// Command implements broker.Protocol.
func (f *Fake) Command(b *Base, msg any) (handled bool, err error) {
	switch m := msg.(type) {
	case Publish:
		return true, b.EnqueueFor(m.Payload, m.MaxAge)
	case Remember:
		b.Remember(m.Key, m.Label)
	case Forget:
		b.Forget(m.Key)
	case Do:
		return true, m.Func(b)
	default:
		return false, nil
	}
	return true, nil
}

// Size implements broker.Sizer.
func (f *Fake) Size(payload string) int { return len(payload) }

// Terminated implements broker.TerminatedHandler.
func (f *Fake) Terminated(_ *Base, t actor.Terminated) {
	if f.OnTerminated != nil {
		f.OnTerminated(t)
	}
}

func (f *Fake) enter() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hooks++; f.hooks > 1 {
		f.overlaps++
	}
}

func (f *Fake) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks--
}

// ErrRefused is what a Fake fails with when it was told to fail.
var ErrRefused = errors.New("brokertest: refused")

// Connect implements broker.Protocol.
func (f *Fake) Connect(ctx context.Context, l *broker.Link) (broker.Conn[string], error) {
	f.enter()
	defer f.leave()
	f.mu.Lock()
	f.connects++
	f.applied = nil
	c := &fakeConn{f: f, l: l, n: f.connects, dead: make(chan error, 1)}
	f.links, f.conns = append(f.links, l), append(f.conns, c)
	fail := f.failConnect > 0
	if fail {
		f.failConnect--
	}
	f.mu.Unlock()
	if err := f.pass(ctx, &f.DialGate); err != nil {
		return nil, err
	}
	if fail {
		return nil, ErrRefused
	}
	if f.OnConnect != nil {
		if err := f.OnConnect(ctx, c.n, l); err != nil {
			return nil, err
		}
	}
	conn := c.dress()
	if f.ReplayInConnect {
		if err := l.Replay(ctx, conn); err != nil {
			return conn, err
		}
	}
	if err := f.pass(ctx, &f.ConnectGate); err != nil {
		return conn, err
	}
	c.open.Store(true)
	return conn, nil
}

func (f *Fake) pass(ctx context.Context, g *Gate) error {
	if f.Stubborn {
		g.Await()
		return nil
	}
	return g.Pass(ctx)
}

// FailConnects fails the next n connects, FailDispatches the next n dispatches, each with ErrRefused.
func (f *Fake) FailConnects(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failConnect = n
}

// FailDispatches is described at FailConnects.
func (f *Fake) FailDispatches(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failSend = n
}

// RefuseKey fails every attempt to apply key; a nil error ends that.
func (f *Fake) RefuseKey(key string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuseKeys == nil {
		f.refuseKeys = map[string]error{}
	}
	f.refuseKeys[key] = err
}

// Connects is the number of Connect calls, Disconnects that of Disconnect calls, Overlaps how often two of them ran at
// the same time.
func (f *Fake) Connects() int { return locked(f, func() int { return f.connects }) }

// Disconnects is described at Connects.
func (f *Fake) Disconnects() int { return locked(f, func() int { return f.disconnects }) }

// Overlaps is described at Connects.
func (f *Fake) Overlaps() int { return locked(f, func() int { return f.overlaps }) }

// Sent is every dispatch that reached the server, in order.
func (f *Fake) Sent() []Sent { return locked(f, func() []Sent { return slices.Clone(f.sent) }) }

// Payloads are the payloads of Sent.
func (f *Fake) Payloads() []string {
	var out []string
	for _, s := range f.Sent() {
		out = append(out, s.Payload)
	}
	return out
}

// Closed lists the links whose open handle was closed, in order.
func (f *Fake) Closed() []int { return locked(f, func() []int { return slices.Clone(f.closed) }) }

// Applied is what the current connection has, as key=label in the order of applying; AppliedEver keeps those of earlier
// ones too; Revoked lists the keys that were revoked.
func (f *Fake) Applied() []string {
	return locked(f, func() []string { return slices.Clone(f.applied) })
}

// AppliedEver is described at Applied.
func (f *Fake) AppliedEver() []string {
	return locked(f, func() []string { return slices.Clone(f.appliedEver) })
}

// Revoked is described at Applied.
func (f *Fake) Revoked() []string {
	return locked(f, func() []string { return slices.Clone(f.revoked) })
}

// Verdicts is every verdict that reached the server, in order.
func (f *Fake) Verdicts() []Verdict {
	return locked(f, func() []Verdict { return slices.Clone(f.verdicts) })
}

// Link is the link of the n-th connect, from 1, for late callbacks; nil if there was none.
func (f *Fake) Link(n int) *broker.Link {
	return locked(f, func() *broker.Link {
		if n < 1 || n > len(f.links) {
			return nil
		}
		return f.links[n-1]
	})
}

// Drop makes the server end the current connection: Serve returns err.
func (f *Fake) Drop(err error) {
	if c := f.current(); c != nil {
		select {
		case c.dead <- err:
		default:
		}
	}
}

func (f *Fake) current() *fakeConn {
	return locked(f, func() *fakeConn {
		if len(f.conns) == 0 {
			return nil
		}
		return f.conns[len(f.conns)-1]
	})
}

func locked[T any](f *Fake, get func() T) T {
	f.mu.Lock()
	defer f.mu.Unlock()
	return get()
}
