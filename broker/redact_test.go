package broker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestRedact(t *testing.T) {
	long := strings.Repeat("s", 300)
	for in, want := range map[string]string{
		"mongodb://user:pass@host:27017/db":              "mongodb://***@host:27017/db",
		"redis://:s3cr3t@cache:6379":                     "redis://***@cache:6379",
		"amqp://user:p@ss@rabbit:5672":                   "amqp://***@rabbit:5672",
		"wss://user:pass@example.com/ws?token=abc":       "wss://***@example.com/ws?token=abc",
		"nats://a:b@h1:4222,nats://c:d@h2:4222":          "nats://***@h1:4222,nats://***@h2:4222",
		"nats://u:p@a,nats://u:p@b":                      "nats://***@a,nats://***@b",
		"see amqp://u:p@h/vhost now":                     "see amqp://***@h/vhost now",
		"HTTPS://u:p@h":                                  "HTTPS://***@h",
		"a+b-c.d://u@h":                                  "a+b-c.d://***@h",
		"x1://u@h":                                       "x1://***@h",
		"1abc://u@h":                                     "1abc://***@h",
		long + "://u:p@h":                                long + "://***@h",
		"a://b://c@d":                                    "a://b://***@d",
		"redis://token@":                                 "redis://***@",
		"redis://[::1]:6379 and redis://u:p@[::1]:6379/": "redis://[::1]:6379 and redis://***@[::1]:6379/",
		`dial "amqp://u:p@h": x and "amqp://v:q@i/y"`:    `dial "amqp://***@h": x and "amqp://***@i/y"`,
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
		if got := Redact(want); got != want {
			t.Errorf("not idempotent: Redact(%q) = %q", want, got)
		}
	}
	for _, same := range []string{
		":memory:", "file:x", "not a url", "", "mailto:a@b", "redis://h/a@b", "https://h?u@p", "https://h#u@p", "://u@h",
		"//u@h", "1://u@h", "+://u@h", "amqp://h:5672/v", "HTTPS://H/", "unix:///run/x.sock",
	} {
		if got := Redact(same); got != same {
			t.Errorf("Redact(%q) = %q, want it unchanged", same, got)
		}
	}
}

func TestRedactEndpoint(t *testing.T) {
	for in, want := range map[string]string{
		"amqp://svc:pw@rabbit:5671/orders":                "amqp://rabbit:5671/orders",
		"wss://user:pass@example.com/ws?token=abc":        "wss://example.com/ws",
		"wss://h/ws#frag":                                 "wss://h/ws",
		"mqtt://user:pass@broker:1883":                    "mqtt://broker:1883",
		"amqp://user:pass@ra bbit:5672?x=1":               "amqp://***@ra bbit:5672",
		"nats://u:p@a:4222,nats://u:p@b:4222":             "nats://***@a:4222,nats://***@b:4222",
		"nats://u:p@a,nats://u:p@b":                       "nats://***@a,nats://***@b",
		"svc:pw@broker1:9092,svc:pw@broker2:9092":         "***@broker1:9092,***@broker2:9092",
		"nats://nats://u:p@a":                             "nats://nats://***@a",
		"nats://u:p@a,b:4222":                             "nats://***@a,b:4222",
		"nats://a,nats://u:p@b:4222?token=x":              "nats://a,nats://***@b:4222",
		"ws://a/x?token=1,ws://b/y?token=2":               "ws://a/x,ws://b/y",
		"amqp://u:p/ss@h:5672/v":                          "amqp://***@h:5672/v",
		"redis://to/ken@b":                                "redis://***@b",
		"amqp://u:p@s/s@h:1/v":                            "amqp://***@h:1/v",
		"amqp://u:p@h:1/v?mail=a@b":                       "amqp://h:1/v",
		"amqp://u:1/ss@h:5672":                            "amqp://***@h:5672",
		"amqp://u:s3cr%t@h/":                              "amqp://***@h/",
		"nats://u:p@ss@h":                                 "nats://h",
		"nats://token@h":                                  "nats://h",
		"redis://:only@h":                                 "redis://h",
		"u:p@h:1":                                         "***@h:1",
		" amqp://U:P@H":                                   " amqp://***@H",
		"redis://u:p%40ss@[::1]:6379/0":                   "redis://[::1]:6379/0",
		"nats://u:p,w@h:4222":                             "nats://h:4222",
		"NATS://U:P@h1,tls://h2":                          "NATS://***@h1,tls://h2",
		"ws://h/p?token=abc&x=1#frag":                     "ws://h/p",
		"amqp://u:p@h:1/a,amqp://u:p@h:2/b?heartbeat=10s": "amqp://***@h:1/a,amqp://***@h:2/b",
	} {
		if got := RedactEndpoint(in); got != want {
			t.Errorf("RedactEndpoint(%q) = %q, want %q", in, got, want)
		}
	}
	for _, same := range []string{
		"amqp://localhost:5672", "wss://example.com", "kafka-cluster-1", "nats://a:4222,nats://b:4222", "a:9092,b:9092",
		"unix:///run/x.sock", "nats://[::1]:4222", "tcp://h:1", "", "amqp://h/one", "amqp://h/two",
	} {
		if got := RedactEndpoint(same); got != same {
			t.Errorf("RedactEndpoint(%q) = %q, want it unchanged", same, got)
		}
	}
}

