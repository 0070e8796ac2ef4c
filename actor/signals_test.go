//go:build unix

package actor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The waits of RunUntilSignal, in a bubble, where signals cannot be had.
func TestRunUntil(t *testing.T) {
	ended := func(r *record, err error) { r.add("ended %v", err) }
	for name, c := range map[string]struct {
		run  func(s *System, r *record)
		want string
	}{
		"signal": {func(s *System, r *record) {
			got := make(chan os.Signal, 2)
			time.AfterFunc(10*ms, func() { got <- syscall.SIGTERM })
			ended(r, s.runUntil(context.Background(), got))
		}, "110 ended <nil>"},
		"second signal": {func(s *System, r *record) {
			got := make(chan os.Signal, 2)
			time.AfterFunc(10*ms, func() { got <- os.Interrupt })
			time.AfterFunc(50*ms, func() { got <- os.Interrupt })
			ended(r, s.runUntil(context.Background(), got))
		}, "50 ended actor: system test: interrupt while it was terminating; it has not ended"},
		"context": {func(s *System, r *record) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*ms)
			defer cancel()
			ended(r, s.runUntil(ctx, nil))
		}, "120 ended <nil>"},
		"signal after the context": {func(s *System, r *record) {
			got := make(chan os.Signal, 2)
			ctx, cancel := context.WithTimeout(context.Background(), 20*ms)
			defer cancel()
			time.AfterFunc(60*ms, func() { got <- syscall.SIGTERM })
			ended(r, s.runUntil(ctx, got))
		}, "60 ended actor: system test: terminated while it was terminating; it has not ended"},
		"by itself": {func(s *System, r *record) {
			time.AfterFunc(30*ms, s.beginTerminate)
			ended(r, s.runUntil(context.Background(), nil))
		}, "130 ended <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				mustSpawn(t, s, "slow", always(&script{post: do(func(*Context) { pause(100 * ms) })}))
				c.run(s, r)
				r.want(t, c.want)
			})
		})
	}
}

// The outcome of the tasks is what RunUntilSignal returns.
func TestRunUntilOutcome(t *testing.T) {
	bare(t, func(t *testing.T, s *System, r *record) {
		onShutdown(t, s, PhaseBrokers, "fails", func(context.Context) error { return errBoom })
		got := make(chan os.Signal, 1)
		got <- os.Interrupt
		if err := s.runUntil(context.Background(), got); !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
}

// HC-X2: only its own handlers are removed. Another one for the same signal gets it before, meanwhile and after.
func TestHC_X2_own_signal_handlers_only(t *testing.T) {
	other := make(chan os.Signal, 8)
	signal.Notify(other, syscall.SIGUSR1)
	defer signal.Stop(other)
	raise := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		select {
		case <-other:
		case <-time.After(10 * time.Second):
			t.Fatal("the other handler does not get the signal")
		}
	}
	s := newTestSystem(t)
	done := make(chan error)
	go func() { done <- s.RunUntilSignal(t.Context(), syscall.SIGUSR1, syscall.SIGUSR2) }()
	for returned := false; !returned; { // it may not listen yet
		raise()
		select {
		case err := <-done:
			// The signal may have come more than once, if the first came just before.
			if err != nil && !strings.Contains(err.Error(), "while it was terminating") {
				t.Error(err)
			}
			returned = true
		case <-time.After(10 * ms):
		}
	}
	raise()
}

// HC-S4: to wait for a signal keeps the process alive, the signal ends it in order, and a second one at once. Shown by
// this test program as another process.
func TestHC_S4_process(t *testing.T) {
	if how := os.Getenv("TROUPE_SIGNAL_CHILD"); how != "" {
		signalChild(how)
		return
	}
	for how, want := range map[string]string{"orderly": "PostStop, <nil>", "twice": "still terminating"} {
		t.Run(how, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestHC_S4_process$")
			cmd.Env = append(os.Environ(), "TROUPE_SIGNAL_CHILD="+how)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			got := ""
			for lines.Scan() {
				switch l := lines.Text(); {
				case l == "child: listening" || l == "child: stopping":
					if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
						t.Error(err)
					}
				case strings.HasPrefix(l, "child: "):
					got += strings.TrimPrefix(l, "child: ")
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the process ends with %v", err)
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// signalChild is the other process: it says when it listens, and in the case "twice" when the termination has begun,
// which does not end there.
func signalChild(how string) {
	s, err := NewSystem("child", quiet)
	if err != nil {
		fmt.Println("child:", err)
		return
	}
	free := make(chan struct{})
	_, err = s.Spawn("a", always(&script{post: do(func(*Context) {
		if how == "twice" {
			fmt.Println("child: stopping")
			<-free
			return
		}
		fmt.Print("child: PostStop, ")
	})}))
	if err != nil {
		fmt.Println("child:", err)
		return
	}
	// A handler of the test's own for the same signal is there first, so the signal cannot hit a process that has none.
	// The line is printed when RunUntilSignal has had time to listen; if it has not, the signal is sent again.
	listens := make(chan os.Signal, 4)
	signal.Notify(listens, syscall.SIGTERM)
	defer signal.Stop(listens)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * ms):
				if !s.shutdown.started.Load() {
					fmt.Println("child: listening")
					<-listens
				}
			}
		}
	}()
	err = s.RunUntilSignal(context.Background())
	close(stop)
	if err != nil && how == "twice" && strings.Contains(err.Error(), "while it was terminating") {
		fmt.Println("child: still terminating")
		close(free)
		<-s.Terminated()
		return
	}
	fmt.Println(err)
}
