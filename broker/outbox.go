package broker

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// entry is one accepted, unsettled envelope.
type entry[O any] struct {
	payload  O
	done     actor.Completion
	seq      uint64 // order of acceptance
	ord      uint64 // of the last dispatch; 0 is never
	sends    int32  // dispatches so far
	alone    int32  // losses at which it was alone in the closed window
	strikes  int32  // times it was all but proved to be poison, on links that may have been to blame
	trial    bool   // it is sent alone, on a link that has proved good: if that falls it is poison
	guilty   bool   // it did
	sentAt   int64  // of the last dispatch in the closed window, on the outbox's clock
	took     int64  // longest time from such a dispatch to the loss
	returns  int32  // outcomes left open on one link
	returned uint64 // epoch in which the last outcome was left open and no dispatch followed; 0 is none
	until    int64  // when it is too old to be sent, on the outbox's clock; 0 is never
	size     int    // of the payload, if it is known
}

// flight is the place of an entry between its dispatch and its outcome. Flights are linked in dispatch order.
type flight[O any] struct {
	entry[O]
	prev, next int32 // index + 1; 0 is none. next also links the free places
}

// outbox is the queue of accepted envelopes and the window of those in flight. It is the single place that knows what
// became of an envelope. mu guards all of it; completions, dead letters and events run outside of mu.
//
// What holds whenever mu is free:
//   - q is sorted by seq; what is in q, in flight or held is unsettled, and each envelope is in one of them only;
//   - queued + in flight + held <= limit (with limit 0: <= window), and the same for their bytes;
//   - every flight was dispatched on the link of epoch;
//   - an envelope leaves once, and whoever took it out under mu ends it.
type outbox[O any] struct {
	limit    int
	overflow Overflow
	maxBytes int           // 0 is no bound
	maxAge   time.Duration // of an envelope that was given none; 0 is no bound
	began    time.Time     // the clock of until counts from here
	evicted  func(n int)   // so many envelopes made room
	timers   sync.WaitGroup
	dropped  func(payload O, r Reason, cause error)
	scrub    func(error) error
	origin   string // begins the ids of this outbox's envelopes

	mu     sync.Mutex
	can    sync.Cond // the writer may go on
	q      ring[entry[O]]
	fl     []flight[O]
	free   int32
	first  int32
	last   int32
	flying int
	seq    uint64
	ord    uint64
	epoch  uint64 // link that takes and settles; 0 is none
	open   bool   // that link may take
	window int
	narrow bool       // the window is closed to 1: looking for a poison
	trials int        // entries that are on trial
	upAt   int64      // since when the link that holds suspects back is up
	proved bool       // that link has confirmed something
	losses int        // links that fell with something in flight, since the last answer of the peer
	blamed bool       // a link fell while suspects were held, since the last answer
	held   []entry[O] // suspects that the current link does not get, in order
	bytes  int        // of everything that is unsettled
	afloat int        // of what is in flight
	ending bool       // nothing new is accepted
	paused bool       // by an operator
	failed bool       // no retry will follow, and nothing is accepted until one does
	tick   ticker     // see expire.go
	closed bool
	idle   chan struct{} // signalled when ending and everything is settled
	book   Books
}

// maxReturned is how many outcomes may be left open for one envelope on one link; then the link counts as lost, so that
// an endless resend becomes a reconnect with its delays.
const maxReturned = 3

func newOutbox[O any](c *Config) *outbox[O] {
	o := &outbox[O]{
		limit: c.OutboundBuffer, overflow: c.Overflow, maxBytes: int(c.OutboundBytes), maxAge: c.MaxAge, began: time.Now(),
		idle: make(chan struct{}, 1), origin: newOrigin(),
	}
	o.tick.wake = make(chan struct{}, 1)
	o.can.L = &o.mu
	return o
}

// newOrigin is random enough never to be met again: 80 bits, in 16 characters and a dash.
func newOrigin() string { return rand.Text()[:16] + "-" }

func (o *outbox[O]) unsettled() int {
	return o.q.len() + o.flying + len(o.held)
}

// width is the window in force.
func (o *outbox[O]) width() int {
	if (o.narrow || o.trials > 0) && o.limit > 0 {
		return 1
	}
	return o.window
}

