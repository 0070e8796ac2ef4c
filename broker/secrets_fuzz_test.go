package broker_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/hocon"
)

// plant is one way to configure a secret.
type plant struct {
	name     string
	endpoint func(secret string) string
	held     bool // given as a SecretHolder's, too
}

func plants() []plant {
	raw := func(format string) func(string) string {
		return func(s string) string { return strings.ReplaceAll(format, "%s", s) }
	}
	escaped := func(format string) func(string) string {
		return func(s string) string { return strings.ReplaceAll(format, "%s", url.QueryEscape(s)) }
	}
	return []plant{
		{"password", raw("amqp://svc:%s@host:5672/v"), false},
		{"password, escaped", escaped("amqp://svc:%s@host:5672/v"), false},
		{"token", raw("nats://%s@h"), false},
		{"password alone", raw("redis://:%s@[::1]:6379/0"), false},
		{"list", raw("nats://a:%s@h1:1,nats://b:another@h2"), false},
		{"last of a list", raw("nats://a:another@h1:1,nats://b:%s@h2"), false},
		{"without a scheme", raw("svc:%s@h:9092"), false},
		{"list without a scheme", raw("svc:%s@h:9092,svc:%s@g:9092"), false},
		{"query value", escaped("wss://h/ws?access=%s&x=1#frag"), false},
		{"held beside it", raw("mqtt://h:1883"), true},
	}
}

// quotes are the ways in which a driver may say a secret.
func quotes(endpoint, secret string) []error {
	_, parse := url.Parse("x://" + secret + "\x7f")
	return []error{
		fmt.Errorf("connect %s: refused", endpoint),
		fmt.Errorf("connect %q: refused", endpoint),
		errors.New("password " + secret + " is wrong"),
		fmt.Errorf("password %q is wrong", secret),
		errors.New("GET /?a=" + url.QueryEscape(secret)),
		errors.New("GET /" + url.PathEscape(secret)),
		errors.New("GET /" + lowerEscapes(url.PathEscape(secret))),
		errors.New("Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("svc:"+secret))),
		fmt.Errorf("inside: %w", fmt.Errorf("and inside: %w", errors.New(secret))),
		errors.Join(errors.New("one"), errors.New("two "+secret)),
		&url.Error{Op: "Get", URL: endpoint, Err: errors.New("with " + secret)},
		fmt.Errorf("dial: %w", parse),
	}
}

// say lets everything happen that makes a broker actor say something, and returns all that it said.
func say(t *testing.T, p plant, secret string) (said []string) {
	t.Helper()
	endpoint := p.endpoint(secret)
	all := errors.Join(quotes(endpoint, secret)...)
	prepare := func(w *world) {
		w.fake.Label = endpoint
		if p.held {
			w.fake.Held = []string{secret}
		}
		w.fake.Initial = []string{"k", "1"}
		w.fake.RefuseKey("k", all)
		w.fake.OnConnect = func(_ context.Context, n int, _ *broker.Link) error {
			if n <= len(quotes("", "")) {
				return quotes(endpoint, secret)[n-1]
			}
			return nil
		}
		w.fake.OnDispatch = func(context.Context, brokertest.Sent) error { return broker.Rejected(all) }
		w.fake.OnDisconnect = func(context.Context, int) error { return all }
	}
	bubble(t, prepare, set(func(c *broker.Config) { c.OutboundBuffer, c.Reconnect.MaxDelay = 1, time.Second }), func(w *world) {
		w.publish("a", "b")
		w.after(5 * time.Minute)
		m := w.moody("x", map[uint64]int{1: 1})
		m.err = actor.Reject(broker.Discard(all))
		w.arrive(w.fake.Connects(), 1, "x")
		_, asked := ask[broker.Receipt](w, brokertest.Publish{Payload: "c"})
		_, failed := ask[any](w, brokertest.Do{Func: func(*brokertest.Base) error { return all }})
		w.do(func(*brokertest.Base) error { panic(all) })
		w.drop(all)
		synctest.Wait()
		s := w.status()
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, w.logs.String(), fmt.Sprintf("%v %+v %#v", asked, asked, failed), s.String(), string(text),
			fmt.Sprintf("%v %+v %#v %s", s, s, s, broker.Ready(w.sys)))
		for _, e := range w.rec.Events() {
			said = append(said, fmt.Sprintf("%v %+v %#v", e, e, e))
		}
		for _, d := range w.rec.DeadLetters() {
			said = append(said, fmt.Sprintf("%v %+v %#v", d.Reason, d, d.Reason))
		}
	})
	said = append(said, broker.RedactEndpoint(endpoint), broker.Invalid("endpoint", endpoint, "must be another").Error(),
		broker.Invalid("endpoints", []string{endpoint, "x"}, "must be others").Error())
	return append(said, printed(t, secretConfig{Config: broker.DefaultConfig(), Endpoint: broker.Endpoint(endpoint), Servers: []string{endpoint}, Password: hocon.NewSecret(secret)})...)
}

