package actortest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/troupe-go/troupe/actor"
)

// equal reports whether got and want are the same by their contents: what reflect.DeepEqual says, but for refs, which
// are the same if they address the same incarnation. reflect.DeepEqual would compare what a ref points to, and that
// looks alike for any two actors.
func equal(got, want any) bool {
	d := differ{seen: map[pair]bool{}}
	d.compare("", reflect.ValueOf(got), reflect.ValueOf(want))
	return d.n == 0
}

// differences lists the parts of got that differ from want, each on a line of its own that begins with a new line. It is
// empty if there are none, and if the two are different as a whole, of which there is nothing more to say.
func differences(got, want any) string {
	d := differ{seen: map[pair]bool{}}
	d.compare("", reflect.ValueOf(got), reflect.ValueOf(want))
	if d.n > maxDifferences {
		fmt.Fprintf(&d.text, "\n\tand %d more", d.n-maxDifferences)
	}
	return d.text.String()
}

// maxDifferences is how many are listed.
const maxDifferences = 10

// differ walks two values side by side. It reads unexported fields too, so it never calls Interface or a method.
type differ struct {
	seen map[pair]bool // that are being compared, for values that contain themselves
	n    int
	text strings.Builder
}

type pair struct {
	a, b uintptr
	t    reflect.Type
}

// differ notes one difference; the whole has an empty path and no line.
func (d *differ) differ(path, format string, args ...any) {
	d.n++
	if path != "" && d.n <= maxDifferences {
		fmt.Fprintf(&d.text, "\n\t%s: %s", strings.TrimPrefix(path, "."), fmt.Sprintf(format, args...))
	}
}

func (d *differ) compare(path string, a, b reflect.Value) {
	switch {
	case !a.IsValid() || !b.IsValid():
		if a.IsValid() != b.IsValid() {
			d.differ(path, "got %s, want %s", part(a), part(b))
		}
	case a.Type() != b.Type():
		d.differ(path, "got a %v, %s, want a %v, %s", a.Type(), part(a), b.Type(), part(b))
	case a.Type() == reflect.TypeFor[actor.Ref]():
		if !a.Equal(b) {
			d.differ(path, "got %s, want %s", part(a), part(b))
		}
	default:
		d.contents(path, a, b)
	}
}

// contents compares two values of one type.
func (d *differ) contents(path string, a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				d.differ(path, "got %s, want %s", part(a), part(b))
			}
			return
		}
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		p := pair{a.Pointer(), b.Pointer(), a.Type()}
		if d.seen[p] {
			return
		}
		d.seen[p] = true
		defer delete(d.seen, p)
	}
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		d.compare(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			d.compare(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice, reflect.Array:
		d.elements(path, a, b)
	case reflect.Map:
		d.entries(path, a, b)
	case reflect.Func: // neither is nil, and nobody can say whether they do the same
		d.differ(path, "functions are equal only if both are nil")
	default:
		if !a.Equal(b) {
			d.differ(path, "got %s, want %s", part(a), part(b))
		}
	}
}

func (d *differ) elements(path string, a, b reflect.Value) {
	if a.Len() != b.Len() {
		d.differ(path, "got %d elements, want %d: got %s, want %s", a.Len(), b.Len(), part(a), part(b))
		return
	}
	for i := range a.Len() {
		d.compare(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
	}
}

func (d *differ) entries(path string, a, b reflect.Value) {
	for it := a.MapRange(); it.Next(); {
		at := path + "[" + part(it.Key()) + "]"
		if v := b.MapIndex(it.Key()); v.IsValid() {
			d.compare(at, it.Value(), v)
		} else {
			d.differ(at, "got %s, want no such key", part(it.Value()))
		}
	}
	for it := b.MapRange(); it.Next(); {
		if !a.MapIndex(it.Key()).IsValid() {
			d.differ(path+"["+part(it.Key())+"]", "got no such key, want %s", part(it.Value()))
		}
	}
}

// part shows a part of a value.
func part(v reflect.Value) string {
	if !v.IsValid() {
		return "nil"
	}
	if v.Kind() == reflect.String {
		return fmt.Sprintf("%q", cut(v.String()))
	}
	if v.CanInterface() {
		return cut(fmt.Sprintf("%+v", v.Interface()))
	}
	return cut(fmt.Sprintf("%+v", v)) // fmt looks into a reflect.Value itself
}

// cut shortens what is too long to read.
func cut(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
