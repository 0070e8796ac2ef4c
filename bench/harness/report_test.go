package harness

import (
	"os"
	"strings"
	"testing"
)

// A file of an older run is read and written again without a byte of difference.
func TestJSONFormatIsStable(t *testing.T) {
	want, err := os.ReadFile("testdata/format.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ReadReport(want)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Subjects) != 4 || len(p.Rows) != 6 {
		t.Fatalf("read %d subjects and %d rows", len(p.Subjects), len(p.Rows))
	}
	got, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("written as\n%s", got)
	}
}

func TestStat(t *testing.T) {
	ns := func(r Result) float64 { return float64(r.Ns) }
	for _, c := range []struct {
		rounds []int64
		want   Stat
	}{
		{nil, Stat{}},
		{[]int64{3}, Stat{3, 3, 3}},
		{[]int64{9, 1}, Stat{5, 1, 9}},
		{[]int64{9, 1, 2}, Stat{2, 1, 9}},
	} {
		var cell Cell
		for _, n := range c.rounds {
			cell.Rounds = append(cell.Rounds, Result{Ns: n})
		}
		if got := cell.Of(ns); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.rounds, got, c.want)
		}
	}
}

// cell makes the rounds of a subject: ns for each of 10 operations, 2 allocations each.
func cell(subject string, ns ...int64) Cell {
	c := Cell{Subject: subject}
	for _, n := range ns {
		c.Rounds = append(c.Rounds, Result{Ns: n * 10, Ops: 10, Allocs: 2, Bytes: 16})
	}
	return c
}

func sample() Report {
	noisy := cell("lib", 90, 110, 400)
	for i := range noisy.Rounds {
		noisy.Rounds[i].Others = 0.5
	}
	return Report{
		CPU: "X1", Procs: 2, Go: "go1", Date: "2026", Quick: true,
		Subjects: []Subject{{Name: "ours", Version: "this"}, {Name: "lib", Version: "v2"}, {Name: "limit/x", Limit: true}},
		Rows: []Row{
			{Key: "tell-1k", Title: "tell", Cells: []Cell{cell("ours", 50, 55, 60), noisy, cell("limit/x", 10, 10)}},
			{Key: "spawn", Title: "spawn", Cells: []Cell{cell("ours", 100), cell("lib", 300), {Subject: "limit/x", Err: "work done 1, want 2"}}},
			{Key: "rt-off", Title: "off", Cells: []Cell{cell("ours", 40, 50, 60), cell("lib", 70)}},
			{Key: "rt-on", Title: "on", Cells: []Cell{cell("ours", 43, 51, 80), {Subject: "lib", Skip: "none"}, {Subject: "limit/x", Skip: "not run: too big"}}},
		},
	}
}

func TestRatio(t *testing.T) {
	p := sample()
	for _, c := range []struct {
		row, base string
		want      float64
		ok        bool
	}{
		{"tell-1k", "lib", 0.5, true},
		{"tell-1k", "limit/x", 5.5, true},
		{"spawn", "lib", 1.0 / 3, true}, // more actors a second are better, so it is turned over
		{"spawn", "limit/x", 0, false},  // failed
		{"rt-on", "lib", 0, false},      // absent
		{"rt-on", "nobody", 0, false},
	} {
		row, found := p.row(c.row)
		if !found {
			t.Fatalf("no row %s", c.row)
		}
		got, ok := row.Ratio("ours", c.base)
		if ok != c.ok || got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%s against %s: %v, %v; want %v, %v", c.row, c.base, got, ok, c.want, c.ok)
		}
	}
	zero := Row{Key: "idle-100k", Cells: []Cell{{Subject: "a", Rounds: []Result{{RSS: 0}}}, {Subject: "b", Rounds: []Result{{RSS: 5}}}}}
	if v, ok := zero.Ratio("b", "a"); ok {
		t.Errorf("a ratio to nothing: %v", v)
	}
}