// secretConfig is a third party's.
type secretConfig struct {
	broker.Config
	Endpoint broker.Endpoint
	Servers  broker.Endpoints
	Password hocon.Secret
}

// printed is a value in every form in which somebody may print it.
func printed(t *testing.T, v any) (out []string) {
	t.Helper()
	for _, x := range []any{v, &v, []any{v}, map[string]any{"k": v}, struct{ C any }{v}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			out = append(out, fmt.Sprintf(verb, x))
		}
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatalf("JSON of %T: %v", x, err)
		}
		var b bytes.Buffer
		slog.New(slog.NewTextHandler(&b, nil)).Info("config", "c", x)
		slog.New(slog.NewJSONHandler(&b, nil)).Info("config", "c", x)
		out = append(out, string(text), b.String())
	}
	return out
}

// spelled are the forms in which a secret must not be found.
func spelled(secret string) []string {
	inJSON, _ := json.Marshal(secret)
	return []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), lowerEscapes(url.PathEscape(secret)),
		strings.Trim(fmt.Sprintf("%q", secret), `"`), strings.Trim(string(inJSON), `"`),
		base64.StdEncoding.EncodeToString([]byte("svc:" + secret)),
	}
}

func lowerEscapes(s string) string {
	return regexp.MustCompile("%[0-9A-F]{2}").ReplaceAllStringFunc(s, strings.ToLower)
}

// FuzzPlantedSecret plants a secret and searches everything that is said. A secret that is a word of the text around it
// (a name, a number, a part of an error) cannot be told from that word, and is left out.
func FuzzPlantedSecret(f *testing.F) {
	for i, s := range []string{
		"p4ssw0rd", "s3cr%t-", "p/ss-word", "p@ss-word", "a b&c=d", "#hash?quest", "100%25sure", "::::::::", "++++++", "@@@@@@", "//////",
		"%2F%2f%40", "abc@def/ghi?jkl#mno", "Y2&3 %4+5", "a%20b c", "%zz%zz%zz", "p:q:r:s", "? ? ? ?", "&&&&&&&&", "secret@host:5672/v?",
	} {
		f.Add(s, uint8(i))
		f.Add(s, uint8(i+1))
	}
	f.Fuzz(func(t *testing.T, secret string, which uint8) {
		if len(secret) < 6 || len(secret) > 24 || strings.IndexFunc(secret, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/?#@:%+ &-", r))
		}) >= 0 {
			t.Skip("not what the alphabet allows")
		}
		p := plants()[int(which)%len(plants())]
		const neutral = "\x01\x02\x03\x04\x05\x06"
		innocent := strings.Join(say(t, p, neutral), "\n")
		said := say(t, p, secret)
		for _, form := range spelled(secret) {
			if strings.Contains(innocent, form) {
				t.Skip("a word of the text around it")
			}
			for _, text := range said {
				if at := strings.Index(text, form); at >= 0 {
					t.Fatalf("%s: secret %q as %q in …%s…", p.name, secret, form, text[max(0, at-150):min(len(text), at+60)])
				}
			}
		}
	})
}
