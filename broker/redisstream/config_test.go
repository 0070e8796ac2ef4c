package redisstream_test

import (
	_ "embed" // for reference.conf
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/redisstream"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/conftest"
)

//go:embed reference.conf
var referenceConf string

// Every field of Config has its key in reference.conf, the other way round, and with its default.
func TestReferenceConf(t *testing.T) {
	conf, err := hocon.ParseString("reference.conf", referenceConf)
	if err == nil {
		conf, err = conf.Resolve()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range conftest.Check(redisstream.DefaultConfig(), false, func(into any) error { return hocon.Decode(conf, redisstream.Key, into) }) {
		t.Error(err)
	}
}

// A bad setting is named by its key, and shows no secret.
func TestBadSettings(t *testing.T) {
	sys := newSystem(t)
	target := spawn(t, sys, "target", (&sink{}).actor)
	for name, c := range map[string]struct {
		edit func(*redisstream.Config)
		key  string
	}{
		"no url":               {func(c *redisstream.Config) { c.URL = "" }, "url"},
		"another scheme":       {func(c *redisstream.Config) { c.URL = "http://u:" + secret + "@h" }, "url"},
		"does not parse":       {func(c *redisstream.Config) { c.URL = "redis://u:%zz" + secret + "@h" }, "url"},
		"a database":           {func(c *redisstream.Config) { c.URL = "redis://h/x" }, "url"},
		"target without group": {func(c *redisstream.Config) { c.Target = target }, "group"},
		"group without target": {func(c *redisstream.Config) { c.Group = "g" }, "target"},
		"streams alone":        {func(c *redisstream.Config) { c.Streams = []string{"s"} }, "group"},
		"an empty stream":      {func(c *redisstream.Config) { c.Group, c.Target, c.Streams = "g", target, []string{"s", ""} }, "streams"},
		"maxLen":               {func(c *redisstream.Config) { c.MaxLen = -1 }, "maxLen"},
		"block":                {func(c *redisstream.Config) { c.Block = 0 }, "block"},
		"claimIdle":            {func(c *redisstream.Config) { c.ClaimIdle = time.Millisecond }, "claimIdle"},
		"start":                {func(c *redisstream.Config) { c.Start = "now" }, "start"},
		"idleTimeout":          {func(c *redisstream.Config) { c.IdleTimeout = 1 }, "idleTimeout"},
		"of the base":          {func(c *redisstream.Config) { c.InFlight = -1 }, "inFlight"},
	} {
		conf := redisstream.DefaultConfig()
		conf.URL = "redis://h"
		c.edit(&conf)
		var f *broker.FieldError
		if err := conf.Validate(); !errors.As(err, &f) || f.Key != c.key || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want an error about %s", name, err, c.key)
		}
	}
	for _, good := range []string{"redis://h", "redis://h:1", "rediss://u:p@h:1/3", "redis://[::1]:6379/0", "redis://:p@h"} {
		conf := redisstream.DefaultConfig()
		conf.URL, conf.Start = broker.Endpoint(good), "1700000000000-5"
		if err := conf.Validate(); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// However a Config is printed, its secrets do not show; JSON works in spite of what it holds.
func TestPrintedConfig(t *testing.T) {
	c := redisstream.DefaultConfig()
	c.URL, c.Password = "redis://u:"+secret+"@h:6379/2", hocon.NewSecret(secret)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(text), fmt.Sprint(c), fmt.Sprintf("%+v %#v", c, &c), fmt.Sprintf("%v", []any{c})} {
		if strings.Contains(out, secret) || !strings.Contains(out, "redis://h:6379/2") {
			t.Errorf("printed %s", out)
		}
	}
}

// A command that cannot be sent is refused at once, with what would be right.
func TestBadCommands(t *testing.T) {
	sys := newSystem(t)
	ref := spawn(t, sys, "redis", redisstream.New(fast("127.0.0.1:1")))
	for want, cmd := range map[string]any{
		"Stream is empty":      redisstream.Publish{Fields: map[string]string{"k": "v"}},
		"at least one field":   redisstream.Publish{Stream: "s"},
		"for the message id":   redisstream.Publish{Stream: "s", Fields: map[string]string{"_id": "v"}},
		"must not be negative": redisstream.Publish{Stream: "s", Fields: map[string]string{"k": "v"}, MaxAge: -1},
		"has no group":         redisstream.Subscribe{Stream: "s"},
	} {
		if _, err := actor.Ask[any](t.Context(), ref, cmd); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%#v: %v, want %q", cmd, err, want)
		}
	}
}
