package jetstream

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/internal/natsconn"
	"github.com/troupe-go/troupe/hocon"
)

// Key is the HOCON path of the settings.
const Key = "troupe.broker.jetstream"

// Config holds the settings of a JetStream actor. With a target it consumes; it always can publish. In HOCON the keys
// stand under troupe.broker.jetstream, beside those of broker.Config.
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
	// Domain (domain) is the JetStream domain. Default empty: that of the server.
	Domain string
	// PublishTimeout (publishTimeout) is how long a published message waits for the stream's answer; after that its
	// outcome is unknown and it is sent again with the same id. Default 10s.
	PublishTimeout time.Duration
	// Stream (stream) is the stream to make sure of and to consume from. Without a name nothing is made, and publishing
	// relies on streams that are there.
	Stream StreamConfig
	// Consumer (consumer) is the durable pull consumer. It needs a stream and a target.
	Consumer ConsumerConfig
	// Target gets the messages, as Message. It needs a consumer. Default nobody. Not in HOCON.
	Target actor.Ref `hocon:"-" json:"-"`
}

// StreamConfig is the group stream. A setting that is left at its zero value is not sent: a new stream gets the server's
// default, an existing one keeps what it has.
type StreamConfig struct {
	// Name (name) of the stream: no spaces, dots, wildcards or slashes. Default empty: no stream.
	Name string
	// Create (create) makes the stream if it is missing and updates it where the settings here differ. False only looks
	// whether it is there. Default true.
	Create bool
	// Subjects (subjects) the stream stores. Default none: the server takes the name as the subject.
	Subjects []string
	// Retention (retention) is "limits", "interest" or "workQueue". The server's default is limits.
	Retention Retention
	// Storage (storage) is "file" or "memory". The server's default is file. Memory does not outlive the server.
	Storage Storage
	// Discard (discard) says what a full stream does: "old" drops its oldest message, "new" refuses the publish. The
	// server's default is old.
	Discard Discard
	// MaxMessages (maxMessages) bounds the stream's messages. The server's default is no bound.
	MaxMessages int64
	// MaxBytes (maxBytes) bounds its size. The server's default is no bound.
	MaxBytes hocon.Bytes
	// MaxAge (maxAge) bounds the age of a message. The server's default is no bound.
	MaxAge time.Duration
	// DuplicateWindow (duplicateWindow) is how long the stream knows a message id again. It should be longer than the
	// longest outage: what is sent again after the window is stored twice. The server's default is 2m.
	DuplicateWindow time.Duration
	// Replicas (replicas) in a cluster, 1 to 5. The server's default is 1.
	Replicas int
}

// ConsumerConfig is the group consumer. A setting that is left at its zero value is not sent, as with StreamConfig.
type ConsumerConfig struct {
	// Name (name) of the durable consumer: no spaces, dots, wildcards or slashes. Several actors, on one machine or
	// many, may share one: each message goes to one of them. Default empty: no consumer.
	Name string
	// Create (create) makes the consumer if it is missing, also when somebody deletes it while it is in use, and updates it
	// where the settings here differ. False only looks whether it is there. Default true.
	Create bool
	// FilterSubjects (filterSubjects) narrows what is consumed. Default none: everything in the stream.
	FilterSubjects []string
	// Deliver (deliver) is where a new consumer begins: "all", "last", "new", "lastPerSubject". The server's default is
	// all. An existing consumer cannot change it.
	Deliver Deliver
	// StartSequence (startSequence) begins at a stream sequence; give it without Deliver and StartTime. Default 0: not set.
	StartSequence uint64
	// StartTime begins at a time; give it without Deliver and StartSequence. Default zero: not set. Not in HOCON.
	StartTime time.Time `hocon:"-"`
	// AckWait (ackWait) is how long the server waits for a verdict before it delivers a message again. The actor extends
	// it while the message is being handled, so a slow handler costs no redelivery; it bounds how long a message is stuck
	// when the whole process dies. The server's default is 30s.
	AckWait time.Duration
	// MaxDeliver (maxDeliver) is how often the server delivers one message at most. After that it stays in the stream, is
	// not delivered any more, and nobody hears of it. The actor's own bound, broker.Config.MaxDeliveries, makes a dead
	// letter of it; it has to be the smaller one to do so. The server's default is no bound.
	MaxDeliver int
	// MaxAckPending (maxAckPending) bounds the messages without a verdict over all actors that share the consumer. The
	// server's default is 1000.
	MaxAckPending int
	// Replicas (replicas) of the consumer's state. The server's default is the stream's.
	Replicas int
}

// Retention of a stream.
type Retention string

// The values of StreamConfig.Retention.
const (
	Limits    Retention = "limits"    // until a bound is reached
	Interest  Retention = "interest"  // until every consumer has acknowledged
	WorkQueue Retention = "workQueue" // until one consumer has acknowledged
)

// Storage of a stream.
type Storage string

// The values of StreamConfig.Storage.
const (
	File   Storage = "file"
	Memory Storage = "memory"
)

// Discard is what a full stream does.
type Discard string

// The values of StreamConfig.Discard.
const (
	DiscardOld Discard = "old"
	DiscardNew Discard = "new"
)

// Deliver is where a new consumer begins.
type Deliver string

// The values of ConsumerConfig.Deliver.
const (
	DeliverAll            Deliver = "all"            // with the first message in the stream
	DeliverLast           Deliver = "last"           // with the last one
	DeliverNew            Deliver = "new"            // with the next one to come
	DeliverLastPerSubject Deliver = "lastPerSubject" // with the last one of each subject
)

