package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/hocon"
)

// TestF741_OutageOfAnHour searches every event, dead letter, log line, status and ask error of an outage for the
// password; the driver quotes the endpoint wherever it can. It is also I8.
func TestI8_F741_OutageOfAnHour(t *testing.T) {
	for _, c := range []struct{ endpoint, secret, label string }{
		{"amqp://svc:p4ssw0rd@rabbit:5671/orders", "p4ssw0rd", "amqp://rabbit:5671/orders"},
		{"amqp://u:s3cr%t@h/", "s3cr%t", "amqp://***@h/"},
		{"amqp://u:p/ss-word@h:5672/v", "p/ss-word", "amqp://***@h:5672/v"},
		{"nats://u:p@ss-word@h", "p@ss-word", "nats://h"},
		{"nats://tok3n-alone@h", "tok3n-alone", "nats://h"},
		{"redis://:only-this@h", "only-this", "redis://h"},
		{"ws://h/p?token=abc-def&x=1#frag", "abc-def", "ws://h/p"},
		{"svc:pw-one@h:1,svc:pw-two@h:2", "pw-two", "***@h:1,***@h:2"},
		{"nats://a:bbbb-b@h1,nats://c:dddd-d@h2", "dddd-d", "nats://***@h1,nats://***@h2"},
		{"mqtt://u:p%40ss-word@[::1]:1883", "p%40ss-word", "mqtt://[::1]:1883"},
	} {
		t.Run(c.label, func(t *testing.T) { outage(t, c.endpoint, c.secret, c.label) })
	}
}

func outage(t *testing.T, endpoint, secret, label string) {
	var up atomic.Bool
	driver := func(context.Context, int, *broker.Link) error {
		if up.Load() {
			return nil
		}
		_, parse := url.Parse(endpoint)
		if parse == nil {
			parse = fmt.Errorf("dial %q: refused", endpoint)
		}
		return errors.Join(fmt.Errorf("connect %s: %w", endpoint, parse), errors.New("login with "+secret))
	}
	bubble(t, func(w *world) {
		w.fake.Label = endpoint
		w.fake.OnConnect = driver
		w.fake.OnDispatch = func(context.Context, brokertest.Sent) error { return broker.Rejected(errors.New("at " + endpoint)) }
		w.fake.Initial = []string{"k", "1"}
		w.fake.RefuseKey("k", errors.New("subscribe at "+endpoint))
	}, set(func(c *broker.Config) { c.OutboundBuffer = 1 }), func(w *world) {
		w.publish("a", "b")
		w.after(time.Hour)
		up.Store(true)
		w.after(time.Minute)
		_, asked := ask[broker.Receipt](w, brokertest.Publish{Payload: "c"})
		_, failed := ask[any](w, brokertest.Do{Func: func(*brokertest.Base) error { return errors.New("at " + endpoint) }})
		w.do(func(*brokertest.Base) error { panic("at " + endpoint) })
		w.drop(errors.New("lost " + endpoint))
		synctest.Wait()

		texts := []string{w.logs.String(), fmt.Sprint(asked, failed), fmt.Sprintf("%v %+v %#v", w.status(), w.status(), w.status().LastError)}
		for _, e := range w.rec.Events() {
			texts = append(texts, fmt.Sprintf("%v %+v %#v", e, e, e))
			if _, got := e.Source(); got != label {
				t.Fatalf("%T has endpoint %q, want %q", e, got, label)
			}
		}
		for _, d := range w.rec.DeadLetters() {
			texts = append(texts, fmt.Sprintf("%v %+v", d.Reason, d))
		}
		if len(texts) < 100 {
			t.Errorf("only %d texts: the outage was not one", len(texts))
		}
		for _, text := range texts {
			if strings.Contains(text, secret) {
				at := strings.Index(text, secret)
				t.Fatalf("the secret shows: …%s…", text[max(0, at-80):min(len(text), at+40)])
			}
		}
	})
}

// TestSecretHolder: secrets that are not in the endpoint are removed too.
func TestSecretHolder(t *testing.T) {
	fail := func(context.Context, int, *broker.Link) error { return errors.New("token h1dden-token is invalid") }
	bubble(t, func(w *world) { w.fake.Held = []string{"h1dden-token"}; w.fake.OnConnect = fail }, nil, func(w *world) {
		w.after(time.Minute)
		if strings.Contains(w.logs.String(), "h1dden") || strings.Contains(w.status().LastError.Error(), "h1dden") {
			t.Errorf("log: %s", w.logs)
		}
	})
}

// TestPrintedConfigs: what a Config holds does not show, however it is printed, when a third party embeds broker.Config
// too; and the rest of it does, because a promoted method of the embedded part must not stand for the whole.
func TestPrintedConfigs(t *testing.T) {
	c := secretConfig{
		Config: broker.DefaultConfig(), Endpoint: "amqp://u:s3cret-1@h:1/v?token=s3cret-2", Servers: []string{"nats://u:s3cret-3@a", "svc:s3cret-4@b:1"},
		Password: hocon.NewSecret("s3cret-5"),
	}
	for _, text := range printed(t, c) {
		if strings.Contains(text, "s3cret") {
			t.Errorf("a secret in %s", text)
		}
	}
	for _, text := range []string{fmt.Sprintf("%v", c), fmt.Sprintf("%+v", &c)} {
		for _, want := range []string{"1000", "amqp://h:1/v", "nats://a", "***@b:1", "***"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"OutboundBuffer":1000`, `"Endpoint":"amqp://h:1/v"`, `"Servers":["nats://a","***@b:1"]`, `"Password":"***"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if got := fmt.Sprintf("%q %q", c.Endpoint, c.Servers); got != `"amqp://h:1/v" "[nats://a ***@b:1]"` {
		t.Errorf("quoted %s", got)
	}
}
