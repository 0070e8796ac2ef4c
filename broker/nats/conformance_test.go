package nats_test

import (
	"testing"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/broker/nats"
	"github.com/troupe-go/troupe/internal/natstest"
)

const secret = "s3cr3t-p4ss"

func signIn(o *natstest.Options) {
	o.Config += "authorization { user: svc, password: " + secret + " }\n"
}

// conform runs the conformance suite on one kind of server.
func conform(t *testing.T, start func(testing.TB, ...func(*natstest.Options)) *natstest.Server) {
	features := brokertest.Features{Outcome: broker.Written, Pings: true, Secret: secret}
	brokertest.Run(t, features, func(t *testing.T) brokertest.Protocol {
		srv := start(t, signIn, func(o *natstest.Options) { o.NoJetStream = true })
		options := func(addr string, tune func(*broker.Config)) func(*nats.Config) {
			return func(c *nats.Config) {
				c.Servers = []string{"nats://svc:" + secret + "@" + addr}
				tune(&c.Config)
			}
		}
		return brokertest.Protocol{
			Addr: srv.Addr(),
			New:  func(addr string, tune func(*broker.Config)) func() actor.Actor { return nats.New(options(addr, tune)) },
			Publish: func(id string) any {
				return nats.Publish{Subject: "conform", Data: []byte(id)}
			},
			NewConsumer: func(addr string, to actor.Ref, tune func(*broker.Config)) func() actor.Actor {
				return nats.New(options(addr, tune), func(c *nats.Config) {
					c.Subscriptions = []nats.Subscribe{{Subject: "conform", Target: to}}
				})
			},
			ID: func(msg any) string {
				m, _ := msg.(nats.Message)
				return string(m.Data)
			},
		}
	})
}

func TestConformanceEmbedded(t *testing.T) { conform(t, natstest.Start) }

func TestConformanceRealServer(t *testing.T) { conform(t, natstest.StartProcess) }