func (o *outbox[O]) ready() bool { return o.open && !o.paused && o.q.len() > 0 && o.flying < o.width() }

// enqueue accepts a payload of so many bytes or says why not; only then done stays with the caller.
func (o *outbox[O]) enqueue(payload O, done actor.Completion, size int, age time.Duration) error {
	var buf [1]entry[O]
	var until int64
	if age > 0 {
		until = o.now() + int64(age)
	}
	o.mu.Lock()
	victims, err := o.makeRoom(size, buf[:0])
	if err != nil {
		o.book.Refused++
		o.mu.Unlock()
		return err
	}
	o.seq++
	o.bytes += size
	o.q.pushBack(entry[O]{payload: payload, done: done, seq: o.seq, until: until, size: size})
	o.book.Accepted++
	o.book.Undelivered += uint64(len(victims))
	if until != 0 {
		o.aged(until)
	}
	count := o.overflowed(len(victims))
	if o.ready() {
		o.can.Signal()
	}
	o.mu.Unlock()
	if count > 0 {
		o.evicted(count)
	}
	for i := range victims {
		o.drop(&victims[i], ReasonOverflow, ErrEvicted)
	}
	return nil
}

// makeRoom finds the place for one more envelope, by evicting some that are not in flight if it has to. It evicts nobody
// if that would not help.
func (o *outbox[O]) makeRoom(size int, victims []entry[O]) ([]entry[O], error) {
	switch {
	case o.ending:
		return nil, ErrStopping
	case o.failed, o.limit == 0 && !o.open:
		return nil, ErrNotConnected
	case o.limit == 0 && o.paused:
		return nil, ErrPaused
	case o.maxBytes > 0 && size > o.maxBytes:
		return nil, ErrTooLarge
	}
	limit := o.limit
	if limit == 0 {
		limit = o.window
	}
	if o.fits(limit, size, o.unsettled(), o.bytes) {
		return nil, nil
	}
	if o.limit == 0 || o.overflow == RejectNewest || !o.fits(limit, size, o.flying, o.afloat) {
		return nil, ErrBufferFull
	}
	for !o.fits(limit, size, o.unsettled(), o.bytes) {
		e := o.victim()
		o.left(&e)
		victims = append(victims, e)
	}
	return victims, nil
}

// left takes an entry that leaves out of the sums.
func (o *outbox[O]) left(e *entry[O]) {
	o.bytes -= e.size
	if e.trial {
		o.trials--
	}
}

// fits reports whether one more envelope has room beside so many.
func (o *outbox[O]) fits(limit, size, count, bytes int) bool {
	return count < limit && (o.maxBytes == 0 || bytes+size <= o.maxBytes)
}

// victim takes out the one that the policy names; there is one that is not in flight. What is held back is older than
// what is queued.
func (o *outbox[O]) victim() entry[O] {
	switch {
	case o.overflow == EvictNewest && o.q.len() > 0:
		return o.q.popBack()
	case o.overflow == EvictNewest:
		return o.release(len(o.held) - 1)
	case len(o.held) > 0:
		return o.release(0)
	}
	return o.q.remove(0)
}

// taken is what take came back with.
type taken uint8

const (
	takenOne taken = iota
	takenNone
	takenOver // the link may not dispatch any more
)

// take moves the oldest queued envelope into the window. If there is none, or no place for it, it waits or returns
// takenNone.
func (o *outbox[O]) take(l *Link, wait bool) (env Envelope[O], t taken) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.epoch == l.epoch && o.open {
		if o.ready() && !o.skip() || !o.ready() && !wait {
			break
		}
		if !o.ready() {
			o.can.Wait()
		}
	}
	switch {
	case o.epoch != l.epoch || !o.open:
		return env, takenOver
	case !o.ready():
		return env, takenNone
	}
	e := o.q.remove(0)
	o.ord++
	e.ord, e.returned = o.ord, 0
	if o.narrow {
		e.sentAt = o.now()
	}
	env = Envelope[O]{Payload: e.payload, Resends: int(e.sends), asked: isAsk(e.done), seq: e.seq, origin: o.origin}
	if e.sends++; e.sends > 1 {
		o.book.Resent++
	}
	env.Token = Token{ord: o.ord, slot: o.fly(e)}
	return env, takenOne
}

