//go:build !unix

package natstest

import "testing"

// newProcess skips the test: without signals a server cannot be killed or frozen in the middle of its work.
func newProcess(tb testing.TB) engine {
	tb.Helper()
	tb.Skip("skipped: a server process of its own needs Unix signals")
	return nil
}