// The differences are of the rounds, not of the medians: +3, +1, +20 here, where the medians differ by 1.
func TestAdded(t *testing.T) {
	p := sample()
	got, ok := p.Added("rt-off", "rt-on", "ours")
	if want := (Stat{3, 1, 20}); !ok || got != want {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	if _, ok := p.Added("rt-off", "rt-on", "lib"); ok {
		t.Error("a difference to a row that is absent")
	}
	if _, ok := p.Added("rt-off", "nothing", "ours"); ok {
		t.Error("a difference to no row")
	}
}

func TestMarkdown(t *testing.T) {
	md := sample().Markdown("ours")
	for _, want := range []string{
		"X1, GOMAXPROCS=2, go1, 2026, whole run 0 s (QUICK: a tenth of the work)\n",
		"- lib: v2\n",
		"| row | unit | ours | lib | limit/x |\n|---|---|---:|---:|---:|\n",
		"| tell-1k | ns/msg | **55.0** | 110.0 | 10.0 |\n", // a limit is no library, so not the best
		"| spawn | actors/s (start+stop) | **10000000** | 3333333 | – |\n",
		"### ours against: its cost as a multiple of the other's, both medians of this run; below 1 ours is ahead\n\n| row | lib | limit/x |\n",
		"| tell-1k | 0.50 | 5.50 |\n",
		"| spawn | 0.33 | – |\n",
		"| rt-off → rt-on | ns/msg | **+3.0** (+1.0–+20.0) | – | – |\n",
		"### Allocations for each message, exchange, round trip or actor: medians\n\n| row | ours | lib | limit/x |\n",
		"| tell-1k | 2.00 | 2.00 | 2.00 |\n",
		"| spawn | 2.00 | 2.00 | – |\n",
		"### tell (`tell-1k`)\n\nMedian (min–max) of 3 rounds;",
		"| subject | ns/msg | M/s | allocs/op | B/op |\n",
		"| ours | **55.0** (50.0–60.0) | 18.18 | 2.00 | 16.0 |\n",
		"| lib | **~110.0** (90.0–400.0) | 9.09 |",
		"| limit/x | **10.0** (10.0–10.0) n=2 |",
		"| limit/x | FAILED: work done 1, want 2 | | | |\n",
		"| lib | absent: none | | | |\n",
		"| limit/x | not run: too big | | | |\n",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	if md := sample().Markdown("nobody"); strings.Contains(md, "against") {
		t.Error("ratios of a subject that is not there")
	}
}

// Every row has the figures that its targets are about.
func TestColumns(t *testing.T) {
	for key, want := range map[string]string{
		"ask": "p50 ns, p99 ns, mean ns, allocs/op", "tell-1": "ns/msg, M/s, allocs/op, B/op",
		"pingpong-armed": "ns/exchange, M/s, allocs/op, B/op", "skynet-1M": "ms, ns/leaf, allocs/leaf",
		"idle-named-100k": "RSS B/actor, heap+stack B/actor, start ns, allocs/actor",
		"idle-armed-1M":   "RSS B/actor, heap+stack B/actor, start ns, allocs/actor, % of a core while idle",
		"blocked":         "longest wait ms, mean wait ms, longest wait of those the sleepers told ms, all asleep after ms, probes",
	} {
		var got []string
		for _, c := range columns(key) {
			got = append(got, c.head)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", key, s, want)
		}
	}
}

func TestMergeKeepsWhatWasNotMeasuredAgain(t *testing.T) {
	old := Report{
		Date: "old", Seconds: 10, Subjects: []Subject{{Name: "a"}, {Name: "b", Version: "v1"}},
		Rows: []Row{{Key: "x", Cells: []Cell{cell("a", 1), cell("b", 2)}}, {Key: "y", Cells: []Cell{cell("a", 3)}}},
	}
	p := Report{
		Date: "new", Seconds: 5, Subjects: []Subject{{Name: "b", Version: "v2"}, {Name: "c"}},
		Rows: []Row{{Key: "x", Cells: []Cell{cell("b", 20), cell("c", 30)}}, {Key: "z", Cells: []Cell{cell("c", 40)}}},
	}
	p.Merge(old)
	var got []string
	for _, r := range p.Rows {
		for _, c := range r.Cells {
			got = append(got, r.Key+c.Subject)
		}
	}
	if s := strings.Join(got, " "); s != "xa xb xc ya zc" {
		t.Errorf("cells %s", s)
	}
	row, _ := p.row("x")
	if c, _ := row.cell("b"); c.Rounds[0].Ns != 200 {
		t.Errorf("the old figure of b was kept: %+v", c)
	}
	if p.Date != "new" || p.Seconds != 15 || len(p.Subjects) != 3 || p.Subjects[1].Version != "v2" {
		t.Errorf("%+v", p)
	}
}
