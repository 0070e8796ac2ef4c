// Package conftest compares a package's reference configuration with the struct that it is decoded into. It is for
// tests.
package conftest

import (
	"encoding"
	"fmt"
	"reflect"
)

// Check returns what does not agree between a reference configuration and the defaults in code: a key without a field, a
// field without its key, a value that is not the default. The defaults are a struct; decode decodes the reference into
// what it gets, a pointer to such a struct, and must refuse keys that no field has, as hocon.Decode does. Fields that are
// not in the configuration, tagged hocon:"-" or not exported, are left out; so are those of embedded structs unless
// embedded is true, because the package they are from has its own reference. It proves each key by decoding over a
// struct in which every field has a wrong value: a field that keeps it has no key. Nothing is kept or changed. It blocks
// as decode does.
func Check(defaults any, embedded bool, decode func(into any) error) []error {
	want := reflect.ValueOf(defaults)
	if want.Kind() != reflect.Struct {
		return []error{fmt.Errorf("conftest: the defaults must be a struct, got %T", defaults)}
	}
	got := reflect.New(want.Type())
	got.Elem().Set(want)
	c := checker{embedded: embedded}
	c.fields("", got.Elem(), want, c.spoil)
	if len(c.wrong) > 0 {
		return c.wrong
	}
	if err := decode(got.Interface()); err != nil {
		return []error{fmt.Errorf("the reference does not fit %T: %w", defaults, err)}
	}
	c.fields("", got.Elem(), want, func(path string, got, want reflect.Value) {
		if !same(got, want) {
			c.errorf("%s is %v in the reference, or has no key there; the default in the code is %v", path, got, want)
		}
	})
	return c.wrong
}

type checker struct {
	embedded bool
	wrong    []error
}

func (c *checker) errorf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

// fields calls f for each field of a struct, and of the structs in it, that is in the configuration.
func (c *checker) fields(path string, a, b reflect.Value, f func(path string, a, b reflect.Value)) {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		inner := field.Type.Kind() == reflect.Struct && !readsItself(field.Type)
		switch {
		case field.Tag.Get("hocon") == "-", field.Anonymous && !c.embedded, !field.IsExported() && !field.Anonymous:
		case inner:
			c.fields(path+field.Name+".", a.Field(i), b.Field(i), f)
		default:
			f(path+field.Name, a.Field(i), b.Field(i))
		}
	}
}

// readsItself reports whether a type has its own way to read a setting, so that its fields are no keys.
func readsItself(t reflect.Type) bool {
	for _, name := range []string{"UnmarshalHOCON", "UnmarshalText"} {
		if _, ok := reflect.PointerTo(t).MethodByName(name); ok {
			return true
		}
	}
	return false
}

// spoil gives a field a value that is not the default.
func (c *checker) spoil(path string, f, _ reflect.Value) {
	switch {
	case f.Kind() == reflect.String:
		f.SetString(f.String() + "wrong")
	case f.Kind() == reflect.Bool:
		f.SetBool(!f.Bool())
	case f.CanInt():
		f.SetInt(f.Int() ^ 1)
	case f.CanUint():
		f.SetUint(f.Uint() ^ 1)
	case f.CanFloat():
		f.SetFloat(f.Float() + 1)
	case f.Kind() == reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), f.Len()+1, f.Len()+1))
	default:
		c.other(path, f)
	}
}

// other spoils a struct that reads itself, in the first field that can be told apart.
func (c *checker) other(path string, f reflect.Value) {
	if u, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok && u.UnmarshalText([]byte("wrong")) == nil {
		return
	}
	if f.Kind() == reflect.Struct {
		if !f.IsZero() {
			f.SetZero()
			return
		}
		for i := range f.NumField() {
			if inner := f.Field(i); inner.CanSet() && (inner.CanInt() || inner.Kind() == reflect.Bool || inner.Kind() == reflect.String) {
				c.spoil(path, inner, inner)
				return
			}
		}
	}
	c.errorf("%s is a %v; conftest cannot give it a wrong value", path, f.Type())
}

// same compares values; a slice without elements is the same as none.
func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
