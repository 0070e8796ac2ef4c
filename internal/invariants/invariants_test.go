package invariants

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	fall := func(cond bool) (text string) {
		defer func() {
			if v := recover(); v != nil {
				text = v.(string)
			}
		}()
		Check(cond, "%d of %s", 3, "four")
		return ""
	}
	if got := fall(true); got != "" {
		t.Errorf("a true condition panics: %s", got)
	}
	got := fall(false)
	if Enabled && !strings.Contains(got, "3 of four") {
		t.Errorf("a false condition panics with %q, want the formatted text", got)
	}
	if !Enabled && got != "" {
		t.Errorf("a false condition panics in a build without checks: %s", got)
	}
}

func TestCheckCostsNothing(t *testing.T) {
	if Enabled {
		t.Skip("this build checks")
	}
	values, n := []int{1, 2, 3}, 0
	allocs := testing.AllocsPerRun(100, func() {
		n++
		Check(n < 0, "n is %d of %v", n, values)
	})
	if allocs != 0 {
		t.Errorf("Check allocates %v times a call, want 0", allocs)
	}
}

func BenchmarkCheck(b *testing.B) {
	n := 0
	for b.Loop() {
		n++
		Check(n > 0, "n is %d", n)
	}
}
