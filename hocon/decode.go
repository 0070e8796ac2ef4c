package hocon

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// unmarshaler is implemented by types that read their own value.
type unmarshaler interface{ UnmarshalHOCON(v Value) error }

// Decode stores what a resolved configuration has under a path, such as broker.nats or "" for all of it, in what into
// points to. The package documentation has the rules. Only what the configuration has is written; if there is nothing
// under the path, nothing is. After an error, into is as before. Maps and slices of the result are new ones, shared
// neither with the configuration nor with what into held. Errors are *[Error].
func Decode(c *Config, path string, into any) error {
	if err := c.checkResolved(); err != nil {
		return err
	}
	keys, err := splitPath(path)
	if err != nil {
		return err
	}
	v := Value{n: c.root()}
	for i, key := range keys {
		o, ok := v.n.(*object)
		if !ok {
			if v.Kind() == Null {
				return nil
			}
			return v.want("an object")
		}
		f, ok := o.find(key)
		if !ok {
			return nil
		}
		v = Value{f.val, keys[:i+1]}
	}
	return decodeValue(v, into)
}

// decodeValue decodes into a copy, so that an error leaves the original alone.
func decodeValue(v Value, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return v.Errorf("Decode needs a pointer to store the value in, and got %T", into)
	}
	tmp := reflect.New(target.Type().Elem())
	tmp.Elem().Set(target.Elem())
	if err := v.into(tmp.Elem()); err != nil {
		return err
	}
	target.Elem().Set(tmp.Elem())
	return nil
}

// into stores the value in dst, which can be set. A null changes nothing.
func (v Value) into(dst reflect.Value) error {
	if v.Kind() == Null {
		return nil
	}
	if u, ok := dst.Addr().Interface().(unmarshaler); ok {
		return v.unmarshal(u)
	}
	if d, ok := dst.Addr().Interface().(*time.Duration); ok {
		return v.duration(d)
	}
	if u, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return v.unmarshal(textUnmarshaler{u})
	}
	switch dst.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(dst.Type().Elem())
		if !dst.IsNil() {
			fresh.Elem().Set(dst.Elem())
		}
		if err := v.into(fresh.Elem()); err != nil {
			return err
		}
		dst.Set(fresh)
		return nil
	case reflect.Struct:
		return v.intoStruct(dst)
	case reflect.Map:
		return v.intoMap(dst)
	case reflect.Slice, reflect.Array:
		return v.intoSlice(dst)
	case reflect.Interface:
		if dst.NumMethod() > 0 {
			break
		}
		a, err := v.any()
		if err == nil && a != nil {
			dst.Set(reflect.ValueOf(a))
		}
		return err
	}
	return v.intoScalar(dst)
}

// unmarshal gives the value to its type, and adds the place to the error if the type did not.
func (v Value) unmarshal(u unmarshaler) error {
	err := u.UnmarshalHOCON(v)
	if err == nil {
		return nil
	}
	wrapped, ok := err.(*Error)
	if !ok {
		wrapped = v.n.at().keyErrorf(v.Key(), "%s", err)
		var inner *Error
		if errors.As(err, &inner) {
			// The inner place is the more exact one; it is said once, in front.
			wrapped = &Error{File: inner.File, Line: inner.Line, Column: inner.Column, Key: inner.Key, Included: inner.Included}
			wrapped.Msg = strings.Replace(err.Error(), inner.Error(), inner.Msg, 1)
		}
		wrapped.cause = err
	}
	if msg := hideSecrets(wrapped.Msg, v.n); msg != wrapped.Msg {
		hidden := *wrapped
		hidden.Msg, hidden.cause = msg, nil
		return &hidden
	}
	return wrapped
}

// textUnmarshaler makes an unmarshaler of a type that reads text, such as an enumeration.
type textUnmarshaler struct{ encoding.TextUnmarshaler }

func (u textUnmarshaler) UnmarshalHOCON(v Value) error {
	text, err := v.String()
	if err != nil {
		return err
	}
	return u.UnmarshalText([]byte(text))
}

// hideSecrets takes what came from the environment out of the message of a type that did not know.
func hideSecrets(msg string, n node) string {
	switch n := n.(type) {
	case *scalar:
		// A shorter text may well be in the message by chance; where it is a value it is quoted.
		const short = 4
		if n.secret && n.text != "" {
			msg = strings.ReplaceAll(msg, strconv.Quote(n.text), "a value from the environment")
			if len(n.text) >= short {
				msg = strings.ReplaceAll(msg, n.text, "a value from the environment")
			}
		}
	case *array:
		for _, elem := range n.elems {
			msg = hideSecrets(msg, elem)
		}
	case *object:
		for _, f := range n.fields {
			msg = hideSecrets(msg, f.val)
		}
	}
	return msg
}

