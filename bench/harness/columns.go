package harness

import "strings"

// column is one figure of a row's table.
type column struct {
	head string
	of   func(Result) float64
	dec  int  // digits after the point
	more bool // more is better; the others are costs
}

func perOp(r Result) float64  { return float64(r.Ns) / float64(r.Ops) }
func allocs(r Result) float64 { return r.Allocs }

// columns are the figures of a row, the one that it is about first.
func columns(key string) []column {
	switch {
	case key == "ask":
		return []column{
			{head: "p50 ns", of: func(r Result) float64 { return float64(r.P50) }},
			{head: "p99 ns", of: func(r Result) float64 { return float64(r.P99) }},
			{head: "mean ns", of: func(r Result) float64 { return r.Mean }},
			{head: "allocs/op", of: allocs, dec: 2},
		}
	case key == "spawn":
		return []column{
			{head: "actors/s (start+stop)", of: func(r Result) float64 { return 1e9 / perOp(r) }, more: true},
			{head: "start ns", of: func(r Result) float64 { return r.Start }},
			{head: "stop ns", of: func(r Result) float64 { return r.Stop }},
			{head: "allocs/op", of: allocs, dec: 2},
		}
	case strings.HasPrefix(key, "idle-"):
		return idleColumns(strings.HasPrefix(key, "idle-armed"))
	case strings.HasPrefix(key, "skynet-"):
		return []column{
			{head: "ms", of: func(r Result) float64 { return float64(r.Ns) / 1e6 }},
			{head: "ns/leaf", of: perOp},
			{head: "allocs/leaf", of: allocs, dec: 1},
		}
	case key == "blocked":
		return []column{
			{head: "longest wait ms", of: func(r Result) float64 { return float64(r.Worst) / 1e6 }, dec: 2},
			{head: "mean wait ms", of: func(r Result) float64 { return r.Mean / 1e6 }, dec: 3},
			{head: "longest wait of those the sleepers told ms", of: func(r Result) float64 { return float64(r.Inside) / 1e6 }, dec: 2},
			{head: "all asleep after ms", of: func(r Result) float64 { return float64(r.Asleep) / 1e6 }, dec: 2},
			{head: "probes", of: func(r Result) float64 { return float64(r.Ops) }},
		}
	}
	unit := "ns/msg"
	if strings.HasPrefix(key, "pingpong") {
		unit = "ns/exchange"
	}
	return []column{
		{head: unit, of: perOp, dec: 1},
		{head: "M/s", of: func(r Result) float64 { return 1e3 / perOp(r) }, dec: 2, more: true},
		{head: "allocs/op", of: allocs, dec: 2},
		{head: "B/op", of: func(r Result) float64 { return r.Bytes }, dec: 1},
	}
}

// countsAllocations reports whether a row is about operations that could allocate.
func countsAllocations(key string) bool { return key != "blocked" }

func idleColumns(armed bool) []column {
	cs := []column{
		{head: "RSS B/actor", of: func(r Result) float64 { return r.RSS }},
		{head: "heap+stack B/actor", of: func(r Result) float64 { return r.Heap }},
		{head: "start ns", of: perOp},
		{head: "allocs/actor", of: allocs, dec: 1},
	}
	if armed {
		cs = append(cs, column{head: "% of a core while idle", of: func(r Result) float64 { return r.Busy }, dec: 2})
	}
	return cs
}
