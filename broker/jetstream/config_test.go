package jetstream_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/natstest"
)

// failedStart spawns and returns the error of the start.
func failedStart(t *testing.T, sys *actor.System, opts ...func(*jetstream.Config)) *actor.ConfigError {
	t.Helper()
	failure := make(chan error, 1)
	_, err := sys.SpawnAnonymous(jetstream.New(opts...), func(c *actor.SpawnConfig) {
		c.Supervisor = &actor.Supervisor{Decide: func(_ actor.Ref, cause error) actor.Directive {
			failure <- cause
			return actor.Stop
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-failure:
	case <-time.After(patience):
		t.Fatal("the start did not fail")
	}
	var c *actor.ConfigError
	if !errors.As(err, &c) {
		t.Fatalf("start ended with %v, want a ConfigError", err)
	}
	return c
}

// W22, W39: a setting that is missing, out of bounds or in contradiction fails the start, and the error names it.
func TestBadSettingFailsTheStart(t *testing.T) {
	sys := newSystem(t)
	sink := spawn(t, sys, "sink", newSink(nil).actor)
	good := func(c *jetstream.Config) {
		c.Servers = []string{"nats://svc:" + secret + "@127.0.0.1:1"}
		c.Stream.Name, c.Consumer.Name, c.Target = "S", "C", sink
	}
	for key, bad := range map[string]func(*jetstream.Config){
		"servers":                 func(c *jetstream.Config) { c.Servers = nil },
		"servers ":                func(c *jetstream.Config) { c.Servers = []string{"http://svc:" + secret + "@h"} },
		"servers  ":               func(c *jetstream.Config) { c.Servers = []string{"nats://svc:" + secret + "%zz@h:4222"} },
		"token":                   func(c *jetstream.Config) { c.User, c.Token = "u", hocon.NewSecret(secret) },
		"user":                    func(c *jetstream.Config) { c.Password = hocon.NewSecret(secret) },
		"credentialsFile":         func(c *jetstream.Config) { c.CredentialsFile = "/no/such/file.creds" },
		"publishTimeout":          func(c *jetstream.Config) { c.PublishTimeout = 0 },
		"domain":                  func(c *jetstream.Config) { c.Domain = "a.b" },
		"target":                  func(c *jetstream.Config) { c.Target = actor.Ref{} },
		"consumer.name":           func(c *jetstream.Config) { c.Consumer.Name = "" },
		"consumer.name ":          func(c *jetstream.Config) { c.Consumer.Name = "a b" },
		"stream.name":             func(c *jetstream.Config) { c.Stream.Name = "" },
		"stream.name ":            func(c *jetstream.Config) { c.Stream.Name = "a.b" },
		"stream.subjects":         func(c *jetstream.Config) { c.Stream.Subjects = []string{"a..b"} },
		"stream.retention":        func(c *jetstream.Config) { c.Stream.Retention = "forever" },
		"stream.storage":          func(c *jetstream.Config) { c.Stream.Storage = "disk" },
		"stream.discard":          func(c *jetstream.Config) { c.Stream.Discard = "all" },
		"stream.maxMessages":      func(c *jetstream.Config) { c.Stream.MaxMessages = -1 },
		"stream.maxAge":           func(c *jetstream.Config) { c.Stream.MaxAge = -1 },
		"stream.duplicateWindow":  func(c *jetstream.Config) { c.Stream.DuplicateWindow = -1 },
		"stream.replicas":         func(c *jetstream.Config) { c.Stream.Replicas = 6 },
		"consumer.filterSubjects": func(c *jetstream.Config) { c.Consumer.FilterSubjects = []string{""} },
		"consumer.deliver":        func(c *jetstream.Config) { c.Consumer.Deliver = "some" },
		"consumer.deliver ": func(c *jetstream.Config) {
			c.Consumer.Deliver, c.Consumer.StartSequence = jetstream.DeliverNew, 5
		},
		"consumer.ackWait":       func(c *jetstream.Config) { c.Consumer.AckWait = time.Millisecond },
		"consumer.maxDeliver":    func(c *jetstream.Config) { c.Consumer.MaxDeliver = -1 },
		"consumer.maxAckPending": func(c *jetstream.Config) { c.Consumer.MaxAckPending = -1 },
		"consumer.replicas":      func(c *jetstream.Config) { c.Consumer.Replicas = -1 },
		"inboundWindow":          func(c *jetstream.Config) { c.InboundWindow = 0 },
	} {
		err := failedStart(t, sys, good, bad)
		if want := jetstream.Key + "." + strings.TrimSpace(key); err.Path != want {
			t.Errorf("error for %s names %s (%v)", want, err.Path, err)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("error for %s has the password: %v", key, err)
		}
	}
}

// The settings come from HOCON under the protocol's key, and a constructor's closure is written over them.
func TestSettingsFromHOCON(t *testing.T) {
	srv := natstest.Start(t)
	conf, err := hocon.ParseString("test.conf", `
		troupe.broker.jetstream {
			servers = ["`+srv.Addr()+`"]
			name = "from the file"
			inFlight = 7
			publishTimeout = 3s
			stream { name = FILE, subjects = ["file.>"], storage = memory, maxBytes = 1 MiB, duplicateWindow = 30s, discard = new }
			consumer { name = C, ackWait = 5 seconds, maxDeliver = 4, deliver = last }
			reconnect.initialDelay = 10
			redelivery.initialDelay = 20
		}`)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := actor.NewSystem("test", func(c *actor.SystemConfig) { c.Config = conf })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, sys) })
	var got jetstream.Config
	ref := spawn(t, sys, "js", jetstream.New(func(c *jetstream.Config) {
		c.Target = spawn(t, sys, "sink", newSink(nil).actor)
		c.Consumer.MaxDeliver = 5
		got = *c
	}))
	connected(t, ref)
	if got.InFlight != 7 || got.PublishTimeout != 3*time.Second || got.Redelivery.InitialDelay != 20*time.Millisecond || !got.Stream.Create {
		t.Errorf("settings %+v", got)
	}
	api := srv.JetStream()
	stream, err := api.Stream(t.Context(), "FILE")
	if err != nil {
		t.Fatal(err)
	}
	if c := stream.CachedInfo().Config; c.MaxBytes != 1<<20 || c.Storage.String() != "Memory" || c.Duplicates != 30*time.Second || c.MaxMsgs != -1 {
		t.Errorf("stream %+v", c)
	}
	consumer, err := api.Consumer(t.Context(), "FILE", "C")
	if err != nil {
		t.Fatal(err)
	}
	if c := consumer.CachedInfo().Config; c.AckWait != 5*time.Second || c.MaxDeliver != 5 || c.MaxAckPending != 1000 {
		t.Errorf("consumer %+v", c)
	}
}

