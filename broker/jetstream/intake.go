package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/broker"
)

// intake fetches messages with pull requests of its own making, as large as the base's window has room. The driver's
// iterator would fetch by a number fixed in advance, into a buffer where messages wait with nobody extending them.
type intake struct {
	c        *conn
	link     *broker.Link
	nc       *natsgo.Conn
	inbox    string
	next     string // subject of the pull requests
	stream   string
	consumer string
	words    words

	hungry  chan struct{} // few messages are still to come
	trouble chan error
	pulled  chan struct{} // a pull waits for the server again
	holding chan struct{} // a message waits for its verdict again

	mu          sync.Mutex
	batch       int // of one pull at most
	expires     time.Duration
	heartbeat   time.Duration
	ackWait     time.Duration
	outstanding int // asked for and not come
	activity    uint64
	idle        bool // watch waits for pulled
	resting     bool // touch waits for holding
	closing     bool // what still comes is given back
	gone        bool // the consumer is: no pulls until it is back
	unheard     int  // pulls in a row that nobody took
	held        []held
	freeHeld    int // index + 1 of the first free place; 0 is none
	heldCount   int
	round       uint64 // of touch
}

// held is one message without a verdict.
type held struct {
	msg   *natsgo.Msg
	round uint64 // of touch in which it came
	next  int    // of a free place: the next free one
}

func newIntake(c *conn, cfg *js.ConsumerConfig) *intake {
	in := &intake{
		c: c, link: c.link, nc: c.nc, inbox: natsgo.NewInbox(),
		stream: c.p.cfg.Stream.Name, consumer: c.p.cfg.Consumer.Name, words: newWords(),
		hungry: make(chan struct{}, 1), trouble: make(chan error, 1), pulled: make(chan struct{}, 1),
		holding: make(chan struct{}, 1), idle: true, resting: true,
	}
	prefix := "$JS.API."
	if c.p.cfg.Domain != "" {
		prefix = "$JS." + c.p.cfg.Domain + ".API."
	}
	in.next = prefix + "CONSUMER.MSG.NEXT." + in.stream + "." + in.consumer
	in.adopt(cfg)
	return in
}

// adopt takes over what the server says about the consumer. Under mu, unless nobody else has the intake yet.
func (in *intake) adopt(cfg *js.ConsumerConfig) {
	t := in.c.p.timing
	in.batch, in.expires = in.link.InboundWindow(), t.pullExpires
	if cfg.MaxRequestBatch > 0 {
		in.batch = min(in.batch, cfg.MaxRequestBatch)
	}
	if cfg.MaxRequestExpires > 0 {
		in.expires = min(in.expires, cfg.MaxRequestExpires)
	}
	in.heartbeat = min(t.heartbeat, in.expires/3) // the server takes at most half
	in.ackWait = cfg.AckWait
	for _, d := range cfg.BackOff { // with a list, it is in force instead
		in.ackWait = min(in.ackWait, d)
	}
	if in.ackWait <= 0 {
		in.ackWait = 30 * time.Second
	}
}

func (in *intake) listen() error {
	sub, err := in.nc.Subscribe(in.inbox, in.receive)
	if err != nil {
		return err
	}
	return sub.SetPendingLimits(-1, -1) // the pulls bound it
}

// signal wakes whoever waits on a channel of length 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pull asks for as many messages as there is room, again when few are still to come.
func (in *intake) pull(ctx context.Context) error {
	for {
		// A message that comes meanwhile is counted twice, as asked for and as a place taken, and not left out.
		before := in.asked()
		room, err := in.link.Room()
		if err != nil {
			return nil //nolint:nilerr // the link is over, and its cause is known already
		}
		if n := in.reserve(room - before); n > 0 {
			if err := in.ask(n); err != nil {
				return err
			}
			continue
		}
		select {
		case <-in.hungry:
		case <-ctx.Done():
			return nil
		}
	}
}

// asked is how many messages are still to come.
func (in *intake) asked() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.outstanding
}

// reserve books the messages of the next pull, at most n; 0 is none worth a request.
func (in *intake) reserve(n int) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.gone {
		return 0
	}
	if in.outstanding > 0 && n < max(1, in.link.InboundWindow()/4) {
		return 0
	}
	n = min(n, in.batch)
	if n <= 0 {
		return 0
	}
	in.outstanding += n
	in.activity++
	if in.idle {
		in.idle = false
		signal(in.pulled)
	}
	return n
}

