package natsconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/troupe-go/troupe/broker"
)

// handshakeTimeout bounds the dial and the handshake with one server when connectTimeout is off.
const handshakeTimeout = 2 * time.Second

// Connect makes one connection on link: the driver's own reconnect is off, its sockets are the link's, and its end is the
// link's loss. asyncErr is called for errors that belong to no call, such as a refused permission; it runs on a
// goroutine of the driver and must not block. Connect blocks for at most handshakeTimeout, or connectTimeout when that
// is on, per server.
func Connect(link *broker.Link, s Settings, asyncErr func(*natsgo.Subscription, error)) (*natsgo.Conn, error) {
	d := &dialer{link: link, timeout: handshakeTimeout}
	if s.ConnectTimeout > 0 {
		d.timeout = s.ConnectTimeout
	}
	options := []natsgo.Option{
		natsgo.NoReconnect(),
		natsgo.Timeout(d.timeout),
		natsgo.SetCustomDialer(d),
		// The link's dialer resolves names itself, under its context.
		natsgo.SkipHostLookup(),
		natsgo.ClosedHandler(func(nc *natsgo.Conn) { link.Lost(closedBecause(nc.LastError())) }),
		natsgo.ErrorHandler(func(_ *natsgo.Conn, sub *natsgo.Subscription, err error) { asyncErr(sub, err) }),
	}
	if s.IdleTimeout > 0 {
		options = append(options, natsgo.PingInterval(max(s.IdleTimeout/3, time.Millisecond)), natsgo.MaxPingsOutstanding(2))
	}
	nc, err := natsgo.Connect(s.Label(), append(options, s.identity()...)...)
	if err != nil {
		return nil, d.explain(err)
	}
	return nc, nil
}

// identity are the options that say who we are.
func (s Settings) identity() (options []natsgo.Option) {
	if s.Name != "" {
		options = append(options, natsgo.Name(s.Name))
	}
	if s.User != "" {
		options = append(options, natsgo.UserInfo(s.User, s.Password.Reveal()))
	}
	if !s.Token.Empty() {
		options = append(options, natsgo.Token(s.Token.Reveal()))
	}
	if s.CredentialsFile != "" {
		options = append(options, natsgo.UserCredentials(s.CredentialsFile))
	}
	if s.TLS != nil {
		options = append(options, natsgo.Secure(s.TLS))
	}
	return options
}

// closedBecause is the cause of a loss. With the driver's reconnect off, its last error is the only place that has it.
func closedBecause(err error) error {
	if err == nil {
		return errors.New("nats: connection closed")
	}
	if unauthorized(err) {
		return broker.Unauthorized(err)
	}
	return fmt.Errorf("nats: connection closed: %w", err)
}

func unauthorized(err error) bool {
	for _, e := range []error{
		natsgo.ErrAuthorization, natsgo.ErrAuthExpired, natsgo.ErrAuthRevoked, natsgo.ErrAccountAuthExpired,
		natsgo.ErrNkeysNotSupported,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// dialer is the driver's dialer.
type dialer struct {
	link    *broker.Link
	timeout time.Duration

	mu   sync.Mutex
	last error
}

// Dial implements the driver's interface, which has no context: the link's ends it.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.link.Context(), d.timeout)
	defer cancel()
	nc, err := d.link.Dial(ctx, network, address)
	d.mu.Lock()
	d.last = err
	d.mu.Unlock()
	return nc, err
}

// explain adds what the driver hides: why no server could be reached.
func (d *dialer) explain(err error) error {
	if unauthorized(err) {
		return broker.Unauthorized(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil && !strings.Contains(err.Error(), d.last.Error()) {
		return fmt.Errorf("%w: %w", err, d.last)
	}
	return err
}