// An unknown key fails the start with its place, and the reference's spelling gets a hint.
func TestUnknownKeyFailsTheStart(t *testing.T) {
	for _, key := range []string{"stream.maxMsgs = 1", "reconnect.initialDelayMs = 1", "consumer.durable = x"} {
		conf, err := hocon.ParseString("bad.conf", jetstream.Key+" { servers = [h], "+key+" }")
		if err != nil {
			t.Fatal(err)
		}
		sys, err := actor.NewSystem("test", func(c *actor.SystemConfig) { c.Config = conf })
		if err != nil {
			t.Fatal(err)
		}
		text := failedStart(t, sys).Error()
		name, _, _ := strings.Cut(key, " ")
		if !strings.Contains(text, jetstream.Key+"."+name) || !strings.Contains(text, "bad.conf:1:") {
			t.Errorf("error %q does not name %s and its place", text, name)
		}
		end(t, sys)
	}
}

// What is not configured is left alone: connecting must not reset the limits that somebody gave a stream.
func TestExistingStreamKeepsWhatIsNotConfigured(t *testing.T) {
	srv := natstest.Start(t)
	api := srv.JetStream()
	if _, err := api.CreateStream(t.Context(), streamWithLimits()); err != nil {
		t.Fatal(err)
	}
	sys := newSystem(t)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(actor.Ref{}), func(c *jetstream.Config) { c.Stream.MaxAge = time.Hour }))
	publish(t, ref, jetstream.Publish{Subject: "orders.a"})
	stream, err := api.Stream(t.Context(), "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	c := stream.CachedInfo().Config
	if c.MaxMsgs != 1234 || c.Description != "keep me" || c.MaxAge != time.Hour || len(c.Subjects) != 1 || c.Subjects[0] != "orders.>" {
		t.Errorf("stream %+v, want the limit and the description kept, age and subjects as configured", c)
	}
}

// create = false only looks.
func TestCreateFalseMakesNothing(t *testing.T) {
	srv := natstest.Start(t)
	api := srv.JetStream()
	sys := newSystem(t)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(actor.Ref{}), func(c *jetstream.Config) { c.Stream.Create = false }))
	eventually(t, "failed", func() bool { return status(t, ref).Attempt > 1 })
	if _, err := api.Stream(t.Context(), "ORDERS"); err == nil {
		t.Error("the stream was made")
	}
	if _, err := api.CreateStream(t.Context(), streamWithLimits()); err != nil {
		t.Fatal(err)
	}
	connected(t, ref)
	if n := status(t, ref).State; n != broker.StateConnected {
		t.Errorf("state %v", n)
	}
}

// A consumer that acknowledges by itself, or all before it, would lose messages: it is refused.
func TestConsumerThatIsNotExplicitIsRefused(t *testing.T) {
	srv := natstest.Start(t)
	api := srv.JetStream()
	if _, err := api.CreateStream(t.Context(), streamWithLimits()); err != nil {
		t.Fatal(err)
	}
	if _, err := api.CreateConsumer(t.Context(), "ORDERS", ackNone()); err != nil {
		t.Fatal(err)
	}
	sys := newSystem(t)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(spawn(t, sys, "sink", newSink(nil).actor)), func(c *jetstream.Config) {
		c.Stream.Subjects = nil
	}))
	eventually(t, "refused", func() bool { return status(t, ref).LastError != nil })
	if text := status(t, ref).LastError.Error(); !strings.Contains(text, "explicit") {
		t.Errorf("error %q, want one that says what would be right", text)
	}
}

// However a Config is printed, its secrets do not show; JSON works in spite of what it holds.
func TestPrintedConfig(t *testing.T) {
	c := jetstream.DefaultConfig()
	c.Servers = []string{"nats://u:" + secret + "@a", "tls://b:4222"}
	c.Password, c.Token = hocon.NewSecret(secret), hocon.NewSecret(secret)
	c.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{PrivateKey: []byte(secret)}}}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(text), fmt.Sprint(c), fmt.Sprintf("%+v %#v", c, &c), fmt.Sprintf("%v", []any{c})} {
		if strings.Contains(out, secret) || !strings.Contains(out, "tls://b:4222") {
			t.Errorf("printed %s", out)
		}
	}
}
