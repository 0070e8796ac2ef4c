package natstest_test

import (
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Both kinds of server keep their port and what they stored, stopped or killed, and leave nothing behind.
func TestRestartKeepsPortAndStore(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...func(*natstest.Options)) *natstest.Server{
		"embedded": natstest.Start, "process": natstest.StartProcess,
	} {
		t.Run(name, func(t *testing.T) {
			srv := start(t)
			addr := srv.Addr()
			api := srv.JetStream()
			if _, err := api.CreateStream(t.Context(), js.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
				t.Fatal(err)
			}
			for i, end := range []func(){srv.Stop, srv.Kill} {
				if _, err := api.Publish(t.Context(), "s", []byte("kept")); err != nil {
					t.Fatal(err)
				}
				end()
				end() // a second one does nothing
				srv.Restart()
				if srv.Addr() != addr {
					t.Errorf("listens on %s after the restart, on %s before", srv.Addr(), addr)
				}
				again := srv.JetStream()
				s, err := again.Stream(t.Context(), "S")
				if err != nil {
					t.Fatal(err)
				}
				if n := s.CachedInfo().State.Msgs; n != uint64(i+1) {
					t.Errorf("%d messages after restart %d", n, i+1)
				}
				api = again
			}
		})
	}
}

// A frozen server answers nothing and goes on where it was.
func TestFreeze(t *testing.T) {
	srv := natstest.StartProcess(t, func(o *natstest.Options) { o.NoJetStream = true })
	nc := srv.Conn()
	srv.Freeze(true)
	silent := false
	for range 100 { // the signal may take a moment
		if silent = nc.FlushTimeout(100*time.Millisecond) != nil; silent {
			break
		}
	}
	if !silent {
		t.Error("a frozen server answered")
	}
	srv.Freeze(false)
	if err := nc.FlushTimeout(10 * time.Second); err != nil {
		t.Errorf("after the thaw: %v", err)
	}
}
