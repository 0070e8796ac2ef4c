package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// tiny is as little work as the rows allow.
func tiny() Scale { return Scale{Div: 1000, Rounds: 2, Weigh: 1, Few: 1} }

// rows are the tiny workloads of some keys.
func rows(t *testing.T, keys ...string) (ws []Workload) {
	t.Helper()
	for _, key := range keys {
		for _, w := range Workloads(tiny()) {
			if w.Key == key {
				ws = append(ws, w)
			}
		}
	}
	if len(ws) != len(keys) {
		t.Fatalf("found %d of the rows %v", len(ws), keys)
	}
	return ws
}

func subjects(t *testing.T, names ...string) (l []Subject) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Subjects(fakes(), self) {
		for _, n := range names {
			if s.Name == n {
				l = append(l, s)
			}
		}
	}
	return l
}

func drive(t *testing.T, subs []Subject, ws []Workload) map[string]Cell {
	t.Helper()
	var progress bytes.Buffer
	got, err := Run(t.Context(), subs, ws, 0, &progress)
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]Cell{}
	for _, r := range got {
		for _, c := range r.Cells {
			cells[r.Key+" "+c.Subject] = c
		}
		if !strings.Contains(progress.String(), r.Key) {
			t.Errorf("no progress of %s: %s", r.Key, &progress)
		}
	}
	return cells
}

func TestRun(t *testing.T) {
	cells := drive(t, subjects(t, "good"), rows(t, "tell-1k", "tell-4", "fanout", "pingpong-10k", "ask", "spawn", "idle-100k", "skynet-10k"))
	for key, want := range map[string]struct{ rounds, ops int }{
		"tell-1k good": {2, 1000}, "tell-4 good": {2, 1000}, "fanout good": {2, 1000}, "pingpong-10k good": {6, 100},
		"ask good": {2, 100}, "spawn good": {2, 100}, "idle-100k good": {1, 100}, "skynet-10k good": {2, 100},
	} {
		c, ok := cells[key]
		if !ok || c.Err != "" || c.Skip != "" || len(c.Rounds) != want.rounds {
			t.Errorf("%s: %+v, want %d rounds", key, c, want.rounds)
			continue
		}
		if r := c.Rounds[0]; r.Ops != int64(want.ops) || r.Ns <= 0 {
			t.Errorf("%s: %+v, want %d operations", key, r, want.ops)
		}
	}
	if r := cells["ask good"].Rounds[0]; r.P50 != 51 || r.P99 != 100 || r.Mean != 50.5 {
		t.Errorf("of 1 to 100 ns: %+v", r)
	}
	if r := cells["spawn good"].Rounds[0]; r.Start != 10 || r.Stop != 20 {
		t.Errorf("100 actors started in 1 µs and stopped in 2: %+v", r)
	}
}

// What a subject does not do right is a failed row, never a figure.
func TestRunFindsLostWork(t *testing.T) {
	keys := []string{"pingpong-10k", "ask", "spawn", "skynet-10k"}
	cells := drive(t, subjects(t, "loses", "fails"), rows(t, keys...))
	for _, key := range keys {
		if c := cells[key+" loses"]; !strings.Contains(c.Err, "want") || len(c.Rounds) > 0 {
			t.Errorf("%s lost work: %+v", key, c)
		}
		if c := cells[key+" fails"]; c.Err != "out of luck" || len(c.Rounds) > 0 {
			t.Errorf("%s failed: %+v", key, c)
		}
	}
}

func TestRunSurvivesBrokenWorkers(t *testing.T) {
	subs := subjects(t, "closed", "dies", "good")
	subs = append(subs, Subject{Name: "none", Cmd: []string{"./no such program"}})
	cells := drive(t, subs, rows(t, "ask"))
	for subject, want := range map[string]string{"closed": "does not open", "dies": "worker gone", "none": "no such program"} {
		if c := cells["ask "+subject]; !strings.Contains(c.Err, want) {
			t.Errorf("%s: %+v, want an error that says %q", subject, c, want)
		}
	}
	if c := cells["ask good"]; len(c.Rounds) != 2 {
		t.Errorf("the good one beside them: %+v", c)
	}
}

