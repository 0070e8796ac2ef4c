// Package require is how a test asks for something that not every machine has: a real broker, a C compiler, a network
// namespace. Where it is missing the test is skipped with one line that says how to get it. With TROUPE_REQUIRE=all in
// the environment, as continuous integration sets it, the test fails instead, so nothing goes untested unseen.
package require

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Server returns the path of an installed server program, for example "nats-server". It looks in PATH and then where
// packages put daemons, which PATH often leaves out. A missing one skips the test, or fails it under TROUPE_REQUIRE=all.
// Call it on the test's goroutine; it does not start anything.
func Server(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/opt/homebrew/bin"} {
		if err == nil {
			break
		}
		path, err = exec.LookPath(filepath.Join(dir, name))
	}
	if err != nil {
		missing(tb, name+" is not installed; run: make servers")
	}
	return path
}

// CCompiler returns the path of the C compiler that the go command uses for cgo and the race detector: $CC, else gcc,
// clang or cc. A missing one skips the test, or fails it under TROUPE_REQUIRE=all. Call it on the test's goroutine.
func CCompiler(tb testing.TB) string {
	tb.Helper()
	names := []string{"gcc", "clang", "cc"}
	if cc := os.Getenv("CC"); cc != "" {
		names = []string{cc}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(tb, "there is no C compiler; install one, such as gcc, or set CC (make servers installs brokers only)")
	return ""
}

// File makes sure that a file is there which make servers installs, such as a jar. A missing one skips the test, or fails
// it under TROUPE_REQUIRE=all. Call it on the test's goroutine.
func File(tb testing.TB, path string) {
	tb.Helper()
	if _, err := os.Stat(path); err != nil {
		missing(tb, path+" is not installed; run: make servers")
	}
}

// Namespaces makes sure that this process may create network namespaces and that the ip command is there: Linux, root,
// iproute2. If not it skips the test, or fails it under TROUPE_REQUIRE=all. Call it on the test's goroutine; it runs a
// short-lived process and may block for as long as that takes, some milliseconds.
func Namespaces(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		missing(tb, "there is no ip command; run: make servers")
		return
	}
	if out, err := exec.CommandContext(tb.Context(), "unshare", "--net", "true").CombinedOutput(); err != nil {
		missing(tb, "no network namespace can be created here, it takes Linux and root: "+err.Error()+" "+string(out))
	}
}

// missing ends the test.
func missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("TROUPE_REQUIRE") == "all" {
		tb.Fatalf("TROUPE_REQUIRE=all: %s", what)
	}
	tb.Skipf("skipped: %s", what)
}
