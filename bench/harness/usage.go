package harness

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// usage is processor time in the 10 ms units of /proc: of the whole machine, and of this program with one worker. Where
// there is no /proc both stay 0, and no round counts as disturbed.
type usage struct {
	at        time.Time
	busy, own int64
}

func usageNow(p *proc) usage {
	u := usage{at: time.Now(), own: ticks(os.Getpid()) + ticks(p.cmd.Process.Pid)}
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return usage{at: u.at}
	}
	line, _, _ := strings.Cut(string(b), "\n")
	for i, f := range strings.Fields(line) {
		if i == 0 || i == 4 || i == 5 { // name, idle, iowait
			continue
		}
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return usage{at: u.at}
		}
		u.busy += n
	}
	return u
}

// others is the share of the processors that neither this program nor the worker has used since before.
func (u usage) others(before usage) float64 {
	n := u.busy - before.busy - (u.own - before.own)
	if n <= 2 { // /proc counts in 10 ms; two may be rounding
		return 0
	}
	return float64(n) / 100 / u.at.Sub(before.at).Seconds() / float64(runtime.NumCPU())
}

// ticks is what a process has used, 0 if that cannot be read.
func ticks(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 13 {
		return 0
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	sys, err2 := strconv.ParseInt(f[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return user + sys
}

// CPU is the processor's name, empty where /proc does not tell.
func CPU() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for l := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
