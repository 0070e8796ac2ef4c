package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/hocon"
)

// TestModel drives one broker actor through random faults and compares it with a queue that is simple enough to be right:
// what was accepted, in which order, and how each of it ended. Its checks are named after the invariants.
func TestModel(t *testing.T) {
	bubbles := 0
	rapid.Check(t, func(rt *rapid.T) {
		bubbles++
		m := &model{rt: rt, ended: map[string]string{}}
		limit := rapid.SampledFrom([]int{1, 3, 8, 1000}).Draw(rt, "outboundBuffer")
		window := rapid.SampledFrom([]int{1, 2, 5, 0}).Draw(rt, "inFlight")
		policy := rapid.SampledFrom([]broker.Overflow{broker.EvictOldest, broker.EvictNewest, broker.RejectNewest}).Draw(rt, "overflow")
		m.limit, m.bytes = limit, rapid.SampledFrom([]int{0, 0, 12, 100}).Draw(rt, "outboundBytes")
		m.ages = rapid.Bool().Draw(rt, "ages")
		prepare := func(w *world) {
			w.fake.Mode, w.fake.HoldConfirms = brokertest.ModeConfirm, true
			w.fake.ReplayInConnect = rapid.Bool().Draw(rt, "replayInConnect")
			if rapid.Bool().Draw(rt, "late") {
				w.fake.OnConnect = func(_ context.Context, n int, _ *broker.Link) error {
					if old := w.fake.Link(n - 1); old != nil { // a driver that speaks up too late, every time
						old.Lost(errors.New("late"))
						old.SettleThrough(broker.Token{}, nil)
					}
					return nil
				}
			}
		}
		config := set(func(c *broker.Config) {
			c.OutboundBuffer, c.InFlight, c.FlushTimeout = limit, window, 0
			c.Overflow, c.OutboundBytes = policy, hocon.Bytes(m.bytes)
			c.Reconnect.Random = nil
		})
		bubble(t, prepare, config, func(w *world) {
			m.w = w
			rt.Repeat(map[string]func(*rapid.T){
				"enqueue":     m.enqueue,
				"burst":       m.burst,
				"confirm":     m.confirm,
				"through":     m.through,
				"refuse":      m.refuse,
				"leave open":  m.leaveOpen,
				"drop":        m.drop,
				"storm":       m.storm,
				"fail write":  func(*rapid.T) { w.fake.FailDispatches(1) },
				"fail dial":   func(rt *rapid.T) { w.fake.FailConnects(rapid.IntRange(1, 3).Draw(rt, "n")) },
				"wait":        func(rt *rapid.T) { w.after(time.Duration(rapid.IntRange(1, 40_000).Draw(rt, "ms")) * ms) },
				"reconnect":   func(*rapid.T) { w.ref.Tell(broker.Reconnect{}); synctest.Wait() },
				"remember":    func(rt *rapid.T) { w.remember(key(rt), fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "label"))) },
				"forget":      func(rt *rapid.T) { w.forget(key(rt)) },
				"late settle": m.lateSettle,
				"":            m.check,
			})
			m.finish()
		})
	})
	t.Logf("%d runs", bubbles)
}

func key(rt *rapid.T) string { return rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(rt, "key") }

// model is what has to be true.
type model struct {
	rt    *rapid.T
	w     *world
	limit int
	bytes int // bound of them; 0 is none
	ages  bool
	next  int
	late  []lateToken

	mu       sync.Mutex
	accepted []string
	ended    map[string]string // payload to how it ended
}

type lateToken struct {
	link  int
	token broker.Token
}

func (m *model) end(payload, how string) {
	if before, twice := m.ended[payload]; twice {
		m.rt.Fatalf("%s ended as %s and as %s", payload, before, how)
	}
	m.ended[payload] = how
}

// completion notes how an envelope ended; it counts as one that was told by another broker's message.
type completion struct {
	m       *model
	payload string
	done    bool
}

func (c *completion) Done(err error) {
	if c.done {
		c.m.rt.Errorf("%s was completed twice", c.payload)
	}
	c.done = true
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	var u *broker.UndeliveredError
	switch {
	case err == nil:
		c.m.end(c.payload, "acked")
	case errors.As(err, &u):
		c.m.end(c.payload, u.Reason.String())
	case errors.Is(err, broker.ErrBufferFull):
		c.m.accepted = slices.DeleteFunc(c.m.accepted, func(p string) bool { return p == c.payload })
	default:
		c.m.rt.Errorf("%s ended with %v", c.payload, err)
	}
}

