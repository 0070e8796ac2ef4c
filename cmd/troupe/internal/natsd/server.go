package natsd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Command is the hidden subcommand of the program that calls Serve.
const Command = "nats-server"

// Server is the child process as its parent sees it. Its methods may be called from any goroutine.
type Server struct {
	exe  string
	dir  string
	port int

	died chan error // capacity 1: a process ended that nobody ended

	mu    sync.Mutex
	proc  *process
	ended bool
}

// process is one incarnation of the server.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	meant  atomic.Bool   // its end is wanted
	gone   chan struct{} // closed when Wait has returned
}

// New describes a server: the program to start again, the directory of its store, its port.
func New(exe, dir string, port int) *Server {
	return &Server{exe: exe, dir: dir, port: port, died: make(chan error, 1)}
}

// Died has an error when a process that was ready has ended without Kill or Stop.
func (s *Server) Died() <-chan error { return s.died }

// Addr is where clients connect.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// Start starts the process and waits until clients can connect. The error has what the child said.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errors.New("the NATS server has been stopped")
	}
	if s.proc != nil {
		return errors.New("the NATS server runs already")
	}
	p := &process{gone: make(chan struct{})}
	p.cmd = exec.Command(s.exe, Command, "--dir", s.dir, "--port", strconv.Itoa(s.port))
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return fmt.Errorf("NATS server: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("NATS server: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("NATS server: %w", err)
	}
	ready := make(chan bool, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		up := strings.TrimSpace(line) == "ready"
		ready <- up
		err := p.cmd.Wait()
		close(p.gone)
		if up && !p.meant.Load() {
			select {
			case s.died <- endedByItself(err, p.stderr.String()):
			default:
			}
		}
	}()
	t := time.NewTimer(startTimeout + 5*time.Second)
	defer t.Stop()
	select {
	case ok := <-ready:
		if ok {
			s.proc = p
			return nil
		}
	case <-ctx.Done():
	case <-t.C:
	}
	p.kill()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if said := strings.TrimSpace(p.stderr.String()); said != "" {
		return errors.New(strings.TrimPrefix(said, "troupe: "))
	}
	return errors.New("the NATS server did not start")
}

// endedByItself is the end of a process that nobody ended, with what it had to say.
func endedByItself(err error, said string) error {
	if said = strings.TrimSpace(said); said != "" {
		return fmt.Errorf("the NATS server ended by itself: %s", said)
	}
	if err == nil {
		return errors.New("the NATS server ended by itself")
	}
	return fmt.Errorf("the NATS server ended by itself: %w", err)
}

func (p *process) kill() {
	p.meant.Store(true)
	_ = p.cmd.Process.Kill() // fails only when it has ended
	<-p.gone
	_ = p.stdin.Close()
}

// Kill ends the process by SIGKILL and waits for its end. It may be started again.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
}

// Stop ends the process for good: in order, or hard when it does not end within the time given. Idempotent.
func (s *Server) Stop(within time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.proc == nil {
		return
	}
	s.proc.meant.Store(true)
	_ = s.proc.stdin.Close()
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-s.proc.gone:
	case <-t.C:
		s.proc.kill()
	}
	s.proc = nil
}
