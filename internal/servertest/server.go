package servertest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// startTimeout bounds the wait for a server that starts or ends.
const startTimeout = 30 * time.Second

// Server is one server process. Start, Kill and Freeze are called one at a time.
type Server struct {
	tb      testing.TB
	name    string
	addr    string
	command func() *exec.Cmd
	answers func(addr string) bool

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan error
	out  *bytes.Buffer
}

// run starts a server for the test and ends it with it.
func run(tb testing.TB, s *Server) *Server {
	tb.Helper()
	s.tb = tb
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() && s.out != nil {
			tb.Logf("%s said:\n%s", s.name, s.out)
		}
	})
	s.Start()
	return s
}

// freePort finds a port that is free now.
func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Addr is where the server listens, "127.0.0.1:port".
func (s *Server) Addr() string { return s.addr }

// Start starts the server, also after Kill: on the same port and with the same data. It blocks until the server answers;
// a failure ends the test, so call it on the test's goroutine.
func (s *Server) Start() {
	s.tb.Helper()
	cmd := s.command()
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	isolate(cmd)
	if err := cmd.Start(); err != nil {
		s.tb.Fatalf("%s: %v", s.name, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	s.mu.Lock()
	s.cmd, s.done, s.out = cmd, done, out
	s.mu.Unlock()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if s.answers(s.addr) {
			return
		}
		select {
		case err := <-done:
			done <- err
			s.tb.Fatalf("%s ended at once: %v\n%s", s.name, err, out)
		case <-tick.C:
		}
	}
	s.tb.Fatalf("%s does not answer on %s within %s", s.name, s.addr, startTimeout)
}

// Kill ends the server without warning, and waits until it is gone. It may be called again.
func (s *Server) Kill() {
	s.mu.Lock()
	cmd, done := s.cmd, s.done
	s.cmd = nil
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Kill()
	select {
	case <-done: // the exit status tells of the signal only
	case <-time.After(startTimeout):
		s.tb.Errorf("%s did not end", s.name)
	}
}

// Freeze stops the server from doing anything (SIGSTOP) without ending its connections, or lets it go on.
func (s *Server) Freeze(on bool) {
	s.mu.Lock()
	cmd := s.cmd
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	if err := freeze(cmd, on); err != nil {
		s.tb.Errorf("%s: %v", s.name, err)
	}
}

// says sends a text and reports whether an answer begins with another.
func says(addr, send, want string) bool {
	// A look of its own: the test's context may have ended while a server is waited for.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(ctx, "tcp4", addr)
	if err != nil {
		return false
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(time.Second))
	if _, err := fmt.Fprint(nc, send); err != nil {
		return false
	}
	b := make([]byte, len(want))
	n, err := nc.Read(b)
	return err == nil && bytes.HasPrefix([]byte(want), b[:n])
}
