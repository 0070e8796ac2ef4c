package servertest

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"testing"

	"github.com/troupe-go/troupe/internal/require"
)

// Redis starts the installed redis-server with appendonly yes and appendfsync always. More settings are given as words of
// its command line, such as "--requirepass", "secret".
func Redis(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	path := require.Server(tb, "redis-server")
	port, dir := freePort(tb), tb.TempDir()
	args := append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
		"--daemonize", "no",
	}, settings...)
	return run(tb, &Server{
		name: "redis-server", addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		command: func() *exec.Cmd { return exec.CommandContext(context.WithoutCancel(tb.Context()), path, args...) },
		answers: func(addr string) bool { return says(addr, "PING\r\n", "+PONG") || says(addr, "PING\r\n", "-NOAUTH") },
	})
}
