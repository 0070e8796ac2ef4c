package harness

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test program be a worker of the fakes below, as a program of subjects is one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-worker" {
		if err := Worker(fakes(), os.Args[2], os.Stdin, os.Stdout); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	// For workers under the race detector: a race ends the worker, which fails its row; and the second that an end takes
	// otherwise is saved.
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0 halt_on_error=1"); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