func (v Value) intoScalar(dst reflect.Value) error {
	switch dst.Kind() {
	case reflect.String:
		s, err := v.String()
		if err == nil {
			dst.SetString(s)
		}
		return err
	case reflect.Bool:
		b, err := v.Bool()
		if err == nil {
			dst.SetBool(b)
		}
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.intoInt(dst)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return v.intoUint(dst)
	case reflect.Float32, reflect.Float64:
		text, ok := v.number()
		if !ok {
			return v.want("a finite number")
		}
		f, err := v.float(text, dst.Type().Bits())
		if err == nil {
			dst.SetFloat(f)
		}
		return err
	}
	return v.Errorf("a value of the Go type %s cannot be read from a configuration; give the type an UnmarshalHOCON method, or the field the tag hocon:\"-\"", dst.Type())
}

// sub is the value of a field or element.
func (v Value) sub(key string, n node) Value {
	return Value{n, append(v.keys[:len(v.keys):len(v.keys)], key)}
}

func (v Value) intoMap(dst reflect.Value) error {
	o, ok := v.n.(*object)
	if !ok {
		return v.want("an object")
	}
	t := dst.Type()
	if t.Key().Kind() != reflect.String {
		return v.Errorf("a value of the Go type %s cannot be read from a configuration; the keys must be strings", t)
	}
	fresh := reflect.MakeMapWithSize(t, len(o.fields))
	for _, key := range dst.MapKeys() {
		fresh.SetMapIndex(key, dst.MapIndex(key))
	}
	for _, f := range o.fields {
		if kindOf(f.val) == Null && t.Elem().Kind() != reflect.Interface {
			continue
		}
		key := reflect.ValueOf(f.key).Convert(t.Key())
		elem := reflect.New(t.Elem()).Elem()
		if old := fresh.MapIndex(key); old.IsValid() && kindOf(f.val) != Null {
			elem.Set(old)
		}
		if err := v.sub(f.key, f.val).into(elem); err != nil {
			return err
		}
		fresh.SetMapIndex(key, elem)
	}
	dst.Set(fresh)
	return nil
}

// elements returns the elements of an array, or of an object that has numbers for keys.
func (v Value) elements() ([]Value, bool) {
	var elems []Value
	switch n := v.n.(type) {
	case *array:
		for i, elem := range n.elems {
			elems = append(elems, v.sub(indexKey(i), elem))
		}
		return elems, true
	case *object:
		keys := make([]string, len(n.fields))
		for i, f := range n.fields {
			keys[i] = f.key
		}
		for _, key := range numericKeys(keys) {
			f, _ := n.find(key)
			elems = append(elems, v.sub(key, f.val))
		}
		return elems, len(elems) > 0 && len(elems) == len(n.fields)
	}
	return nil, false
}

func (v Value) intoSlice(dst reflect.Value) error {
	elems, ok := v.elements()
	if !ok {
		return v.want("an array")
	}
	fresh := reflect.New(dst.Type()).Elem()
	if dst.Kind() == reflect.Slice {
		fresh = reflect.MakeSlice(dst.Type(), len(elems), len(elems))
	} else if len(elems) != dst.Len() {
		return v.Errorf("want an array of %d elements, found one of %d", dst.Len(), len(elems))
	}
	for i, elem := range elems {
		if kind := fresh.Type().Elem().Kind(); elem.Kind() == Null && kind != reflect.Pointer && kind != reflect.Interface {
			return elem.Errorf("an element of this array cannot be null")
		}
		if err := elem.into(fresh.Index(i)); err != nil {
			return err
		}
	}
	dst.Set(fresh)
	return nil
}

// any returns the value as Go has it: string, bool, int64, float64, []any, map[string]any or nil.
func (v Value) any() (any, error) {
	switch n := v.n.(type) {
	case *array:
		made := make([]any, len(n.elems))
		for i, elem := range n.elems {
			a, err := v.sub(indexKey(i), elem).any()
			if err != nil {
				return nil, err
			}
			made[i] = a
		}
		return made, nil
	case *object:
		made := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			a, err := v.sub(f.key, f.val).any()
			if err != nil {
				return nil, err
			}
			made[f.key] = a
		}
		return made, nil
	}
	switch s := v.n.(*scalar); s.kind {
	case Null:
		return nil, nil
	case Bool:
		return s.text == "true", nil
	case Number:
		if n, err := v.int64(s.text); err == nil {
			return n, nil
		}
		return v.float(s.text, 64)
	default:
		return s.text, nil
	}
}
