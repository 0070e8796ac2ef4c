package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Subject is a framework as the driver sees it: a worker command.
type Subject struct {
	Name    string
	Version string
	Limit   bool
	Cmd     []string `json:"-"`
	Only    map[string]bool
	MaxIdle int
	MaxSky  int
}

func subject(f Framework) Subject {
	return Subject{Name: f.Name, Version: f.Version, Limit: f.Limit, Only: f.Only, MaxIdle: f.MaxIdle, MaxSky: f.MaxSkynet}
}

// Subjects are the frameworks of the program self, which serves one of them when it is started with -worker NAME.
func Subjects(fs []Framework, self string) []Subject {
	var l []Subject
	for _, f := range fs {
		s := subject(f)
		s.Cmd = []string{self, "-worker", f.Name}
		l = append(l, s)
	}
	return l
}

// External lists the frameworks of another worker program, by starting it with -worker list. It waits for the program.
func External(ctx context.Context, program string) ([]Subject, error) {
	b, err := exec.CommandContext(ctx, program, "-worker", "list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s -worker list: %w", program, err)
	}
	var l []Subject
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, fmt.Errorf("%s -worker list: %w", program, err)
	}
	for i := range l {
		l[i].Cmd = []string{program, "-worker", l[i].Name}
	}
	return l, nil
}

// proc is a running worker.
type proc struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startProc starts a worker; ctx ends it.
func startProc(ctx context.Context, s Subject) (*proc, error) {
	c := exec.CommandContext(ctx, s.Cmd[0], s.Cmd[1:]...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &proc{c, in, bufio.NewReader(out)}, nil
}

// ask sends one request and waits for the answer; a worker that takes twice the time it has for giving up is ended.
func (p *proc) ask(q Request) Result {
	r, err := p.roundTrip(q)
	if err != nil {
		return Result{Err: err.Error()}
	}
	return r
}

func (p *proc) roundTrip(q Request) (r Result, err error) {
	b, err := json.Marshal(q)
	if err != nil {
		return r, err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return r, fmt.Errorf("worker gone: %w", err)
	}
	type answer struct {
		b   []byte
		err error
	}
	answers := make(chan answer, 1)
	go func() { // ends with the worker at the latest, whose end closes its output
		b, err := p.out.ReadBytes('\n')
		answers <- answer{b, err}
	}()
	late := time.NewTimer(2 * giveUp)
	defer late.Stop()
	select {
	case a := <-answers:
		if a.err != nil {
			return r, fmt.Errorf("worker gone: %w", a.err)
		}
		if err := json.Unmarshal(a.b, &r); err != nil {
			return r, fmt.Errorf("answer %q: %w", a.b, err)
		}
		return r, nil
	case <-late.C:
		return r, errors.Join(errors.New("worker does not answer"), p.cmd.Process.Kill())
	}
}

// end lets the worker go and waits for that, five seconds at most; then it is killed. How it ended is of no interest.
func (p *proc) end() {
	_ = p.in.Close()
	done := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(done) }()
	late := time.NewTimer(5 * time.Second)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-done
	}
}
