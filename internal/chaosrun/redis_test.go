package chaosrun

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/redisstream"
	"github.com/troupe-go/troupe/internal/chaos"
	"github.com/troupe-go/troupe/internal/servertest"
)

// TestRedis is the run over a stream of a real server, which is killed and frozen now and then.
func TestRedis(t *testing.T) {
	t.Parallel()
	srv := servertest.Redis(t)
	proxy, err := chaos.New(srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	l := &link{t: t, proxy: proxy}
	direct := redis.NewClient(&redis.Options{Addr: srv.Addr(), Protocol: 2, DisableIdentity: true, MaxRetries: 5})
	t.Cleanup(func() { direct.Close() })
	drive(t, func(t *testing.T, sys *actor.System) *subject {
		id := func(msg any) string {
			m, _ := msg.(redisstream.Message)
			return m.ID
		}
		h, to, err := spawnTarget(sys, id)
		if err != nil {
			t.Fatal(err)
		}
		return &subject{
			factory: func(int) func() actor.Actor {
				return redisstream.New(func(c *redisstream.Config) {
					l.tune(&c.Config)
					c.URL = broker.Endpoint("redis://" + proxy.Addr())
					c.Group, c.Consumer, c.Streams, c.Target, c.Start = "chaos", "one", []string{"chaos"}, to, "0"
					c.Block, c.ClaimIdle = 100*time.Millisecond, time.Second
				})
			},
			born: func(actor.Ref) {},
			publish: func(id string) any {
				return redisstream.Publish{Stream: "chaos", Fields: map[string]string{"n": id}, ID: id}
			},
			id: func(payload any) string {
				m, _ := payload.(redisstream.Publish)
				return m.ID
			},
			faults: append(l.faults(),
				func(r *rand.Rand) { srv.Kill(); wait(r, time.Second); srv.Start() },
				func(r *rand.Rand) { srv.Freeze(true); wait(r, 2*time.Second); srv.Freeze(false) },
			),
			calm:      l.calm,
			sink:      func() []string { return appended(t, direct) },
			stored:    true,
			missing:   func(g *grammar) (int, string) { return unhandled(t, direct, h, g) },
			inboundID: id,
		}
	})
}

// appended lists the ids of the entries, in order.
func appended(t *testing.T, c *redis.Client) (ids []string) {
	for from := "-"; ; {
		entries, err := c.XRangeN(t.Context(), "chaos", from, "+", 10000).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			v, _ := e.Values["_id"].(string)
			ids = append(ids, v)
		}
		if len(entries) < 10000 {
			return ids
		}
		from = "(" + entries[len(entries)-1].ID
	}
}

func unhandled(t *testing.T, c *redis.Client, h *target, g *grammar) (n int, what string) {
	h.release()
	groups, err := c.XInfoGroups(t.Context(), "chaos").Result()
	if err != nil || len(groups) != 1 {
		return 1, fmt.Sprint(groups, err)
	}
	if n := int(groups[0].Pending + groups[0].Lag); n > 0 {
		return n, fmt.Sprintf("%d pending, %d not read", groups[0].Pending, groups[0].Lag)
	}
	for _, id := range appended(t, c) {
		if !h.has(id) && !g.givenUp(id) {
			n++
			what = id
		}
	}
	return n, what
}
