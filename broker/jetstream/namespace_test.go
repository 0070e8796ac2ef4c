//go:build linux

package jetstream_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/internal/require"
)

const (
	nearHost = "10.213.7.1" // our end of the cable
	farHost  = "10.213.7.2" // the server's, in a namespace of its own
)

// sh runs a command and fails the test when it fails.
func sh(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// farServer runs the installed nats-server in a network namespace that is connected to ours by one cable, and returns the
// namespace's name.
func farServer(t *testing.T) (ns string) {
	t.Helper()
	require.Namespaces(t)
	path := require.Server(t, "nats-server")
	ns = fmt.Sprintf("troupe-%d", os.Getpid())
	near, far := fmt.Sprintf("tn%d", os.Getpid()%1_000_000), fmt.Sprintf("tf%d", os.Getpid()%1_000_000)
	sh(t, "ip", "netns", "add", ns)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", ns).Run() }) // takes the cable with it
	sh(t, "ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", ns)
	sh(t, "ip", "addr", "add", nearHost+"/30", "dev", near)
	sh(t, "ip", "link", "set", near, "up")
	sh(t, "ip", "-n", ns, "addr", "add", farHost+"/30", "dev", far)
	sh(t, "ip", "-n", ns, "link", "set", far, "up")
	cmd := exec.Command("ip", "netns", "exec", ns, path, "-a", farHost, "-p", "4222", "-js", "-sd", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return ns
}

// TestBlackholeRoute: the route back from the server goes away while a publish is on the wire. Nothing is reported by
// anybody, and TCP would send again for minutes; the idle deadline finds it, and when the route is there again the message
// is stored, once.
func TestBlackholeRoute(t *testing.T) {
	ns := farServer(t)
	const idle = 600 * time.Millisecond
	sys := newSystem(t)
	j := record(t, sys)
	ref := spawn(t, sys, "js", jetstream.New(fast("nats://"+farHost+":4222"), orders(actor.Ref{}), func(c *jetstream.Config) {
		c.IdleTimeout, c.ConnectTimeout = idle, time.Second
	}))
	connected(t, ref)
	first := publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "1"})

	sh(t, "ip", "-n", ns, "route", "add", "blackhole", nearHost+"/32")
	cut := time.Now()
	ref.Tell(jetstream.Publish{Subject: "orders.a", ID: "2"}) // written, and never acknowledged by anybody
	eventually(t, "the loss is noticed", func() bool { return len(find[broker.Disconnected](j)) == 1 })
	took := time.Since(cut)
	t.Logf("noticed after %v, the bound is %v", took.Round(time.Millisecond), idle*3/2)
	if took > 15*idle {
		t.Errorf("noticed after %v", took)
	}
	if s := status(t, ref); s.Books.Undelivered != 0 {
		t.Errorf("books %+v", s.Books)
	}

	sh(t, "ip", "-n", ns, "route", "delete", "blackhole", nearHost+"/32")
	connected(t, ref)
	if second := publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "2"}); second.Sequence != first.Sequence+1 {
		t.Errorf("stored as %d, want %d", second.Sequence, first.Sequence+1)
	}
	eventually(t, "balanced books", func() bool {
		b := status(t, ref).Books
		return b.Accepted == 3 && b.Acked == 3
	})
}
