package broker_test

import (
	"errors"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/hocon"
)

// resolved starts an actor with a configuration and returns what its protocol got, or the error of its start.
func resolved(t *testing.T, conf string, opts ...func(*brokertest.Config)) (c brokertest.Config, failed error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		parsed, err := hocon.ParseString("app.conf", conf)
		if err != nil {
			t.Fatal(err)
		}
		sys, err := actor.NewSystem("test", silent, func(c *actor.SystemConfig) { c.Config = parsed })
		if err != nil {
			failed = err
			return
		}
		fake := &brokertest.Fake{}
		def := fake.Definition()
		def.New = func(got brokertest.Config) (broker.Protocol[string, string], error) {
			c = got
			return fake, nil
		}
		ref, err := sys.Spawn("broker", broker.New(def, opts...))
		if err != nil {
			t.Fatal(err)
		}
		var cause error
		if _, err := sys.SpawnAnonymous(func() actor.Actor { return &mourner{ref, &cause} }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		failed = cause
		if failed != nil && fake.Connects() > 0 {
			t.Error("it connected in spite of the failure")
		}
		if err := sys.Terminate(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return c, failed
}

func silent(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) }

type mourner struct {
	ref   actor.Ref
	cause *error
}

func (m *mourner) PreStart(ctx *actor.Context) error { ctx.Watch(m.ref); return nil }

func (m *mourner) Receive(_ *actor.Context, msg any) error {
	if d, ok := msg.(actor.Terminated); ok {
		*m.cause = d.Cause
	}
	return nil
}

const fakeKey = "troupe.broker.fake"

func TestThreeLayers(t *testing.T) {
	c, err := resolved(t, fakeKey+` {
		outboundBuffer = 7
		reconnect { initialDelay = 300ms, maxAttempts = 5 }
		idleTimeout = 1500
		overflow = rejectNewest
		ackMode = manual
	}`, func(c *brokertest.Config) { c.Reconnect.MaxAttempts = 0; c.IdleTimeout = 0 }, func(c *brokertest.Config) { c.InFlight = 3 })
	if err != nil {
		t.Fatal(err)
	}
	want := broker.DefaultConfig()
	want.OutboundBuffer, want.InFlight = 7, 3
	want.Reconnect.InitialDelay = 300 * ms
	want.Overflow, want.AckMode = broker.RejectNewest, broker.Manual
	if !reflect.DeepEqual(c.Config, want) {
		t.Errorf("resolved to\n%+v, want\n%+v", c.Config, want)
	}
}

// TestW21_GroupsMergeDeeply: one leaf in code leaves the others of its group to the configuration.
func TestW21_GroupsMergeDeeply(t *testing.T) {
	c, err := resolved(t, fakeKey+".reconnect { factor = 3, maxDelay = 5 s }", func(c *brokertest.Config) { c.Reconnect.MaxAttempts = 9 })
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "factor", c.Reconnect.Factor, 3)
	equal(t, "maxDelay", c.Reconnect.MaxDelay, 5*time.Second)
	equal(t, "maxAttempts", c.Reconnect.MaxAttempts, 9)
	equal(t, "initialDelay", c.Reconnect.InitialDelay, 200*ms)
}

func TestHOCONForms(t *testing.T) {
	for conf, check := range map[string]func(c broker.Config) bool{
		"reconnect = false":                                         func(c broker.Config) bool { return c.Reconnect.Off },
		"reconnect = off":                                           func(c broker.Config) bool { return c.Reconnect.Off },
		"reconnect = true":                                          func(c broker.Config) bool { return !c.Reconnect.Off },
		"reconnect.maxAttempts = infinite":                          func(c broker.Config) bool { return c.Reconnect.MaxAttempts == 0 },
		"reconnect.maxAttempts = 3":                                 func(c broker.Config) bool { return c.Reconnect.MaxAttempts == 3 },
		"reconnect.initialDelay = 250":                              func(c broker.Config) bool { return c.Reconnect.InitialDelay == 250*ms },
		"reconnect.stableAfter = 3 seconds":                         func(c broker.Config) bool { return c.Reconnect.StableAfter == 3*time.Second },
		"circuitBreaker { failureThreshold = 4, reset = 2 s }":      func(c broker.Config) bool { return c.CircuitBreaker.Reset == 2*time.Second },
		"connectTimeout = 1s, flushTimeout = 0, inboundWindow = 10": func(c broker.Config) bool { return c.FlushTimeout == 0 && c.InboundWindow == 10 },
		"": func(c broker.Config) bool { return reflect.DeepEqual(c, broker.DefaultConfig()) },
	} {
		c, err := resolved(t, fakeKey+" { "+conf+" }")
		if err != nil || !check(c.Config) {
			t.Errorf("%s: %v, %+v", conf, err, c.Config)
		}
	}
}

