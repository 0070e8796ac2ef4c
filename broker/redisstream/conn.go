package redisstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/troupe-go/troupe/broker"
)

// pingEvery is how often the writing connection is used at least, because nobody reads from it meanwhile.
const pingEvery = 10 * time.Second

// conn is one connection: two sockets, because a read that waits at the server would hold up everything behind it.
type conn struct {
	p      *protocol
	link   *broker.Link
	writer *redis.Client
	reader *redis.Client // nil without a group
	socks  sockets
	serves atomic.Bool
	served chan struct{} // closed when Serve has returned
	half   int           // of the window
	filled chan struct{}

	filling sync.Mutex
	run     *batch // that Dispatch fills and the sender takes

	mu      sync.Mutex
	streams []*stream       // that are consumed
	held    map[*entry]bool // without a verdict
	redo    []*entry        // refused, and to be delivered again
	changed chan struct{}   // streams
	again   chan struct{}   // redo
}

// Connect implements broker.Protocol.
func (p *protocol) Connect(ctx context.Context, link *broker.Link) (broker.Conn[Publish], error) {
	c := &conn{
		p: p, link: link, held: map[*entry]bool{}, served: make(chan struct{}),
		changed: make(chan struct{}, 1), again: make(chan struct{}, 1), filled: make(chan struct{}, 1), half: 128,
	}
	if n := p.cfg.InFlight; n > 0 {
		c.half = max(1, n/2)
	}
	c.writer = p.client(link, &c.socks)
	clients := []*redis.Client{c.writer}
	if p.cfg.Group != "" {
		c.reader = p.client(link, &c.socks)
		clients = append(clients, c.reader)
	}
	for _, client := range clients {
		if err := client.Ping(ctx).Err(); err != nil {
			c.close()
			return nil, explain(err)
		}
	}
	return c, nil
}

// errRedial keeps the driver from making a connection of its own when one is lost.
var errRedial = errors.New("redisstream: connection lost")

// client is a driver that has one connection, and fails for good when that is lost.
func (p *protocol) client(link *broker.Link, socks *sockets) *redis.Client {
	var dialled atomic.Bool
	timeout := 30 * time.Second
	if p.cfg.IdleTimeout > 0 {
		timeout = max(2*p.cfg.IdleTimeout, time.Second) // the base is there first
	}
	return redis.NewClient(&redis.Options{
		Addr: p.srv.addr, Username: p.srv.user, Password: p.srv.password, DB: p.srv.db,
		Protocol: 2, DisableIdentity: true, PoolSize: 1, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		ConnMaxIdleTime: -1, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dialled.Swap(true) {
				return dead{errRedial}, nil
			}
			nc, err := link.Dial(ctx, network, addr)
			if err == nil && p.srv.encrypted {
				nc, err = p.encrypt(ctx, nc)
			}
			if err != nil {
				nc = dead{err} // what uses it fails with the reason
			}
			socks.add(nc)
			return nc, nil
		},
	})
}

// sockets are those of one connection. They are closed before the drivers are: a driver that is closed while a command waits
// complains about it on the standard error.
type sockets struct {
	mu  sync.Mutex
	all []net.Conn
}

func (s *sockets) add(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, nc)
}

func (s *sockets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, nc := range s.all {
		_ = nc.Close() // it may be closed already
	}
}

// dead is a connection that fails with the reason why there is none. To a dial that fails the driver answers with a
// goroutine of its own that goes on dialling, once a second, and that nobody can wait for.
type dead struct{ err error }

// Read fails.
func (d dead) Read([]byte) (int, error) { return 0, d.err }

// Write fails.
func (d dead) Write([]byte) (int, error) { return 0, d.err }

// Close does nothing.
func (d dead) Close() error { return nil }

// LocalAddr is nowhere.
func (d dead) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr is nowhere.
func (d dead) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline does nothing.
func (d dead) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (d dead) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (d dead) SetWriteDeadline(time.Time) error { return nil }

func (p *protocol) encrypt(ctx context.Context, nc net.Conn) (net.Conn, error) {
	conf := p.cfg.TLS.Clone()
	if conf == nil {
		conf = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if conf.ServerName == "" {
		conf.ServerName, _, _ = net.SplitHostPort(p.srv.addr)
	}
	secure := tls.Client(nc, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return secure, nil
}

// explain marks a refused credential.
func explain(err error) error {
	for _, word := range []string{"WRONGPASS", "NOAUTH", "ERR invalid password", "ERR AUTH"} {
		if serverSays(err, word) {
			return broker.Unauthorized(fmt.Errorf("redisstream: %w", err))
		}
	}
	return fmt.Errorf("redisstream: %w", err)
}

// serverSays reports whether the server answered with an error that begins with word.
func serverSays(err error, word string) bool {
	var answer redis.Error
	return errors.As(err, &answer) && !errors.Is(err, redis.Nil) && strings.HasPrefix(answer.Error(), word)
}

// isAnswer reports whether an error is an answer of the server, and not a failure of the connection.
func isAnswer(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// Serve implements broker.Conn.
func (c *conn) Serve(ctx context.Context) error {
	c.serves.Store(true)
	defer close(c.served)
	defer context.AfterFunc(ctx, c.socks.close)() // ends a read that waits
	hooks := []func(context.Context) error{c.ping, c.send}
	if c.reader != nil {
		hooks = append(hooks, c.read, c.redeliver, c.claim, c.keepAlive)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	for _, hook := range hooks {
		all.Go(func() {
			if err := hook(ctx); err != nil {
				fail(err)
				c.socks.close()
			}
		})
	}
	<-ctx.Done()
	all.Wait()
	return context.Cause(ctx)
}

// ping keeps the writing connection in use, so that its loss is noticed.
func (c *conn) ping(ctx context.Context) error {
	every := pingEvery
	if d := c.p.cfg.IdleTimeout; d > 0 {
		every = min(every, max(time.Millisecond, d/3))
	}
	return repeat(ctx, every, func() error {
		if err := c.writer.Ping(ctx).Err(); err != nil && !isAnswer(err) {
			return fmt.Errorf("redisstream: ping: %w", err)
		}
		return nil
	})
}

// repeat calls f every d until ctx ends.
func repeat(ctx context.Context, d time.Duration, f func() error) error {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := f(); err != nil {
				return err
			}
		}
	}
}

// Disconnect implements broker.Conn.
func (c *conn) Disconnect(ctx context.Context) error {
	c.socks.close()
	if c.serves.Load() {
		select {
		case <-c.served:
		case <-ctx.Done():
		}
	}
	c.close()
	return nil
}

func (c *conn) close() {
	c.socks.close()
	_ = c.writer.Close() // it may be closed already
	if c.reader != nil {
		_ = c.reader.Close()
	}
}
