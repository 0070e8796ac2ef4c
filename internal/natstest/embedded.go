package natstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// embedded runs the server inside this process.
type embedded struct {
	srv *server.Server
}

func (e *embedded) start(conf string, port int) error {
	opts, err := server.ProcessConfigFile(conf)
	if err != nil {
		return err
	}
	opts.NoLog, opts.NoSigs = true, true
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	go srv.Start() // returns when the server is up; its own goroutines are waited for in stop
	if !srv.ReadyForConnections(startTimeout) {
		srv.Shutdown()
		srv.WaitForShutdown()
		return fmt.Errorf("not ready on port %d", port)
	}
	e.srv = srv
	return nil
}

func (e *embedded) stop(bool) error {
	e.srv.Shutdown()
	e.srv.WaitForShutdown()
	return nil
}

func (e *embedded) freeze(bool) error {
	return errors.New("a server inside the test's own process cannot be frozen; use StartProcess")
}

func (e *embedded) subjects(name string) (out []string, err error) {
	z, err := e.srv.Connz(&server.ConnzOptions{Subscriptions: true})
	if err != nil {
		return nil, err
	}
	for _, c := range z.Conns {
		if c.Name != name {
			continue
		}
		for _, subject := range c.Subs {
			if !strings.HasPrefix(subject, "_INBOX.") {
				out = append(out, subject)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}
