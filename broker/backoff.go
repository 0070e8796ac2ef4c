package broker

import (
	"math"
	"math/rand/v2"
	"time"
)

// base is the delay before the retry after so many failures in a row, without jitter.
func (r *ReconnectConfig) base(failures int) float64 {
	d := float64(r.InitialDelay) * math.Pow(r.Factor, float64(max(0, failures-1)))
	return math.Min(d, float64(r.MaxDelay)) // also when the power overflowed to +Inf
}

// delay is base with the jitter, which comes after the cap.
func (r *ReconnectConfig) delay(failures int) time.Duration { return r.jitter(r.base(failures)) }

func (r *ReconnectConfig) jitter(base float64) time.Duration {
	if r.RandomFactor > 0 {
		base *= 1 + (2*r.random()-1)*r.RandomFactor
	}
	return duration(base)
}

// late is d or more, never less: a breaker that is probed early would only be found open again.
func (r *ReconnectConfig) late(d time.Duration) time.Duration {
	if r.RandomFactor <= 0 {
		return d
	}
	return max(d, duration(float64(d)*(1+r.random()*r.RandomFactor)))
}

func (r *ReconnectConfig) random() float64 {
	if r.Random != nil {
		return r.Random()
	}
	return rand.Float64()
}

func duration(f float64) time.Duration {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(max(0, f))
}

// breaker counts failed connects. It is used on the engine's goroutine only.
type breaker struct {
	cfg      BreakerConfig
	failures int
	until    time.Time
}

// failed notes a failed connect and reports whether that opened the breaker.
func (b *breaker) failed(now time.Time) bool {
	if b.cfg.FailureThreshold == 0 {
		return false
	}
	if b.failures++; b.failures < b.cfg.FailureThreshold {
		return false
	}
	b.failures, b.until = 0, now.Add(b.cfg.Reset)
	return true
}

// remaining is how long the breaker stays open.
func (b *breaker) remaining(now time.Time) time.Duration { return max(0, b.until.Sub(now)) }

// reset closes it and forgets the failures.
func (b *breaker) reset() { b.failures, b.until = 0, time.Time{} }
