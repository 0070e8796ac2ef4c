package doctest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// link is [text](target), the target without a title.
var link = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)`)

// span is code inside a line, in which brackets mean something else.
var span = regexp.MustCompile("`[^`]*`")

// deadLinks are the links of pages, which are file names, to files of the repository that are not there and to headings
// that the page linked to does not have. Links to other places are not followed.
func deadLinks(pages []string) (wrong []problem, err error) {
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		for n, line := range prose(string(text)) {
			for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(line, ""), -1) {
				if why := dead(page, m[1]); why != "" {
					wrong = append(wrong, problem{page, n + 1, why})
				}
			}
		}
	}
	return wrong, nil
}

// dead says what is wrong with one link.
func dead(page, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	to := page
	if file != "" {
		to = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	info, err := os.Stat(to)
	if err != nil {
		return fmt.Sprintf("the link to %s leads nowhere: %s does not exist", target, file)
	}
	if anchor == "" || info.IsDir() || filepath.Ext(to) != ".md" {
		return ""
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err.Error()
	}
	for _, line := range prose(string(text)) {
		if title := strings.TrimLeft(line, "#"); title != line && slug(title) == anchor {
			return ""
		}
	}
	return fmt.Sprintf("the link to %s leads nowhere: there is no such heading", target)
}

// prose is the lines of a page, those of fenced blocks emptied.
func prose(src string) []string {
	lines := strings.Split(src, "\n")
	open := ""
	for i, line := range lines {
		fence, _, opening := opens(line)
		switch {
		case open != "":
			if closes(line, open) {
				open = ""
			}
		case opening:
			open = fence
		default:
			continue
		}
		lines[i] = ""
	}
	return lines
}

// slug is the anchor of a heading: lower case, spaces as hyphens, most punctuation left out.
func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(title)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
