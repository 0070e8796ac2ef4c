package hocon

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// JSON returns a resolved configuration as JSON: keys sorted, indented by two spaces, no newline at the end. Values
// from the environment are in it, so it can hold secrets. An error, always an *[Error], says that the configuration is
// not resolved, or that the text would have more than 256 MiB.
func (c *Config) JSON() ([]byte, error) {
	if err := c.checkResolved(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if !writeJSON(&b, c.root(), "\n") {
		return nil, &Error{Msg: "the configuration has more than 256 MiB as JSON"}
	}
	return b.Bytes(), nil
}

func (c *Config) checkResolved() error {
	if c != nil && !c.resolved {
		return &Error{Msg: "the configuration still has substitutions; call Resolve first"}
	}
	return nil
}

// maxJSON bounds the text: in a deep document most of it is indentation.
const maxJSON = 256 << 20

// writeJSON writes a resolved value. A line break begins with the newline and the indentation given. It gives up and
// returns false once there is too much.
func writeJSON(b *bytes.Buffer, n node, newline string) bool {
	inner := newline + "  "
	switch n := n.(type) {
	case *scalar:
		b.WriteString(jsonScalar(n))
	case *array:
		return writeItems(b, "[]", len(n.elems), newline, func(i int) bool { return writeJSON(b, n.elems[i], inner) })
	case *object:
		fields := slices.Clone(n.fields)
		slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.key, b.key) })
		return writeItems(b, "{}", len(fields), newline, func(i int) bool {
			b.WriteString(jsonString(fields[i].key) + ": ")
			return writeJSON(b, fields[i].val, inner)
		})
	}
	return true
}

func writeItems(b *bytes.Buffer, brackets string, n int, newline string, item func(int) bool) bool {
	b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(newline + "  ")
		if !item(i) || b.Len() > maxJSON {
			return false
		}
	}
	if n > 0 {
		b.WriteString(newline)
	}
	b.WriteByte(brackets[1])
	return true
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
