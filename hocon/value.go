package hocon

// Kind is what a value is.
type Kind int

// The kinds of values. A number or boolean in quotes, or out of the environment, is a String.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the kind as it is named in errors: "a number", "an object".
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Array:
		return "an array"
	case Object:
		return "an object"
	}
	return "an unknown kind"
}

// Value is a resolved value as an UnmarshalHOCON method gets it. It can be used after the method has returned, and by
// several goroutines at once.
type Value struct {
	n    node
	keys []string
}

// Kind returns what the value is. It is never Null in a call of UnmarshalHOCON.
func (v Value) Kind() Kind { return kindOf(v.n) }

// Key returns the dotted key of the value from the root of the configuration. An element of an array has its index as
// the last key.
func (v Value) Key() string { return joinPath(v.keys) }

// Position returns where the value is written, or the substitution that took it from the environment.
func (v Value) Position() (file string, line, column int) {
	at := v.n.at()
	return at.file, at.line, at.col
}

// Errorf returns an error, an *[Error], with the place and the key of the value.
func (v Value) Errorf(format string, args ...any) error {
	return v.n.at().keyErrorf(v.Key(), format, args...)
}

// want is the error for a value of the wrong type.
func (v Value) want(what string) error {
	return v.Errorf("want %s, found %s", what, v.Kind())
}

// String returns a string, and a number or boolean as it is written. The error for an object, an array or null is an
// *[Error].
func (v Value) String() (string, error) {
	if s, ok := v.n.(*scalar); ok && s.kind != Null {
		return s.text, nil
	}
	return "", v.want("a string")
}

// Bool returns a boolean, also one that is written as yes, no, on or off, or as a string. The error for all else is an
// *[Error].
func (v Value) Bool() (bool, error) {
	if s, ok := v.n.(*scalar); ok && s.kind != Null {
		switch s.text {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
	}
	return false, v.want("true or false")
}

// Number returns a number, also one that is written as a string. The error for all else, and for one beyond the range
// of a float64, is an *[Error].
func (v Value) Number() (float64, error) {
	text, ok := v.number()
	if !ok {
		return 0, v.want("a finite number")
	}
	return v.float(text, 64)
}

// Decode stores the value in what into points to, by the rules of [Decode]. Inside an UnmarshalHOCON method into must be
// of another type, or the method calls itself without end: a type with the same fields, or the type it is made of.
func (v Value) Decode(into any) error { return decodeValue(v, into) }
