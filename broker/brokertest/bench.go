package brokertest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/internal/chaos"
)

// patience is how long a case waits for something that has to come.
const patience = 20 * time.Second

// bench is the test bench of one case: a system, a recorder, a proxy in front of the server.
type bench struct {
	*testing.T
	f     Features
	p     Protocol
	sys   *actor.System
	rec   *Recorder
	proxy *chaos.Proxy
	logs  *logBuffer
}

type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func runCase(t *testing.T, f Features, newProtocol func(t *testing.T) Protocol, test func(*bench)) {
	b := &bench{T: t, f: f, p: newProtocol(t), logs: &logBuffer{}}
	before := goleak.IgnoreCurrent()
	var err error
	if b.proxy, err = chaos.New(b.p.Addr); err != nil {
		t.Fatal(err)
	}
	b.sys, err = actor.NewSystem("conformance", func(c *actor.SystemConfig) {
		c.Logger = slog.New(slog.NewTextHandler(b.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.rec, err = Record(b.sys); err != nil {
		t.Fatal(err)
	}
	defer func() {
		b.proxy.Hole(false) // what is held up must not hold up the end
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.sys.Terminate(ctx); err != nil {
			t.Errorf("terminate: %v", err)
		}
		b.proxy.Close()
		b.secrets()
		b.grammar()
		if err := goleak.Find(before); err != nil {
			t.Errorf("goroutines left: %v", err)
		}
	}()
	test(b)
}

// quick makes retries fast enough for a test.
func quick(c *broker.Config) {
	c.Reconnect.InitialDelay, c.Reconnect.MaxDelay = 20*time.Millisecond, 200*time.Millisecond
	c.OutboundBuffer = 100_000
}

// publisher starts a publishing actor at the proxy.
func (b *bench) publisher(tune ...func(*broker.Config)) actor.Ref {
	b.Helper()
	return b.spawn("publisher", b.p.New(b.proxy.Addr(), all(tune)))
}

func all(tune []func(*broker.Config)) func(*broker.Config) {
	return func(c *broker.Config) {
		quick(c)
		for _, f := range tune {
			f(c)
		}
	}
}

func (b *bench) spawn(name string, newActor func() actor.Actor) actor.Ref {
	b.Helper()
	ref, err := b.sys.Spawn(name, newActor)
	if err != nil {
		b.Fatalf("spawn %s: %v", name, err)
	}
	return ref
}

// until polls for a condition.
func (b *bench) until(what string, ok func() bool) {
	b.Helper()
	end := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(end) {
			b.Fatalf("not within %s: %s\nevents: %v\nlog:\n%s", patience, what, b.rec.Names(), tail(b.logs.String()))
		}
		<-time.After(2 * time.Millisecond)
	}
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

func (b *bench) status(ref actor.Ref) broker.Status {
	b.Helper()
	s, err := actor.Ask[broker.Status](b.Context(), ref, broker.QueryStatus{})
	if err != nil {
		b.Fatalf("status: %v", err)
	}
	return s
}

func (b *bench) connected(ref actor.Ref) {
	b.Helper()
	b.until("connected", func() bool { return b.status(ref).State == broker.StateConnected })
}

// settled waits until n accepted messages have ended and checks the account.
func (b *bench) settled(ref actor.Ref, n uint64) broker.Books {
	b.Helper()
	var k broker.Books
	b.until(fmt.Sprintf("%d messages settled", n), func() bool {
		k = b.status(ref).Books
		return k.Accepted == n && k.Queued+k.InFlight == 0
	})
	if k.Accepted != k.Acked+k.Written+k.Undelivered {
		b.Errorf("the books do not balance: %+v", k)
	}
	return k
}

// events counts those of one actor that match.
func (b *bench) events(ref actor.Ref, match func(broker.Event) bool) (n int) {
	for _, e := range b.rec.Events() {
		if path, _ := e.Source(); path == ref.Path() && match(e) {
			n++
		}
	}
	return n
}

func isConnected(e broker.Event) bool    { _, ok := e.(broker.Connected); return ok }
func isDisconnected(e broker.Event) bool { _, ok := e.(broker.Disconnected); return ok }

// stop stops an actor and says how long that took.
func (b *bench) stop(ref actor.Ref) time.Duration {
	b.Helper()
	w := &deathWatch{ref: ref, ready: make(chan struct{}), gone: make(chan time.Time, 1)}
	if _, err := b.sys.SpawnAnonymous(func() actor.Actor { return w }); err != nil {
		b.Fatal(err)
	}
	<-w.ready
	began := time.Now()
	ref.Tell(actor.PoisonPill{})
	select {
	case at := <-w.gone:
		return at.Sub(began)
	case <-time.After(patience):
		b.Fatalf("%s did not stop", ref.Path())
		return 0
	}
}

// deathWatch tells when an actor has stopped.
type deathWatch struct {
	ref   actor.Ref
	ready chan struct{}
	gone  chan time.Time
}

// PreStart watches.
func (w *deathWatch) PreStart(ctx *actor.Context) error {
	ctx.Watch(w.ref)
	close(w.ready)
	return nil
}

// Receive notes the time of death.
func (w *deathWatch) Receive(ctx *actor.Context, msg any) error {
	if _, ok := msg.(actor.Terminated); ok {
		w.gone <- time.Now()
		ctx.StopSelf()
	}
	return nil
}

// secrets searches everything that was said for the credential.
func (b *bench) secrets() {
	if b.f.Secret == "" {
		return
	}
	if strings.Contains(b.logs.String(), b.f.Secret) {
		b.Error("the log contains the credential")
	}
	for _, e := range b.rec.Events() {
		if s := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(s, b.f.Secret) {
			b.Errorf("an event contains the credential: %T", e)
		}
	}
	for _, u := range b.rec.Undelivered() {
		if s := fmt.Sprint(u.Endpoint, " ", u.Cause); strings.Contains(s, b.f.Secret) {
			b.Errorf("a dead letter contains the credential: %s", u.Reason)
		}
	}
}

// grammar checks that Connected and Disconnected alternate for each actor, beginning with Connected.
func (b *bench) grammar() {
	up := map[string]bool{}
	for i, e := range b.rec.Events() {
		path, _ := e.Source()
		switch e.(type) {
		case broker.Connected:
			if up[path] {
				b.Errorf("event %d of %s: Connected while connected", i, path)
			}
			up[path] = true
		case broker.Disconnected:
			if !up[path] {
				b.Errorf("event %d of %s: Disconnected while not connected", i, path)
			}
			up[path] = false
		case broker.ReconnectAttempt, broker.ReconnectFailed:
			if up[path] {
				b.Errorf("event %d of %s: %T while connected", i, path, e)
			}
		}
	}
}

// target is an actor that collects ids.
type target struct {
	id     func(any) string
	refuse func(id string, seen int) error
	mu     sync.Mutex
	ids    []string
	count  map[string]int
}

func (b *bench) target(refuse func(id string, seen int) error) (*target, actor.Ref) {
	b.Helper()
	t := &target{id: b.p.ID, refuse: refuse, count: map[string]int{}}
	ref, err := b.sys.SpawnAnonymous(func() actor.Actor { return t })
	if err != nil {
		b.Fatal(err)
	}
	return t, ref
}

// Receive notes the id.
func (t *target) Receive(_ *actor.Context, msg any) error {
	id := t.id(msg)
	if id == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids = append(t.ids, id)
	t.count[id]++
	if t.refuse != nil {
		return t.refuse(id, t.count[id])
	}
	return nil
}

func (t *target) seen(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count[id]
}

func (t *target) distinct() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.count)
}

// firsts are the ids in the order of their first occurrence.
func (t *target) firsts() (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	had := map[string]bool{}
	for _, id := range t.ids {
		if !had[id] {
			had[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}
