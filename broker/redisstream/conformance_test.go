package redisstream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/brokertest"
	"github.com/troupe-go/troupe/broker/redisstream"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/servertest"
)

const secret = "s3cr3t-p4ss"

func id(i int) string { return fmt.Sprintf("m%06d", i) }

func conform(t *testing.T, start func(t *testing.T) string) {
	features := brokertest.Features{Outcome: broker.Acked, Stored: true, Redelivers: true, Pings: true, Secret: secret}
	brokertest.Run(t, features, func(t *testing.T) brokertest.Protocol {
		server := start(t)
		options := func(addr string, tune func(*broker.Config)) func(*redisstream.Config) {
			return func(c *redisstream.Config) {
				c.URL, c.Password = broker.Endpoint("redis://"+addr), hocon.NewSecret(secret)
				c.Redelivery.InitialDelay, c.ClaimIdle = 10*time.Millisecond, time.Second
				c.Block = 50 * time.Millisecond // the embedded server does not notice that a waiting reader has gone
				tune(&c.Config)
			}
		}
		return brokertest.Protocol{
			Addr: server,
			New: func(addr string, tune func(*broker.Config)) func() actor.Actor {
				return redisstream.New(options(addr, tune))
			},
			Publish: func(id string) any {
				return redisstream.Publish{Stream: "conform", Fields: map[string]string{"k": "v"}, ID: id}
			},
			NewConsumer: func(addr string, to actor.Ref, tune func(*broker.Config)) func() actor.Actor {
				return redisstream.New(options(addr, tune), func(c *redisstream.Config) {
					c.Group, c.Consumer, c.Streams, c.Target, c.Start = "conform", "one", []string{"conform"}, to, "0"
				})
			},
			ID: func(msg any) string {
				m, _ := msg.(redisstream.Message)
				return m.ID
			},
		}
	})
}

func TestConformanceEmbedded(t *testing.T) {
	conform(t, func(t *testing.T) string {
		srv := miniredis.RunT(t)
		srv.RequireAuth(secret)
		return srv.Addr()
	})
}

func TestConformanceRealServer(t *testing.T) {
	conform(t, func(t *testing.T) string { return servertest.Redis(t, "--requirepass", secret).Addr() })
}
