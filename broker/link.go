package broker

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Link is the connection's side of the base. There is one per attempt to connect, and it carries the attempt's epoch: on
// a link that is over every method does nothing or returns ErrLinkClosed, so that a late callback of a driver cannot
// harm the next connection. All methods may be called from any goroutine, driver callbacks included; only Dial, Replay,
// Room, Accept, AcceptBatch and Push may block.
type Link struct {
	epoch uint64
	ctx   context.Context
	end   context.CancelCauseFunc
	host  linkHost
	in    *inbound
	self  actor.Ref
	cfg   *Config
	label string
	log   *slog.Logger
	socks sockets
}

// linkHost is what a Link needs of its engine; it hides the engine's type parameters.
type linkHost interface {
	settle(l *Link, t Token, receipt any, err error)
	settleThrough(l *Link, t Token, err error)
	replay(ctx context.Context, l *Link, conn any) error
}

// Context ends with the connection; its cause says why.
func (l *Link) Context() context.Context { return l.ctx }

// Self is the broker actor.
func (l *Link) Self() actor.Ref { return l.self }

// Label is the redacted endpoint label.
func (l *Link) Label() string { return l.label }

// Log is the actor's logger. Texts given to it are not redacted: use Label for the endpoint and Redact for the rest.
func (l *Link) Log() *slog.Logger { return l.log }

// Lost reports that the connection is over. The first report counts; called inside Connect it fails the attempt. A nil
// cause is ErrServeReturned.
func (l *Link) Lost(cause error) {
	if cause == nil {
		cause = ErrServeReturned
	}
	l.end(cause)
}

// Dial opens a socket with Config.Dialer and lends it out: the base counts and stamps what is read from it for the idle
// deadline and closes it hard at the end of the link. Hand it to the driver as its dialer, as often as the driver
// wants. It ends with ctx or with the link, whichever is first.
func (l *Link) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := l.cfg.Dialer
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	if l.socks.isClosed() {
		return nil, ErrLinkClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	nc, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return l.Adopt(nc)
}