// TestW22_BadSettings: a failed start names the dotted key and what would be right; each rule on each path it can come by.
func TestW22_BadSettings(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		conf string
		code func(c *broker.Config)
		key  string
		hint string
	}{
		{conf: "outboundBuffer = -1", key: "outboundBuffer"},
		{conf: "outboundBuffer = 2.5", key: "outboundBuffer"},
		{conf: "outboundBuffer = many", key: "outboundBuffer"},
		{conf: "inboundWindow = 0", key: "inboundWindow"},
		{conf: "inFlight = -3", key: "inFlight"},
		{conf: "reconnect.initialDelay = 0", key: "reconnect.initialDelay"},
		{conf: "reconnect.maxDelay = -5s", key: "reconnect.maxDelay"},
		{conf: "reconnect.factor = 0.5", key: "reconnect.factor"},
		{conf: "reconnect.maxAttempts = 2.5", key: "reconnect.maxAttempts"},
		{conf: "reconnect.maxAttempts = 0", key: "reconnect.maxAttempts", hint: "infinite"},
		{conf: "reconnect.randomFactor = 1.5", key: "reconnect.randomFactor"},
		{conf: "reconnect.stableAfter = 0", key: "reconnect.stableAfter"},
		{conf: "circuitBreaker.failureThreshold = 3", key: "circuitBreaker.reset"},
		{conf: "circuitBreaker.reset = 3s", key: "circuitBreaker.failureThreshold"},
		{conf: "idleTimeout = -1", key: "idleTimeout"},
		{conf: "connectTimeout = soon", key: "connectTimeout"},
		{conf: "overflow = dropSome", key: "overflow", hint: "evictOldest, evictNewest, rejectNewest"},
		{conf: "ackMode = never", key: "ackMode", hint: "onHandled, manual, onDelivery"},
		{conf: "outboundBufer = 1", key: "outboundBufer", hint: "outboundBuffer"},
		{conf: "reconnect.initialDelayMs = 1", key: "reconnect.initialDelayMs", hint: "initialDelay"},
		{conf: "idleTimeoutMs = 1", key: "idleTimeoutMs", hint: "idleTimeout"},
		{conf: "connectTimeoutMs = 1", key: "connectTimeoutMs", hint: "connectTimeout"},
		{conf: "circuitBreaker.resetMs = 1", key: "circuitBreaker.resetMs", hint: "reset"},
		{code: func(c *broker.Config) { c.Reconnect.Factor = nan }, key: "reconnect.factor"},
		{code: func(c *broker.Config) { c.Reconnect.Factor = math.Inf(1) }, key: "reconnect.factor"},
		{code: func(c *broker.Config) { c.Reconnect.RandomFactor = nan }, key: "reconnect.randomFactor"},
		{code: func(c *broker.Config) { c.Reconnect.MaxAttempts = -1 }, key: "reconnect.maxAttempts"},
		{code: func(c *broker.Config) { c.OutboundBuffer = -1 }, key: "outboundBuffer"},
		{code: func(c *broker.Config) { c.Overflow = 9 }, key: "overflow"},
		{code: func(c *broker.Config) { c.AckMode = 9 }, key: "ackMode"},
		{code: func(c *broker.Config) { c.FlushTimeout = -1 }, key: "flushTimeout"},
		{code: func(c *broker.Config) { c.CircuitBreaker.FailureThreshold = -1 }, key: "circuitBreaker.failureThreshold"},
	} {
		var opts []func(*brokertest.Config)
		if c.code != nil {
			opts = set(c.code)
		}
		_, err := resolved(t, fakeKey+" { "+c.conf+" }", opts...)
		var ce *actor.ConfigError
		switch {
		case !errors.As(err, &ce):
			t.Errorf("%s %s: start ended with %v", c.conf, c.key, err)
		case !strings.Contains(err.Error(), fakeKey+"."+c.key):
			t.Errorf("%s: the error does not name %s.%s: %v", c.conf, fakeKey, c.key, err)
		case !strings.Contains(err.Error(), c.hint):
			t.Errorf("%s: the error does not say %q: %v", c.conf, c.hint, err)
		}
	}
}

