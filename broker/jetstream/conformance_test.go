package jetstream_test

import (
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/internal/natstest"
)

const secret = "s3cr3t-p4ss"

func signIn(o *natstest.Options) {
	o.Config += "authorization { user: svc, password: " + secret + " }\n"
}

// prepare makes stream and consumer before the suite looks at the goroutines: a server inside the test's process has some
// for each.
func prepare(t *testing.T, srv *natstest.Server) {
	nc, err := natsgo.Connect(srv.URL(), natsgo.UserInfo("svc", secret))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	api, err := js.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.CreateStream(t.Context(), js.StreamConfig{Name: "CONFORM", Subjects: []string{"conform"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.CreateConsumer(t.Context(), "CONFORM", js.ConsumerConfig{Durable: "WORKER", AckPolicy: js.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
}

// conform runs the conformance suite on one kind of server.
func conform(t *testing.T, start func(testing.TB, ...func(*natstest.Options)) *natstest.Server) {
	features := brokertest.Features{Outcome: broker.Acked, Stored: true, Redelivers: true, Pings: true, Secret: secret}
	brokertest.Run(t, features, func(t *testing.T) brokertest.Protocol {
		srv := start(t, signIn)
		prepare(t, srv)
		options := func(addr string, tune func(*broker.Config)) func(*jetstream.Config) {
			return func(c *jetstream.Config) {
				c.Servers = []string{"nats://svc:" + secret + "@" + addr}
				c.Stream.Name, c.Stream.Subjects = "CONFORM", []string{"conform"}
				c.Consumer.AckWait, c.Redelivery.InitialDelay = time.Second, 10*time.Millisecond
				tune(&c.Config)
			}
		}
		return brokertest.Protocol{
			Addr: srv.Addr(),
			New: func(addr string, tune func(*broker.Config)) func() actor.Actor {
				return jetstream.New(options(addr, tune))
			},
			Publish: func(id string) any {
				return jetstream.Publish{Subject: "conform", Data: []byte(strings.ToUpper(id)), ID: id}
			},
			NewConsumer: func(addr string, to actor.Ref, tune func(*broker.Config)) func() actor.Actor {
				return jetstream.New(options(addr, tune), func(c *jetstream.Config) { c.Consumer.Name, c.Target = "WORKER", to })
			},
			ID: func(msg any) string {
				m, _ := msg.(jetstream.Message)
				return m.ID()
			},
		}
	})
}

func TestConformanceEmbedded(t *testing.T) { conform(t, natstest.Start) }

func TestConformanceRealServer(t *testing.T) { conform(t, natstest.StartProcess) }
