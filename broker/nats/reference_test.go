package nats_test

import (
	_ "embed" // for reference.conf
	"reflect"
	"testing"

	"github.com/troupe-go/troupe/broker/nats"
	"github.com/troupe-go/troupe/hocon"
)

//go:embed reference.conf
var referenceConf string

// reference.conf says what the code does: decoded over a Config in which everything is wrong it gives the defaults, so it
// has every key and each with its default.
func TestReferenceConf(t *testing.T) {
	conf, err := hocon.ParseString("reference.conf", referenceConf)
	if err == nil {
		conf, err = conf.Resolve()
	}
	if err != nil {
		t.Fatal(err)
	}
	want := nats.DefaultConfig()
	got := want
	spoil(t, reflect.ValueOf(&got).Elem())
	if err := hocon.Decode(conf, nats.Key, &got); err != nil {
		t.Fatal(err)
	}
	compare(t, "", reflect.ValueOf(got), reflect.ValueOf(want))
}

// own calls f for each field that is in HOCON, but not for those of every protocol.
func own(v reflect.Value, f func(name string, field reflect.Value)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Tag.Get("hocon") != "-" && !field.Anonymous {
			f(field.Name, v.Field(i))
		}
	}
}

func spoil(t *testing.T, v reflect.Value) {
	own(v, func(name string, f reflect.Value) {
		switch f.Kind() {
		case reflect.Struct:
			spoil(t, f)
		case reflect.String:
			f.SetString("wrong")
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Int, reflect.Int64:
			f.SetInt(-77)
		case reflect.Uint64:
			f.SetUint(77)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		default:
			t.Fatalf("%s is a %v; the test does not know such settings", name, f.Kind())
		}
	})
}

func compare(t *testing.T, path string, got, want reflect.Value) {
	names := map[string]reflect.Value{}
	own(want, func(name string, f reflect.Value) { names[name] = f })
	own(got, func(name string, f reflect.Value) {
		switch w := names[name]; f.Kind() {
		case reflect.Struct:
			compare(t, path+name+".", f, w)
		case reflect.Slice:
			if f.Len() != w.Len() {
				t.Errorf("%s%s is %v according to reference.conf, %v in the code", path, name, f, w)
			}
		default:
			if !f.Equal(w) {
				t.Errorf("%s%s is %v according to reference.conf, %v in the code", path, name, f, w)
			}
		}
	})
}