func TestBoundsAreAllowed(t *testing.T) {
	for _, f := range []func(c *broker.Config){
		func(c *broker.Config) { c.Reconnect.RandomFactor = 0 },
		func(c *broker.Config) { c.Reconnect.RandomFactor = 1 },
		func(c *broker.Config) { c.Reconnect.Factor = 1 },
		func(c *broker.Config) { c.OutboundBuffer = 0 },
		func(c *broker.Config) { c.InboundWindow = 1 },
		func(c *broker.Config) { c.Reconnect.MaxDelay = 1 },
	} {
		c := broker.DefaultConfig()
		f(&c)
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestF590_FailedStart: the ways in which a protocol can refuse, and that an error of its settings is redacted.
func TestF590_FailedStart(t *testing.T) {
	start := func(t *testing.T, def broker.Definition[brokertest.Config, string, string]) (cause error) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			sys, err := actor.NewSystem("test", silent)
			if err != nil {
				t.Fatal(err)
			}
			ref, err := sys.Spawn("broker", broker.New(def))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sys.SpawnAnonymous(func() actor.Actor { return &mourner{ref, &cause} }); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := sys.Terminate(t.Context()); err != nil {
				t.Error(err)
			}
		})
		return cause
	}
	fake := &brokertest.Fake{}
	def := fake.Definition()
	for _, c := range []struct {
		err  error
		want string
	}{
		{broker.Missing("url", "topic"), fakeKey + ".url, topic: required, but not set"},
		{broker.Invalid("url", "amqp://u:s3cret@h:x", "must be a URL"), fakeKey + `.url: must be a URL, is "amqp://***@h:x"`},
		{broker.Invalid("servers", []string{"nats://u:s3cret@h", "x"}, "bad"), fakeKey + `.servers: bad, is [nats://***@h,x]`},
		{errors.New("cannot use amqp://u:s3cret@h"), fakeKey + ": cannot use amqp://***@h"},
	} {
		def.New = func(brokertest.Config) (broker.Protocol[string, string], error) { return nil, c.err }
		if err := start(t, def); err == nil || err.Error() != c.want {
			t.Errorf("start ended with %v, want %s", err, c.want)
		}
	}
	def.New = func(brokertest.Config) (broker.Protocol[string, string], error) { return nil, nil }
	if err := start(t, def); err == nil {
		t.Error("a nil protocol started")
	}
	if err := broker.Missing(); err != nil {
		t.Errorf("nothing is missing, but %v", err)
	}
}

// consumerWithoutTarget refuses in Start, as a protocol does whose consumer has no target.
type consumerWithoutTarget struct{ *brokertest.Fake }

func (consumerWithoutTarget) Start(b *brokertest.Base) error {
	b.Remember("k", "1")
	return broker.Missing("consumer.target")
}

// TestW39_ConsumerWithoutTarget fails the start, and stop after it is clean.
func TestW39_ConsumerWithoutTarget(t *testing.T) {
	fake := &brokertest.Fake{}
	synctest.Test(t, func(t *testing.T) {
		sys, err := actor.NewSystem("test", silent)
		if err != nil {
			t.Fatal(err)
		}
		def := fake.Definition()
		def.New = func(brokertest.Config) (broker.Protocol[string, string], error) {
			return consumerWithoutTarget{fake}, nil
		}
		ref, err := sys.Spawn("broker", broker.New(def))
		if err != nil {
			t.Fatal(err)
		}
		var cause error
		if _, err := sys.SpawnAnonymous(func() actor.Actor { return &mourner{ref, &cause} }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if cause == nil || !strings.Contains(cause.Error(), fakeKey+".consumer.target") {
			t.Errorf("start ended with %v", cause)
		}
		equal(t, "connects", fake.Connects(), 0)
		if err := sys.Terminate(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

type bare struct{}

func TestConfigMustEmbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys, err := actor.NewSystem("test", silent)
		if err != nil {
			t.Fatal(err)
		}
		var cause error
		ref, err := sys.Spawn("broker", broker.New(broker.Definition[bare, string, string]{Key: "x.y"}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sys.SpawnAnonymous(func() actor.Actor { return &mourner{ref, &cause} }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if cause == nil || !strings.Contains(cause.Error(), "embed broker.Config") {
			t.Errorf("start ended with %v", cause)
		}
		if err := sys.Terminate(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
