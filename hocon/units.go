package hocon

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size in bytes. In a document it is a number of bytes, or a number with a unit: k, K, Ki and KiB are 1024
// bytes, kB is 1000, and so on with M, G, T, P and E. A size is never negative.
type Bytes int64

const (
	wantDuration = "a duration such as 500ms, 30s, 5m or 1.5h (a plain number is milliseconds)"
	wantBytes    = "a size such as 512, 64k, 10MiB or 1GB (a plain number is bytes)"
)

// UnmarshalHOCON reads a number with or without a unit. Errors are *[Error].
func (b *Bytes) UnmarshalHOCON(v Value) error {
	n, err := v.quantity(byteUnit, 1, wantBytes)
	if err == nil && n < 0 {
		err = v.Errorf("a size cannot be negative, want %s", wantBytes)
	}
	if err == nil {
		*b = Bytes(n)
	}
	return err
}

func (v Value) duration(d *time.Duration) error {
	n, err := v.quantity(durationUnit, int64(time.Millisecond), wantDuration)
	if err == nil {
		*d = time.Duration(n)
	}
	return err
}

// quantity returns a number times its unit.
func (v Value) quantity(unit func(string) (int64, bool), plain int64, want string) (int64, error) {
	s, ok := v.n.(*scalar)
	if !ok || s.kind != Number && s.kind != String {
		return 0, v.want(want)
	}
	number, name := splitUnit(strings.TrimFunc(s.text, isBlankRune))
	if number == "" {
		return 0, v.want(want)
	}
	factor := plain
	if name != "" {
		if factor, ok = unit(name); !ok {
			return 0, v.Errorf("the unit is not known, want %s", want)
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		if product := n * factor; product/factor == n {
			return product, nil
		}
		return 0, v.Errorf("the value is too large, the limit is %d", math.MaxInt64/factor)
	}
	f, err := strconv.ParseFloat(number, 64)
	product := math.Round(f * float64(factor))
	switch {
	case err != nil || math.Abs(product) >= math.MaxInt64:
		return 0, v.Errorf("the value is too large, the limit is %d", math.MaxInt64/factor)
	case product == 0 && f != 0:
		return 0, v.Errorf("the value is too small, it would count as 0")
	}
	return int64(product), nil
}

func isBlankRune(r rune) bool { return isSpace(r) || r == '\n' }

// splitUnit splits "1.5 MiB" into the number and the unit. The number is empty if there is none.
func splitUnit(text string) (number, unit string) {
	n := 0
	for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] == '.' || n == 0 && text[n] == '-') {
		n++
	}
	// An exponent belongs to the number, the E of exbibytes does not.
	if n < len(text) && (text[n] == 'e' || text[n] == 'E') {
		e := n + 1
		if e < len(text) && (text[e] == '+' || text[e] == '-') {
			e++
		}
		digits := e
		for e < len(text) && text[e] >= '0' && text[e] <= '9' {
			e++
		}
		if e > digits {
			n = e
		}
	}
	if number = text[:n]; !isNumber(number) {
		return "", ""
	}
	return number, strings.TrimLeftFunc(text[n:], isBlankRune)
}

func durationUnit(name string) (int64, bool) {
	var d time.Duration
	switch name {
	case "ns", "nano", "nanos", "nanosecond", "nanoseconds":
		d = time.Nanosecond
	case "us", "µs", "μs", "micro", "micros", "microsecond", "microseconds":
		d = time.Microsecond
	case "ms", "milli", "millis", "millisecond", "milliseconds":
		d = time.Millisecond
	case "s", "second", "seconds":
		d = time.Second
	case "m", "minute", "minutes":
		d = time.Minute
	case "h", "hour", "hours":
		d = time.Hour
	case "d", "day", "days":
		d = 24 * time.Hour
	}
	return int64(d), d != 0
}

func byteUnit(name string) (int64, bool) {
	switch name {
	case "B", "b", "byte", "bytes":
		return 1, true
	}
	const letters = "KMGTPE"
	long := strings.TrimSuffix(name, "s")
	binary, decimal := int64(1), int64(1)
	for i := range len(letters) {
		binary *= 1024
		decimal *= 1000
		upper := letters[i : i+1]
		lower := strings.ToLower(upper)
		thousand := upper + "B"
		if i == 0 {
			thousand = "kB"
		}
		switch name {
		case upper, lower, upper + "i", upper + "iB":
			return binary, true
		case thousand:
			return decimal, true
		}
		switch long {
		case longUnit(i, "bibyte"):
			return binary, true
		case longUnit(i, "byte"):
			return decimal, true
		}
	}
	return 0, false
}

// longUnit returns kibibyte or kilobyte and their like.
func longUnit(i int, ending string) string {
	if ending == "byte" {
		return [...]string{"kilo", "mega", "giga", "tera", "peta", "exa"}[i] + ending
	}
	return [...]string{"ki", "me", "gi", "te", "pe", "ex"}[i] + ending
}
