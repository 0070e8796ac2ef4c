package hocon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// golden is a document main.conf, the files beside it, and what comes of them.
type golden struct {
	Name  string
	Files map[string]string
	Want  any
	Error bool
}

// goldenEnv is the environment of all golden cases.
func goldenEnv(name string) (string, bool) {
	switch name {
	case "HOCON_HOST":
		return "envhost", true
	case "HOCON_PORT":
		return "7777", true
	case "HOCON_EMPTY":
		return "", true
	}
	return "", false
}

func readGolden(t testing.TB, name string) []golden {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&cases); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return cases
}

// inMemory serves files from a map and the environment from a function.
func inMemory(files map[string]string, env func(string) (string, bool)) func(*Options) {
	return func(o *Options) {
		o.Env = env
		o.ReadFile = func(path string) ([]byte, error) {
			text, ok := files[filepath.ToSlash(path)]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			}
			return []byte(text), nil
		}
	}
}

// load parses and resolves main.conf.
func load(files map[string]string, env func(string) (string, bool)) (*Config, error) {
	c, err := ParseFile("main.conf", inMemory(files, env))
	if err != nil {
		return nil, err
	}
	return c.Resolve()
}

func TestGolden(t *testing.T) {
	for _, file := range []string{"golden.json", "golden-more.json"} {
		for _, g := range readGolden(t, file) {
			t.Run(g.Name, func(t *testing.T) { checkGolden(t, g) })
		}
	}
}

func checkGolden(t *testing.T, g golden) {
	c, err := load(g.Files, goldenEnv)
	if g.Error {
		var e *Error
		if !errors.As(err, &e) || e.File == "" || e.Line == 0 || e.Column == 0 {
			t.Fatalf("want an error with a place, got %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(got))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("the output is not JSON: %v\n%s", err, got)
	}
	if value, want := normal(value), normal(g.Want); !reflect.DeepEqual(value, want) {
		t.Fatalf("got  %v\nwant %v", value, want)
	}
}

// normal makes numbers comparable: 1.50 and 15e-1 are the same.
func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			return fmt.Sprintf("not a number: %s", v)
		}
		return "number " + r.RatString()
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = normal(v[k])
		}
	}
	return v
}
