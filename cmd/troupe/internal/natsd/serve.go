// Package natsd is the demo's NATS server: a child process, so that a kill is a real SIGKILL and nothing has to be
// installed. Serve is the child's side, Server the parent's.
package natsd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTimeout bounds the start of a server, the recovery of its store included.
const startTimeout = 20 * time.Second

// Serve runs a NATS server with JetStream on loopback until stdin ends, which is how the child notices that its parent
// is gone. When clients can connect it writes "ready" and a line feed to stdout. Interrupts are left to the parent: a
// terminal sends them to both. A publish is confirmed after the server has written it to its file, so what it has
// confirmed outlives a SIGKILL.
func Serve(dir string, port int, stdin io.Reader, stdout io.Writer) error {
	signal.Ignore(os.Interrupt)
	if err := CheckPort(port); err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir,
		NoLog: true, NoSigs: true, DisableJetStreamBanner: true, MaxPayload: 1 << 20,
	})
	if err != nil {
		return fmt.Errorf("NATS server: %w", err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(startTimeout) {
		return fmt.Errorf("NATS server: not ready on port %d within %v", port, startTimeout)
	}
	if !s.JetStreamEnabled() {
		return fmt.Errorf("NATS server: JetStream cannot use the directory %s", dir)
	}
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return fmt.Errorf("NATS server: %w", err)
	}
	_, _ = io.Copy(io.Discard, stdin) // any end of it means that the parent is gone
	return nil
}

// CheckPort says in one sentence why a server could not listen on a port of loopback.
func CheckPort(port int) error {
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:"+strconv.Itoa(port)) // returns at once
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d of 127.0.0.1 is in use by another program; choose another with -port, or 0 for a free one", port)
	case err != nil:
		return fmt.Errorf("port %d of 127.0.0.1 cannot be used: %w", port, err)
	}
	return ln.Close()
}

// FreePort returns a port of loopback that was free a moment ago.
func FreePort() (int, error) {
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0") // returns at once
	if err != nil {
		return 0, fmt.Errorf("no free port on 127.0.0.1: %w", err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	return port, ln.Close()
}
