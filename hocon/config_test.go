package hocon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// parse parses a document without a place in the file system.
func parse(t testing.TB, text string) *Config {
	t.Helper()
	c, err := ParseString("test.conf", text, func(o *Options) { o.Env = goldenEnv })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// text returns a configuration as JSON on one line, without blanks.
func text(t testing.TB, c *Config) string {
	t.Helper()
	c, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("\n", "", " ", "").Replace(string(b))
}

func TestWithFallback(t *testing.T) {
	for _, c := range []struct{ name, app, ref, want string }{
		{"objects merge", "a.x=1", "a {x=2, y=3}", `{"a":{"x":1,"y":3}}`},
		{"arrays and scalars replace", "a=[1], b=2", "a=[3,4], b=5", `{"a":[1],"b":2}`},
		{"append to the reference", "a += 2", "a = [1]", `{"a":[1,2]}`},
		{"look back at the reference", "a = ${a} [2]", "a = [1]", `{"a":[1,2]}`},
		{"the application refers to the reference", "a = ${b.c}", "b.c = 1", `{"a":1,"b":{"c":1}}`},
		{"the reference refers to the application", "b = 2", "b = 1, a = ${b}", `{"a":2,"b":2}`},
		{"an optional substitution keeps the reference", "a = ${?nothing}", "a = 1", `{"a":1}`},
		{"null hides", "a = null", "a {x=1}", `{"a":null}`},
		{"a value in between hides what is below", "a {x=1}", "a {y=2}, a = 3", `{"a":{"x":1}}`},
		{"a hidden substitution is not looked up", "a = 1", "a = ${nothing}", `{"a":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			app, ref := parse(t, c.app), parse(t, c.ref)
			if got := text(t, app.WithFallback(ref)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			alone := parse(t, c.ref)
			if len(ref.layers) != 1 || len(ref.layers[0].fields) != len(alone.layers[0].fields) {
				t.Error("the fallback was changed")
			}
		})
	}
}

func TestWithFallbackLayers(t *testing.T) {
	a, b, c := parse(t, "x {a=1}, y=${x}"), parse(t, "x=42"), parse(t, "x {b=2}")
	if got := text(t, a.WithFallback(b).WithFallback(c)); got != `{"x":{"a":1},"y":{"a":1}}` {
		t.Error(got)
	}
	if got := text(t, a.WithFallback(c).WithFallback(b)); got != `{"x":{"a":1,"b":2},"y":{"a":1,"b":2}}` {
		t.Error(got)
	}
	if got := text(t, a.WithFallback(b.WithFallback(c))); got != `{"x":{"a":1},"y":{"a":1}}` {
		t.Error(got)
	}
}

func TestWithFallbackOfNothing(t *testing.T) {
	var none *Config
	a := parse(t, "a=1")
	for _, c := range []*Config{a.WithFallback(nil), a.WithFallback(Empty()), none.WithFallback(a), Empty().WithFallback(a)} {
		if got := text(t, c); got != `{"a":1}` {
			t.Error(got)
		}
	}
	for _, c := range []*Config{none, none.WithFallback(nil), Empty(), Empty().WithFallback(Empty())} {
		if got := text(t, c); got != `{}` {
			t.Error(got)
		}
	}
}

// Two resolved configurations give a resolved one, so that it can be decoded at once.
func TestWithFallbackOfResolved(t *testing.T) {
	a, b := resolved(t, "a=1, o.x=${HOCON_PORT}"), resolved(t, "a=2, o.y=2, l=[1]")
	var got struct {
		A int
		O struct{ X, Y int }
		L []int
	}
	if err := Decode(a.WithFallback(b), "", &got); err != nil || got.A != 1 || got.O.X != 7777 || got.O.Y != 2 || len(got.L) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got := text(t, parse(t, "b = ${o.x}").WithFallback(a)); got != `{"a":1,"b":"7777","o":{"x":"7777"}}` {
		t.Error(got)
	}
}

func TestHas(t *testing.T) {
	c := parse(t, `a { b = 1, "c.d" = x, n = null, e = ${a.b} }`)
	for path, want := range map[string]bool{
		"a": true, "a.b": true, `a."c.d"`: true, "a.e": true, "a.n": false, "a.c": false, "a.b.c": false, "x": false, "a..b": false, "": true,
	} {
		if got := c.Has(path); got != want {
			t.Errorf("%q: got %v", path, got)
		}
	}
	if parse(t, "a = ${b}").Has("a") || (*Config)(nil).Has("a") || Empty().Has("a") {
		t.Error("there is something where nothing is")
	}
}

func TestJSON(t *testing.T) {
	got, err := resolved(t, "b = [1, {x = \"<\\u2028\\\"\"}, []], a { z = 007, y = null, e {} }").JSON()
	if err != nil {
		t.Fatal(err)
	}
	const want = "{\n  \"a\": {\n    \"e\": {},\n    \"y\": null,\n    \"z\": 7\n  },\n  \"b\": [\n    1,\n    {\n" +
		"      \"x\": \"<\\u2028\\\"\"\n    },\n    []\n  ]\n}"
	if string(got) != want {
		t.Errorf("got %s", got)
	}
	if _, err := parse(t, "a = 1").JSON(); err == nil {
		t.Error("a configuration that is not resolved has JSON")
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"L_0": "a", "L_1": "b", "L_3": "d", "E": "", "B": "\xff"}
	c, err := ParseString("test.conf", "a = ${L[]} [c]\nb = ${?N[]}\nc = [x] ${?N[]}\nE = ${E}x\ne = ${E}\nb = ${B}\nd = ${?D.E}",
		func(o *Options) { o.Env = func(name string) (string, bool) { v, ok := env[name]; return v, ok } })
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, c); got != `{"E":"x","a":["a","b","c"],"b":"�","c":["x"],"e":"x"}` {
		t.Error(got)
	}
	t.Setenv("TROUPE_HOCON_TEST", "set")
	if c, err = ParseString("test.conf", "a = ${TROUPE_HOCON_TEST}"); err != nil {
		t.Fatal(err)
	}
	if got := text(t, c); got != `{"a":"set"}` {
		t.Error(got)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	absolute := write("other/abs.conf", "include \"next.conf\"\nabs = 1")
	write("other/next.conf", "next = 1")
	write("local.settings", "exact = 1")
	main := write("main.conf", "include \""+filepath.ToSlash(absolute)+"\"\ninclude \"local.settings\"\ninclude file(\"other/next.conf\")")
	c, err := ParseFile(main)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, c); got != `{"abs":1,"exact":1,"next":1}` {
		t.Error(got)
	}

	missing := filepath.Join(dir, "missing.conf")
	if _, err := ParseFile(missing); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), missing+": cannot read the file: ") {
		t.Error(err)
	}
	unreadable := write("dir.conf", "include \"other.conf\"")
	if err := os.Mkdir(filepath.Join(dir, "other.conf"), 0o700); err != nil {
		t.Fatal(err)
	}
	var pe *fs.PathError
	if _, err := ParseFile(unreadable); !errors.As(err, &pe) || !strings.HasPrefix(err.Error(), unreadable+":1:1: cannot read ") {
		t.Error(err)
	}
	broken := write("broken.conf", "x {\n include \"sub/bad.conf\"\n}")
	bad := write("sub/bad.conf", "a = 1\nb = [")
	if _, err := ParseFile(broken); err == nil || !strings.HasPrefix(err.Error(), bad+":2:5: ") {
		t.Error(err)
	}
}

func TestIncludeCycles(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"itself":    {"main.conf": "include \"main.conf\""},
		"two":       {"main.conf": "include \"b.conf\"", "b.conf": "include \"main.conf\""},
		"dotted":    {"main.conf": "include \"d/../main.conf\""},
		"basename":  {"main.conf": "include \"main\""},
		"in object": {"main.conf": "a { include \"b.conf\" }", "b.conf": "c { include file(\"main.conf\") }"},
	} {
		if _, err := load(files, goldenEnv); err == nil || !strings.Contains(err.Error(), "includes itself: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A file that goes on under ever new names, as through a symbolic link to its folder.
	endless := func(o *Options) {
		o.ReadFile = func(string) ([]byte, error) { return []byte("include \"d/main.conf\""), nil }
	}
	if _, err := ParseFile("main.conf", endless); err == nil || !strings.Contains(err.Error(), "is there a cycle?") {
		t.Error(err)
	}
}

// A configuration is shared by all that run in a process.
func TestConcurrentUse(t *testing.T) {
	ref := parse(t, "a { b = ${c}, l = [1] }, c = 1")
	done := resolved(t, "a { b = 1, l = [1] }")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := parse(t, "a.l += 2").WithFallback(ref).Resolve()
			if err != nil || !c.Has("a.b") {
				t.Errorf("%v", err)
			}
			var into struct {
				B int
				L []int
			}
			if err := Decode(done, "a", &into); err != nil || into.B != 1 {
				t.Errorf("%+v, %v", into, err)
			}
		})
	}
	wg.Wait()
}
