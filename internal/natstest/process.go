//go:build unix

package natstest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/require"
)

// process runs the installed nats-server.
type process struct {
	path string
	cmd  *exec.Cmd
	done chan error
	out  bytes.Buffer
}

func newProcess(tb testing.TB) *process {
	tb.Helper()
	return &process{path: require.Server(tb, "nats-server")}
}

func (p *process) start(conf string, port int) error {
	p.out.Reset()
	cmd := exec.Command(p.path, "-c", conf)
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	p.cmd, p.done = cmd, done
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if greets(addr) {
			return nil
		}
		select {
		case err := <-done:
			return fmt.Errorf("ended at once: %w\n%s", err, p.out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	<-done
	return fmt.Errorf("does not answer on %s\n%s", addr, p.out.String())
}

// greets reports whether a server says INFO on the address.
func greets(addr string) bool {
	nc, err := net.DialTimeout("tcp4", addr, time.Second)
	if err != nil {
		return false
	}
	defer nc.Close()
	_ = nc.SetReadDeadline(time.Now().Add(time.Second))
	var b [5]byte
	n, err := nc.Read(b[:])
	return err == nil && strings.HasPrefix("INFO ", string(b[:n]))
}

func (p *process) stop(hard bool) error {
	sig := syscall.SIGTERM
	if hard {
		sig = syscall.SIGKILL
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		return err
	}
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a frozen process does not see SIGTERM
	select {
	case <-p.done: // the exit status tells of the signal only
		return nil
	case <-time.After(startTimeout):
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return errors.New("did not end on SIGTERM and had to be killed")
}

func (p *process) freeze(on bool) error {
	sig := syscall.SIGCONT
	if on {
		sig = syscall.SIGSTOP
	}
	return p.cmd.Process.Signal(sig)
}
