package redisstream

import (
	"crypto/tls"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/hocon"
)

// Key is the HOCON path of the settings.
const Key = "troupe.broker.redisstream"

// Config holds the settings of a Redis Streams actor. With a group it consumes; it always can publish. In HOCON the keys
// stand under troupe.broker.redisstream, beside those of broker.Config.
type Config struct {
	broker.Config
	// URL (url) is where the server is: redis://host:port/db, or rediss for an encrypted connection. Port 6379 and
	// database 0 if they are left out; a user and a password in it sign in. Required.
	URL broker.Endpoint
	// User (user) signs in with Password, instead of what is in the URL. Default empty: the server's default user.
	User string
	// Password (password) signs in. Default empty.
	Password hocon.Secret
	// TLS are the settings of an encrypted connection. Default nil: the system's roots, when the URL is rediss. Not in
	// HOCON.
	TLS *tls.Config `hocon:"-" json:"-"`
	// IDField (idField) is the field of an entry that has the message id. Default "_id"; empty leaves the id out.
	IDField string
	// MaxLen (maxLen) trims a stream that is published to, to about so many entries. Default 0: not at all.
	MaxLen int64
	// Group (group) is the consumer group, for all streams. It needs a target. Default empty: no consumer.
	Group string
	// Consumer (consumer) is the name within the group. What the name was given and did not acknowledge is delivered to
	// whoever has it next, at once; to others after claimIdle. Two actors must not share one. Default: the host's name and
	// the actor's.
	Consumer string
	// Streams (streams) are consumed from the start; Subscribe adds more. Default none.
	Streams []string
	// Target gets the messages, as Message. It needs a group. Default nobody. Not in HOCON.
	Target actor.Ref `hocon:"-" json:"-"`
	// CreateGroup (createGroup) makes the group, and the stream, where they are missing, also when somebody removes them
	// while they are in use. False only uses what is there. Default true.
	CreateGroup bool
	// Start (start) is where a group that is made at a connect begins: "$" with what comes from then on, "0" with the first
	// entry, or an entry's id. One that was removed while in use begins with the first entry. Default "$".
	Start string
	// Block (block) is how long one read waits at the server; it must be shorter than idleTimeout. Default 5s, or a third of
	// idleTimeout if that is less.
	Block time.Duration
	// ClaimIdle (claimIdle) is after how long without a sign of life the entries of another consumer are taken over. While
	// a message is being handled here it is kept alive, so a slow handler loses nothing. 0 takes over nothing. Default 30s.
	ClaimIdle time.Duration
}

// DefaultConfig returns the defaults named at the fields of Config.
func DefaultConfig() Config {
	return Config{
		Config: broker.DefaultConfig(), IDField: "_id", CreateGroup: true, Start: "$", Block: 5 * time.Second,
		ClaimIdle: 30 * time.Second,
	}
}

// minClaimIdle leaves time for keeping alive what is being handled.
const minClaimIdle = 100 * time.Millisecond

// Validate reports the first setting that is missing, out of bounds or in contradiction to another, as a
// *broker.FieldError. It does not block.
func (c *Config) Validate() error {
	if err := c.Config.Validate(); err != nil {
		return err
	}
	if c.URL == "" {
		return broker.Missing("url")
	}
	if _, ok := parseURL(string(c.URL)); !ok {
		return broker.Invalid("url", string(c.URL), "must be redis://host:port/db or rediss://host:port/db")
	}
	switch {
	case c.MaxLen < 0:
		return broker.Invalid("maxLen", c.MaxLen, "must not be negative; 0 means no trimming")
	case c.Group == "" && !c.Target.IsZero():
		return &broker.FieldError{Key: "group", Msg: "required when a target is set: without a group it would get nothing"}
	case c.Group != "" && c.Target.IsZero():
		return &broker.FieldError{Key: "target", Msg: "required when group is set: messages without a target would pile up unacknowledged"}
	case c.Group == "" && len(c.Streams) > 0:
		return &broker.FieldError{Key: "group", Msg: "required when streams are set: they are consumed in a group"}
	case c.Block <= 0:
		return broker.Invalid("block", c.Block, "must be positive")
	case c.IdleTimeout > 0 && c.IdleTimeout < 3*time.Millisecond:
		return broker.Invalid("idleTimeout", c.IdleTimeout, "must be at least 3ms, because a read waits for a third of it")
	case c.ClaimIdle != 0 && c.ClaimIdle < minClaimIdle:
		return broker.Invalid("claimIdle", c.ClaimIdle, "must be at least "+minClaimIdle.String()+", or 0 for off")
	case c.Start != "$" && !isEntryID(c.Start):
		return broker.Invalid("start", c.Start, `must be "$", "0" or the id of an entry`)
	}
	for _, s := range c.Streams {
		if s == "" {
			return broker.Invalid("streams", c.Streams, "must not have an empty name")
		}
	}
	return nil
}

// block is how long a read waits: short enough for the answer to come within the idle deadline.
func (c *Config) block() time.Duration {
	if c.IdleTimeout > 0 {
		return max(time.Millisecond, min(c.Block, c.IdleTimeout/3))
	}
	return c.Block
}

// isEntryID accepts 0, 5, 1700000000000-3.
func isEntryID(s string) bool {
	ms, seq, two := strings.Cut(s, "-")
	_, err := strconv.ParseUint(ms, 10, 64)
	if two && err == nil {
		_, err = strconv.ParseUint(seq, 10, 64)
	}
	return err == nil
}

// server is what a URL says.
type server struct {
	addr, user, password string
	encrypted            bool
	db                   int
}

// parseURL never lets the parser's error out: it quotes its input, password included.
func parseURL(raw string) (s server, ok bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || strings.ContainsAny(u.Host, " ,") {
		return s, false
	}
	switch strings.ToLower(u.Scheme) {
	case "redis":
	case "rediss":
		s.encrypted = true
	default:
		return s, false
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	s.addr = net.JoinHostPort(u.Hostname(), port)
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
	}
	if path := strings.Trim(u.Path, "/"); path != "" {
		if s.db, err = strconv.Atoi(path); err != nil || s.db < 0 {
			return s, false
		}
	}
	return s, true
}

// consumerName is the default of Consumer.
func consumerName(name string) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "troupe"
	}
	return host + "/" + name
}
