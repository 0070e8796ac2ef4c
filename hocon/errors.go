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
	// Included says, if File is an included one, where it was included: first the include statement that names File, then
	// the one that names the file of that, and so on up to the outermost document. The caller owns it.
	Included []Place
	// Key is the dotted key of the setting, as it could be written in a document. Empty if there is none.
	Key string
	// Msg says what is wrong and what would be right.
	Msg string

	cause error
}

// Place is a place in a document. Line and Column count from 1; Column counts characters.
type Place struct {
	File         string
	Line, Column int
}

// String returns file:line:column.
func (p Place) String() string {
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Error returns "file:line:column: key: what is wrong", without the parts that are not known. For an included file
// "(included at file:line:column, at ...)" follows.
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
	b.WriteString(e.Msg)
	const shown = 10
	for i, p := range e.Included {
		switch i {
		case 0:
			b.WriteString(" (included at ")
		case shown:
			return b.String() + ", ...)"
		default:
			b.WriteString(", at ")
		}
		b.WriteString(shorten(p.String()))
	}
	if len(e.Included) > 0 {
		b.WriteByte(')')
	}
	return b.String()
}

// Unwrap returns what the error was made of: the failure to read a file, or the error of an UnmarshalHOCON method.
func (e *Error) Unwrap() error { return e.cause }

// pos is a place in a document.
type pos struct {
	file      string
	line, col int
	// from is the include statement that pulled the file in, nil for the outermost document.
	from *pos
}

func (p pos) place() Place { return Place{p.file, p.line, p.col} }

// included lists the include statements that lead here, the nearest first.
func (p pos) included() []Place {
	var places []Place
	for from := p.from; from != nil; from = from.from {
		places = append(places, from.place())
	}
	return places
}

// errorf makes an error at this place.
func (p pos) errorf(format string, args ...any) *Error {
	return p.keyErrorf("", format, args...)
}

// keyErrorf makes an error about a key at this place.
func (p pos) keyErrorf(key, format string, args ...any) *Error {
	return &Error{File: p.file, Line: p.line, Column: p.col, Included: p.included(), Key: shorten(key), Msg: shorten(fmt.Sprintf(format, args...))}
}

// shorten keeps what a hostile document names from filling a log.
func shorten(text string) string {
	const limit = 1000
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}
