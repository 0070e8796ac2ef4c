package broker

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDelayBounds is input (b): any attempt number, any factor, any base.
func TestDelayBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "random")
		r := ReconnectConfig{
			InitialDelay: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "initial")),
			MaxDelay:     time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "max")),
			Factor:       rapid.Float64Range(1, 10).Draw(t, "factor"),
			RandomFactor: rapid.Float64Range(0, 1).Draw(t, "rf"),
			Random:       func() float64 { return rnd },
		}
		n := rapid.IntRange(1, 10_000).Draw(t, "failures")
		base := r.base(n)
		if !(base > 0 && base <= float64(r.MaxDelay)) {
			t.Fatalf("base %v outside (0, %s]", base, r.MaxDelay)
		}
		if next := r.base(n + 1); next < base {
			t.Fatalf("base fell from %v to %v", base, next)
		}
		d, tol := float64(r.delay(n)), 2+base*1e-9
		if d < base*(1-r.RandomFactor)-tol || d > base*(1+r.RandomFactor)+tol {
			t.Fatalf("delay %v outside the bounds of base %v", d, base)
		}
		if late := r.late(r.MaxDelay); late < r.MaxDelay || float64(late) > float64(r.MaxDelay)*(1+r.RandomFactor)+tol {
			t.Fatalf("breaker wait %s for a reset of %s", late, r.MaxDelay)
		}
	})
}

func TestDelaySeries(t *testing.T) {
	c := DefaultConfig()
	c.Reconnect.RandomFactor = 0
	for i, want := range []time.Duration{200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
		if got := c.Reconnect.delay(i + 1); got != want*time.Millisecond {
			t.Errorf("delay %d = %s, want %s", i+1, got, want*time.Millisecond)
		}
	}
	if got := c.Reconnect.delay(math.MaxInt); got != 30*time.Second {
		t.Errorf("delay after very many failures = %s", got)
	}
	c.Reconnect.MaxDelay, c.Reconnect.RandomFactor, c.Reconnect.Random = math.MaxInt64, 1, func() float64 { return 0.99 }
	if got := c.Reconnect.delay(1000); got <= 0 {
		t.Errorf("overflow: %s", got)
	}
}
