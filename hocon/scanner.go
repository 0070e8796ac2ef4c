package hocon

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// end is what peek returns behind the last character.
const end = rune(-1)

// reserved are the characters that cannot stand in unquoted text, besides whitespace and the start of a comment.
const reserved = "$\"{}[]:=,+#`^?!@*&\\"

// scanner walks over the characters of one document and knows where it is.
type scanner struct {
	src  string
	off  int
	here pos
}

func (s *scanner) peek() rune {
	if s.off >= len(s.src) {
		return end
	}
	r, _ := utf8.DecodeRuneInString(s.src[s.off:])
	return r
}

// sees reports whether the text goes on with this.
func (s *scanner) sees(text string) bool { return strings.HasPrefix(s.src[s.off:], text) }

// next steps over one character.
func (s *scanner) next() rune {
	if s.off >= len(s.src) {
		return end
	}
	r, n := utf8.DecodeRuneInString(s.src[s.off:])
	s.off += n
	if r == '\n' {
		s.here.line++
		s.here.col = 1
	} else {
		s.here.col++
	}
	return r
}

// step steps over n characters, none of them a newline.
func (s *scanner) step(n int) {
	for range n {
		s.next()
	}
}

// take steps over the text if it comes next.
func (s *scanner) take(text string) bool {
	if !s.sees(text) {
		return false
	}
	s.step(utf8.RuneCountInString(text))
	return true
}

// isSpace is true for all whitespace but the newline, which separates fields. The byte order mark counts.
func isSpace(r rune) bool {
	switch {
	case r == '\t' || r == '\v' || r == '\f' || r == '\r' || r == ' ':
		return true
	case r >= 0x1c && r <= 0x1f || r == 0xFEFF:
		return true
	case r < 0x80:
		return false
	}
	return unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp)
}

// spaces steps over whitespace on this line and returns it.
func (s *scanner) spaces() string {
	from := s.off
	for isSpace(s.peek()) {
		s.next()
	}
	return s.src[from:s.off]
}

func (s *scanner) atComment() bool { return s.sees("#") || s.sees("//") }

// blank steps over whitespace and comments, not over a newline.
func (s *scanner) blank() {
	s.spaces()
	if s.atComment() {
		for r := s.peek(); r != '\n' && r != end; r = s.peek() {
			s.next()
		}
	}
}

// blankLines steps over whitespace, comments and newlines, and reports whether there was a newline.
func (s *scanner) blankLines() (newline bool) {
	for s.blank(); s.peek() == '\n'; s.blank() {
		s.next()
		newline = true
	}
	return newline
}

// plain reports whether a character can stand in unquoted text.
func plain(r rune) bool {
	return r > ' ' && r != 0x7f && r != '\n' && !isSpace(r) && !strings.ContainsRune(reserved, r)
}

// unquoted steps over unquoted text and returns it; empty if none is here. The sign of an exponent belongs to it.
func (s *scanner) unquoted() string {
	from := s.off
	for {
		r := s.peek()
		switch {
		case r == '/' && s.sees("//"):
			return s.src[from:s.off]
		case plain(r):
			s.next()
		case r == '+' && s.exponent(from):
			s.next()
		default:
			return s.src[from:s.off]
		}
	}
}

// exponent reports whether the plus sign that comes next is that of a number such as 1e+5.
func (s *scanner) exponent(from int) bool {
	text := s.src[from:s.off]
	if n := len(text); n < 2 || text[n-1] != 'e' && text[n-1] != 'E' || !isNumber(text[:n-1]) {
		return false
	}
	return s.off+1 < len(s.src) && s.src[s.off+1] >= '0' && s.src[s.off+1] <= '9'
}

// isNumber reports whether text is a number as a document may write it: JSON's, and as in the reference implementation
// also with leading zeros or nothing behind the point.
func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	rest := strings.TrimLeft(text, "0123456789")
	if rest == text {
		return false
	}
	if strings.HasPrefix(rest, ".") {
		rest = strings.TrimLeft(rest[1:], "0123456789")
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	digits := rest[1:]
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		digits = digits[1:]
	}
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// unexpected says why a character cannot stand here and what to do.
func (s *scanner) unexpected() *Error {
	switch r := s.peek(); {
	case r == end:
		return s.here.errorf("the document ends here, a value is missing")
	case r == '$':
		return s.here.errorf("'$' starts a substitution such as ${path}; put the text in double quotes to have it as it is")
	case r == '\\':
		return s.here.errorf("a backslash is not allowed outside of quotes; put the text in double quotes and write it twice, or in triple quotes")
	case r < ' ' || r == 0x7f:
		return s.here.errorf("the control character U+%04X is not allowed here; in double quotes write it as \\u%04x", r, r)
	default:
		return s.here.errorf("'%c' is not allowed in unquoted text; put the text in double quotes", r)
	}
}

// checkUTF8 finds the first byte that is no UTF-8.
func checkUTF8(start pos, text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	s := scanner{src: text, here: start}
	for s.off < len(text) {
		if r, n := utf8.DecodeRuneInString(text[s.off:]); r == utf8.RuneError && n == 1 {
			break
		}
		s.next()
	}
	return s.here.errorf("the byte 0x%02x is not UTF-8; save the file as UTF-8", text[s.off])
}
