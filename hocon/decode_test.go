package hocon

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// resolved parses and resolves a document named test.conf.
func resolved(t testing.TB, text string) *Config {
	t.Helper()
	c, err := ParseString("test.conf", text, func(o *Options) { o.Env = goldenEnv })
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.Resolve(); err != nil {
		t.Fatal(err)
	}
	return c
}

// mode is a union: off, or an object.
type mode struct {
	Off   bool
	Delay time.Duration
}

func (m *mode) UnmarshalHOCON(v Value) error {
	if on, err := v.Bool(); err == nil {
		m.Off = !on
		return nil
	}
	var group struct{ Delay time.Duration }
	if err := v.Decode(&group); err != nil {
		return err
	}
	*m = mode{Delay: group.Delay}
	return nil
}

// level is an enumeration whose errors know no place.
type level int

func (l *level) UnmarshalHOCON(v Value) error {
	s, err := v.String()
	if err != nil {
		return err
	}
	if s != "low" && s != "high" {
		return fmt.Errorf("must be low or high, is %q", s)
	}
	*l = level(len(s))
	return nil
}

// count wraps the error of Decode.
type count int

func (c *count) UnmarshalHOCON(v Value) error {
	var n int
	if err := v.Decode(&n); err != nil {
		return fmt.Errorf("must be a count: %w", err)
	}
	*c = count(n)
	return nil
}

type common struct {
	URL       string
	TLSConfig map[string]string
}

type Extra struct{ Shared int }

type settings struct {
	common
	*Extra
	InitialDelay time.Duration
	MaxAttempts  int
	Small        int8
	Tiny         uint8
	Port         uint16
	Huge         uint64
	Factor       float64
	Ratio        float32
	Fast         bool
	Name         string
	Seeds        []string
	Pair         [2]int
	Limits       map[string]int
	Inner        struct{ A, B int }
	Next         *settings
	Free         any
	Size         Bytes
	Mode         mode
	Level        level
	Count        count
	Levels       []level
	Renamed      int `hocon:"other-name"`
	Skipped      int `hocon:"-"`
	Callback     func()
	private      int
}

