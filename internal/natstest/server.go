package natstest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// startTimeout bounds the wait for a server that starts or ends.
const startTimeout = 15 * time.Second

// Options are the settings of a server.
type Options struct {
	// Config is appended to the configuration file, in nats-server's own syntax. Default empty.
	Config string
	// NoJetStream leaves JetStream out. Default false: JetStream with file storage in a directory of the test.
	NoJetStream bool
}

// Server is one server. Its methods may be called from any goroutine, one of Stop, Kill, Restart and Freeze at a time.
type Server struct {
	tb   testing.TB
	conf string // path of the configuration file
	opts Options
	dir  string
	port int
	kind engine

	mu      sync.Mutex
	running bool
}

// engine is one way to run a server.
type engine interface {
	// start runs the server with a configuration file; when it returns nil, the server listens on the port.
	start(conf string, port int) error
	// stop ends it and waits; hard is without a chance to say goodbye.
	stop(hard bool) error
	// freeze stops it from doing anything, or lets it go on.
	freeze(on bool) error
}

// Start starts a server inside this process, and ends it with the test. It blocks until the server listens.
func Start(tb testing.TB, options ...func(*Options)) *Server {
	tb.Helper()
	return start(tb, &embedded{}, options)
}

// StartProcess starts the installed nats-server as a process of its own, and ends it with the test. Without one the test
// is skipped, as package require says. It blocks until the server listens.
func StartProcess(tb testing.TB, options ...func(*Options)) *Server {
	tb.Helper()
	return start(tb, newProcess(tb), options)
}

func start(tb testing.TB, kind engine, options []func(*Options)) *Server {
	tb.Helper()
	s := &Server{tb: tb, kind: kind, dir: tb.TempDir()}
	for _, o := range options {
		o(&s.opts)
	}
	s.conf = filepath.Join(s.dir, "server.conf")
	// Another process may take a free port between the look and the use: look again.
	var err error
	for range 5 {
		if s.port, err = freePort(); err != nil {
			break
		}
		if err = s.run(); err == nil {
			break
		}
	}
	if err != nil {
		tb.Fatalf("nats server: %v", err)
	}
	tb.Cleanup(s.Stop)
	return s
}

func freePort() (int, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) run() error {
	var b strings.Builder
	fmt.Fprintf(&b, "listen: \"127.0.0.1:%d\"\n", s.port)
	if !s.opts.NoJetStream {
		fmt.Fprintf(&b, "jetstream { store_dir: %q }\n", filepath.Join(s.dir, "store"))
	}
	b.WriteString(s.opts.Config)
	if err := os.WriteFile(s.conf, []byte(b.String()), 0o600); err != nil {
		return err
	}
	if err := s.kind.start(s.conf, s.port); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = true
	return nil
}

// Addr is where the server listens, "127.0.0.1:port". It stays the same over restarts.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// URL is "nats://" with Addr.
func (s *Server) URL() string { return "nats://" + s.Addr() }

// Stop ends the server in an orderly way and waits until it has ended; a second call does nothing. The store stays until
// the end of the test.
func (s *Server) Stop() { s.end(false) }

// Kill ends the server without warning: a process gets SIGKILL, one inside this process is shut down.
func (s *Server) Kill() { s.end(true) }

func (s *Server) end(hard bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return
	}
	s.running = false
	if err := s.kind.stop(hard); err != nil {
		s.tb.Errorf("nats server: %v", err)
	}
}

// Restart starts the server again after Stop or Kill, on the same port and with the same store. It blocks until the
// server listens; a failure ends the test, so call it on the test's goroutine.
func (s *Server) Restart() {
	s.tb.Helper()
	if err := s.run(); err != nil {
		s.tb.Fatalf("nats server, restarted on port %d: %v", s.port, err)
	}
}

// Freeze stops the server from doing anything (SIGSTOP) without ending its connections, or lets it go on; either takes
// effect within moments, not at once. Only a server that is a process of its own can be frozen.
func (s *Server) Freeze(on bool) {
	s.tb.Helper()
	if err := s.kind.freeze(on); err != nil {
		s.tb.Fatalf("nats server: %v", err)
	}
}

// Conn connects a plain client without troupe, for looking at things from the other side. It is closed at the end of the
// test.
func (s *Server) Conn(options ...natsgo.Option) *natsgo.Conn {
	s.tb.Helper()
	nc, err := natsgo.Connect(s.URL(), append([]natsgo.Option{
		natsgo.Timeout(startTimeout), natsgo.ReconnectWait(20 * time.Millisecond), natsgo.MaxReconnects(-1),
	}, options...)...)
	if err != nil {
		s.tb.Fatalf("plain client: %v", err)
	}
	s.tb.Cleanup(nc.Close)
	return nc
}

// JetStream is Conn with the JetStream API.
func (s *Server) JetStream(options ...natsgo.Option) jetstream.JetStream {
	s.tb.Helper()
	js, err := jetstream.New(s.Conn(options...))
	if err != nil {
		s.tb.Fatalf("plain client: %v", err)
	}
	return js
}

// Subjects lists, sorted, what the connections of the given name have subscribed to, inboxes left out. Only a server
// inside this process knows.
func (s *Server) Subjects(name string) []string {
	s.tb.Helper()
	e, ok := s.kind.(*embedded)
	if !ok {
		s.tb.Fatal("nats server: Subjects needs a server inside this process")
	}
	subjects, err := e.subjects(name)
	if err != nil {
		s.tb.Fatalf("nats server: %v", err)
	}
	return subjects
}
