package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/bench/harness"
)

// TestMain lets the test program be its own worker, as the built one is.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-worker") {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	// For workers under the race detector: a race ends the worker, which fails its row; and the second that an end takes
	// otherwise is saved.
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0 halt_on_error=1"); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// absent are the cells that have to be: what is there must be measured, and what is not there must say so.
func absent(subject, key string) bool {
	armed := strings.Contains(key, "armed") || key == "rt-on"
	switch subject {
	case "limit/chan":
		return key == "idle-named-100k"
	case "limit/rt":
		return key == "idle-named-100k"
	case "limit/mpsc", "limit/mutex":
		return armed || key == "idle-named-100k"
	}
	return false
}

// measureTiny runs rows with a thousandth of the work, once, and checks that every cell is what it has to be.
func measureTiny(t *testing.T, keys, names []string) {
	t.Helper()
	c := config{subjects: strings.Join(names, ","), only: strings.Join(keys, ","), scale: harness.Scale{Div: 1000, Rounds: 1, Weigh: 1, Few: 1}}
	subs, err := c.pickSubjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ws, err := c.pickRows()
	if err != nil {
		t.Fatal(err)
	}
	for i := range ws {
		ws[i].Warm, ws[i].Rounds = 0, 1
	}
	rows, err := harness.Run(t.Context(), subs, ws, 0, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(ws) {
		t.Fatalf("%d rows of %d", len(rows), len(ws))
	}
	for i, r := range rows {
		want := 0
		for _, s := range subs {
			if s.Only == nil || s.Only[ws[i].Req.Workload] {
				want++
			}
		}
		if len(r.Cells) != want {
			t.Errorf("%s: %d cells, want %d", r.Key, len(r.Cells), want)
		}
		for _, c := range r.Cells {
			switch {
			case c.Err != "":
				t.Errorf("%s of %s failed: %s", r.Key, c.Subject, c.Err)
			case absent(c.Subject, r.Key):
				if c.Skip == "" {
					t.Errorf("%s of %s is not absent", r.Key, c.Subject)
				}
			case c.Skip != "" || len(c.Rounds) != 1 || c.Rounds[0].Ops <= 0 || c.Rounds[0].Ns <= 0:
				t.Errorf("%s of %s: %+v", r.Key, c.Subject, c)
			}
		}
	}
}

func TestEveryRowOfTroupeAndChan(t *testing.T) {
	measureTiny(t, nil, []string{"troupe", "limit/chan"})
}

func TestSomeRowsOfEverySubject(t *testing.T) {
	measureTiny(t, []string{"tell-4", "pingpong-armed", "ask", "spawn", "idle-named-100k", "skynet-10k", "blocked"}, nil)
}

// All subjects of the targets take part, under the names that results are compared by.
func TestSubjects(t *testing.T) {
	var got []string
	for _, f := range frameworks() {
		got = append(got, f.Name)
		if limit := strings.HasPrefix(f.Name, "limit/"); limit != f.Limit {
			t.Errorf("%s: limit is %v", f.Name, f.Limit)
		}
	}
	want := []string{"troupe", "protoactor", "limit/chan", "limit/mpsc", "limit/mutex", "limit/rt", "limit/rt2", "limit/rt-inline"}
	if !slices.Equal(got, want) {
		t.Errorf("subjects %q, want %q", got, want)
	}
}

// With -o both files are written, with the folder for them; without it there is no file, and the table is printed.
func TestOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"-quick", "-rounds", "1", "-patience", "0", "-only", "ask", "-subjects", "troupe,limit/rt-inline"}
	var out, progress bytes.Buffer
	if err := run(t.Context(), args, nil, &out, &progress); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("without -o there are %v, %v", entries, err)
	}
	if !strings.Contains(out.String(), "### troupe against") {
		t.Errorf("printed:\n%s", &out)
	}
	name := filepath.Join("new", "result")
	out.Reset()
	if err := run(t.Context(), append(args, "-o", name), nil, &out, &progress); err != nil {
		t.Fatal(err)
	}
	md, err := os.ReadFile(name + ".md")
	if err != nil || !bytes.Equal(md, out.Bytes()) {
		t.Errorf("%s.md is not what was printed: %v", name, err)
	}
	b, err := os.ReadFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := harness.ReadReport(b)
	if err != nil || !p.Quick || len(p.Rows) != 1 || len(p.Rows[0].Cells) != 2 {
		t.Errorf("%s.json holds %+v, %v", name, p, err)
	}
	again := []string{"-quick", "-rounds", "1", "-patience", "0", "-only", "tell-1k", "-subjects", "troupe", "-merge", "-o", name}
	if err := run(t.Context(), again, nil, &out, &progress); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(name + ".json"); err != nil {
		t.Fatal(err)
	}
	if p, err = harness.ReadReport(b); err != nil || len(p.Rows) != 2 || len(p.Subjects) != 2 {
		t.Errorf("merged: %+v, %v", p, err)
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-only nothing":              `no row "nothing"; there are tell-1k, `,
		"-subjects akka":             `no subject "akka"; there are troupe, `,
		"-rounds 0":                  "at least 1",
		"-merge":                     "-o",
		"quick":                      `unexpected argument "quick"`,
		"-merge -o nothing/here":     "nothing/here.json",
		"-extern ./nothing":          "nothing",
		"-worker nobody":             `no framework "nobody"`,
		"-quick -patience sometimes": "sometimes",
	} {
		err := run(t.Context(), strings.Fields(args), strings.NewReader(""), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %q", args, err, want)
		}
	}
	for args, want := range map[string]harness.Scale{
		"":                 harness.Full(5),
		"-rounds 9":        harness.Full(9),
		"-quick":           harness.Quick(),
		"-quick -rounds 9": {Div: 10, Rounds: 9, Weigh: 2, Few: 1, Quiet: harness.Quick().Quiet},
	} {
		c, err := parse(strings.Fields(args), io.Discard)
		if err != nil || c.scale != want {
			t.Errorf("%q: %+v, %v; want %+v", args, c.scale, err, want)
		}
	}
}
