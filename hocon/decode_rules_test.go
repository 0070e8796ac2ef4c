package hocon

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestDecodeWritesOnlyWhatIsThere(t *testing.T) {
	in := settings{MaxAttempts: 3, Fast: true, Seeds: []string{"kept"}, Next: &settings{Small: 1}}
	before := in
	for _, text := range []string{"", "y = 1", "x = null", "x {}", "x { maxAttempts = null, seeds = null, next = null, mode = null }"} {
		if err := Decode(resolved(t, text), "x", &in); err != nil || !reflect.DeepEqual(in, before) {
			t.Errorf("%q: %v, %+v", text, err, in)
		}
	}
	if err := Decode(nil, "x", &in); err != nil || !reflect.DeepEqual(in, before) {
		t.Errorf("nil: %v, %+v", err, in)
	}
	if err := Decode(Empty(), "", &in); err != nil || !reflect.DeepEqual(in, before) {
		t.Errorf("empty: %v, %+v", err, in)
	}
}

// Defaults are often shared by several users; decoding for one must not change what the others hold.
func TestDecodeSharesNothing(t *testing.T) {
	defaults := settings{
		Extra: &Extra{Shared: 1}, Next: &settings{Small: 1}, Limits: map[string]int{"a": 1}, Seeds: []string{"a", "b"},
		Free: map[string]any{"a": 1},
	}
	in := defaults
	err := Decode(resolved(t, "shared = 2, next.small = 2, limits.a = 2, seeds = [c], free.a = 2"), "", &in)
	if err != nil {
		t.Fatal(err)
	}
	if in.Shared != 2 || in.Next.Small != 2 || in.Limits["a"] != 2 || in.Seeds[0] != "c" {
		t.Errorf("not decoded: %+v", in)
	}
	if defaults.Shared != 1 || defaults.Next.Small != 1 || defaults.Limits["a"] != 1 || defaults.Seeds[0] != "a" ||
		!reflect.DeepEqual(defaults.Free, map[string]any{"a": 1}) {
		t.Errorf("the defaults changed: %+v", defaults)
	}
}

