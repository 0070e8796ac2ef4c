package hocon

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"
)

// JSON returns a resolved configuration as JSON: keys sorted, indented by two spaces, no newline at the end. Values
// from the environment are in it, so it can hold secrets. An error, always an *[Error], says that the configuration is
// not resolved.
func (c *Config) JSON() ([]byte, error) {
	if err := c.checkResolved(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	writeJSON(&b, c.root(), "\n")
	return b.Bytes(), nil
}

func (c *Config) checkResolved() error {
	if c != nil && !c.resolved {
		return &Error{Msg: "the configuration still has substitutions; call Resolve first"}
	}
	return nil
}

// writeJSON writes a resolved value. A line break begins with the newline and the indentation given.
func writeJSON(b *bytes.Buffer, n node, newline string) {
	inner := newline + "  "
	switch n := n.(type) {
	case *scalar:
		b.WriteString(jsonScalar(n))
	case *array:
		writeItems(b, '[', ']', len(n.elems), newline, func(i int) { writeJSON(b, n.elems[i], inner) })
	case *object:
		fields := append([]field(nil), n.fields...)
		sort.Slice(fields, func(i, j int) bool { return fields[i].key < fields[j].key })
		writeItems(b, '{', '}', len(fields), newline, func(i int) {
			b.WriteString(jsonString(fields[i].key) + ": ")
			writeJSON(b, fields[i].val, inner)
		})
	}
}

func writeItems(b *bytes.Buffer, left, right byte, n int, newline string, item func(int)) {
	b.WriteByte(left)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(newline + "  ")
		item(i)
	}
	if n > 0 {
		b.WriteString(newline)
	}
	b.WriteByte(right)
}

func jsonScalar(s *scalar) string {
	switch s.kind {
	case String:
		return jsonString(s.text)
	case Number:
		return jsonNumber(s.text)
	}
	return s.text
}

func jsonString(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// A string is always encoded.
	_ = e.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// jsonNumber takes away what JSON does not allow: leading zeros, and a point with nothing behind.
func jsonNumber(text string) string {
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole := strings.TrimLeft(text, "0123456789")
	digits := strings.TrimLeft(text[:len(text)-len(whole)], "0")
	if digits == "" {
		digits = "0"
	}
	if strings.HasPrefix(whole, ".") && (len(whole) == 1 || whole[1] < '0' || whole[1] > '9') {
		whole = whole[1:]
	}
	return sign + digits + whole
}
