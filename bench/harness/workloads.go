package harness

import "time"

// The kinds of work a worker knows: the values of Request.Workload.
const (
	tell     = "tell"     // one sender, one actor
	tell4    = "tell4"    // four senders, one actor
	fanout   = "fanout"   // one sender, a thousand actors
	pingpong = "pingpong" // two actors
	ask      = "ask"      // round trips
	spawn    = "spawn"    // start and stop
	idle     = "idle"     // memory of actors that do nothing
	skynet   = "skynet"   // a tree
	blocked  = "blocked"  // others run while handlers block
)

// Workload is one row of the report.
type Workload struct {
	Key    string
	Title  string
	Req    Request
	Warm   int // N of the warm-up, 0: none
	Rounds int
	// Fresh gives each round a new process.
	Fresh bool
	// With is the key of the row before, if the rounds of the two are to alternate, so that they can be compared round by
	// round. Each row still has its own worker.
	With string
}

// armedPairs are the rows that differ by an armed receive timeout only: unarmed, armed. It is read-only.
var armedPairs = [][2]string{
	{"rt-off", "rt-on"}, {"tell-1", "tell-1-armed"}, {"pingpong-1M", "pingpong-armed"},
	{"idle-100k", "idle-armed"}, {"idle-1M", "idle-armed-1M"},
}

// Scale says how much of the work is done.
type Scale struct {
	// Div divides the counts of messages and actors; 1 is the full measurement.
	Div int
	// Rounds is how many rounds most rows have, Weigh the rows about the memory of 100k actors, whose figures hardly
	// differ from round to round, and Few the rows that take long.
	Rounds, Weigh, Few int
	// Quiet is how long the idle rows with an armed receive timeout watch the processor time while nothing happens.
	Quiet time.Duration
}

// Full is the whole measurement, with that many rounds.
func Full(rounds int) Scale {
	return Scale{Div: 1, Rounds: rounds, Weigh: rounds, Few: min(rounds, 3), Quiet: time.Second}
}

// Quick is a tenth of the work in three rounds.
func Quick() Scale {
	return Scale{Div: 10, Rounds: 3, Weigh: 2, Few: 1, Quiet: 250 * time.Millisecond}
}

// Workloads lists what is measured, in the order of the report. The keys are stable: results are compared by them.
func Workloads(s Scale) []Workload {
	m, k, l := 1_000_000/s.Div, 100_000/s.Div, 10_000
	if s.Div > 10 {
		l = 100_000 / s.Div
	}
	many, few := s.Rounds, s.Few
	return []Workload{
		{Key: "tell-1k", Title: "tell, 1 sender, waits for each 1k", Req: Request{Workload: tell, N: m, Batch: 1000}, Warm: m / 4, Rounds: many},
		{Key: "tell-10k", Title: "tell, 1 sender, waits for each 10k", Req: Request{Workload: tell, N: m, Batch: 10_000}, Warm: m / 4, Rounds: many},
		{Key: "tell-1M", Title: "tell, 1 sender, one batch of 1M", Req: Request{Workload: tell, N: m, Batch: m}, Warm: m, Rounds: many},
		{Key: "tell-4", Title: "tell, 4 senders, 1M together", Req: Request{Workload: tell4, N: m}, Warm: m, Rounds: many},
		{Key: "fanout", Title: "fan-out, 1 sender, 1000 actors, 1M", Req: Request{Workload: fanout, N: m}, Warm: m, Rounds: many},
		{Key: "pingpong-10k", Title: "ping-pong, 10k exchanges", Req: Request{Workload: pingpong, N: l}, Warm: l, Rounds: many + 4},
		{Key: "pingpong-1M", Title: "ping-pong, 1M exchanges", Req: Request{Workload: pingpong, N: m}, Warm: l, Rounds: many},
		{Key: "pingpong-armed", Title: "ping-pong, 1M exchanges, receive timeout armed on both", Req: Request{Workload: pingpong, N: m, Armed: true}, Warm: l, Rounds: many, With: "pingpong-1M"},
		{Key: "tell-1", Title: "tell to a sleeping actor: 1 sender, waits for each message", Req: Request{Workload: tell, N: m / 5, Batch: 1}, Warm: m / 20, Rounds: many},
		{Key: "tell-1-armed", Title: "tell to a sleeping actor, receive timeout armed", Req: Request{Workload: tell, N: m / 5, Batch: 1, Armed: true}, Warm: m / 20, Rounds: many, With: "tell-1"},
		{Key: "ask", Title: "ask round trip, 100k", Req: Request{Workload: ask, N: k}, Warm: l, Rounds: many},
		{Key: "spawn", Title: "spawn, started, stopped, 100k alive", Req: Request{Workload: spawn, N: k}, Warm: l, Rounds: many},
		{Key: "idle-100k", Title: "memory of 100k idle actors", Req: Request{Workload: idle, N: k}, Rounds: s.Weigh, Fresh: true},
		{Key: "idle-1M", Title: "memory of 1M idle actors", Req: Request{Workload: idle, N: m}, Rounds: few, Fresh: true},
		{Key: "rt-off", Title: "tell 10k batches, no receive timeout", Req: Request{Workload: tell, N: m, Batch: 10_000}, Warm: m / 4, Rounds: many},
		{Key: "rt-on", Title: "tell 10k batches, receive timeout armed", Req: Request{Workload: tell, N: m, Batch: 10_000, Armed: true}, Warm: m / 4, Rounds: many, With: "rt-off"},
		{Key: "idle-armed", Title: "memory of 100k idle actors, receive timeout armed", Req: Request{Workload: idle, N: k, Armed: true, Quiet: s.Quiet}, Rounds: s.Weigh, Fresh: true},
		{Key: "idle-armed-1M", Title: "memory of 1M idle actors, receive timeout armed", Req: Request{Workload: idle, N: m, Armed: true, Quiet: s.Quiet}, Rounds: few, Fresh: true},
		{Key: "skynet-10k", Title: "skynet, 10k leaves", Req: Request{Workload: skynet, N: pow10(l)}, Warm: pow10(l / 10), Rounds: many},
		{Key: "skynet-1M", Title: "skynet, 1M leaves", Req: Request{Workload: skynet, N: pow10(m)}, Warm: pow10(l), Rounds: few},
		{Key: "idle-named-100k", Title: "memory of 100k idle actors with names", Req: Request{Workload: idle, N: k, Named: true}, Rounds: s.Weigh, Fresh: true},
		{Key: "blocked", Title: "others run while 64 handlers sleep 200 ms", Req: Request{Workload: blocked, N: 64, Sleep: 200 * time.Millisecond}, Warm: 8, Rounds: many},
	}
}

// pow10 is the largest power of ten that is at most n, and 10 at least: what a skynet tree can have as leaves.
func pow10(n int) int {
	p := 10
	for p*10 <= n {
		p *= 10
	}
	return p
}

// SkynetSum is the right answer for a skynet of n leaves.
func SkynetSum(n int) int64 { return int64(n) * int64(n-1) / 2 }
