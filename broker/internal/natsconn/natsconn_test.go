package natsconn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/internal/natsconn"
	"github.com/troupe-go/troupe/hocon"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerEntries(t *testing.T) {
	for entry, ok := range map[string]bool{
		"h": true, "h:4222": true, "[::1]:4222": true, "nats://h": true, "nats://u:p@h:4222": true, "token@h": true, "tls://h": true,
		"ws://h:80/path": true, "wss://h": true, "NATS://h": true,
		"": false, "http://h": false, "nats://": false, "nats://h:port": false, "h1,h2": false, "nats://h x": false, "nats://u:%zz@h": false,
		"nats://u:p@": false,
	} {
		if err := (natsconn.Settings{Servers: []string{entry}}).Validate(); (err == nil) != ok {
			t.Errorf("server %q: %v, want ok %v", entry, err, ok)
		}
	}
}

// W48: only entries without a scheme get one.
func TestLabelPrefixesBareEntriesOnly(t *testing.T) {
	for _, c := range []struct{ servers, want string }{
		{"h:4222", "nats://h:4222"},
		{"nats://u:p@a,b:1,tls://c", "nats://u:p@a,nats://b:1,tls://c"},
	} {
		s := natsconn.Settings{Servers: strings.Split(c.servers, ",")}
		if got := s.Label(); got != c.want {
			t.Errorf("label of %s is %s, want %s", c.servers, got, c.want)
		}
		if got := broker.RedactEndpoint(s.Label()); strings.Contains(got, "u:p") {
			t.Errorf("redacted label %s", got)
		}
	}
}

func TestSubjects(t *testing.T) {
	for subject, want := range map[string][2]bool{ // without and with wildcards
		"a": {true, true}, "a.b.c": {true, true}, "ä.ö": {true, true}, "a.*.c": {false, true}, "a.>": {false, true}, ">": {false, true},
		"a*b": {true, true}, "$SYS.x": {true, true},
		"": {}, ".": {}, "a.": {}, ".a": {}, "a..b": {}, "a b": {}, "a\tb": {}, "a\r\nPUB b 0": {}, "a.>.b": {}, "a\x00b": {}, "a\x7f": {},
	} {
		for i, ok := range want {
			if err := natsconn.CheckSubject(subject, i == 1); (err == nil) != ok {
				t.Errorf("subject %q, wildcards %v: %v", subject, i == 1, err)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		key, value string
		ok         bool
	}{
		{"Kind", "x", true}, {"kind-2", "ä", true}, {"K", "", true}, {"K", "a b", true},
		{"", "x", false}, {"a b", "x", false}, {"a:", "x", false}, {"ä", "x", false}, {"K", "x\r\nY: z", false}, {"K", " x", false}, {"K", "x\n", false},
	} {
		if err := natsconn.CheckHeader(map[string][]string{c.key: {c.value}}); (err == nil) != c.ok {
			t.Errorf("header %q: %q: %v, want ok %v", c.key, c.value, err, c.ok)
		}
	}
}

// The driver tells of refused permissions by text only.
func TestDeniedSubjects(t *testing.T) {
	publish := fmt.Errorf("%w: Permissions Violation for Publish to \"a.b\"", natsgo.ErrPermissionViolation)
	subscribe := fmt.Errorf("%w: Permissions Violation for Subscription to \"c.>\" using queue \"q\"", natsgo.ErrPermissionViolation)
	if s, ok := natsconn.DeniedPublish(publish); !ok || s != "a.b" {
		t.Errorf("got %q, %v", s, ok)
	}
	if s, ok := natsconn.DeniedSubscription(subscribe); !ok || s != "c.>" {
		t.Errorf("got %q, %v", s, ok)
	}
	for _, err := range []error{subscribe, errors.New("x"), natsgo.ErrPermissionViolation, errors.New(`permissions violation for publish to "a`)} {
		if s, ok := natsconn.DeniedPublish(err); ok {
			t.Errorf("%v is taken for a refused publish to %q", err, s)
		}
	}
}

// One way to sign in, and a file that is there.
func TestIdentity(t *testing.T) {
	base := natsconn.Settings{Servers: []string{"h"}}
	for _, c := range []struct {
		edit func(*natsconn.Settings)
		key  string
	}{
		{func(s *natsconn.Settings) { s.User, s.Password = "u", hocon.NewSecret("p") }, ""},
		{func(s *natsconn.Settings) { s.Token = hocon.NewSecret("t") }, ""},
		{func(s *natsconn.Settings) { s.User, s.Token = "u", hocon.NewSecret("t") }, "token"},
		{func(s *natsconn.Settings) { s.Password = hocon.NewSecret("p") }, "user"},
		{func(s *natsconn.Settings) { s.CredentialsFile = "no-such-file" }, "credentialsFile"},
		{func(s *natsconn.Settings) { s.CredentialsFile, s.User = "natsconn_test.go", "u" }, "credentialsFile"},
		{func(s *natsconn.Settings) { s.CredentialsFile = "natsconn_test.go" }, ""},
	} {
		s := base
		c.edit(&s)
		var f *broker.FieldError
		err := s.Validate()
		if c.key == "" && err != nil || c.key != "" && (!errors.As(err, &f) || f.Key != c.key) {
			t.Errorf("%+v: %v, want an error about %q", s, err, c.key)
		}
	}
}
