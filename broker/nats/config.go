package nats

import (
	"crypto/tls"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/internal/natsconn"
	"github.com/troupe-go/troupe/hocon"
)

// Key is the HOCON path of the settings.
const Key = "troupe.broker.nats"

// Config holds the settings of a NATS actor. In HOCON the keys stand under troupe.broker.nats, beside those of
// broker.Config.
type Config struct {
	broker.Config
	// Servers (servers) lists where to connect to: host:port, or a URL with the scheme nats, tls, ws or wss. One of them
	// is enough for a connection; each attempt tries all in random order. Required.
	Servers broker.Endpoints
	// Name (name) is what the server shows for this connection. Default empty.
	Name string
	// User (user) signs in, with Password. Default empty.
	User string
	// Password (password) of User. Default empty.
	Password hocon.Secret
	// Token (token) signs in instead of a user. Default empty.
	Token hocon.Secret
	// CredentialsFile (credentialsFile) is the path of a .creds file, read at each connect. Default empty.
	CredentialsFile string
	// TLS are the settings of an encrypted connection. Default nil: encrypted with the system's roots when the server or
	// the scheme tls asks for it. Not in HOCON.
	TLS *tls.Config `hocon:"-" json:"-"`
	// Subscriptions are made at the start; they have the same effect as the commands. Default none. Not in HOCON.
	Subscriptions []Subscribe `hocon:"-" json:"-"`
	// PublishTimeout (publishTimeout) is how long the server may take to show that it has read what was published; after
	// that the connection counts as lost and the messages are sent again on the next. Default 10s.
	PublishTimeout time.Duration
	// RequestTimeout (requestTimeout) bounds the wait for a reply to a Request that has no Timeout of its own. Default 5s.
	RequestTimeout time.Duration
	// MaxRequests (maxRequests) bounds the requests without a reply; one more fails with broker.ErrBufferFull. Default
	// 1024.
	MaxRequests int
	// PendingMessages (pendingMessages) bounds, per subscription, the messages that wait in this process because the
	// inbound window is full. Beyond it messages are dropped and reported by a MessagesDropped event. Default 65536.
	PendingMessages int
	// PendingBytes (pendingBytes) bounds the size of the same. Default 64MiB.
	PendingBytes hocon.Bytes
}

// DefaultConfig returns the defaults named at the fields of Config.
func DefaultConfig() Config {
	return Config{
		Config:          broker.DefaultConfig(),
		PublishTimeout:  10 * time.Second,
		RequestTimeout:  5 * time.Second,
		MaxRequests:     1024,
		PendingMessages: 1 << 16,
		PendingBytes:    64 << 20,
	}
}

func (c *Config) connection() natsconn.Settings {
	return natsconn.Settings{
		Servers: c.Servers, Name: c.Name, User: c.User, Password: c.Password, Token: c.Token,
		CredentialsFile: c.CredentialsFile, TLS: c.TLS,
		IdleTimeout: c.IdleTimeout, ConnectTimeout: c.ConnectTimeout,
	}
}

// Validate reports the first setting that is missing or out of bounds, as a *broker.FieldError. It looks whether the
// credentials file is there and does not block otherwise.
func (c *Config) Validate() error {
	if err := c.Config.Validate(); err != nil {
		return err
	}
	if err := c.connection().Validate(); err != nil {
		return err
	}
	for _, f := range []struct {
		key string
		d   time.Duration
	}{{"publishTimeout", c.PublishTimeout}, {"requestTimeout", c.RequestTimeout}} {
		if f.d <= 0 {
			return broker.Invalid(f.key, f.d, "must be positive")
		}
	}
	for _, f := range []struct {
		key string
		n   int64
	}{{"maxRequests", int64(c.MaxRequests)}, {"pendingMessages", int64(c.PendingMessages)}, {"pendingBytes", int64(c.PendingBytes)}} {
		if f.n < 1 {
			return broker.Invalid(f.key, f.n, "must be at least 1")
		}
	}
	for i := range c.Subscriptions {
		if err := c.Subscriptions[i].check(); err != nil {
			return &broker.FieldError{Key: fmt.Sprintf("subscriptions[%d]", i), Msg: err.Error()}
		}
	}
	return nil
}
