package nats_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker/nats"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/natstest"
)

// failedStart spawns and returns the error of the start.
func failedStart(t *testing.T, sys *actor.System, opts ...func(*nats.Config)) *actor.ConfigError {
	t.Helper()
	failure := make(chan error, 1)
	_, err := sys.SpawnAnonymous(nats.New(opts...), func(c *actor.SpawnConfig) {
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

// A setting that is missing, out of bounds or in contradiction fails the start, and the error names it without a secret.
func TestBadSettingFailsTheStart(t *testing.T) {
	sys := newSystem(t)
	sink := spawn(t, sys, "sink", newSink(nil).actor)
	good := func(c *nats.Config) { c.Servers = []string{"nats://svc:" + secret + "@127.0.0.1:1"} }
	for key, bad := range map[string]func(*nats.Config){
		"servers":         func(c *nats.Config) { c.Servers = nil },
		"servers ":        func(c *nats.Config) { c.Servers = append(c.Servers, "nats://svc:"+secret+"@") },
		"token":           func(c *nats.Config) { c.User, c.Token = "u", hocon.NewSecret(secret) },
		"publishTimeout":  func(c *nats.Config) { c.PublishTimeout = 0 },
		"requestTimeout":  func(c *nats.Config) { c.RequestTimeout = -1 },
		"maxRequests":     func(c *nats.Config) { c.MaxRequests = 0 },
		"pendingMessages": func(c *nats.Config) { c.PendingMessages = 0 },
		"pendingBytes":    func(c *nats.Config) { c.PendingBytes = 0 },
		"subscriptions[1]": func(c *nats.Config) {
			c.Subscriptions = []nats.Subscribe{{Subject: "a", Target: sink}, {Subject: "b"}}
		},
		"subscriptions[0]": func(c *nats.Config) { c.Subscriptions = []nats.Subscribe{{Subject: "a..b", Target: sink}} },
		"outboundBuffer":   func(c *nats.Config) { c.OutboundBuffer = -1 },
	} {
		err := failedStart(t, sys, good, bad)
		if want := nats.Key + "." + strings.TrimSpace(key); err.Path != want {
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
	conf, err := hocon.ParseString("test.conf", nats.Key+` {
		servers = ["`+srv.Addr()+`"], name = "from the file", pendingBytes = 1 MiB, requestTimeout = 100, inFlight = 9
	}`)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := actor.NewSystem("test", func(c *actor.SystemConfig) { c.Config = conf })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, sys) })
	var got nats.Config
	sink := spawn(t, sys, "sink", newSink(nil).actor)
	ref := spawn(t, sys, "nats", nats.New(subscribed("a", "", sink), func(c *nats.Config) {
		c.InFlight = 10
		got = *c
	}))
	connected(t, ref)
	if got.PendingBytes != 1<<20 || got.RequestTimeout != 100*time.Millisecond || got.InFlight != 10 || got.MaxRequests != 1024 {
		t.Errorf("settings %+v", got)
	}
	if s := srv.Subjects("from the file"); len(s) != 1 || s[0] != "a" {
		t.Errorf("the server knows the subscriptions %v of the connection", s)
	}
}

// However a Config is printed, its secrets do not show; JSON works in spite of what it holds.
func TestPrintedConfig(t *testing.T) {
	c := nats.DefaultConfig()
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
