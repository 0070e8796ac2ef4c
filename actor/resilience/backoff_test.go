package resilience

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

const (
	ms     = time.Millisecond
	second = time.Second
	hour   = time.Hour
)

// fixed is a Random that always yields r.
func fixed(r float64) func() float64 { return func() float64 { return r } }

func TestExponentialDoublesUpToMax(t *testing.T) {
	b := Exponential(200*ms, 30*second, 0)
	want := []time.Duration{200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30 * second, 30 * second}
	for n, d := range want {
		if got := b.Delay(n); got != d {
			t.Errorf("Delay(%d) = %v, want %v", n, got, d)
		}
	}
	for _, n := range []int{30, 62, 63, 64, 1000, 10_000, math.MaxInt} {
		if got := b.Delay(n); got != 30*second {
			t.Errorf("Delay(%d) = %v, want Max", n, got)
		}
	}
	for _, n := range []int{-1, math.MinInt} {
		if got := b.Delay(n); got != 200*ms {
			t.Errorf("Delay(%d) = %v, want Min", n, got)
		}
	}
}

func TestLinearAddsUpToMax(t *testing.T) {
	b := Linear(100*ms, second, 250*ms)
	for n, want := range []time.Duration{100 * ms, 350 * ms, 600 * ms, 850 * ms, second, second} {
		if got := b.Delay(n); got != want {
			t.Errorf("Delay(%d) = %v, want %v", n, got, want)
		}
	}
	if got := b.Delay(math.MaxInt); got != second {
		t.Errorf("Delay(MaxInt) = %v, want Max", got)
	}
	if got := b.Delay(-5); got != 100*ms {
		t.Errorf("Delay(-5) = %v, want Min", got)
	}
}

