package require

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fakeTB records how a test would have ended.
type fakeTB struct {
	testing.TB
	ended, text string
}

func (f *fakeTB) Helper() {}
func (f *fakeTB) Fatalf(format string, args ...any) {
	f.ended, f.text = "failed", fmt.Sprintf(format, args...)
	runtime.Goexit()
}
func (f *fakeTB) Skipf(format string, args ...any) {
	f.ended, f.text = "skipped", fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// try runs what a test would call, on a goroutine it may end.
func try(call func(testing.TB)) *fakeTB {
	f := &fakeTB{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		call(f)
	}()
	<-done
	return f
}

// program puts an empty executable of that name into the only folder of PATH.
func program(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServerFound(t *testing.T) {
	want := program(t, "some-broker")
	f := try(func(tb testing.TB) {
		if got := Server(tb, "some-broker"); got != want {
			t.Errorf("Server = %q, want %q", got, want)
		}
	})
	if f.ended != "" {
		t.Errorf("the test %s: %s", f.ended, f.text)
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	calls := map[string]func(testing.TB){
		"server":     func(tb testing.TB) { Server(tb, "no-such-broker") },
		"compiler":   func(tb testing.TB) { CCompiler(tb) },
		"namespaces": func(tb testing.TB) { Namespaces(tb) },
	}
	for name, call := range calls {
		for value, want := range map[string]string{"": "skipped", "some": "skipped", "all": "failed"} {
			t.Run(name+"/"+want+"_with_"+value, func(t *testing.T) {
				t.Setenv("CC", "")
				t.Setenv("TROUPE_REQUIRE", value)
				f := try(call)
				if f.ended != want {
					t.Errorf("the test %q (%s), want %q", f.ended, f.text, want)
				}
				if !strings.Contains(f.text, "make servers") || strings.Contains(f.text, "\n") {
					t.Errorf("the message is %q, want one line that names make servers", f.text)
				}
			})
		}
	}
}

func TestCCompilerFromEnvironment(t *testing.T) {
	want := program(t, "my-cc")
	t.Setenv("CC", "my-cc")
	f := try(func(tb testing.TB) {
		if got := CCompiler(tb); got != want {
			t.Errorf("CCompiler = %q, want %q", got, want)
		}
	})
	if f.ended != "" {
		t.Errorf("the test %s: %s", f.ended, f.text)
	}
}
