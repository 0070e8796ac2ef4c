package hocon

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// FuzzParse: whatever a document is, it gives an error with a place, or a configuration whose JSON is a document for
// the same configuration.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"golden.json", "golden-more.json"} {
		for _, g := range readGolden(f, file) {
			f.Add(g.Files["main.conf"], g.Files["sub.conf"])
		}
	}
	f.Fuzz(func(t *testing.T, text, included string) {
		start := time.Now()
		c, err := load(map[string]string{"main.conf": text, "sub.conf": included}, goldenEnv)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
		var e *Error
		if err != nil {
			if !errors.As(err, &e) || e.File == "" || e.Line == 0 || e.Column == 0 || e.Msg == "" {
				t.Errorf("the error has no place: %#v", err)
			}
			return
		}
		first, err := c.JSON()
		if err != nil {
			return // too large
		}
		if !json.Valid(first) {
			t.Fatalf("not JSON: %s", first)
		}
		again, err := ParseString("again.json", string(first))
		if err != nil {
			t.Fatalf("the output is refused: %v\n%s", err, first)
		}
		if again, err = again.Resolve(); err != nil {
			t.Fatalf("the output does not resolve: %v\n%s", err, first)
		}
		second, err := again.JSON()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("the output changes when it is read again: %v\n%s\n%s", err, first, second)
		}
		var into map[string]any
		if err := Decode(c, "", &into); err != nil && !errors.As(err, &e) {
			t.Fatalf("not an *Error: %v", err)
		}
	})
}
