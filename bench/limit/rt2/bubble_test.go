package rt2

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// log records what happened when, in ms since its start.
type log struct {
	mu sync.Mutex
	t0 time.Time
	l  []string
}

func newLog() *log { return &log{t0: time.Now()} }

func (l *log) add(f string, a ...any) {
	l.mu.Lock()
	l.l = append(l.l, fmt.Sprintf("%v ", time.Since(l.t0).Milliseconds())+fmt.Sprintf(f, a...))
	l.mu.Unlock()
}

func (l *log) want(t *testing.T, w ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.l, w) {
		t.Errorf("got  %q\nwant %q", l.l, w)
	}
}

// fn is an actor of functions.
type fn struct {
	pre  func(*Ctx) error
	recv func(*Ctx, any) error
	post func(*Ctx)
}

func (f *fn) PreStart(c *Ctx) error {
	if f.pre != nil {
		return f.pre(c)
	}
	return nil
}

func (f *fn) Receive(c *Ctx, m any) error { return f.recv(c, m) }

func (f *fn) PostStop(c *Ctx) {
	if f.post != nil {
		f.post(c)
	}
}

func of(recv func(*Ctx, any) error) Factory { return func() Receiver { return Func(recv) } }

// bubble runs f in a bubble, with the goroutine for each activation that New
// gives there, and again with carriers and watchdog.
func bubble(t *testing.T, f func(t *testing.T, rt *Runtime)) {
	t.Run("direct", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			rt := New()
			if !rt.direct {
				t.Fatal("bubble not seen")
			}
			f(t, rt)
		})
	})
	t.Run("carriers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			rt := NewWith(Options{Carriers: true})
			rt.max = 2
			f(t, rt)
		})
	})
}

const ms = time.Millisecond

func sleepUntil(l *log, at time.Duration) { time.Sleep(at - time.Since(l.t0)) }
