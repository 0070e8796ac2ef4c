package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// built builds the program once for all end-to-end tests.
func built(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the program; left out by -short")
	}
	exe := filepath.Join(t.TempDir(), "troupe")
	if out, err := exec.Command("go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}

// runDemo runs the program and returns its exit code and what it wrote. Its temporary directories are below tmp.
func runDemo(t *testing.T, exe, tmp, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	cmd := exec.Command(exe, append([]string{"demo"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	timer := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Run()
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("%v leaves %v behind", args, left)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// last is the object on the last line.
func last(t *testing.T, out string) (r map[string]float64) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("the last line: %v\n%s", err, out)
	}
	return r
}

func TestDemo(t *testing.T) {
	exe := built(t)
	t.Run("generated", func(t *testing.T) {
		code, out, errs := runDemo(t, exe, t.TempDir(), "", "-orders", "3000", "-kills", "1", "-json", "-idle", "200ms")
		r := last(t, out)
		if code != 0 || r["accepted"] != 3000 || r["handled"] != 3000 || r["lost"] != 0 || r["reconnects"] < 3 {
			t.Errorf("exit %d: %v\n%s\n%s", code, r, out, errs)
		}
	})
	t.Run("few orders, every fault", func(t *testing.T) {
		code, out, errs := runDemo(t, exe, t.TempDir(), "", "-orders", "3", "-kills", "2", "-json")
		if r := last(t, out); code != 0 || r["lost"] != 0 || r["reconnects"] < 4 {
			t.Errorf("exit %d: %v\n%s\n%s", code, r, out, errs)
		}
	})
	t.Run("input with bad lines", func(t *testing.T) {
		in := `{"id":"a","customer":"ada","amount":5}
not json
{"id":"b","customer":"bob","amount":-7}
{"id":"a","customer":"ada","amount":9}
{"id":"c","customer":"ada"}
{"id":"d","customer":"ada","amount":1}
`
		for _, how := range []string{"file", "dash", "pipe"} {
			args, stdin := []string{"-kills=-1", "-json"}, in
			switch how {
			case "file":
				f := filepath.Join(t.TempDir(), "orders.json")
				if err := os.WriteFile(f, []byte(in), 0o600); err != nil {
					t.Fatal(err)
				}
				args, stdin = append(args, "-input", f), ""
			case "dash":
				args = append(args, "-input", "-")
			}
			code, out, errs := runDemo(t, exe, t.TempDir(), stdin, args...)
			if r := last(t, out); code != 0 || r["accepted"] != 3 || r["handled"] != 3 || r["lost"] != 0 {
				t.Errorf("%s: exit %d: %v\n%s\n%s", how, code, r, out, errs)
			}
			for _, want := range []string{"line 2 is left out", "line 4 is left out", "line 5 is left out"} {
				if !strings.Contains(out, want) {
					t.Errorf("%s: %q is not in\n%s", how, want, out)
				}
			}
		}
	})
	t.Run("bad input", func(t *testing.T) { badInput(t, exe) })
	t.Run("interrupted", func(t *testing.T) { stoppedBySignal(t, exe) })
	t.Run("server killed by a stranger", func(t *testing.T) { serverKilled(t, exe) })
	t.Run("killed", func(t *testing.T) { killedHard(t, exe) })
}

func badInput(t *testing.T, exe string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	file := write("file", "")
	for want, args := range map[string][]string{
		"is in use by another program":           {"-port", fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)},
		"the directory " + file + " cannot be":   {"-dir", file},
		"troupe.broker.jetstream.reconnect":      {"-config", write("a.conf", "troupe.broker.jetstream.reconnect.factor = 0.5\n")},
		"troupe.broker.jetstream.outboundBufer":  {"-config", write("b.conf", "troupe.broker.jetstream.outboundBufer = 5\n")},
		"troupe.actor.askTimeout":                {"-config", write("c.conf", "troupe.actor.askTimeout = soon\n")},
		write("d.conf", "a = {\n") + ":1:5: the": {"-config", filepath.Join(dir, "d.conf")},
	} {
		code, out, errs := runDemo(t, exe, t.TempDir(), "", append(args, "-orders", "10")...)
		if code != 1 || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit %d, %q, want %q in one line\n%s", args, code, errs, want, out)
		}
	}
}

// started runs the demo until it has been connected for a while.
func started(t *testing.T, exe, tmp string) (cmd *exec.Cmd, errs *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(exe, "demo", "-orders", "500000", "-kills", "0")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs = new(bytes.Buffer)
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	connected := make(chan bool, 1)
	go func() {
		buf, seen := make([]byte, 4096), ""
		for {
			n, err := out.Read(buf)
			seen += string(buf[:n])
			if strings.Contains(seen, "status") {
				select {
				case connected <- true:
				default:
				}
			}
			if err != nil {
				close(connected)
				return
			}
		}
	}()
	select {
	case ok := <-connected:
		if !ok {
			t.Fatalf("it ended: %s", errs)
		}
	case <-time.After(time.Minute):
		t.Fatal("not connected")
	}
	return cmd, errs
}

// children are the server processes of a demo.
func children(t *testing.T, tmp string) string {
	t.Helper()
	out, _ := exec.Command("pgrep", "-f", "nats-server --dir "+tmp).Output() // exits 1 when there is none
	return strings.TrimSpace(string(out))
}

func stoppedBySignal(t *testing.T, exe string) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		tmp := t.TempDir()
		cmd, errs := started(t, exe, tmp)
		begin := time.Now()
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		took := time.Since(begin)
		t.Logf("%v: stopped within %v, the bound is 1s", sig, took.Round(time.Millisecond))
		if took > 10*time.Second {
			t.Errorf("%v: it took %v", sig, took)
		}
		if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%v: exit %d, %s", sig, code, errs)
		}
		if left, _ := os.ReadDir(tmp); len(left) != 0 {
			t.Errorf("%v: left behind: %v", sig, left)
		}
		if pids := children(t, tmp); pids != "" {
			t.Errorf("%v: the server lives: %s", sig, pids)
		}
	}
}

// killed ends the demo without a chance to clean up: its server notices by itself.
func killedHard(t *testing.T, exe string) {
	tmp := t.TempDir()
	cmd, _ := started(t, exe, tmp)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	end := time.Now().Add(20 * time.Second)
	for children(t, tmp) != "" {
		if time.Now().After(end) {
			t.Fatalf("the server outlives the demo: %s", children(t, tmp))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// serverKilled ends the server behind the demo's back: one sentence, and no waiting for a server that will not come back.
func serverKilled(t *testing.T, exe string) {
	tmp := t.TempDir()
	cmd, errs := started(t, exe, tmp)
	if out, err := exec.Command("pkill", "-KILL", "-f", "nats-server --dir "+tmp).CombinedOutput(); err != nil {
		_ = cmd.Process.Kill()
		t.Fatalf("pkill: %v %s", err, out)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(errs.String(), "the NATS server ended by itself") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