// DefaultConfig returns the defaults named at the fields of Config.
func DefaultConfig() Config {
	return Config{
		Config:         broker.DefaultConfig(),
		PublishTimeout: 10 * time.Second,
		Stream:         StreamConfig{Create: true},
		Consumer:       ConsumerConfig{Create: true},
	}
}

func (c *Config) connection() natsconn.Settings {
	return natsconn.Settings{
		Servers: c.Servers, Name: c.Name, User: c.User, Password: c.Password, Token: c.Token,
		CredentialsFile: c.CredentialsFile, TLS: c.TLS,
		IdleTimeout: c.IdleTimeout, ConnectTimeout: c.ConnectTimeout,
	}
}

// Validate reports the first setting that is missing, out of bounds or in contradiction to another, as a
// *broker.FieldError. It looks whether the credentials file is there and does not block otherwise.
func (c *Config) Validate() error {
	if err := c.Config.Validate(); err != nil {
		return err
	}
	if err := c.connection().Validate(); err != nil {
		return err
	}
	if c.PublishTimeout <= 0 {
		return broker.Invalid("publishTimeout", c.PublishTimeout, "must be positive")
	}
	if strings.ContainsAny(c.Domain, " .*>\t\r\n") {
		return broker.Invalid("domain", c.Domain, "must not contain spaces, dots or wildcards")
	}
	switch {
	case c.Consumer.Name != "" && c.Stream.Name == "":
		return &broker.FieldError{Key: "stream.name", Msg: "required when consumer.name is set: a consumer belongs to a stream"}
	case c.Consumer.Name != "" && c.Target.IsZero():
		return &broker.FieldError{Key: "target", Msg: "required when consumer.name is set: messages without a target would be redelivered for ever"}
	case c.Consumer.Name == "" && !c.Target.IsZero():
		return &broker.FieldError{Key: "consumer.name", Msg: "required when a target is set: without a consumer it would get nothing"}
	}
	if err := c.Stream.validate(); err != nil {
		return err
	}
	return c.Consumer.validate()
}

func (s *StreamConfig) validate() error {
	if s.Name == "" {
		if len(s.Subjects) > 0 {
			return &broker.FieldError{Key: "stream.name", Msg: "required when stream.subjects is set"}
		}
		return nil
	}
	if err := checkName("stream.name", s.Name); err != nil {
		return err
	}
	for _, subject := range s.Subjects {
		if err := natsconn.CheckSubject(subject, true); err != nil {
			return &broker.FieldError{Key: "stream.subjects", Msg: err.Error()}
		}
	}
	if s.Replicas < 0 || s.Replicas > 5 {
		return broker.Invalid("stream.replicas", s.Replicas, "must be from 1 to 5, or 0 for the server's default")
	}
	return firstError(
		checkEnum("stream.retention", s.Retention, Limits, Interest, WorkQueue),
		checkEnum("stream.storage", s.Storage, File, Memory),
		checkEnum("stream.discard", s.Discard, DiscardOld, DiscardNew),
		checkBound("stream.maxMessages", s.MaxMessages),
		checkBound("stream.maxBytes", int64(s.MaxBytes)),
		checkBound("stream.maxAge", s.MaxAge),
		checkBound("stream.duplicateWindow", s.DuplicateWindow),
	)
}

func (c *ConsumerConfig) validate() error {
	if c.Name == "" {
		return nil
	}
	if err := checkName("consumer.name", c.Name); err != nil {
		return err
	}
	for _, subject := range c.FilterSubjects {
		if err := natsconn.CheckSubject(subject, true); err != nil {
			return &broker.FieldError{Key: "consumer.filterSubjects", Msg: err.Error()}
		}
	}
	starts := 0
	for _, set := range []bool{c.Deliver != "", c.StartSequence != 0, !c.StartTime.IsZero()} {
		if set {
			starts++
		}
	}
	if starts > 1 {
		return &broker.FieldError{Key: "consumer.deliver", Msg: "set one of deliver, startSequence and the start time, not several"}
	}
	if c.AckWait != 0 && c.AckWait < minAckWait {
		return broker.Invalid("consumer.ackWait", c.AckWait, fmt.Sprintf("must be at least %v, or 0 for the server's default", minAckWait))
	}
	return firstError(
		checkEnum("consumer.deliver", c.Deliver, DeliverAll, DeliverLast, DeliverNew, DeliverLastPerSubject),
		checkBound("consumer.maxDeliver", int64(c.MaxDeliver)),
		checkBound("consumer.maxAckPending", int64(c.MaxAckPending)),
		checkBound("consumer.replicas", int64(c.Replicas)),
	)
}

// minAckWait leaves time for extending it.
const minAckWait = 100 * time.Millisecond

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkName(key, name string) error {
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`.*>/\`, r) }) {
		return broker.Invalid(key, name, `must not contain spaces, dots, wildcards or slashes`)
	}
	return nil
}

func checkEnum[T ~string](key string, value T, allowed ...T) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return broker.Invalid(key, string(value), "must be one of "+strings.Join(names, ", "))
}

func checkBound[T int64 | time.Duration](key string, value T) error {
	if value < 0 {
		return broker.Invalid(key, value, "must not be negative; 0 leaves it out")
	}
	return nil
}
