package hocon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/require"
)

// oracle is the reference implementation, running in a process of its own.
type oracle struct {
	in  io.Writer
	out *bufio.Scanner
}

// startOracle needs Java and the jar of the reference implementation, which make servers installs; HOCON_ORACLE_JAR names
// another one.
func startOracle(t *testing.T) *oracle {
	t.Helper()
	jar := os.Getenv("HOCON_ORACLE_JAR")
	if jar == "" {
		jar = "/usr/share/java/typesafe-config.jar"
	}
	require.File(t, jar)
	java := require.Server(t, "java")
	cmd := exec.CommandContext(t.Context(), java, "-cp", jar, "testdata/oracle/Oracle.java")
	cmd.Env = append(os.Environ(), "HOCON_HOST=envhost", "HOCON_PORT=7777", "HOCON_EMPTY=")
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.(io.Closer).Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the reference implementation ended badly: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &oracle{in, lines}
}

func (o *oracle) ask(t *testing.T, file string) string {
	if _, err := io.WriteString(o.in, file+"\n"); err != nil {
		t.Fatal(err)
	}
	if !o.out.Scan() {
		t.Fatalf("no answer: %v", o.out.Err())
	}
	return o.out.Text()
}

// TestAgainstReference compares documents made at random with the reference implementation. A few in ten thousand lay
// objects over text, or over a value that looks back, and then use += or look back again; there the reference
// implementation loses earlier values, against the specification. Each one that differs is logged.
func TestAgainstReference(t *testing.T) {
	documents, mayDiffer := 5000, 5
	if os.Getenv("TROUPE_SOAK") != "" {
		documents, mayDiffer = 100_000, 60
	}
	o := startOracle(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "main.conf")
	decided, differ := 0, 0
	for seed := range documents {
		files := rapid.Custom(drawFiles).Example(seed)
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := o.ask(t, name)
		got, err := loadJSON(name)
		if undecided(want, err) {
			continue
		}
		decided++
		failed := strings.HasPrefix(want, "ERROR")
		if failed != (err != nil) || !failed && !sameJSON(got, []byte(want)) {
			differ++
			t.Logf("seed %d: %q\nreference: %s\nhere:      %s %v", seed, files, want, got, err)
		}
	}
	if differ > mayDiffer {
		t.Errorf("%d of %d documents differ, more than %d", differ, decided, mayDiffer)
	}
	if decided < documents*8/10 {
		t.Errorf("only %d of %d documents were compared", decided, documents)
	}
}

// undecided reports whether the reference implementation is known to be wrong about a document, or to be more limited
// than the specification.
func undecided(want string, err error) bool {
	if kind, isErr := strings.CutPrefix(want, "ERROR "); isErr {
		kind, _, _ = strings.Cut(kind, " ")
		// It resolves what a later value hides, has no += inside of lists, and takes whitespace beside an optional
		// substitution for text. For its own errors it has a kind of its own.
		return kind == "BugOrBroken" || strings.Contains(want, "+= does not work nested") ||
			err == nil && (kind == "UnresolvedSubstitution" || kind == "WrongType")
	}
	// It leaves unquoted text beside an object or array out, instead of refusing it.
	return err != nil && (strings.Contains(err.Error(), "cannot stand beside") || strings.Contains(err.Error(), "cannot be concatenated"))
}

func loadJSON(name string) ([]byte, error) {
	c, err := ParseFile(name, func(o *Options) { o.Env = goldenEnv })
	if err != nil {
		return nil, err
	}
	if c, err = c.Resolve(); err != nil {
		return nil, err
	}
	return c.JSON()
}

func sameJSON(a, b []byte) bool {
	var x, y any
	for _, p := range []struct {
		text []byte
		v    *any
	}{{a, &x}, {b, &y}} {
		d := json.NewDecoder(bytes.NewReader(p.text))
		d.UseNumber()
		if d.Decode(p.v) != nil {
			return false
		}
	}
	return reflect.DeepEqual(normal(x), normal(y))
}

// drawFiles makes a document main.conf, and one beside it that it may include. What is under a key refers only to itself
// and to keys that come before it in the alphabet: where values go round in a circle, the specification leaves it open
// what comes out.
func drawFiles(t *rapid.T) map[string]string {
	return map[string]string{
		"main.conf": drawFields(t, drawing{depth: 3, include: true}),
		"sub.conf":  drawFields(t, drawing{depth: 2}),
	}
}

// drawing is where in a document something is drawn.
type drawing struct {
	depth   int
	include bool
	// top is the first letter of the key at the root, and self the key whose value this is, if it can look back.
	top, self string
}

const letters = "abcd"

func drawFields(t *rapid.T, d drawing) string {
	var b strings.Builder
	for range rapid.IntRange(0, 5).Draw(t, "fields") {
		if d.include && rapid.IntRange(0, 9).Draw(t, "include") == 0 {
			b.WriteString("include \"sub.conf\"\n")
			continue
		}
		in, key := d, drawKey(t, letters)
		if d.top == "" {
			// A document that is included deeper looks for its own keys below that place first, which can be a circle.
			in.top, in.self, in.include = strings.Trim(key, `"`)[:1], key, false
		}
		b.WriteString(key + rapid.SampledFrom([]string{"=", "=", "=", ":", " = ", " += "}).Draw(t, "op"))
		b.WriteString(drawValue(t, in))
		b.WriteString(rapid.SampledFrom([]string{"\n", "\n", ",", "\n\n", " # c\n", "\r\n", "\n,"}).Draw(t, "separator"))
	}
	return b.String()
}

// drawKey makes a key that begins with one of the letters, or a number if they are all allowed.
func drawKey(t *rapid.T, first string) string {
	keys := []string{"0", "1"}
	if first != letters {
		keys = nil
	}
	for _, letter := range strings.Split(first, "") {
		keys = append(keys, letter, letter, letter+".b", letter+".c", letter+".b.c", `"`+letter+`"`)
	}
	return rapid.SampledFrom(keys).Draw(t, "key")
}

func drawValue(t *rapid.T, d drawing) string {
	var b strings.Builder
	for i := range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "parts") {
		if i > 0 {
			b.WriteString(rapid.SampledFrom([]string{"", " ", "  "}).Draw(t, "gap"))
		}
		b.WriteString(drawPart(t, d))
	}
	return b.String()
}

func drawPart(t *rapid.T, d drawing) string {
	in := d
	in.depth--
	in.self = ""
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	switch {
	case kind >= 7 && d.depth > 0:
		return "{" + drawFields(t, in) + "}"
	case kind == 6 && d.depth > 0:
		in.include = false
		var elems []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			elems = append(elems, drawValue(t, in))
		}
		return "[" + strings.Join(elems, ",") + "]"
	case kind == 5:
		return rapid.SampledFrom([]string{"${HOCON_HOST}", "${?HOCON_NONE}", "[]", "{}"}).Draw(t, "special")
	case kind >= 2:
		return drawSubstitution(t, d)
	}
	return rapid.SampledFrom([]string{
		"x", "1", "1.50", "true", "null", `"q"`, `""`, "5s", "-1", "a/b", "007", "1e3", `"\u00e9"`, `"""t"r"""`,
	}).Draw(t, "scalar")
}

func drawSubstitution(t *rapid.T, d drawing) string {
	path := d.self
	if before, _, _ := strings.Cut(letters, d.top); before != "" && before != letters && (path == "" || rapid.Bool().Draw(t, "other")) {
		path = drawKey(t, before)
	}
	if path == "" {
		return "y"
	}
	return rapid.SampledFrom([]string{"${", "${?", "${?"}).Draw(t, "optional") + path + "}"
}
