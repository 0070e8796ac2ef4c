package hocon

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// repeat makes n numbered lines.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i, i+1)
	}
	return b.String()
}

// TestHostile: documents made to exhaust the stack, the memory or the patience end in an error with a place, soon.
func TestHostile(t *testing.T) {
	doubled := func(first, part string) string {
		return "a0 = " + first + "\n" + repeat(60, "a%[2]d = "+strings.ReplaceAll(part, "#", "a%[1]d"))
	}
	for name, text := range map[string]string{
		"open brackets":            "a = " + strings.Repeat("[", 1_000_000),
		"open braces":              strings.Repeat("{a:", 1_000_000),
		"brackets and braces":      "a = " + strings.Repeat("[{b=", 500_000),
		"long key":                 strings.Repeat("a.", 1_000_000) + "a = 1",
		"long path":                "b = ${" + strings.Repeat("a.", 1_000_000) + "a}",
		"text doubled":             doubled("xxxxxxxx", "${#}${#}"),
		"arrays doubled":           doubled("[1]", "${#} ${#}"),
		"arrays nested doubled":    doubled("[1]", "[${#}, ${#}]"),
		"objects nested doubled":   doubled("{x=1}", "{x=${#}, y=${#}}"),
		"empty arrays doubled":     doubled("[]", "[${#}, ${#}]"),
		"chain":                    repeat(100_000, "a%d = ${a%d}"),
		"deep by substitution":     "a0 = 1\n" + repeat(5_000, "a%[2]d { x = ${a%[1]d} }"),
		"merges of large objects":  "a0 {\n" + repeat(10_000, "k%d = %d") + "}\n" + repeat(10_000, "a%[2]d = ${a%[1]d} { x = 1 }"),
		"growing inside itself":    "a = {b = ${a} ${c}, d = ${a} ${c}}\nc = {b = ${c}, d = ${c}}",
		"cycle with optionals":     repeat(300, "a%d = ${?a%d} ${?a0} ${?a7} x") + "a300 = ${a0}",
		"self in an object":        "a = { b = ${a} }",
		"text doubled, downwards":  repeat(60, "a%d = ${a%[2]d}${a%[2]d}") + "a60 = xxxxxxxx",
		"array on one line, 10 MB": "a = [" + strings.Repeat("1,", 5<<20) + "1]",
		"concatenation, 10 MB":     "b = x\na = " + strings.Repeat("${b}", 10<<18),
		"fields, 10 MB":            strings.Repeat("a=1,", 10<<18),
		"unclosed string, 10 MB":   "a = \"" + strings.Repeat("x", 10<<20),
		"bad escape, 10 MB":        "a = \"" + strings.Repeat("\\n", 5<<20) + "\\q\"",
		"key, 10 MB":               strings.Repeat("k", 10<<20),
		"brackets unclosed, 10 MB": "a = " + strings.Repeat("[", 10<<20),
		"self in an array":         "a = [${b}]\nb = { c = ${a} }",
		"indentation":              "a0 = [0,0,0,0,0,0,0,0]\n" + repeat(16, "a%[2]d = [${a%[1]d}, ${a%[1]d}]") + "b0 = ${a16}\n" + repeat(900, "b%[2]d { x = ${b%[1]d} }"),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			c, err := load(map[string]string{"main.conf": text}, goldenEnv)
			if err == nil {
				_, err = c.JSON()
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("want an error, got %v", err)
			}
			if len(err.Error()) > 3000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			t.Logf("%v: %.200s", time.Since(start).Round(time.Millisecond), err)
			if limit := 30 * time.Second; time.Since(start) > limit {
				t.Errorf("took %v, longer than %v", time.Since(start), limit)
			}
		})
	}
}

// TestLarge: what is merely large works.
func TestLarge(t *testing.T) {
	for name, c := range map[string]struct{ text, key string }{
		"many keys":      {repeat(100_000, "k%d = %d"), "k99999"},
		"many appended":  {repeat(50_000, "k += %d # %d"), "k"},
		"appended, self": {"k = []\n" + repeat(2_000, "k = ${k} [%d] # %d"), "k"},
		"chain":          {"a0 = 1\n" + repeat(100_000, "a%[2]d = ${a%[1]d}"), "a100000"},
		"chain upwards":  {repeat(1_000, "a%d = ${a%d}") + "a1000 = 1", "a0"},
		"deep":           {"a = " + strings.Repeat("[", 900) + strings.Repeat("]", 900), "a"},
		"long text":      {"a = \"" + strings.Repeat("x", 5<<20) + "\"", "a"},
		"text, 10 MB":    {"a = " + strings.Repeat("x", 10<<20), "a"},
		"comment, 10 MB": {"# " + strings.Repeat("x", 10<<20) + "\na = 1", "a"},
		"blanks, 10 MB":  {"a = " + strings.Repeat(" ", 10<<20) + "1", "a"},
		"joined, 1 MB":   {"b = x\na = " + strings.Repeat("${b}", 1<<18), "a"},
		"overlaid":       {repeat(4_000, "o { k%d = %d, same = ${?o.same}1 }"), "o.k3999"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			conf, err := load(map[string]string{"main.conf": c.text}, goldenEnv)
			if err != nil {
				t.Fatal(err)
			}
			if !conf.Has(c.key) {
				t.Errorf("there is no %s", c.key)
			}
			t.Logf("%v", time.Since(start).Round(time.Millisecond))
		})
	}
}

// TestIncludeBomb: files that include each other ten times do not multiply without bound.
func TestIncludeBomb(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		name := fmt.Sprintf("f%d.conf", i)
		files[name] = strings.Repeat(fmt.Sprintf("include \"f%d.conf\"\n", i+1), 10)
	}
	files["main.conf"] = `include "f0.conf"`
	if _, err := load(files, goldenEnv); err == nil || !strings.Contains(err.Error(), "included") {
		t.Fatalf("want an error about the number of files, got %v", err)
	}
}
