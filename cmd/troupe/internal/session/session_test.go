package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/cmd/troupe/internal/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const idle = 2 * time.Second

// acks is what the broker would hear.
type acks struct {
	mu   sync.Mutex
	said map[string][]error
}

type ack struct {
	id string
	a  *acks
}

func (a ack) Done(err error) {
	a.a.mu.Lock()
	defer a.a.mu.Unlock()
	a.a.said[a.id] = append(a.a.said[a.id], err)
}

// fixture is the sessions' parent with everything that is seen of it.
type fixture struct {
	t       *testing.T
	counts  Counts
	ref     actor.Ref
	acks    acks
	letters *actortest.Probe
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, acks: acks{said: map[string][]error{}}}
	sys := actortest.NewSystem(t)
	f.letters = actortest.NewProbe(t, sys)
	actor.Subscribe[actor.DeadLetter](sys.EventStream(), f.letters.Ref())
	ref, err := sys.Spawn("customers", func() actor.Actor {
		return &peeked{New(idle, &f.counts)().(*customers)}
	})
	if err != nil {
		t.Fatal(err)
	}
	f.ref = ref
	return f
}

// order delivers one, as the consumer forwards it.
func (f *fixture) order(id, customer string, amount int64) {
	data, err := json.Marshal(order.Order{ID: id, Customer: customer, Amount: amount})
	if err != nil {
		f.t.Fatal(err)
	}
	actor.Send(f.ref, actor.Envelope{Msg: jetstream.Message{Data: data}, Done: ack{id, &f.acks}})
}

// end closes the sessions and compares the ledger and the acknowledgements: each delivery was acknowledged, once.
func (f *fixture) end(want map[string]int64, deliveries map[string]int) {
	f.t.Helper()
	ledger, err := actor.Ask[Ledger](context.Background(), f.ref, Close{})
	if err != nil {
		f.t.Fatal(err)
	}
	if len(ledger) != len(want) {
		f.t.Errorf("ledger %v", ledger)
	}
	for c, total := range want {
		if ledger[c].Total != total {
			f.t.Errorf("%s has %d, want %d", c, ledger[c].Total, total)
		}
	}
	f.acks.mu.Lock()
	defer f.acks.mu.Unlock()
	for id, n := range deliveries {
		said := f.acks.said[id]
		if len(said) != n {
			f.t.Errorf("%s: %d verdicts, want %d: %v", id, len(said), n, said)
		}
		for _, err := range said {
			if err != nil {
				f.t.Errorf("%s: %v", id, err)
			}
		}
	}
	if n := f.letters.Pending(); n != 0 {
		f.t.Errorf("%d dead letters, the first: %+v", n, f.letters.Next())
	}
	if a := f.counts.Alive.Load(); a != 0 {
		f.t.Errorf("%d sessions are alive", a)
	}
}

func TestIdleSessionRetiresAndTheNextGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.order("1", "ada", 10)
		synctest.Wait()
		time.Sleep(idle - 1)
		synctest.Wait()
		if f.counts.Retired.Load() != 0 {
			t.Error("retired early")
		}
		time.Sleep(1)
		synctest.Wait()
		if f.counts.Retired.Load() != 1 || f.counts.Alive.Load() != 0 {
			t.Errorf("retired %d, alive %d", f.counts.Retired.Load(), f.counts.Alive.Load())
		}
		f.order("2", "ada", 5)
		f.order("1", "ada", 10) // comes again, after the session that knew it has gone
		synctest.Wait()
		if f.counts.Started.Load() != 2 || f.counts.Duplicates.Load() != 1 {
			t.Errorf("started %d, duplicates %d", f.counts.Started.Load(), f.counts.Duplicates.Load())
		}
		f.end(map[string]int64{"ada": 15}, map[string]int{"1": 2, "2": 1})
	})
}

// TestMessagesOfARetiringSession: what arrives between the request to retire and the end waits for the next session,
// with its completion.
func TestMessagesOfARetiringSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.order("1", "ada", 1)
		synctest.Wait()
		// The request, and the messages behind it, before the session had a chance to leave.
		s := f.session("ada")
		actor.Send(f.ref, actor.Envelope{Msg: retire{"ada"}, Sender: s})
		actor.Send(f.ref, actor.Envelope{Msg: retire{"ada"}, Sender: s}) // a second request changes nothing
		f.order("2", "ada", 2)
		f.order("3", "ada", 4)
		f.order("4", "bob", 8)
		synctest.Wait()
		if f.counts.Started.Load() != 3 || f.counts.Retired.Load() != 1 {
			t.Errorf("started %d, retired %d", f.counts.Started.Load(), f.counts.Retired.Load())
		}
		f.end(map[string]int64{"ada": 7, "bob": 8}, map[string]int{"1": 1, "2": 1, "3": 1, "4": 1})
	})
}