func isAsk(done actor.Completion) bool {
	if done == nil {
		return false
	}
	_, ok := done.(actor.Answerer)
	return ok
}

// fly gives an entry a flight and returns its place, index + 1. The lowest free places are used first in a fresh link, so
// that a place is always below the window.
func (o *outbox[O]) fly(e entry[O]) int32 {
	i := o.free
	if i == 0 {
		o.fl = append(o.fl, flight[O]{})
		i = int32(len(o.fl))
	} else {
		o.free = o.fl[i-1].next
	}
	f := &o.fl[i-1]
	f.entry, f.prev, f.next = e, o.last, 0
	if o.last != 0 {
		o.fl[o.last-1].next = i
	} else {
		o.first = i
	}
	o.last = i
	o.flying++
	o.afloat += e.size
	return i
}

// land takes a flight out of the window; the caller owns the entry.
func (o *outbox[O]) land(i int32) entry[O] {
	f := &o.fl[i-1]
	e := f.entry
	if f.prev != 0 {
		o.fl[f.prev-1].next = f.next
	} else {
		o.first = f.next
	}
	if f.next != 0 {
		o.fl[f.next-1].prev = f.prev
	} else {
		o.last = f.prev
	}
	f.entry, f.prev, f.next = entry[O]{}, 0, o.free
	o.free = i
	o.flying--
	o.afloat -= e.size
	return e
}

// putBack returns an entry to the queue, at its place in the order of acceptance.
func (o *outbox[O]) putBack(e entry[O]) {
	i := 0
	for i < o.q.len() && o.q.at(i).seq < e.seq {
		i++
	}
	o.q.insert(i, e)
	if e.until != 0 {
		o.aged(e.until)
	}
}

// changed is called under mu after envelopes left the window or the queue.
func (o *outbox[O]) changed() {
	if o.ready() {
		o.can.Signal()
	}
	if o.ending && o.unsettled() == 0 {
		select {
		case o.idle <- struct{}{}:
		default:
		}
	}
}

// begin opens the outbox for a link.
func (o *outbox[O]) begin(l *Link, window int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.epoch, o.open, o.window = l.epoch, true, max(1, window)
	o.fl, o.free = o.fl[:0], 0 // nothing is in flight between two links
	if o.hold(); len(o.held) > 0 {
		o.upAt, o.proved = o.now(), false
	}
	o.can.Broadcast()
}

// pause ends the dispatching on a link; outcomes still count.
func (o *outbox[O]) pause(l *Link) {
	o.mu.Lock()
	if o.epoch == l.epoch {
		o.open = false
	}
	o.can.Broadcast()
	o.mu.Unlock()
}

// setPaused stops the dispatching until it is set off; outcomes still count.
func (o *outbox[O]) setPaused(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paused = on && !o.ending
	o.can.Broadcast()
}

// end refuses new envelopes from now on and reports whether something is unsettled.
func (o *outbox[O]) end() (busy bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending, o.paused = true, false // what was accepted is sent before the end
	o.can.Broadcast()
	return o.unsettled() > 0
}

func (o *outbox[O]) books() Books {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.book
	b.Queued, b.InFlight, b.Bytes = o.unsettled()-o.flying, o.flying, o.bytes
	return b
}

// finish ends a delivered entry. Not under mu.
func (o *outbox[O]) finish(e *entry[O], outcome Outcome, detail any) {
	if e.done == nil {
		return
	}
	if a, ok := e.done.(actor.Answerer); ok {
		a.Answer(Receipt{Outcome: outcome, Detail: detail, Resends: int(e.sends) - 1})
		return
	}
	e.done.Done(nil)
}

// drop ends an entry that was not delivered. Not under mu.
func (o *outbox[O]) drop(e *entry[O], r Reason, cause error) {
	cause = o.scrub(cause)
	o.dropped(e.payload, r, cause)
	if e.done != nil {
		e.done.Done(&UndeliveredError{r, cause})
	}
}
