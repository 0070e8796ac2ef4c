package doctest

import (
	"fmt"
	"strings"
)

// listing is one fenced block marked go.
type listing struct {
	page string // as it is shown in errors
	line int    // of the first line of the text, from 1
	text string
	rule rule
	// output is what the program prints; valid if hasOutput.
	output    string
	hasOutput bool
}

// rule is what the comment before a listing says.
type rule struct {
	in      string // template
	joins   bool   // the package of the listing before
	noRun   bool
	unknown string // what nobody understands
	line    int    // of the comment
}

// problem is something wrong with a listing.
type problem struct {
	page string
	line int
	text string
}

func (p problem) String() string { return fmt.Sprintf("%s:%d: %s", p.page, p.line, p.text) }

// scanner walks over the lines of one page.
type scanner struct {
	page  string
	found []listing
	rule  rule
	// last is the index in found of a listing that may still get its output, or -1; paragraphs counts what came since.
	last       int
	paragraphs int
	inText     bool // the line before belongs to a paragraph
}

// extract finds the listings of a page. An unclosed block ends with the page.
func extract(page, src string) []listing {
	s := scanner{page: page, last: -1}
	lines := strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		fence, lang, ok := opens(lines[i])
		if !ok {
			s.prose(lines[i], i+1)
			continue
		}
		first := i + 1
		for i++; i < len(lines) && !closes(lines[i], fence); i++ {
		}
		s.block(lang, first+1, strings.Join(lines[min(first, len(lines)):min(i, len(lines))], "\n"))
	}
	return s.found
}

// block takes a fenced block whose text begins at line.
func (s *scanner) block(lang string, line int, text string) {
	switch {
	case lang == "go":
		s.found = append(s.found, listing{page: s.page, line: line, text: text + "\n", rule: s.rule})
		s.last = len(s.found) - 1
	case lang == "text" && s.last >= 0 && s.paragraphs <= 1:
		s.found[s.last].output, s.found[s.last].hasOutput = text, true
		s.last = -1
	default:
		s.last = -1
	}
	s.rule, s.paragraphs, s.inText = rule{}, 0, false
}

// prose takes a line outside of blocks.
func (s *scanner) prose(line string, n int) {
	line = strings.TrimSpace(line)
	if line == "" {
		s.inText = false
		return
	}
	if d, ok := strings.CutPrefix(line, "<!-- doctest:"); ok {
		s.rule.read(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(d), "-->")), n)
		return
	}
	if strings.HasPrefix(line, "#") {
		s.last = -1
	}
	if !s.inText {
		s.paragraphs++
	}
	s.inText = true
	s.rule = rule{}
}

// read understands one comment; several before one listing add up.
func (r *rule) read(text string, line int) {
	r.line = line
	word, rest, _ := strings.Cut(text, " ")
	name, isIn := strings.CutPrefix(word, "in=")
	switch {
	case isIn && name != "" && rest == "" && !strings.ContainsAny(name, `/\`):
		r.in = name
	case word == "continue" && rest == "":
		r.joins = true
	case word == "compile" && strings.TrimSpace(rest) != "":
		r.noRun = true
	default:
		r.unknown = text
	}
}

// opens reports whether a line begins a fenced block, and how that is closed.
func opens(line string) (fence, lang string, ok bool) {
	line = strings.TrimSpace(line)
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, c) {
			lang, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
			return line[:n], lang, true
		}
	}
	return "", "", false
}

func closes(line, fence string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == ""
}