func (m *model) send() {
	p := fmt.Sprintf("%05d", m.next)
	m.next++
	m.mu.Lock()
	m.accepted = append(m.accepted, p)
	m.mu.Unlock()
	msg := brokertest.Publish{Payload: p}
	if m.ages {
		msg.MaxAge = time.Duration(m.next%5) * 700 * ms
	}
	actor.Send(m.w.ref, actor.Envelope{Msg: msg, Done: &completion{m: m, payload: p}})
}

func (m *model) enqueue(*rapid.T) { m.send(); synctest.Wait() }

func (m *model) burst(rt *rapid.T) {
	for range rapid.IntRange(2, 30).Draw(rt, "n") {
		m.send()
	}
	synctest.Wait()
}

func (m *model) confirm(rt *rapid.T) {
	m.w.fake.Confirm(rapid.IntRange(1, 6).Draw(rt, "n"))
	synctest.Wait()
}

func (m *model) pending(rt *rapid.T) (string, bool) {
	ps := m.w.fake.Pending()
	if len(ps) == 0 {
		return "", false
	}
	return ps[rapid.IntRange(0, len(ps)-1).Draw(rt, "which")], true
}

func (m *model) through(rt *rapid.T) {
	if p, ok := m.pending(rt); ok {
		m.w.fake.ConfirmThrough(p, nil)
	}
	synctest.Wait()
}

func (m *model) refuse(rt *rapid.T) {
	if p, ok := m.pending(rt); ok {
		m.w.fake.Refuse(p)
	}
	synctest.Wait()
}

func (m *model) leaveOpen(rt *rapid.T) {
	if p, ok := m.pending(rt); ok {
		m.w.fake.LeaveOpen(p)
	}
	synctest.Wait()
}

func (m *model) drop(*rapid.T) {
	n := m.w.fake.Connects()
	for _, p := range m.w.fake.Pending() {
		if t, ok := m.w.fake.Token(n, p); ok {
			m.late = append(m.late, lateToken{n, t})
		}
	}
	m.w.drop(errGone)
}

// lateSettle lets a dead connection confirm something; that may end an envelope early, but never twice and never another.
func (m *model) lateSettle(rt *rapid.T) {
	if len(m.late) == 0 {
		return
	}
	l := m.late[rapid.IntRange(0, len(m.late)-1).Draw(rt, "late")]
	if rapid.Bool().Draw(rt, "good") {
		m.w.fake.Link(l.link).Settle(l.token, nil, nil)
		synctest.Wait()
		return
	}
	before := m.w.books()
	m.w.fake.Link(l.link).Settle(l.token, nil, errors.New("late"))
	m.w.fake.Link(l.link).Settle(l.token, nil, broker.Rejected(errors.New("late")))
	synctest.Wait()
	if l.link != m.w.fake.Connects() && m.w.books() != before {
		rt.Fatalf("a late failure changed the books from %+v to %+v", before, m.w.books())
	}
}

// storm drops several connections in a row, each as soon as it is up.
func (m *model) storm(rt *rapid.T) {
	for range rapid.IntRange(3, 12).Draw(rt, "losses") {
		m.drop(rt)
		for m.w.status().State != broker.StateConnected {
			m.w.after(time.Second)
		}
	}
}

