package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/redisstream"
)

// errNotInstalled leaves the rows of a server out.
var errNotInstalled = errors.New("not installed; run: make servers")

// startRedis runs the installed redis-server, without persistence: the disk is not what is measured.
func startRedis(ctx context.Context) (*child, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server: %w", errNotInstalled)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", os.TempDir())
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), cmd: cmd, kill: true}
	for !answers(c.addr) {
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), c.stop())
		}
	}
	return c, nil
}

func answers(addr string) bool {
	nc, err := net.DialTimeout("tcp4", addr, time.Second)
	if err != nil {
		return false
	}
	defer nc.Close()
	_, _ = fmt.Fprint(nc, "PING\r\n")
	line, err := bufio.NewReader(nc).ReadString('\n')
	return err == nil && line == "+PONG\r\n"
}

func redisDriver(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true, PoolSize: 1})
}

// fillRedis appends in pipelines of the size of the window, with an id each.
func fillRedis(ctx context.Context, c *redis.Client, s settings) error {
	data := string(make([]byte, s.size))
	for i := 0; i < s.messages; {
		pipe := c.Pipeline()
		for n := 0; n < s.outstanding && i < s.messages; n++ {
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: "bench", ID: "*", Values: []any{"_id", "bench-" + strconv.Itoa(i), "d", data}})
			i++
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

func redisPublishBare(ctx context.Context, addr string, s settings) (time.Duration, error) {
	c := redisDriver(addr)
	defer c.Close()
	began := time.Now()
	err := fillRedis(ctx, c, s)
	return time.Since(began), err
}

func redisPublishTroupe(ctx context.Context, addr string, s settings) (time.Duration, error) {
	sys, err := newSystem()
	if err != nil {
		return 0, err
	}
	defer sys.Terminate(context.WithoutCancel(ctx))
	ref, err := sys.Spawn("redis", redisstream.New(func(c *redisstream.Config) {
		c.URL = broker.Endpoint("redis://" + addr)
		c.OutboundBuffer, c.InFlight = 2*s.outstanding+1, s.outstanding
	}))
	if err != nil {
		return 0, err
	}
	if err := untilConnected(ctx, sys, ref); err != nil {
		return 0, err
	}
	return publish(ctx, ref, s, redisstream.Publish{Stream: "bench", Fields: map[string]string{"d": string(make([]byte, s.size))}})
}

func redisConsumeBare(ctx context.Context, addr string, s settings) (time.Duration, error) {
	c := redisDriver(addr)
	defer c.Close()
	if err := fillRedis(ctx, c, s); err != nil {
		return 0, err
	}
	if err := c.XGroupCreate(ctx, "bench", "g", "0").Err(); err != nil {
		return 0, err
	}
	began := time.Now()
	for left := s.messages; left > 0; {
		got, err := c.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "g", Consumer: "one", Streams: []string{"bench", ">"}, Count: int64(s.outstanding), Block: time.Second,
		}).Result()
		if err != nil {
			return 0, err
		}
		ids := make([]string, 0, s.outstanding)
		for _, m := range got[0].Messages {
			ids = append(ids, m.ID)
		}
		if err := c.XAck(ctx, "bench", "g", ids...).Err(); err != nil {
			return 0, err
		}
		left -= len(ids)
	}
	return time.Since(began), nil
}

func redisConsumeTroupe(ctx context.Context, addr string, s settings) (time.Duration, error) {
	c := redisDriver(addr)
	defer c.Close()
	if err := fillRedis(ctx, c, s); err != nil {
		return 0, err
	}
	sys, err := newSystem()
	if err != nil {
		return 0, err
	}
	defer sys.Terminate(context.WithoutCancel(ctx))
	all := newCountdown(s.messages)
	target, err := sys.Spawn("target", func() actor.Actor {
		return actor.Func(func(*actor.Context, any) error { all.Done(nil); return nil })
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	_, err = sys.Spawn("redis", redisstream.New(func(c *redisstream.Config) {
		c.URL = broker.Endpoint("redis://" + addr)
		c.Group, c.Streams, c.Target, c.Start, c.InboundWindow = "g", []string{"bench"}, target, "0", s.outstanding
	}))
	if err != nil {
		return 0, err
	}
	err = all.wait(ctx)
	return time.Since(began), err
}
