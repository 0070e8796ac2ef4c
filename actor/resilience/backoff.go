package resilience

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// DefaultRandomFactor is a good RandomFactor for many clients of one server: delays spread by a fifth to either side.
const DefaultRandomFactor = 0.2

// Backoff is a policy of growing delays, made by Exponential or Linear or as a literal. It is a value: copy it freely.
// Delay and Validate may be called from any goroutine as long as nobody changes the fields and Random allows it.
type Backoff struct {
	// Min is the delay before the first retry, ≥ 0. With 0 an exponential policy never waits.
	Min time.Duration
	// Max bounds the delay before jitter is applied, ≥ Min.
	Max time.Duration
	// Factor multiplies the delay at each further failure: 1 or more; 0, the zero value, is 1.
	Factor float64
	// Step is added at each further failure, ≥ 0.
	Step time.Duration
	// RandomFactor is how far jitter goes to either side, as a part of the delay: from 0, no jitter, to 1, anything
	// from nothing to twice the delay.
	RandomFactor float64
	// Random yields numbers in [0, 1): 0 makes a delay as short, almost 1 as long as the jitter allows, and 0.5 leaves it
	// as it is. It is called once in each Delay that has jitter, on the caller's goroutine. Nil is the generator of
	// math/rand/v2, which may be used concurrently.
	Random func() float64
}

// Exponential doubles the delay from min until it reaches max, and spreads it by randomFactor to either side. Nothing is
// checked here; see Validate.
func Exponential(min, max time.Duration, randomFactor float64) Backoff {
	return Backoff{Min: min, Max: max, Factor: 2, RandomFactor: randomFactor}
}

// Linear adds step to the delay from min until it reaches max, without jitter: set RandomFactor on the result to have
// some. Nothing is checked here; see Validate.
func Linear(min, max, step time.Duration) Backoff {
	return Backoff{Min: min, Max: max, Factor: 1, Step: step}
}

// Validate reports the first field that is out of its range, NaN and infinities included, as an error that wraps
// ErrBackoff and says what would be right.
func (b Backoff) Validate() error {
	switch {
	case b.Min < 0:
		return wrong(ErrBackoff, "Min", b.Min, "0 or more")
	case b.Max < b.Min:
		return wrong(ErrBackoff, "Max", b.Max, fmt.Sprintf("at least Min, %v", b.Min))
	case b.Step < 0:
		return wrong(ErrBackoff, "Step", b.Step, "0 or more")
	// Each range is asked for in the positive: a comparison with NaN is false.
	case b.Factor != 0 && !(b.Factor >= 1 && b.Factor <= math.MaxFloat64):
		return wrong(ErrBackoff, "Factor", b.Factor, "a finite number from 1, or 0 for 1")
	case !(b.RandomFactor >= 0 && b.RandomFactor <= 1):
		return wrong(ErrBackoff, "RandomFactor", b.RandomFactor, "from 0 to 1")
	}
	return nil
}

// Delay is how long to wait after n+1 failures in a row: n is 0 for the first retry; a negative n counts as 0. It grows
// with n up to Max and stays there however large n is. It never overflows, is never negative, and does not block. A
// policy that Validate refuses yields delays all the same: what is out of its range then counts as the nearest in it.
func (b Backoff) Delay(n int) time.Duration {
	d := b.base(n)
	spread := clamp(b.RandomFactor, 0, 1)
	if spread == 0 || d == 0 {
		return d
	}
	random := b.Random
	if random == nil {
		random = rand.Float64
	}
	r := random()
	if math.IsNaN(r) {
		r = 0.5
	}
	return duration(float64(d) * (1 + spread*(2*clamp(r, 0, 1)-1)))
}

// base is the delay without jitter.
func (b Backoff) base(n int) time.Duration {
	n = max(n, 0)
	lowest, highest, step := max(b.Min, 0), max(b.Max, 0), max(b.Step, 0)
	if lowest >= highest {
		return highest
	}
	if factor := clamp(b.Factor, 1, math.MaxFloat64); factor > 1 {
		// A large n makes the power infinite, and Min 0 times that would be NaN. The comparison is made as a number,
		// since Max may be more than a conversion back would take.
		grown := 0.0
		if lowest > 0 {
			grown = float64(lowest) * math.Pow(factor, float64(n))
		}
		grown += float64(step) * float64(n)
		if grown >= float64(highest) {
			return highest
		}
		return max(lowest, time.Duration(grown)) // a Min above 2^53 loses its last digits as a float64
	}
	// Whole numbers here: a number of nanoseconds above 2^53 would lose its last digits. Compared by division, because
	// step × n may overflow.
	if step > 0 && time.Duration(n) > (highest-lowest)/step {
		return highest
	}
	return lowest + step*time.Duration(n)
}

// clamp moves x into [low, high]; NaN counts as low.
func clamp(x, low, high float64) float64 {
	if !(x > low) {
		return low
	}
	return min(x, high)
}

// duration rounds to a duration; what is too long for one becomes the longest.
func duration(ns float64) time.Duration {
	if ns >= math.MaxInt64 { // as a float64 that is 2^63, the first value too long
		return math.MaxInt64
	}
	return time.Duration(math.Round(ns))
}
