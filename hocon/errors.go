package hocon

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is what every function of this package returns for bad input: a document that does not parse, a substitution
// without a value, a setting of the wrong type. It says where, and what would be right. It never contains the value of
// a setting, because that may be a password.
type Error struct {
	// File is the file, or the name given to [ParseString]. Empty if the error is in no document.
	File string
	// Line and Column count from 1; Column counts characters. Both are 0 if the error concerns the whole file.
	Line, Column int
	// Key is the dotted key of the setting, as it could be written in a document. Empty if there is none.
	Key string
	// Msg says what is wrong and what would be right.
	Msg string

	cause error
}

// Error returns "file:line:column: key: what is wrong", without the parts that are not known.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		if e.File != "" {
			b.WriteByte(':')
		}
		b.WriteString(strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Column))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Msg
}

// Unwrap returns what the error was made of: the failure to read a file, or the error of an UnmarshalHOCON method.
func (e *Error) Unwrap() error { return e.cause }

// pos is a place in a document.
type pos struct {
	file      string
	line, col int
}

// errorf makes an error at this place.
func (p pos) errorf(format string, args ...any) *Error {
	return p.keyErrorf("", format, args...)
}

// keyErrorf makes an error about a key at this place.
func (p pos) keyErrorf(key, format string, args ...any) *Error {
	return &Error{File: p.file, Line: p.line, Column: p.col, Key: shorten(key), Msg: shorten(fmt.Sprintf(format, args...))}
}

// shorten keeps what a hostile document names from filling a log.
func shorten(text string) string {
	const limit = 1000
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}
