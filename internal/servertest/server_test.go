package servertest_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/servertest"
)

// talk sends one command of Redis' inline form and returns the first line of the answer.
func talk(t *testing.T, addr, command string) string {
	t.Helper()
	nc, err := net.DialTimeout("tcp4", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(nc, "%s\r\n", command)
	line, err := bufio.NewReader(nc).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// A server that was killed comes back on its port with what it has confirmed.
func TestRedisKeepsWhatItConfirmed(t *testing.T) {
	srv := servertest.Redis(t)
	addr := srv.Addr()
	if got := talk(t, addr, "SET k v"); got != "+OK" {
		t.Fatalf("SET: %s", got)
	}
	began := time.Now()
	srv.Kill()
	srv.Kill()
	if nc, err := net.DialTimeout("tcp4", addr, time.Second); err == nil {
		nc.Close()
		t.Fatal("it still listens")
	}
	srv.Start()
	t.Logf("killed and started again in %s", time.Since(began).Round(time.Millisecond))
	if got := talk(t, addr, "STRLEN k"); got != ":1" {
		t.Errorf("STRLEN: %s", got)
	}
	srv.Freeze(true)
	nc, err := net.DialTimeout("tcp4", addr, time.Second) // the kernel still accepts
	if err == nil {
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(200 * time.Millisecond))
		fmt.Fprint(nc, "PING\r\n")
		if n, err := nc.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes from a frozen server", n)
		}
	}
	srv.Freeze(false)
	if got := talk(t, addr, "PING"); got != "+PONG" {
		t.Errorf("PING: %s", got)
	}
}