func TestDecodeKeys(t *testing.T) {
	for name, want := range map[string]string{
		"InitialDelay": "initialDelay", "URL": "url", "TLSConfig": "tlsConfig", "ID": "id", "A": "a", "HTTP2Port": "http2Port",
		"MaxACKs": "maxACKs", "Äpfel": "äpfel", "SASLUser": "saslUser",
	} {
		if got := defaultKey(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestDecodeEmbedded(t *testing.T) {
	type Inner struct{ A, B int }
	type Other struct{ B, C int }
	type hiding struct {
		Inner
		A int
	}
	var h hiding
	if err := Decode(resolved(t, "a = 1, b = 2"), "", &h); err != nil || h.A != 1 || h.Inner.A != 0 || h.B != 2 {
		t.Errorf("%+v, %v", h, err)
	}
	type clashing struct {
		Inner
		Other
	}
	var c clashing
	if err := Decode(resolved(t, "a = 1, c = 2"), "", &c); err != nil || c.A != 1 || c.C != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := Decode(resolved(t, "b = 1"), "", &c); err == nil || !strings.Contains(err.Error(), "two fields") {
		t.Errorf("want an error about two fields, got %v", err)
	}
	type named struct {
		Inner `hocon:"inner"`
	}
	var n named
	if err := Decode(resolved(t, "inner.a = 1"), "", &n); err != nil || n.A != 1 {
		t.Errorf("%+v, %v", n, err)
	}
	type Loop struct {
		A int
		*settings
		Next *Loop
	}
	var l Loop
	if err := Decode(resolved(t, "next.next.a = 1"), "", &l); err != nil || l.Next.Next.A != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestDecodeTargets(t *testing.T) {
	c := resolved(t, `n = 5, o { a = 1, b = x }, l = [{a = 1}, {a = 2}], m { 10 = c, 2 = b }, "a.b" { c = 1 }`)
	var n *int
	if err := Decode(c, "n", &n); err != nil || *n != 5 {
		t.Errorf("%v, %v", n, err)
	}
	var a any
	if err := Decode(c, "o", &a); err != nil || !reflect.DeepEqual(a, map[string]any{"a": int64(1), "b": "x"}) {
		t.Errorf("%v, %v", a, err)
	}
	var l []struct{ A int }
	if err := Decode(c, "l", &l); err != nil || len(l) != 2 || l[1].A != 2 {
		t.Errorf("%v, %v", l, err)
	}
	var m []string
	if err := Decode(c, "m", &m); err != nil || !reflect.DeepEqual(m, []string{"b", "c"}) {
		t.Errorf("%v, %v", m, err)
	}
	var i int
	if err := Decode(c, `"a.b".c`, &i); err != nil || i != 1 {
		t.Errorf("%v, %v", i, err)
	}
	for _, bad := range []any{nil, 5, (*int)(nil), struct{}{}} {
		if err := Decode(c, "n", bad); err == nil || !strings.Contains(err.Error(), "pointer") {
			t.Errorf("%T: want an error about a pointer, got %v", bad, err)
		}
	}
	for path, says := range map[string]string{"n.x": "want an object", "a..b": "not a path", "a b[": "not a path", ".": "not a path"} {
		if err := Decode(c, path, &i); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: want an error with %q, got %v", path, says, err)
		}
	}
	unresolved, err := ParseString("test.conf", "a = 1")
	if err != nil {
		t.Fatal(err)
	}
	if err := Decode(unresolved, "", &a); err == nil || !strings.Contains(err.Error(), "Resolve") {
		t.Errorf("want an error about Resolve, got %v", err)
	}
	var wrongKeys map[int]string
	if err := Decode(c, "o", &wrongKeys); err == nil || !strings.Contains(err.Error(), "keys must be strings") {
		t.Errorf("want an error about the keys, got %v", err)
	}
	var iface fmt.Stringer
	if err := Decode(c, "n", &iface); err == nil || !strings.Contains(err.Error(), "fmt.Stringer") {
		t.Errorf("want an error about the type, got %v", err)
	}
}

// probe keeps the value it was given.
type probe struct{ v Value }

func (p *probe) UnmarshalHOCON(v Value) error {
	p.v = v
	return nil
}

func TestValue(t *testing.T) {
	var got map[string]probe
	c := resolved(t, "s = text\nn = 1.50\nb = yes\no { a = 1 }\nl = [1]\nq = \"2\"")
	if err := Decode(c, "", &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]Kind{"s": String, "n": Number, "b": String, "o": Object, "l": Array, "q": String} {
		if v := got[key].v; v.Kind() != want || v.Key() != key {
			t.Errorf("%s: %v %s", key, v.Kind(), v.Key())
		}
	}
	if file, line, column := got["n"].v.Position(); file != "test.conf" || line != 2 || column != 5 {
		t.Errorf("%s:%d:%d", file, line, column)
	}
	if s, err := got["n"].v.String(); s != "1.50" || err != nil {
		t.Errorf("%s, %v", s, err)
	}
	if n, err := got["q"].v.Number(); n != 2 || err != nil {
		t.Errorf("%v, %v", n, err)
	}
	if b, err := got["b"].v.Bool(); !b || err != nil {
		t.Errorf("%v, %v", b, err)
	}
	if err := got["l"].v.Errorf("too %s", "long"); err.Error() != "test.conf:5:5: l: too long" {
		t.Error(err)
	}
	for key, call := range map[string]func(Value) error{
		"o": func(v Value) error { _, err := v.String(); return err },
		"l": func(v Value) error { _, err := v.Bool(); return err },
		"s": func(v Value) error { _, err := v.Number(); return err },
	} {
		var e *Error
		if err := call(got[key].v); !errors.As(err, &e) || e.Key != key || e.Line == 0 {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// The environment is where passwords come from: no error may show what it holds.
func TestErrorsHideTheEnvironment(t *testing.T) {
	const secret = "hunter2-secret"
	env := func(string) (string, bool) { return secret, true }
	for _, text := range []string{
		"maxAttempts = ${S}", "initialDelay = ${S}", "fast = ${S}", "factor = ${S}", "size = ${S}", "seeds = ${S}", "inner = ${S}",
		"level = ${S}", "levels = [${S}]", "level = ${S}x", "maxAttempts = x${S}", "count = ${S}", "mode = ${S}", "mode.delay = ${S}",
		"pair = [${S}, 1]", "limits.a = ${S}", "callback = ${S}", "seeds = ${S} [1]", "seeds = 1, seeds += ${S}, seeds = ${S} {}",
		"next.level = ${S}",
	} {
		c, err := load(map[string]string{"main.conf": text}, env)
		if err == nil {
			var in settings
			err = Decode(c, "", &in)
		}
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if shown := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(shown, secret) {
				t.Errorf("%s: the error shows the value: %s", text, shown)
			}
		}
	}
}
