package harness

import (
	"slices"
	"testing"
)

// Results are compared by these keys across versions: one that changes or goes makes old results unreadable.
func TestRowKeysAreStable(t *testing.T) {
	want := []string{
		"tell-1k", "tell-10k", "tell-1M", "tell-4", "fanout", "pingpong-10k", "pingpong-1M", "pingpong-armed", "tell-1",
		"tell-1-armed", "ask", "spawn", "idle-100k", "idle-1M", "rt-off", "rt-on", "idle-armed", "idle-armed-1M",
		"skynet-10k", "skynet-1M", "idle-named-100k", "blocked",
	}
	for name, s := range map[string]Scale{"full": Full(5), "quick": Quick()} {
		var got []string
		for _, w := range Workloads(s) {
			got = append(got, w.Key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the rows are %q, want %q", name, got, want)
		}
	}
}

func TestAmountOfWork(t *testing.T) {
	n := func(s Scale, key string) (int, int) {
		for _, w := range Workloads(s) {
			if w.Key == key {
				return w.Req.N, w.Rounds
			}
		}
		t.Fatalf("no row %s", key)
		return 0, 0
	}
	for _, c := range []struct {
		key                             string
		full, fullRounds, quick, rounds int
	}{
		{"tell-1M", 1_000_000, 5, 100_000, 3},
		{"pingpong-10k", 10_000, 9, 10_000, 7},
		{"idle-100k", 100_000, 5, 10_000, 2},
		{"idle-1M", 1_000_000, 3, 100_000, 1},
		{"skynet-10k", 10_000, 5, 10_000, 3},
		{"skynet-1M", 1_000_000, 3, 100_000, 1},
		{"blocked", 64, 5, 64, 3},
	} {
		if got, rounds := n(Full(5), c.key); got != c.full || rounds != c.fullRounds {
			t.Errorf("full %s: %d in %d rounds, want %d in %d", c.key, got, rounds, c.full, c.fullRounds)
		}
		if got, rounds := n(Quick(), c.key); got != c.quick || rounds != c.rounds {
			t.Errorf("quick %s: %d in %d rounds, want %d in %d", c.key, got, rounds, c.quick, c.rounds)
		}
	}
}

// Rows that differ by an armed receive timeout only are measured round by round.
func TestArmedPairsAlternate(t *testing.T) {
	ws := Workloads(Full(5))
	at := func(key string) int { return slices.IndexFunc(ws, func(w Workload) bool { return w.Key == key }) }
	for _, p := range armedPairs {
		off, on := at(p[0]), at(p[1])
		if off < 0 || on < 0 {
			t.Fatalf("no rows %v", p)
		}
		if ws[on].Fresh {
			continue // the memory of new processes, which no neighbour disturbs
		}
		if on != off+1 || ws[on].With != p[0] {
			t.Errorf("%v: rows %d and %d, with %q", p, off, on, ws[on].With)
		}
		r, s := ws[off].Req, ws[on].Req
		if r.Armed || !s.Armed || r.N != s.N || r.Batch != s.Batch || r.Workload != s.Workload {
			t.Errorf("%v differ by more than being armed: %+v, %+v", p, r, s)
		}
	}
}

func TestSkynetTreesAreWhole(t *testing.T) {
	for n, want := range map[int]int{1: 10, 10: 10, 99: 10, 100: 100, 1000: 1000, 25_000: 10_000} {
		if got := pow10(n); got != want {
			t.Errorf("pow10(%d) = %d, want %d", n, got, want)
		}
	}
	if got := SkynetSum(10); got != 45 {
		t.Errorf("SkynetSum(10) = %d", got)
	}
}
