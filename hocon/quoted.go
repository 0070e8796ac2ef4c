package hocon

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// quoted steps over a string in double or triple quotes and returns what it stands for.
func (s *scanner) quoted() (string, error) {
	if s.sees(`"""`) {
		return s.tripleQuoted()
	}
	open := s.here
	s.next()
	var b strings.Builder
	for {
		at := s.here
		switch r := s.peek(); {
		case r == '"':
			s.next()
			return b.String(), nil
		case r == end:
			return "", open.errorf("the closing double quote of this string is missing")
		case r == '\n':
			return "", at.errorf("a string in double quotes cannot go over several lines; close it, write \\n, or use triple quotes")
		case r < ' ':
			return "", at.errorf("the control character U+%04X is not allowed in double quotes; write \\u%04x", r, r)
		case r == '\\':
			c, err := s.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(c)
		default:
			b.WriteRune(s.next())
		}
	}
}

// tripleQuoted: everything up to three quotes is taken as it is. Of more than three, the last three close the string.
func (s *scanner) tripleQuoted() (string, error) {
	open := s.here
	s.step(3)
	from := s.off
	for !s.sees(`"""`) {
		if s.next() == end {
			return "", open.errorf(`the closing """ of this string is missing`)
		}
	}
	for s.sees(`""""`) {
		s.next()
	}
	text := s.src[from:s.off]
	s.step(3)
	return text, nil
}

// escape steps over a backslash and what belongs to it.
func (s *scanner) escape() (rune, error) {
	at := s.here
	s.next()
	switch r := s.next(); r {
	case '"', '\\', '/':
		return r, nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return s.unicodeEscape(at)
	case end, '\n':
		return 0, at.errorf("the string ends in the middle of an escape; write \\\\ for a backslash")
	default:
		return 0, at.errorf("'\\%c' is no escape; write \\\\ for a backslash; the escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX", r)
	}
}

// unicodeEscape reads the digits behind \u, and those of a second escape where the first is half of a pair.
func (s *scanner) unicodeEscape(at pos) (rune, error) {
	r, ok := s.hex4()
	if !ok {
		return 0, at.errorf("\\u must be followed by four hexadecimal digits")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if s.take(`\u`) {
		if low, ok := s.hex4(); ok {
			if pair := utf16.DecodeRune(r, low); pair != '\uFFFD' {
				return pair, nil
			}
		}
	}
	return 0, at.errorf("\\u%04x is half of a surrogate pair; write both halves, or the character itself", r)
}

func (s *scanner) hex4() (rune, bool) {
	if s.off+4 > len(s.src) {
		return 0, false
	}
	digits := s.src[s.off : s.off+4]
	n, err := strconv.ParseUint(digits, 16, 16)
	if err != nil {
		return 0, false
	}
	s.step(4)
	return rune(n), true
}
