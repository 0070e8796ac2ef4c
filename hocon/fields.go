package hocon

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// structField is a field of a Go struct, or of a struct that is embedded in it.
type structField struct {
	index []int
	depth int
	// clash is true if two fields at the same depth have this key.
	clash bool
}

// structFields returns the fields of a struct by key. As in Go, a field hides those of embedded structs.
func structFields(t reflect.Type) map[string]structField {
	fields := make(map[string]structField)
	collectFields(t, nil, map[reflect.Type]bool{t: true}, fields)
	return fields
}

func collectFields(t reflect.Type, index []int, seen map[reflect.Type]bool, fields map[string]structField) {
	for i := range t.NumField() {
		sf := t.Field(i)
		key, tagged := sf.Tag.Lookup("hocon")
		if key == "-" {
			continue
		}
		at := append(index[:len(index):len(index)], i)
		if inner := embedded(sf); inner != nil && !tagged {
			if !seen[inner] {
				seen[inner] = true
				collectFields(inner, at, seen, fields)
				delete(seen, inner)
			}
			continue
		}
		if !sf.IsExported() {
			continue
		}
		if key == "" {
			key = defaultKey(sf.Name)
		}
		old, known := fields[key]
		switch {
		case !known || len(at) < old.depth:
			fields[key] = structField{index: at, depth: len(at)}
		case len(at) == old.depth:
			old.clash = true
			fields[key] = old
		}
	}
}

// embedded returns the struct that a field embeds, itself or by a pointer that can be set; nil for other fields.
func embedded(sf reflect.StructField) reflect.Type {
	t := sf.Type
	if t.Kind() == reflect.Pointer && sf.IsExported() {
		t = t.Elem()
	}
	if !sf.Anonymous || t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// defaultKey returns the key of a field: its name with the first word in lower case, as in url, tlsConfig, maxDelay.
func defaultKey(name string) string {
	runes := []rune(name)
	n := 0
	for n < len(runes) && unicode.IsUpper(runes[n]) {
		n++
	}
	if n > 1 && n < len(runes) && unicode.IsLower(runes[n]) {
		n-- // the last capital begins the second word
	}
	return strings.ToLower(string(runes[:n])) + string(runes[n:])
}

func (v Value) intoStruct(dst reflect.Value) error {
	o, ok := v.n.(*object)
	if !ok {
		return v.want("an object")
	}
	fields := structFields(dst.Type())
	for _, f := range o.fields {
		val := v.sub(f.key, f.val)
		sf, ok := fields[f.key]
		if !ok {
			return f.keyErrorf(val.Key(), "%s", unknownKey(f.key, fields))
		}
		if sf.clash {
			return f.keyErrorf(val.Key(), "the Go type %s has two fields for this key; give one of them a tag", dst.Type())
		}
		if err := val.into(walk(dst, sf.index)); err != nil {
			return err
		}
	}
	return nil
}

// walk goes to a field. An embedded pointer on the way gets a copy of what it pointed to, or a new struct.
func walk(dst reflect.Value, index []int) reflect.Value {
	for i, n := range index {
		if i > 0 && dst.Kind() == reflect.Pointer {
			fresh := reflect.New(dst.Type().Elem())
			if !dst.IsNil() {
				fresh.Elem().Set(dst.Elem())
			}
			dst.Set(fresh)
			dst = fresh.Elem()
		}
		dst = dst.Field(n)
	}
	return dst
}

// unknownKey says which key may have been meant, or which there are.
func unknownKey(key string, fields map[string]structField) string {
	if len(fields) == 0 {
		return "unknown key; there are no keys here"
	}
	keys := slices.Sorted(maps.Keys(fields))
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s))
	}
	meant, nearest := "", 3
	for _, k := range keys {
		if d := distance(plain(k), plain(key)); d <= min(2, len(k)/3) && d < nearest {
			meant, nearest = k, d
		}
	}
	if meant != "" {
		return "unknown key; did you mean " + meant + "?"
	}
	return "unknown key; the keys here are " + strings.Join(keys, ", ")
}

// distance is the number of letters to insert, remove or replace to make b of a. Long words are not compared.
func distance(a, b string) int {
	if max(len(a), len(b)) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