// Adopt takes over a socket that was opened elsewhere, with the same care as one of Dial; use the returned one. On a link
// that is over it closes nc and returns ErrLinkClosed.
func (l *Link) Adopt(nc net.Conn) (net.Conn, error) {
	c, err := l.socks.adopt(nc)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// NoteInbound counts as received bytes for the idle deadline; for a driver that does not take its sockets from Dial or
// Adopt.
func (l *Link) NoteInbound() { l.socks.noteRead() }

// LastRead returns when something was last received, and LastWrite when something was last sent, over the sockets of
// this link; the zero time before the first.
func (l *Link) LastRead() time.Time { return l.socks.at(&l.socks.read) }

// LastWrite is described at LastRead.
func (l *Link) LastWrite() time.Time { return l.socks.at(&l.socks.wrote) }

// Replay applies the desired subscriptions to conn, the connection that Connect is about to return, and waits until the
// pass has ended; a protocol whose handshake wants them at a certain point calls it inside Connect. From then on the
// base keeps conn in line with the desired set. A subscription that fails is a warning and an event, not an error of
// Replay; it returns an error when ctx or the link ended, or when conn is no Subscriber of the protocol's payload. For a
// protocol that does not call it the base runs the pass when Serve has started.
func (l *Link) Replay(ctx context.Context, conn any) error { return l.host.replay(ctx, l, conn) }

// Settle ends one envelope with the peer's answer. Nil is Acked, and receipt becomes Receipt.Detail; a receipt that is
// the Outcome Written says that nothing confirms this one. An error made by Rejected is final; any other leaves the
// outcome unknown, and the envelope is sent again. A repeated Settle does nothing. A nil for a link that is over still
// counts while its envelope waits to be sent again.
func (l *Link) Settle(t Token, receipt any, err error) { l.host.settle(l, t, receipt, err) }

// SettleThrough settles everything dispatched on this link up to and including t, as AMQP's "multiple" does. It does
// nothing on a link that is over.
func (l *Link) SettleThrough(t Token, err error) { l.host.settleThrough(l, t, err) }

// Room waits until the inbound window has a place and says how many: the size of the next poll, fetch or read. When the
// window was full it waits until a quarter of it is free again.
func (l *Link) Room() (int, error) { return l.in.roomFor(l) }

// InboundWindow is the configured bound: a prefetch, a receive maximum, a pull size.
func (l *Link) InboundWindow() int { return l.in.limit }

// Accept takes a place in the window for one inbound message and waits for one. ref and id come back in the Ack; a ref
// that is a pointer the driver has anyway costs no allocation. Ref nil and id 0 mean that the peer wants no verdict.
// Every Accept is followed by exactly one Deliver or Delivery.Nack. A driver that reads confirmations and messages in one
// loop uses TryAccept there or a goroutine of its own for the messages: while Accept waits, nothing is confirmed.
func (l *Link) Accept(ref any, id uint64) (Delivery, error) {
	return l.in.accept(l, nil, ref, id, 1, true)
}

// AcceptBatch is Accept for one message to an actor that stands for n messages of the peer: it takes n places, waiting
// for the first. n below 1 counts as 1.
func (l *Link) AcceptBatch(ref any, id uint64, n int) (Delivery, error) {
	return l.in.accept(l, nil, ref, id, max(1, n), true)
}

// TryAccept is Accept for callbacks on a driver's read path: ErrBufferFull instead of waiting.
func (l *Link) TryAccept(ref any, id uint64) (Delivery, error) {
	return l.in.accept(l, nil, ref, id, 1, false)
}

// Deliver tells msg to the subscribers of the keys, each of them once; the verdict falls when all are done, with the
// first error. A message without a subscriber is refused with ErrNoSubscriber, to be delivered again after a second. One
// whose connection is over is not told to anybody if the peer wants a verdict, because the peer delivers it again.
// msg is shared by the subscribers.
func (l *Link) Deliver(d Delivery, msg any, keys ...string) {
	switch len(keys) {
	case 0:
		l.in.deliver(d, msg, "", nil)
	case 1:
		l.in.deliver(d, msg, keys[0], nil)
	default:
		l.in.deliver(d, msg, keys[0], slices.Clone(keys[1:]))
	}
}

// Push is Accept and Deliver for a peer that wants no verdicts. It waits while the window is full.
func (l *Link) Push(key string, msg any) error {
	d, err := l.in.accept(l, nil, nil, 0, 1, true)
	if err != nil {
		return err
	}
	l.in.deliver(d, msg, key, nil)
	return nil
}

// sockets are the net.Conns that one link lent out. It is the uniform loss signal's ground: whatever a driver does, the
// base knows when bytes last came in and can end every blocked read and write.
type sockets struct {
	start time.Time    // stamps are nanoseconds since then, plus 1, on the monotonic clock
	read  atomic.Int64 // 0 is never
	wrote atomic.Int64

	mu     sync.Mutex
	open   map[*netConn]struct{}
	closed bool
}

func (s *sockets) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *sockets) now() int64 { return int64(time.Since(s.start)) + 1 }

func (s *sockets) noteRead() { s.read.Store(s.now()) }

func (s *sockets) at(stamp *atomic.Int64) time.Time {
	n := stamp.Load()
	if n == 0 {
		return time.Time{}
	}
	return s.start.Add(time.Duration(n - 1))
}

// quiet is how long nothing was received, counted from since if that is later than the last read.
func (s *sockets) quiet(since int64) time.Duration {
	return time.Duration(s.now() - max(since, s.read.Load()))
}

func (s *sockets) adopt(nc net.Conn) (*netConn, error) {
	c := &netConn{Conn: nc, s: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = hardClose(nc)
		return nil, ErrLinkClosed
	}
	if s.open == nil {
		s.open = make(map[*netConn]struct{})
	}
	s.open[c] = struct{}{}
	return c, nil
}

// close ends every socket at once and refuses new ones. It may be called again.
func (s *sockets) close() {
	s.mu.Lock()
	s.closed = true
	open := s.open
	s.open = nil
	s.mu.Unlock()
	for c := range open {
		_ = hardClose(c.Conn)
	}
}

// hardClose drops what was not sent: a peer that does not read must not hold the close up, and the connection should not
// linger in the kernel.
func hardClose(nc net.Conn) error {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok { // TLS would say goodbye first, and wait to be able to
		_ = hardClose(t.NetConn())
	}
	if t, ok := nc.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // fails only on a socket that is closed already
	}
	return nc.Close()
}

// netConn is a lent socket.
type netConn struct {
	net.Conn
	s *sockets
}

// Read stamps received bytes.
func (c *netConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.s.noteRead()
	}
	return n, err
}

// Write stamps sent bytes.
func (c *netConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.s.wrote.Store(c.s.now())
	}
	return n, err
}

// Close gives the socket back.
func (c *netConn) Close() error {
	c.s.mu.Lock()
	delete(c.s.open, c)
	c.s.mu.Unlock()
	return c.Conn.Close()
}