func TestDecode(t *testing.T) {
	in := settings{private: 5, Name: "kept", Limits: map[string]int{"old": 1}, Inner: struct{ A, B int }{7, 8}}
	err := Decode(resolved(t, `x {
		url = "nats://h:4222", tlsConfig { a = b }, shared = 3
		initialDelay = 1.5s, maxAttempts = 5, small = -128, tiny = 255, port = "4222", huge = 18446744073709551615
		factor = 2, ratio = 0.5, fast = on, seeds = [a, 1, true], pair = [1, 2], limits { new = 2 }
		inner { b = 9 }, next { name = nested }, free { a = [1, 1.5, x, null, true], b = null }, size = 10k
		mode = false, level = high, count = 1e3, levels = [low, high], other-name = 4
	}`), "x", &in)
	if err != nil {
		t.Fatal(err)
	}
	want := settings{
		private: 5,
		common:  common{URL: "nats://h:4222", TLSConfig: map[string]string{"a": "b"}}, Extra: &Extra{Shared: 3},
		InitialDelay: 1500 * time.Millisecond, MaxAttempts: 5, Small: -128, Tiny: 255, Port: 4222, Huge: math.MaxUint64,
		Factor: 2, Ratio: 0.5, Fast: true, Name: "kept", Seeds: []string{"a", "1", "true"}, Pair: [2]int{1, 2},
		Limits: map[string]int{"old": 1, "new": 2}, Next: &settings{Name: "nested"},
		Free: map[string]any{"a": []any{int64(1), 1.5, "x", nil, true}, "b": nil},
		Size: 10240, Mode: mode{Off: true}, Level: 4, Count: 1000, Levels: []level{3, 4}, Renamed: 4,
	}
	want.Inner.A, want.Inner.B = 7, 9
	if !reflect.DeepEqual(in, want) {
		t.Errorf("got  %+v\nwant %+v", in, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ text, place, says string }{
		{"x.initialDelay = NaN", "1:18: x.initialDelay", "want a duration"},
		{"x.initialDelay = Infinity", "1:18: x.initialDelay", "want a duration"},
		{"x.initialDelay = 1 fortnight", "1:18: x.initialDelay", "unit is not known"},
		{"x.initialDelay = 1h30m", "1:18: x.initialDelay", "unit is not known"},
		{"x.initialDelay = 1 S", "1:18: x.initialDelay", "unit is not known"},
		{"x.initialDelay = 106752 d", "1:18: x.initialDelay", "the limit is 106751"},
		{"x.initialDelay = -106752 d", "1:18: x.initialDelay", "too large"},
		{"x.initialDelay = 9223372036854775807", "1:18: x.initialDelay", "too large"},
		{"x.initialDelay = 99999999999999999999 ns", "1:18: x.initialDelay", "too large"},
		{"x.initialDelay = 1e300 s", "1:18: x.initialDelay", "too large"},
		{"x.initialDelay = 1e999 s", "1:18: x.initialDelay", "too large"},
		{"x.initialDelay = 0.1 ns", "1:18: x.initialDelay", "too small"},
		{"x.initialDelay = true", "1:18: x.initialDelay", "found a boolean"},
		{"x.initialDelay = []", "1:18: x.initialDelay", "found an array"},
		{"x.initialDelay = \"\"", "1:18: x.initialDelay", "found a string"},
		{"x.maxAttempts = 1.0", "1:17: x.maxAttempts", "decimal point"},
		{"x.maxAttempts = 1e-1", "1:17: x.maxAttempts", "fraction"},
		{"x.maxAttempts = 1e30", "1:17: x.maxAttempts", "out of range"},
		{"x.maxAttempts = 9223372036854775808", "1:17: x.maxAttempts", "out of range"},
		{"x.maxAttempts = many", "1:17: x.maxAttempts", "want a whole number, found a string"},
		{"x.small = 128", "1:11: x.small", "from -128 to 127"},
		{"x.small = -129", "1:11: x.small", "from -128 to 127"},
		{"x.tiny = 256", "1:10: x.tiny", "from 0 to 255"},
		{"x.tiny = -1", "1:10: x.tiny", "from 0 to 255"},
		{"x.tiny = 1.5", "1:10: x.tiny", "decimal point"},
		{"x.huge = 18446744073709551616", "1:10: x.huge", "from 0 to 18446744073709551615"},
		{"x.factor = NaN", "1:12: x.factor", "finite number"},
		{"x.factor = \"Inf\"", "1:12: x.factor", "finite number"},
		{"x.factor = -Infinity", "1:12: x.factor", "finite number"},
		{"x.factor = 0x1p4", "1:12: x.factor", "finite number"},
		{"x.factor = 1e309", "1:12: x.factor", "out of the range of a float64"},
		{"x.ratio = 1e39", "1:11: x.ratio", "out of the range of a float32"},
		{"x.fast = maybe", "1:10: x.fast", "true or false"},
		{"x.fast = 1", "1:10: x.fast", "true or false"},
		{"x.name = {}", "1:10: x.name", "want a string, found an object"},
		{"x.seeds = a", "1:11: x.seeds", "want an array, found a string"},
		{"x.seeds = [a, []]", "1:15: x.seeds.1", "want a string"},
		{"x.seeds = [a, null]", "1:15: x.seeds.1", "cannot be null"},
		{"x.pair = [1]", "1:10: x.pair", "an array of 2 elements, found one of 1"},
		{"x.limits = 1", "1:12: x.limits", "want an object, found a number"},
		{"x.limits.\"a b\" = y", "1:18: x.limits.\"a b\"", "whole number"},
		{"x.inner = 5", "1:11: x.inner", "want an object"},
		{"x.free = 1e999", "1:10: x.free", "out of the range"},
		{"x.size = -1", "1:10: x.size", "negative"},
		{"x.size = 8EiB", "1:10: x.size", "too large"},
		{"x.size = 1KB", "1:10: x.size", "unit is not known"},
		{"x.callback = 1", "1:14: x.callback", "Go type func()"},
		{"x {\n  initialDelai = 1\n}", "2:3: x.initialDelai", "did you mean initialDelay?"},
		{"x.initial-delay = 1", "1:1: x.initial-delay", "did you mean initialDelay?"},
		{"x.inner.zzz = 1", "1:1: x.inner.zzz", "the keys here are a, b"},
		{"x.zzz = null", "1:1: x.zzz", "unknown key"},
		{"x.private = 1", "1:1: x.private", "unknown key"},
		{"x.skipped = 1", "1:1: x.skipped", "unknown key"},
		{"x.next.next.small = 1000", "1:21: x.next.next.small", "from -128 to 127"},
		{"x.mode = maybe", "1:10: x.mode", "want an object"},
		{"x.mode { delay = soon }", "1:18: x.mode.delay", "want a duration"},
		{"x.mode { dely = 1 }", "1:10: x.mode.dely", "did you mean delay?"},
		{"x.level = medium", "1:11: x.level", "must be low or high"},
		{"x.levels = [low, medium]", "1:18: x.levels.1", "must be low or high"},
		{"x.count = 1.5", "1:11: x.count", "must be a count: want a whole number"},
		{"x = 1", "1:5: x", "want an object, found a number"},
	} {
		t.Run(c.text, func(t *testing.T) {
			in := settings{Name: "before", Limits: map[string]int{"a": 1}}
			err := Decode(resolved(t, c.text), "x", &in)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("want an *Error, got %v", err)
			}
			if got := err.Error(); !strings.HasPrefix(got, "test.conf:"+c.place+": ") || !strings.Contains(got, c.says) {
				t.Errorf("got %q, want the place %q and %q in it", got, c.place, c.says)
			}
			if want := (settings{Name: "before", Limits: map[string]int{"a": 1}}); !reflect.DeepEqual(in, want) {
				t.Errorf("after the error the target is %+v", in)
			}
		})
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"500": 500 * time.Millisecond, "\"500\"": 500 * time.Millisecond, "0": 0, "1.5": 1500 * time.Microsecond,
		"1ns": 1, "1 nano": 1, "2 nanos": 2, "3 nanosecond": 3, "3 nanoseconds": 3,
		"1us": time.Microsecond, "1 µs": time.Microsecond, "1 μs": time.Microsecond, "2 micros": 2 * time.Microsecond,
		"1ms": time.Millisecond, "2 millis": 2 * time.Millisecond, "2 milliseconds": 2 * time.Millisecond,
		"1s": time.Second, "\" 30 s \"": 30 * time.Second, "1 second": time.Second, "1.5m": 90 * time.Second,
		"2 minutes": 2 * time.Minute, "1h": time.Hour, "0.5 hours": 30 * time.Minute, "2d": 48 * time.Hour,
		"1 day": 24 * time.Hour, "-5s": -5 * time.Second, "1e3": time.Second, "1e3 s": 1000 * time.Second,
		"106751 d": 106751 * 24 * time.Hour, "9223372036854775807 ns": math.MaxInt64, "-9223372036854775808ns": math.MinInt64,
	} {
		var got struct{ D time.Duration }
		if err := Decode(resolved(t, "d = "+text), "", &got); err != nil || got.D != want {
			t.Errorf("%s: got %v, %v, want %v", text, got.D, err, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "512": 512, "10k": 10240, "10K": 10240, "1Ki": 1024, "1 KiB": 1024, "1kB": 1000, "1.5M": 1572864,
		"5 MiB": 5 << 20, "1MB": 1e6, "1g": 1 << 30, "2 GB": 2e9, "1T": 1 << 40, "1 TB": 1e12, "1p": 1 << 50, "1PB": 1e15,
		"1E": 1 << 60, "1e": 1 << 60, "1EB": 1e18, "7EiB": 7 << 60, "1 byte": 1, "3 bytes": 3, "4B": 4, "5b": 5, "1e3": 1000,
		"1 kilobyte": 1000, "2 kibibytes": 2048, "3 megabytes": 3e6, "4 mebibytes": 4 << 20, "1 exabyte": 1e18,
		"1 exbibyte": 1 << 60, "1 tebibyte": 1 << 40, "1 petabytes": 1e15, "9223372036854775807": math.MaxInt64,
	} {
		var got struct{ B Bytes }
		if err := Decode(resolved(t, "b = "+text), "", &got); err != nil || got.B != want {
			t.Errorf("%s: got %d, %v, want %d", text, got.B, err, want)
		}
	}
}
