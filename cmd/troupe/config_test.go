package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigOrigin: every leaf has its place, and no value is printed.
func TestConfigOrigin(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.conf":   "password = hunter2\nb { long = ${password} }\nc = ${TROUPE_CONFIG_TEST}\ninclude \"sub\"\nd = x-${TROUPE_CONFIG_TEST}\n",
		"sub.conf":    "e = [hunter2, 2]\n",
		"bad.conf":    "include \"broken\"\n",
		"broken.conf": "\na = ${nope}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TROUPE_CONFIG_TEST", "hunter2")
	file := filepath.Join(dir, "main.conf")
	code, out, errs := program(t, "config", file, "-origin")
	const want = "password  main.conf:1:12\n" +
		"b.long    main.conf:1:12, by ${password} at main.conf:2:12\n" +
		"c         main.conf:3:5, by ${TROUPE_CONFIG_TEST}, from the environment variable TROUPE_CONFIG_TEST\n" +
		"e.0       sub.conf:1:6, included at main.conf:4:1\n" +
		"e.1       sub.conf:1:15, included at main.conf:4:1\n" +
		"d         main.conf:5:5, by ${TROUPE_CONFIG_TEST} at main.conf:5:7, from the environment variable TROUPE_CONFIG_TEST\n"
	if got := strings.ReplaceAll(out, dir+string(filepath.Separator), ""); code != 0 || errs != "" || got != want {
		t.Errorf("%d %q\n%s\nwant\n%s", code, errs, got, want)
	}
	if code, out, errs := program(t, "config", "-origin", filepath.Join(dir, "bad.conf")); code != 1 || out != "" ||
		!strings.HasPrefix(errs, filepath.Join(dir, "broken.conf")+":2:5: ") || !strings.HasSuffix(errs, "(included at "+filepath.Join(dir, "bad.conf")+":1:1)\n") {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

// TestConfigHelp: the help says what is printed.
func TestConfigHelp(t *testing.T) {
	code, out, _ := program(t, "config", "--help")
	if text := strings.Join(strings.Fields(out), " "); code != 0 || !strings.Contains(text, "--origin Print no values.") || !strings.Contains(text, "passwords and tokens show") {
		t.Errorf("%d %s", code, out)
	}
}