// check holds at every moment at which nothing moves.
func (m *model) check(rt *rapid.T) {
	if m.w == nil {
		return
	}
	b := m.w.books()
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := b.Queued + b.InFlight; n > m.limit {
		rt.Fatalf("I9: %d unsettled, the limit is %d", n, m.limit)
	}
	if b.Bytes != 5*(b.Queued+b.InFlight) || m.bytes > 0 && b.Bytes > m.bytes {
		rt.Fatalf("I9: %d bytes in %d envelopes, the limit is %d", b.Bytes, b.Queued+b.InFlight, m.bytes)
	}
	if b.Accepted != uint64(len(m.accepted)) {
		rt.Fatalf("I3: %d accepted, the books say %d", len(m.accepted), b.Accepted)
	}
	if open := len(m.accepted) - len(m.ended); open != b.Queued+b.InFlight {
		var left []string
		for _, p := range m.accepted {
			if m.ended[p] == "" {
				left = append(left, p)
			}
		}
		rt.Fatalf("I3: %d have not ended, the books say %d + %d: %v, in flight %v, wire %v, letters %v", open, b.Queued, b.InFlight, left, m.w.fake.Pending(), m.w.fake.Sent(), m.w.reasons())
	}
	m.order(rt)
	if m.w.fake.Overlaps() > 0 {
		rt.Fatal("I2: Connect and Disconnect overlapped")
	}
	if s := m.w.status(); s.State == broker.StateConnected {
		n := 0
		m.w.do(func(bs *brokertest.Base) error { n = bs.Remembered(); return nil })
		if got := m.w.fake.Applied(); len(got) != n {
			rt.Fatalf("I7: %d desired, on the wire %v", n, got)
		}
	}
	grammar(rt, m.w.rec.Names())
}

// suspectResends is from when on an envelope may be a suspect, which is sent later than those behind it.
const suspectResends = 2

// order is I4: on every connection, and by first occurrence over all of them, what is sent is in the order of acceptance.
// An envelope whose outcome was left open is sent again on the same connection, behind those already under way.
func (m *model) order(rt *rapid.T) {
	seen := map[string]bool{}
	last := ""
	link, lastOnLink := 0, ""
	onLink := map[string]bool{}
	for _, s := range m.w.fake.Sent() {
		if s.Link != link {
			link, lastOnLink, onLink = s.Link, "", map[string]bool{}
		}
		if !onLink[s.Payload] && s.Resends < suspectResends {
			if s.Payload < lastOnLink {
				rt.Fatalf("I4: %s was sent after %s on connection %d", s.Payload, lastOnLink, link)
			}
			lastOnLink = s.Payload
		}
		onLink[s.Payload] = true
		if seen[s.Payload] {
			if s.Resends == 0 {
				rt.Fatalf("%s was sent again as if for the first time", s.Payload)
			}
			continue
		}
		seen[s.Payload] = true
		if s.Payload < last && s.Resends == 0 {
			rt.Fatalf("I4: %s was first sent after %s", s.Payload, last)
		}
		last = max(last, s.Payload)
	}
}

// grammar is I5.
func grammar(t interface{ Fatalf(string, ...any) }, names []string) {
	up := false
	for _, n := range names {
		switch {
		case n == "Connected":
			if up {
				t.Fatalf("I5: Connected while connected: %v", names)
			}
			up = true
		case n == "Disconnected":
			if !up {
				t.Fatalf("I5: Disconnected while not connected: %v", names)
			}
			up = false
		case strings.HasPrefix(n, "Attempt") && up:
			t.Fatalf("I5: %s while connected: %v", n, names)
		}
	}
}

// finish stops the actor at whatever moment this is.
func (m *model) finish() {
	if took := m.w.stop(); took > 100*ms {
		m.rt.Fatalf("stop took %s", took)
	}
	if len(m.ended) != len(m.accepted) {
		m.rt.Fatalf("I3: %d accepted, %d ended", len(m.accepted), len(m.ended))
	}
	names, connects := len(m.w.rec.Names()), m.w.fake.Connects()
	letters := map[string]bool{}
	for _, u := range m.w.rec.Undelivered() {
		if u.Refused {
			continue
		}
		p := u.Payload.(string)
		if letters[p] {
			m.rt.Fatalf("I3: two dead letters for %s", p)
		}
		letters[p] = true
		if how := m.ended[p]; how != u.Reason.String() {
			m.rt.Fatalf("I3: %s ended as %s, its dead letter says %s", p, how, u.Reason)
		}
	}
	for p, how := range m.ended {
		if how != "acked" && !letters[p] {
			m.rt.Fatalf("I3: %s ended as %s without a dead letter", p, how)
		}
	}
	m.w.after(time.Hour)
	if n := len(m.w.rec.Names()); n != names {
		m.rt.Fatalf("I6: events after the stop: %v", m.w.rec.Names()[names:])
	}
	if n := m.w.fake.Connects(); n != connects {
		m.rt.Fatalf("I6: %d connects after the stop", n-connects)
	}
}