func TestLinearIsExactForLongDelays(t *testing.T) {
	b := Linear(1, math.MaxInt64, math.MaxInt64/2)
	for n, want := range []time.Duration{1, math.MaxInt64/2 + 1, math.MaxInt64, math.MaxInt64} {
		if got := b.Delay(n); got != want {
			t.Errorf("Delay(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestMinIsExactForLongDelays(t *testing.T) {
	const odd = 1<<60 + 1
	if got := Exponential(odd, math.MaxInt64, 0).Delay(0); got != odd {
		t.Errorf("Delay(0) = %d, want Min, %d", got, odd)
	}
}

func TestConstant(t *testing.T) {
	b := Backoff{Min: second, Max: hour}
	for _, n := range []int{0, 1, 1000, math.MaxInt} {
		if got := b.Delay(n); got != second {
			t.Errorf("Delay(%d) = %v, want Min", n, got)
		}
	}
}

func TestFactorAndStepTogether(t *testing.T) {
	b := Backoff{Min: 100 * ms, Max: second, Factor: 2, Step: 50 * ms}
	for n, want := range []time.Duration{100 * ms, 250 * ms, 500 * ms, 950 * ms, second} {
		if got := b.Delay(n); got != want {
			t.Errorf("Delay(%d) = %v, want %v", n, got, want)
		}
	}
}

// A minimum of 0 doubles to 0 for ever; it does not jump to Max at some large n.
func TestHC_K6_exponential_from_zero_stays_zero(t *testing.T) {
	b := Exponential(0, second, 0.2)
	for _, n := range []int{0, 1, 29, 30, 31, 1024, math.MaxInt} {
		if got := b.Delay(n); got != 0 {
			t.Errorf("Delay(%d) = %v, want 0", n, got)
		}
	}
}

// Every delay grows with the attempt and stays positive and bounded, for any factor and any start; jitter multiplies
// what comes out.
func TestBackoffThatBacksOff(t *testing.T) {
	const bound = 2 * hour
	for _, factor := range []float64{1, 1.0001, 1.1, 1.5, 2, math.E, 3, 7.3, 10} {
		for _, start := range []time.Duration{1, 2, 3, 999, 1000, time.Microsecond + 1, ms, 200 * ms, second, time.Minute, hour} {
			b := Backoff{Min: start, Max: bound, Factor: factor}
			low, high := b, b
			low.RandomFactor, low.Random = 0.2, fixed(0)
			high.RandomFactor, high.Random = 0.2, fixed(math.Nextafter(1, 0))
			last := time.Duration(0)
			for n := range 10_000 {
				d := b.Delay(n)
				if d <= 0 || d > bound || d < last || n == 0 && d != start {
					t.Fatalf("factor %v, min %v: Delay(%d) = %d after %d", factor, start, n, d, last)
				}
				if got, want := low.Delay(n), time.Duration(math.Round(float64(d)*0.8)); got != want {
					t.Fatalf("factor %v, min %v: shortest Delay(%d) = %d, want %d", factor, start, n, got, want)
				}
				if got, want := high.Delay(n), time.Duration(math.Round(float64(d)*1.2)); got > want || got < want-1 {
					t.Fatalf("factor %v, min %v: longest Delay(%d) = %d, want %d", factor, start, n, got, want)
				}
				last = d
			}
			if factor >= 1.1 && last != bound {
				t.Errorf("factor %v, min %v: it never reached Max but %v", factor, start, last)
			}
		}
	}
}

func TestHC_K5_jitter_comes_after_the_bound(t *testing.T) {
	b := Exponential(100*ms, second, 0.2)
	for _, c := range []struct {
		random float64
		n      int
		want   time.Duration
	}{
		{0, 0, 80 * ms}, {0.5, 0, 100 * ms}, {0, 20, 800 * ms}, {0.5, 20, second}, {0.75, 20, 1100 * ms}, {1, 20, 1200 * ms},
	} {
		b.Random = fixed(c.random)
		if got := b.Delay(c.n); got != c.want {
			t.Errorf("Delay(%d) with Random %v = %v, want %v", c.n, c.random, got, c.want)
		}
	}
}

func TestRandomIsReadAtEachDelay(t *testing.T) {
	calls := 0
	b := Exponential(second, hour, 1)
	b.Random = func() float64 { calls++; return float64(calls) / 4 }
	for _, want := range []time.Duration{500 * ms, second, 1500 * ms} {
		if got := b.Delay(0); got != want {
			t.Errorf("Delay after %d calls = %v, want %v", calls, got, want)
		}
	}
	b.RandomFactor = 0
	b.Delay(0)
	if calls != 3 {
		t.Errorf("Random was called %d times, want 3: not without jitter", calls)
	}
}

func TestDefaultRandomSpreads(t *testing.T) {
	b := Exponential(second, hour, DefaultRandomFactor)
	shortest, longest := hour, time.Duration(0)
	for range 1000 {
		d := b.Delay(0)
		shortest, longest = min(shortest, d), max(longest, d)
	}
	if shortest < 800*ms || longest > 1200*ms {
		t.Errorf("delays from %v to %v, want within 800ms and 1.2s", shortest, longest)
	}
	if shortest > 850*ms || longest < 1150*ms {
		t.Errorf("1000 delays only from %v to %v", shortest, longest)
	}
}

// HC-K6: NaN is in no range.
func TestHC_K6_Validate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := []Backoff{
		Exponential(0, 0, 0), Exponential(100*ms, 10*second, 0.2), Exponential(second, second, 1), Linear(0, hour, 0), Linear(second, hour, second),
		{Min: 1, Max: math.MaxInt64, Factor: math.MaxFloat64, Step: math.MaxInt64, RandomFactor: 1}, {},
	}
	for _, b := range good {
		if err := b.Validate(); err != nil {
			t.Errorf("%+v: %v", b, err)
		}
	}
	bad := []struct {
		field string
		b     Backoff
	}{
		{"Min", Exponential(-1, second, 0)},
		{"Max", Exponential(second, second-1, 0)},
		{"Max", Exponential(0, -1, 0)},
		{"Step", Linear(0, second, -1)},
		{"Factor", Backoff{Max: second, Factor: 0.99}},
		{"Factor", Backoff{Max: second, Factor: -2}},
		{"Factor", Backoff{Max: second, Factor: nan}},
		{"Factor", Backoff{Max: second, Factor: inf}},
		{"Factor", Backoff{Max: second, Factor: -inf}},
		{"RandomFactor", Exponential(0, second, nan)},
		{"RandomFactor", Exponential(0, second, inf)},
		{"RandomFactor", Exponential(0, second, -0.01)},
		{"RandomFactor", Exponential(0, second, 1.01)},
	}
	for _, c := range bad {
		err := c.b.Validate()
		if !errors.Is(err, ErrBackoff) || !strings.Contains(err.Error(), ": "+c.field+" is ") {
			t.Errorf("%+v: %v, want ErrBackoff that names %s", c.b, err, c.field)
		}
	}
}

func FuzzDelayIsAlwaysADuration(f *testing.F) {
	f.Add(int64(ms), int64(second), 2.0, int64(0), 0.2, 0.5, 3)
	f.Add(int64(-1), int64(math.MinInt64), math.NaN(), int64(math.MinInt64), math.Inf(-1), math.NaN(), math.MinInt)
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), math.Inf(1), int64(math.MaxInt64), 1.0, 1.0, math.MaxInt)
	f.Add(int64(0), int64(math.MaxInt64), math.MaxFloat64, int64(1), math.NaN(), math.Inf(1), 1<<30)
	f.Fuzz(func(t *testing.T, lowest, highest int64, factor float64, step int64, spread, random float64, n int) {
		b := Backoff{Min: time.Duration(lowest), Max: time.Duration(highest), Factor: factor, Step: time.Duration(step),
			RandomFactor: spread, Random: fixed(random)}
		base := b.base(n)
		if base < 0 || base > max(b.Max, 0) {
			t.Errorf("%+v: base(%d) = %d, outside 0 and Max", b, n, base)
		}
		if n < math.MaxInt && b.base(n+1) < base {
			t.Errorf("%+v: base(%d) = %d, less than %d before it", b, n+1, b.base(n+1), base)
		}
		if d := b.Delay(n); d < 0 || d/2 > base {
			t.Errorf("%+v: Delay(%d) = %d, want from 0 to twice %d", b, n, d, base)
		}
		if err := b.Validate(); err == nil && base < b.Min {
			t.Errorf("%+v: base(%d) = %d, less than Min", b, n, base)
		}
	})
}

func BenchmarkDelay(b *testing.B) {
	policy := Exponential(200*ms, 30*second, 0.2)
	n := 0
	for b.Loop() {
		policy.Delay(n & 63)
		n++
	}
}
