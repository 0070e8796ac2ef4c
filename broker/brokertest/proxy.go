package brokertest

import (
	"testing"

	"github.com/troupe-go/troupe/internal/chaos"
)

// Proxy is the fault proxy that the conformance suite puts before a server: a TCP proxy on loopback that refuses, resets,
// swallows, delays, splits and cuts what goes through it. Its methods may be called from any goroutine.
type Proxy = chaos.Proxy

// NewProxy starts a proxy before the server at target (host:port) and closes it when the test ends. Clients connect to
// its Addr. It fails the test at once when it cannot listen.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p, err := chaos.New(target)
	if err != nil {
		tb.Fatalf("brokertest: no proxy before %s: %v", target, err)
	}
	tb.Cleanup(p.Close)
	return p
}
