package hocon

import (
	"math"
	"reflect"
	"strconv"
	"strings"
)

func indexKey(i int) string { return strconv.Itoa(i) }

// number returns the text of a number, or of a string that has one in it.
func (v Value) number() (string, bool) {
	s, ok := v.n.(*scalar)
	if !ok || s.kind != Number && s.kind != String {
		return "", false
	}
	text := strings.TrimSpace(s.text)
	return text, isNumber(text)
}

// float parses a number and refuses one that is out of range.
func (v Value) float(text string, bits int) (float64, error) {
	f, err := strconv.ParseFloat(text, bits)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, v.Errorf("the number is out of the range of a float%d", bits)
	}
	return f, nil
}

// int64 parses a whole number. One with an exponent is taken if that makes it whole, one with a point never is.
func (v Value) int64(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if strings.Contains(text, ".") {
		return 0, v.Errorf("want a whole number, found one with a decimal point")
	}
	if !strings.ContainsAny(text, "eE") {
		return 0, v.Errorf("the number is out of range, want one from %d to %d", int64(math.MinInt64), int64(math.MaxInt64))
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err == nil && f != math.Trunc(f):
		return 0, v.Errorf("want a whole number, found one with a fraction")
	case err != nil || math.Abs(f) >= 1<<53:
		return 0, v.Errorf("the number is out of range; write it without an exponent")
	}
	return int64(f), nil
}

func (v Value) intoInt(dst reflect.Value) error {
	text, ok := v.number()
	if !ok {
		return v.want("a whole number")
	}
	n, err := v.int64(text)
	if err != nil {
		return err
	}
	if dst.OverflowInt(n) {
		top := int64(1)<<(dst.Type().Bits()-1) - 1
		return v.Errorf("the number is out of range, want one from %d to %d", -top-1, top)
	}
	dst.SetInt(n)
	return nil
}

func (v Value) intoUint(dst reflect.Value) error {
	text, ok := v.number()
	if !ok {
		return v.want("a whole number")
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		signed, err := v.int64(text)
		if err != nil && !strings.HasPrefix(text, "-") && !strings.ContainsAny(text, ".eE") || err == nil && signed < 0 {
			return v.outOfUint(dst)
		}
		if err != nil {
			return err
		}
		n = uint64(signed)
	}
	if dst.OverflowUint(n) {
		return v.outOfUint(dst)
	}
	dst.SetUint(n)
	return nil
}

func (v Value) outOfUint(dst reflect.Value) error {
	return v.Errorf("the number is out of range, want one from 0 to %d", uint64(math.MaxUint64)>>(64-dst.Type().Bits()))
}