func TestRunSaysWhatIsAbsent(t *testing.T) {
	cells := drive(t, subjects(t, "good", "little", "small", "picky"), rows(t, "rt-off", "rt-on", "pingpong-armed", "idle-100k", "skynet-10k", "blocked", "ask"))
	for key, want := range map[string]string{
		"rt-on good": "no clock", "pingpong-armed good": "no clock", "blocked good": "nothing to measure", "ask little": "nothing to measure",
		"rt-off little": "nothing to measure", "idle-100k small": "not run: over the time or memory of this run beyond 5 actors",
		"skynet-10k small": "beyond 5 leaves",
	} {
		if c := cells[key]; !strings.Contains(c.Skip, want) || len(c.Rounds) > 0 || c.Err != "" {
			t.Errorf("%s: %+v, want to be left out: %s", key, c, want)
		}
	}
	if _, ok := cells["rt-off picky"]; ok {
		t.Error("a subject took part in a row that it did not choose")
	}
	if c := cells["ask picky"]; len(c.Rounds) == 0 {
		t.Errorf("nor in the one it chose: %+v", c)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, subjects(t, "good"), rows(t, "ask", "spawn"), 0, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func TestExternal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	subs, err := External(t.Context(), self)
	if err != nil {
		t.Fatal(err)
	}
	if len(subs) != len(fakes()) || subs[0].Name != "good" || subs[0].Version != "v1" || !subs[5].Limit || subs[6].MaxSky != 5 || !subs[7].Only["ask"] {
		t.Errorf("%+v", subs)
	}
	if c := drive(t, subs[:1], rows(t, "ask"))["ask good"]; len(c.Rounds) != 2 {
		t.Errorf("%+v", c)
	}
	if _, err := External(t.Context(), "./no such program"); err == nil {
		t.Error("no error for a program that is not there")
	}
}

func TestWorkerRefusesWhatItDoesNotKnow(t *testing.T) {
	if err := Worker(fakes(), "nobody", strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a framework that is not there: %v", err)
	}
	if err := Worker(fakes(), "good", strings.NewReader("no json\n"), io.Discard); err == nil || !strings.Contains(err.Error(), "no json") {
		t.Errorf("a request that is none: %v", err)
	}
	var out bytes.Buffer
	if err := Worker(fakes(), "good", strings.NewReader(`{"Workload":"dance"}`+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || !strings.Contains(r.Err, "dance") {
		t.Errorf("a workload that is none: %s", &out)
	}
}

// On a machine that is never quiet the first rows leave patience to the last ones.
func TestPatienceIsShared(t *testing.T) {
	d := driver{patience: 20 * time.Second}
	for groups := 10; groups > 0; groups-- {
		d.share(groups)
		if d.patience <= d.reserved {
			t.Fatalf("with %d groups to go there is nothing left: %v of it reserved %v", groups, d.patience, d.reserved)
		}
		d.patience = d.reserved // spent to the last
		if groups == 10 && d.patience != 16*time.Second {
			t.Errorf("the first of ten left %v of 20s", d.patience)
		}
		if groups <= 2 {
			if d.patience != 0 {
				t.Errorf("the last two may have all that is left, and left %v", d.patience)
			}
			break
		}
	}
}

func TestGroups(t *testing.T) {
	var got []string
	for _, ws := range groupsOf(rows(t, "tell-1", "rt-on", "rt-off", "rt-on", "ask")) {
		var keys []string
		for _, w := range ws {
			keys = append(keys, w.Key)
		}
		got = append(got, strings.Join(keys, "+"))
	}
	if s := strings.Join(got, " "); s != "tell-1 rt-on rt-off+rt-on ask" {
		t.Errorf("groups %s", s)
	}
}

// Others are neither the driver nor the worker; what may be rounding of 10 ms is nobody.
func TestUsageOfOthers(t *testing.T) {
	t0 := time.Now()
	before := usage{at: t0, busy: 1000, own: 500}
	if got := (usage{at: t0.Add(time.Second), busy: 1052, own: 550}).others(before); got != 0 {
		t.Errorf("2 ticks in a second: %v", got)
	}
	after := usage{at: t0.Add(time.Second), busy: 1150, own: 550}
	one, two := after.others(before), (usage{at: t0.Add(2 * time.Second), busy: 1150, own: 550}).others(before)
	if one <= 0 || one != 2*two {
		t.Errorf("100 ticks: %v in a second, %v in two", one, two)
	}
}
