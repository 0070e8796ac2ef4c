package actortest

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actor"
)

// terminateWithin is the patience of NewSystem's cleanup.
const terminateWithin = 10 * time.Second

// NewSystem starts a system named "test" and terminates it when the test ends; a system that does not end within 10 s
// fails the test. What the system logs is shown when the test fails or runs with -v. The options come after the logger,
// so they may replace it. It fails the test at once when the system does not start.
func NewSystem(tb testing.TB, opts ...func(*actor.SystemConfig)) *actor.System {
	tb.Helper()
	logger, w := newLogger(tb)
	all := append([]func(*actor.SystemConfig){func(c *actor.SystemConfig) { c.Logger = logger }}, opts...)
	sys, err := actor.NewSystem("test", all...)
	if err != nil {
		tb.Fatalf("actortest: the system does not start: %v", err)
	}
	tb.Cleanup(func() {
		// The test's own context has ended when its cleanups run.
		ctx, cancel := context.WithTimeout(context.Background(), terminateWithin) // see above
		defer cancel()
		if err := sys.Terminate(ctx); err != nil {
			tb.Errorf("actortest: %v", err)
		}
		w.end()
	})
	return sys
}

// newLogger logs to the test, everything.
func newLogger(tb testing.TB) (*slog.Logger, *testWriter) {
	w := &testWriter{tb: tb}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})), w
}

// testWriter writes a log to the test, and nowhere once the test has ended: a late line would panic.
type testWriter struct {
	tb    testing.TB
	mu    sync.Mutex
	ended bool
}

func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.tb.Log(string(bytes.TrimRight(p, "\n")))
	}
	return len(p), nil
}

func (w *testWriter) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
}

// VerifyNoLeaks fails the test if a goroutine is left that was not there when it was called; it looks when the test
// ends, after the cleanups that were registered later, and waits a moment for goroutines on their way out. Call it
// first in a test that does not run in parallel with others, and not in a bubble, which has such a check of its own.
func VerifyNoLeaks(tb testing.TB) {
	tb.Helper()
	before := goleak.IgnoreCurrent()
	tb.Cleanup(func() { goleak.VerifyNone(tb, before) })
}
