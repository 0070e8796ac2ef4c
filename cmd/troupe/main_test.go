package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNormalise(t *testing.T) {
	for in, want := range map[string]string{
		"demo -orders 5 -json":       "demo --orders 5 --json",
		"demo --orders 5":            "demo --orders 5",
		"demo -orders=5 -h":          "demo --orders=5 -h",
		"demo --kills -1":            "demo --kills -1",
		"config -- -strange-file":    "config -- -strange-file",
		"demo -input - -idle -1.5ms": "demo --input - --idle -1.5ms",
	} {
		if got := normalise(strings.Fields(in)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
}

// program runs a command line in this process.
func program(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var o, e bytes.Buffer
	code = run(args, &streams{null, &o, &e})
	return code, o.String(), e.String()
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	good := write("good.conf", "a { b = 1, c = ${a.b}x }\n")
	if code, out, errs := program(t, "config", good); code != 0 || errs != "" || out != "{\n  \"a\": {\n    \"b\": 1,\n    \"c\": \"1x\"\n  }\n}\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	bad := write("bad.conf", "a = 1\nb = [1, 2\n")
	if code, out, errs := program(t, "config", bad); code != 1 || out != "" || !strings.HasPrefix(errs, bad+":2:5: ") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	unresolved := write("unresolved.conf", "a = ${nope}\n")
	if code, out, errs := program(t, "config", unresolved); code != 1 || out != "" || !strings.HasPrefix(errs, unresolved+":1:5: ") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if code, out, errs := program(t, "config", filepath.Join(dir, "none.conf")); code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "none.conf cannot be read: no such file") {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

func TestCommandLine(t *testing.T) {
	if code, out, _ := program(t, "version"); code != 0 || !strings.HasPrefix(out, "troupe ") {
		t.Errorf("version: %d %q", code, out)
	}
	if code, out, _ := program(t, "--help"); code != 0 || !strings.Contains(out, "demo") || strings.Contains(out, "nats-server") {
		t.Errorf("help: %d %q", code, out)
	}
	for _, args := range [][]string{{}, {"nonsense"}, {"demo", "-orders", "many"}, {"config"}} {
		if code, _, errs := program(t, args...); code != 2 || !strings.Contains(errs, "troupe:") {
			t.Errorf("%v: %d %q", args, code, errs)
		}
	}
	for want, args := range map[string][]string{
		"-orders must be from 1":          {"demo", "-orders=-5"},
		"-idle must be at least 1ms":      {"demo", "-idle", "0s"},
		"exclude each other":              {"demo", "-orders", "5", "-input", "x"},
		"the input none.json cannot be":   {"demo", "-input", "none.json"},
		"-port must be from 0 to 65535":   {"demo", "-port", "70000"},
		"-customers must be from 1":       {"demo", "-customers", "0"},
		"-kills must be at most 1000, it": {"demo", "-kills", "1001"},
	} {
		if code, _, errs := program(t, args...); code != 1 || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: %d %q", args, code, errs)
		}
	}
}
