package broker_test

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/hocon"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a system in a bubble with one broker actor on a fake.
type world struct {
	t    *testing.T
	sys  *actor.System
	fake *brokertest.Fake
	rec  *brokertest.Recorder
	ref  actor.Ref
	logs *logs
	conf string

	overlap bool // a hook that was given up may run beside the next
}

// logs is a log that can be searched.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// bubble runs a test of one fake under a fake clock; prepare changes the fake before anything starts.
func bubble(t *testing.T, prepare func(w *world), opts []func(*brokertest.Config), test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fake: &brokertest.Fake{}, logs: &logs{}}
		if prepare != nil {
			prepare(w)
		}
		conf, err := hocon.ParseString("test.conf", w.conf)
		if err != nil {
			t.Fatal(err)
		}
		w.sys, err = actor.NewSystem("test", func(c *actor.SystemConfig) {
			c.Logger = slog.New(slog.NewTextHandler(w.logs, nil))
			c.Config = conf
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.sys.Terminate(t.Context()); err != nil {
				t.Errorf("terminate: %v", err)
			}
			if n := w.fake.Overlaps(); n > 0 && !w.overlap {
				t.Errorf("%d times two of Connect and Disconnect ran at once", n)
			}
		}()
		if w.rec, err = brokertest.Record(w.sys); err != nil {
			t.Fatal(err)
		}
		w.spawn(opts...)
		synctest.Wait()
		test(w)
	})
}

func (w *world) spawn(opts ...func(*brokertest.Config)) {
	w.t.Helper()
	steady := func(c *brokertest.Config) { c.Reconnect.Random = func() float64 { return 0.5 } }
	var err error
	w.ref, err = w.sys.Spawn("broker", w.fake.New(append([]func(*brokertest.Config){steady}, opts...)...))
	if err != nil {
		w.t.Fatal(err)
	}
}

func set(f func(c *broker.Config)) []func(*brokertest.Config) {
	return []func(*brokertest.Config){func(c *brokertest.Config) { f(&c.Config) }}
}

// publish tells payloads and waits until everything is at rest.
func (w *world) publish(payloads ...string) {
	for _, p := range payloads {
		w.ref.Tell(brokertest.Publish{Payload: p})
	}
	synctest.Wait()
}

// do runs f on the actor's goroutine.
func (w *world) do(f func(b *brokertest.Base) error) {
	w.t.Helper()
	w.ref.Tell(brokertest.Do{Func: f})
	synctest.Wait()
}

func (w *world) drop(err error) {
	w.fake.Drop(err)
	synctest.Wait()
}

func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) status() broker.Status {
	w.t.Helper()
	s, err := actor.Ask[broker.Status](w.t.Context(), w.ref, broker.QueryStatus{})
	if err != nil {
		w.t.Fatalf("status: %v", err)
	}
	return s
}

// books checks that they balance and returns them.
func (w *world) books() broker.Books {
	w.t.Helper()
	b := w.status().Books
	if b.Accepted != b.Acked+b.Written+b.Undelivered+uint64(b.Queued)+uint64(b.InFlight) {
		w.t.Errorf("books do not balance: %+v", b)
	}
	return b
}

// stop stops the broker actor and says how long that took.
func (w *world) stop() time.Duration {
	w.t.Helper()
	began := time.Now()
	gone := make(chan struct{})
	ready := make(chan struct{})
	ref := w.ref
	_, err := w.sys.SpawnAnonymous(func() actor.Actor { return &stopper{ref, ready, gone} })
	if err != nil {
		w.t.Fatal(err)
	}
	<-ready
	ref.Tell(actor.PoisonPill{})
	<-gone
	took := time.Since(began)
	synctest.Wait()
	return took
}

type stopper struct {
	ref         actor.Ref
	ready, gone chan struct{}
}

func (s *stopper) PreStart(ctx *actor.Context) error {
	ctx.Watch(s.ref)
	close(s.ready)
	return nil
}

func (s *stopper) Receive(ctx *actor.Context, msg any) error {
	if _, ok := msg.(actor.Terminated); ok {
		close(s.gone)
		ctx.StopSelf()
	}
	return nil
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func (w *world) events(want ...string) {
	w.t.Helper()
	equal(w.t, "events", strings.Join(w.rec.Names(), " "), strings.Join(want, " "))
}

// attempts returns the delays of the ReconnectAttempt events so far.
func (w *world) attempts() (ds []time.Duration) {
	for _, e := range w.rec.Events() {
		if a, ok := e.(broker.ReconnectAttempt); ok {
			ds = append(ds, a.Delay)
		}
	}
	return ds
}

// reasons returns payload=reason of the dead letters of accepted envelopes.
func (w *world) reasons() (rs []string) {
	for _, u := range w.rec.Undelivered() {
		s := u.Payload.(string) + "=" + u.Reason.String()
		if u.Refused {
			s += "!"
		}
		rs = append(rs, s)
	}
	return rs
}

// confirming makes the server confirm.
func confirming(w *world) { w.fake.Mode = brokertest.ModeConfirm }

// holding makes the server confirm when it is told to.
func holding(w *world) { w.fake.Mode, w.fake.HoldConfirms = brokertest.ModeConfirm, true }

func ask[T any](w *world, msg any) (T, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
	defer cancel()
	return actor.Ask[T](ctx, w.ref, msg)
}