func (in *intake) ask(n int) error {
	in.mu.Lock()
	expires, heartbeat := in.expires, in.heartbeat
	in.mu.Unlock()
	body, err := json.Marshal(struct {
		Batch     int           `json:"batch"`
		Expires   time.Duration `json:"expires"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
	}{n, expires, heartbeat})
	if err != nil {
		return err
	}
	return in.nc.PublishRequest(in.next, in.inbox, body)
}

// receive is the driver's callback, on one goroutine. It may wait for room: what piles up behind it was asked for.
func (in *intake) receive(m *natsgo.Msg) {
	if m.Subject == in.inbox {
		in.status(m)
		return
	}
	id, closing := in.arrive(m)
	if closing {
		in.came()
		in.refuse(m)
		return
	}
	d, err := in.link.Accept(m, id)
	in.came() // not before it has its place: see pull
	if err != nil {
		in.drop(id)
		in.refuse(m)
		return
	}
	msg := newMessage(d, m)
	if msg.Deliveries > 1 {
		d.SetDeliveries(msg.Deliveries)
	}
	in.link.Deliver(d, msg, topic)
}

// arrive books a message that came and gives it a number for the verdict.
func (in *intake) arrive(m *natsgo.Msg) (id uint64, closing bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.activity++
	in.unheard = 0
	if in.closing {
		return 0, true
	}
	return in.hold(m), false
}

// came books that a message is not to come any more.
func (in *intake) came() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.less(1)
}

// hold books a message without a verdict, under mu.
func (in *intake) hold(m *natsgo.Msg) (id uint64) {
	i := in.freeHeld - 1
	if i < 0 {
		in.held = append(in.held, held{})
		i = len(in.held) - 1
	} else {
		in.freeHeld = in.held[i].next
	}
	in.held[i] = held{msg: m, round: in.round}
	in.heldCount++
	if in.resting {
		in.resting = false
		signal(in.holding)
	}
	return uint64(i) + 1
}

// less books messages that came or will not come any more, under mu.
func (in *intake) less(n int) {
	in.activity++
	in.outstanding = max(0, in.outstanding-n)
	window := in.link.InboundWindow()
	if in.outstanding <= window/2 && (n > 1 || in.outstanding%max(1, window/8) == 0) {
		signal(in.hungry)
	}
}

// drop forgets a message that gets no verdict.
func (in *intake) drop(id uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.letGo(id)
}

// letGo frees a place, under mu.
func (in *intake) letGo(id uint64) {
	i := int(id) - 1
	if i < 0 || i >= len(in.held) || in.held[i].msg == nil {
		return
	}
	in.held[i] = held{next: in.freeHeld}
	in.freeHeld = i + 1
	in.heldCount--
}

// status reads a message of the server about a pull.
func (in *intake) status(m *natsgo.Msg) {
	left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if err != nil {
		left = in.link.InboundWindow() // it does not say: count all of them as gone
	}
	code, text := m.Header.Get("Status"), m.Header.Get("Description")
	deleted := strings.Contains(text, "Consumer Deleted") || strings.Contains(text, "Stream Deleted")
	switch {
	case code == "100":
		left = 0 // it lives
		in.heard()
	case code == "404", code == "408", code == "409" && (text == "Leadership Change" || text == "Batch Completed"):
	case code == "503":
		in.lose(errUnheard)
		return
	case code == "409" && deleted:
		in.lose(fmt.Errorf("%w: %s", ErrConsumerGone, text))
		return
	default:
		in.report(fmt.Errorf("jetstream: pull from consumer %s of stream %s: %s %s", in.consumer, in.stream, code, text))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.less(left)
}

func (in *intake) report(err error) {
	select {
	case in.trouble <- err:
	default: // the one before is as good
	}
}

// watch ends the connection when a pull is not heard of any more, and makes a consumer that was deleted again.
func (in *intake) watch(ctx context.Context) error {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	var seen uint64
	for {
		var due <-chan time.Time
		in.mu.Lock()
		in.idle = in.outstanding == 0
		seen = in.activity
		idle, heartbeat := in.idle, in.heartbeat
		in.mu.Unlock()
		if !idle {
			t.Reset(heartbeat*2 + heartbeat/2)
			due = t.C
		}
		select {
		case <-ctx.Done():
			return nil
		case <-in.pulled:
		case err := <-in.trouble:
			if err := in.mend(ctx, err); err != nil {
				return err
			}
		case <-due:
			in.mu.Lock()
			silent := in.outstanding > 0 && in.activity == seen
			in.mu.Unlock()
			if silent {
				return ErrConsumerSilent
			}
		}
	}
}
