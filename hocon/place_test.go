package hocon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFiles puts files into a folder of their own and returns it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestIncludeChain: an error in an included file names the place and each include that leads there, whether the file
// does not parse, a substitution has no value, or a setting has the wrong type.
func TestIncludeChain(t *testing.T) {
	for name, bad := range map[string]string{
		"parse":     "ok = 1\n  n = [",
		"utf-8":     "ok = 1\n  n =\xff",
		"resolve":   "ok = 1\n  n = ${nope}",
		"type":      "ok = 1\n  n = many",
		"unknown":   "ok = 1\n  m = 1",
		"include":   "ok = 1\n  include required(\"none.conf\")",
		"unmarshal": "ok = 1\n  l = loud",
		"wrapped":   "ok = 1\n  c = many",
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{
				"main.conf": "a = 1\n\nx { include \"sub/mid\" }", "sub/mid.conf": "# nothing\n include file(\"bad.conf\")", "sub/bad.conf": bad,
			})
			c, err := ParseFile(filepath.Join(dir, "main.conf"))
			if err == nil {
				c, err = c.Resolve()
			}
			if err == nil {
				var into struct {
					Ok, N int
					L     level
					C     count
				}
				err = Decode(c, "x", &into)
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("want an *Error, got %v", err)
			}
			at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
			if e.File != at("sub/bad.conf") || e.Line != 2 || e.Column < 3 {
				t.Errorf("the place is %s:%d:%d", e.File, e.Line, e.Column)
			}
			want := fmt.Sprintf(" (included at %s:2:2, at %s:3:5)", at("sub/mid.conf"), at("main.conf"))
			if !strings.HasSuffix(err.Error(), want) || strings.Count(err.Error(), "included at") != 1 {
				t.Errorf("got %v\nwant the end %s", err, want)
			}
			if len(e.Included) != 2 || e.Included[1] != (Place{at("main.conf"), 3, 5}) {
				t.Errorf("%v", e.Included)
			}
		})
	}
}

// TestIncludeLoopChain: a loop is reported where it closes, with the way there.
func TestIncludeLoopChain(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.conf": "include \"b\"", "b.conf": "\ninclude \"a\""})
	_, err := ParseFile(filepath.Join(dir, "a.conf"))
	a, b := filepath.Join(dir, "a.conf"), filepath.Join(dir, "b.conf")
	if err == nil || !strings.HasPrefix(err.Error(), b+":2:1: the file includes itself: ") || !strings.HasSuffix(err.Error(), "(included at "+a+":1:1)") {
		t.Error(err)
	}
}

// TestValuesAreBounded: as many values as the limit allows are read, one more is an error.
func TestValuesAreBounded(t *testing.T) {
	full := "a = [" + strings.Repeat("1,", maxValues-1) + "]"
	if _, err := ParseString("test.conf", full); err != nil {
		t.Error(err)
	}
	if _, err := ParseString("test.conf", "b = 1\n"+full); err == nil || !strings.Contains(err.Error(), "more than 1000000 values") {
		t.Error(err)
	}
}
