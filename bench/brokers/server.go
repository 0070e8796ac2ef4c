package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// child is a server in a process of its own, which ends when its standard input does.
type child struct {
	addr string
	cmd  *exec.Cmd
	in   io.Closer
	kill bool // it has no standard input to end with
}

func startNATS(ctx context.Context) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("the server said nothing: %w", err), cmd.Wait())
	}
	return &child{addr: strings.TrimSpace(line), cmd: cmd, in: in}, nil
}

func (c *child) stop() error {
	if !c.kill {
		return errors.Join(c.in.Close(), c.cmd.Wait())
	}
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it says that it was killed
	return err
}

// serveNATS runs a server on a free port until in ends, and prints its address.
func serveNATS(ctx context.Context, in io.Reader, out io.Writer) error {
	dir, err := os.MkdirTemp("", "troupe-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		return err
	}
	go srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	if !srv.ReadyForConnections(10 * time.Second) {
		return errors.New("the server does not listen")
	}
	if _, err := fmt.Fprintln(out, srv.Addr()); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, in); done <- err }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return nil
	}
}