// TestF1198_LinearTime gives the scanner what made an old pattern quadratic.
func TestF1198_LinearTime(t *testing.T) {
	for _, in := range []string{
		strings.Repeat("a", 1<<20),
		strings.Repeat("1", 1<<20) + "://u@h",
		strings.Repeat("a://", 1<<18),
		strings.Repeat("1://", 1<<18),
		strings.Repeat("a://@", 1<<18),
	} {
		began := time.Now()
		Redact(in)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%.10s… took %s", in, took)
		}
	}
}

func TestScrubErrors(t *testing.T) {
	s := newScrubber("amqp://svc:s3cr%t-word@rabbit:5672/v?token=tok3n-value", []string{"aside 5ecret"})
	_, parse := url.Parse("amqp://svc:s3cr%t-word@rabbit:5672/v?token=tok3n-value")
	inner := errors.New("login svc:s3cr%t-word refused")
	for _, err := range []error{
		parse, fmt.Errorf("dial: %w", parse), inner, fmt.Errorf("hidden inside: %w", inner), errors.Join(errors.New("a"), inner),
		errors.New("GET /v?token=tok3n-value"), errors.New("aside 5ecret"), errors.New("aside+5ecret"), errors.New("aside%205ecret"),
		fmt.Errorf("quoted %q", "s3cr%t-word"), &url.Error{Op: "Get", URL: "amqp://svc:s3cr%t-word@rabbit", Err: inner},
	} {
		got := s.error(err)
		for _, text := range []string{got.Error(), fmt.Sprintf("%v %+v %#v", got, got, got)} {
			for _, secret := range []string{"s3cr", "tok3n", "5ecret"} {
				if strings.Contains(text, secret) {
					t.Errorf("%T shows %q: %s", err, secret, text)
				}
			}
		}
	}
	clean := fmt.Errorf("reset: %w", ErrIdle)
	if got := s.error(clean); got != clean {
		t.Errorf("a clean error became %#v", got)
	}
	if got := s.error(fmt.Errorf("svc:s3cr%%t-word: %w", ErrIdle)); !errors.Is(got, ErrIdle) || errors.Unwrap(got) != nil {
		t.Errorf("errors.Is does not work or the original can be had: %v", got)
	}
}

// TestShortSecret keeps a short secret from eating ports and numbers of unrelated texts.
func TestShortSecret(t *testing.T) {
	s := newScrubber("mqtt://u:1@h:1883", nil)
	const text = "dial tcp 10.1.1.1:1883: errno 111"
	if got := s.text(text); got != text {
		t.Errorf("text became %q", got)
	}
	if got := s.text("connect mqtt://u:1@h:1883 failed"); strings.Contains(got, "u:1@") {
		t.Errorf("the endpoint still shows: %q", got)
	}
}

// TestPlantedSecrets plants random secrets in many shapes of endpoint and searches every sink. The seed is printed on a
// failure.
func TestPlantedSecrets(t *testing.T) {
	const alphabet = "abcXYZ019/?#@:%+ &"
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := make([]byte, 6+r.IntN(19))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		secret := string(b)
		for _, form := range []string{"amqp://svc:%s@host:5672/v", "nats://%s@h", "redis://:%s@h:1/0", "svc:%s@h:9092", "nats://a:%s@h1:1,nats://b:other@h2"} {
			endpoint := fmt.Sprintf(strings.ReplaceAll(form, "%s", "%[1]s"), secret)
			s := newScrubber(endpoint, nil)
			_, parse := url.Parse(endpoint)
			texts := []string{s.label, s.text("connect " + endpoint + " refused"), s.text("password " + secret + " is wrong")}
			if parse != nil {
				texts = append(texts, s.error(fmt.Errorf("dial: %w", parse)).Error())
			}
			for _, text := range texts {
				if strings.Contains(text, secret) {
					t.Fatalf("seed %d: secret %q of %q shows in %q", seed, secret, endpoint, text)
				}
			}
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("nats://u:p@a,nats://u:p@b")
	f.Add("amqp://u:p/ss@h:5672/v?x=1")
	f.Add("1://a://@@//@")
	f.Fuzz(func(t *testing.T, in string) {
		once := Redact(in)
		if twice := Redact(once); twice != once {
			t.Errorf("not idempotent: %q, %q, %q", in, once, twice)
		}
		label := RedactEndpoint(in)
		if len(label) > len(in)+4*(strings.Count(in, ",")+1) {
			t.Errorf("label of %q grew to %q", in, label)
		}
		newScrubber(in, []string{in}).text(in)
	})
}