// peeked is the parent with a way to look into it.
type peeked struct{ *customers }

type peek func(*customers)

func (p *peeked) Receive(ctx *actor.Context, msg any) error {
	if f, ok := msg.(peek); ok {
		f(p.customers)
		return nil
	}
	return p.customers.Receive(ctx, msg)
}

// session finds the ref of a customer's session.
func (f *fixture) session(customer string) actor.Ref {
	f.t.Helper()
	got := make(chan actor.Ref, 1)
	f.ref.Tell(peek(func(c *customers) { got <- c.entries[customer].ref }))
	return <-got
}

func TestRequestOfAStrangerChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.order("1", "ada", 1)
		actor.Send(f.ref, actor.Envelope{Msg: retire{"ada"}, Sender: f.letters.Ref()})
		actor.Send(f.ref, actor.Envelope{Msg: retire{"nobody"}, Sender: f.letters.Ref()})
		actor.Send(f.ref, actor.Envelope{Msg: handBack{"ada"}, Sender: f.letters.Ref()})
		synctest.Wait()
		if f.counts.Retired.Load() != 0 {
			t.Error("retired")
		}
		f.end(map[string]int64{"ada": 1}, map[string]int{"1": 1})
	})
}

// TestOrdersAtRandomTimes lets sessions come and go while orders arrive, some of them twice.
func TestOrdersAtRandomTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		want, deliveries := map[string]int64{}, map[string]int{}
		for i := range 400 {
			id, customer := fmt.Sprint(i), fmt.Sprint("c", i%5)
			f.order(id, customer, int64(i))
			deliveries[id]++
			want[customer] += int64(i)
			if i%7 == 0 {
				f.order(id, customer, int64(i))
				deliveries[id]++
			}
			time.Sleep(time.Duration(i*i%977) * 7 * time.Millisecond)
		}
		synctest.Wait()
		if f.counts.Retired.Load() < 50 {
			t.Errorf("only %d sessions retired", f.counts.Retired.Load())
		}
		f.end(want, deliveries)
	})
}

func TestAnEndWithoutHandBackIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.order("1", "ada", 1)
		synctest.Wait()
		f.session("ada").Tell(actor.PoisonPill{})
		synctest.Wait()
		if f.counts.Broken.Load() != 1 {
			t.Error("not counted")
		}
		f.order("2", "ada", 2)
		f.end(map[string]int64{"ada": 3}, map[string]int{"1": 1, "2": 1})
	})
}

// TestARestartedSessionKeepsItsTotal: the next instance has total and ids alike, so a redelivery changes neither.
func TestARestartedSessionKeepsItsTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.order("1", "ada", 5)
		synctest.Wait()
		f.session("ada").Tell(actor.Kill{})
		synctest.Wait()
		f.order("1", "ada", 5)
		f.order("2", "ada", 5)
		synctest.Wait()
		if f.counts.Started.Load() != 1 || f.counts.Duplicates.Load() != 1 {
			t.Errorf("started %d, duplicates %d", f.counts.Started.Load(), f.counts.Duplicates.Load())
		}
		f.end(map[string]int64{"ada": 10}, map[string]int{"1": 2, "2": 1})
	})
}

func TestWhatIsNoOrderIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		actor.Send(f.ref, actor.Envelope{Msg: jetstream.Message{Data: []byte("{")}, Done: ack{"x", &f.acks}})
		synctest.Wait()
		f.acks.mu.Lock()
		said := f.acks.said["x"]
		f.acks.mu.Unlock()
		if len(said) != 1 || said[0] == nil || !actor.Rejected(said[0]) || errors.Is(said[0], actor.ErrDeadLetter) {
			t.Errorf("%v", said)
		}
		if f.counts.Unreadable.Load() != 1 {
			t.Error("not counted")
		}
		f.end(map[string]int64{}, nil)
	})
}
