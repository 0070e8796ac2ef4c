package broker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// hidden stands for what was taken out of a text.
const hidden = "***"

// Redact replaces the userinfo after every scheme:// in text: everything up to the last @ before the next /, ? or #. The
// rest stays as it is. It takes linear time, and redacting twice changes nothing.
func Redact(text string) string {
	var b strings.Builder
	from := 0 // what is not written yet
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			break
		}
		i += at
		at = i + 3
		if !schemeEndsAt(text[from:i]) {
			continue
		}
		end := len(text)
		if j := strings.IndexAny(text[at:], "/?#"); j >= 0 {
			end = at + j
		}
		if j := strings.LastIndexByte(text[at:end], '@'); j >= 0 {
			b.WriteString(text[from:at])
			b.WriteString(hidden)
			from = at + j
			at = from
		}
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

// schemeEndsAt reports whether text ends in a scheme: a run of scheme characters with a letter in it. It looks at the
// run from its end and stops at the first letter, so that a long run costs no more than the text up to there.
func schemeEndsAt(text string) bool {
	for i := len(text) - 1; i >= 0; i-- {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			return true
		case '0' <= c && c <= '9' || c == '+' || c == '.' || c == '-':
		default:
			return false
		}
	}
	return false
}

// RedactEndpoint makes a label fit to be shown: no userinfo, no query, no fragment; host, port and path stay as they were
// written, and an endpoint without a secret comes back unchanged. A comma-separated list keeps its shape, with *** in
// place of each userinfo. What does not parse is cut so that no secret can be left, even if a host is lost with it.
func RedactEndpoint(raw string) string {
	entries := splitEndpoints(raw)
	for i, e := range entries {
		_, label := dissect(e)
		if len(entries) == 1 && label.parsed {
			entries[i] = label.prefix + label.rest
		} else {
			entries[i] = label.prefix + label.mask + label.rest
		}
	}
	return strings.Join(entries, ",")
}

// splitEndpoints cuts a list at its commas, except where the comma may be part of a secret.
func splitEndpoints(raw string) []string {
	parts := strings.Split(raw, ",")
	out := []string{parts[0]}
	for i, p := range parts[1:] {
		cur := &out[len(out)-1]
		if strings.Contains(*cur, "@") || strings.Contains(p, "://") || !atBeforeScheme(parts[i+1:]) {
			out = append(out, p)
			continue
		}
		*cur += "," + p
	}
	return out
}

// atBeforeScheme reports whether an @ follows before the next scheme.
func atBeforeScheme(parts []string) bool {
	for _, p := range parts {
		if strings.Contains(p, "://") {
			return false
		}
		if strings.Contains(p, "@") {
			return true
		}
	}
	return false
}

// endpointLabel is one entry without its secrets: prefix, mask (***@ or nothing) and rest.
type endpointLabel struct {
	prefix, mask, rest string
	parsed             bool
}

// dissect finds the secrets of one entry of an endpoint list, raw, and what is left without them.
func dissect(entry string) (secrets []string, l endpointLabel) {
	rest := entry
	for {
		i := strings.Index(rest, "://")
		if i < 0 || i == 0 && l.prefix != "" || !isScheme(strings.TrimSpace(rest[:i])) {
			break
		}
		l.prefix, rest = l.prefix+rest[:i+3], rest[i+3:]
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	at := strings.LastIndexByte(authority, '@')
	l.parsed = l.prefix != "" && parses(l.prefix, rest)
	if last := strings.LastIndexByte(rest, '@'); last > at {
		// An @ behind the authority: a path or a query may have one, but so may a secret with a /, ? or # in it. Rather a
		// host too few in a label than half a secret too much.
		secrets = append(secrets, userinfo(rest[:last])...)
		if at < 0 || !l.parsed || !strings.ContainsAny(rest[len(authority):last], "?#") {
			at, l.parsed = last, false
		}
	}
	if at >= 0 {
		secrets = append(secrets, userinfo(rest[:at])...)
		l.mask, rest = hidden+"@", rest[at+1:]
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		secrets = append(secrets, queryValues(rest[i+1:])...)
		rest = rest[:i]
	}
	l.rest = rest
	return secrets, l
}

func isScheme(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '+' || c == '.' || c == '-')) {
			return false
		}
	}
	return true
}

// parses reports whether the entry is a URL with one scheme.
func parses(prefix, rest string) bool {
	if strings.Count(prefix, "://") != 1 {
		return false
	}
	u, err := url.Parse(prefix + rest)
	return err == nil && (u.Host != "" || u.Path != "")
}

// userinfo returns the secrets of user:password or of a lone token.
func userinfo(s string) []string {
	out := []string{s}
	if _, pw, ok := strings.Cut(s, ":"); ok {
		out = append(out, pw)
	}
	return out
}

func queryValues(q string) (out []string) {
	for _, kv := range strings.FieldsFunc(q, func(r rune) bool { return r == '&' || r == ';' || r == '#' }) {
		_, v, ok := strings.Cut(kv, "=")
		if !ok {
			v = kv
		}
		if v != "true" && v != "false" {
			out = append(out, v)
		}
	}
	return out
}

// minSecret is the length from which a secret is removed wherever it stands. A shorter one would take ports and words
// with it.
const minSecret = 4

// scrubber removes what is known to be secret from texts and errors.
type scrubber struct {
	label   string
	replace *strings.Replacer
}

// newScrubber learns the secrets of an endpoint as it was configured, and those given beside it.
func newScrubber(endpoint string, given []string) *scrubber {
	var secrets []string
	for _, e := range splitEndpoints(endpoint) {
		found, _ := dissect(e)
		secrets = append(secrets, found...)
	}
	secrets = append(secrets, given...)
	forms := map[string]bool{}
	for _, s := range secrets {
		for _, f := range spellings(s) {
			if len(f) >= minSecret {
				forms[f] = true
			}
		}
	}
	ordered := make([]string, 0, len(forms))
	for f := range forms {
		ordered = append(ordered, f)
	}
	slices.SortFunc(ordered, func(a, b string) int { // a longer one may contain a shorter one
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	s := &scrubber{label: RedactEndpoint(endpoint)}
	pairs := make([]string, 0, 2*len(ordered)+2)
	if endpoint != "" && endpoint != s.label {
		pairs = append(pairs, endpoint, s.label)
	}
	for _, f := range ordered {
		pairs = append(pairs, f, hidden)
	}
	s.replace = strings.NewReplacer(pairs...)
	if len(given) > 0 {
		s.label = s.replace.Replace(s.label)
	}
	return s
}

// spellings are the ways in which a driver may print a secret.
func spellings(s string) []string {
	out := []string{s}
	if len(s) < minSecret {
		return out
	}
	if d, err := url.PathUnescape(s); err == nil && d != s {
		out = append(out, d)
	}
	if d, err := url.QueryUnescape(s); err == nil && d != s {
		out = append(out, d)
	}
	for _, v := range slices.Clone(out) {
		for _, e := range []string{url.PathEscape(v), url.QueryEscape(v), url.User(v).String()} {
			out = append(out, e, lowerEscapes(e))
		}
		out = append(out, strings.Trim(strconv.Quote(v), `"`))
		if j, err := json.Marshal(v); err == nil {
			out = append(out, strings.Trim(string(j), `"`))
		}
	}
	return out
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(s[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// hideBasic removes the credentials of HTTP's basic authentication: what follows the word Basic, is base64, and has a
// colon inside.
func hideBasic(t string) string {
	const word = "asic "
	var b strings.Builder
	from := 0
	for at := 0; ; {
		i := strings.Index(t[at:], word)
		if i < 0 {
			break
		}
		at += i + len(word)
		end := at
		for end < len(t) && strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", t[end]) >= 0 {
			end++
		}
		if plain, err := base64.StdEncoding.DecodeString(t[at:end]); err == nil && bytes.IndexByte(plain, ':') >= 0 {
			b.WriteString(t[from:at])
			b.WriteString(hidden)
			from, at = end, end
		}
	}
	if from == 0 {
		return t
	}
	b.WriteString(t[from:])
	return b.String()
}

// text removes the known secrets and every userinfo.
func (s *scrubber) text(t string) string { return hideBasic(Redact(s.replace.Replace(t))) }

// error returns err itself if no text in its chain holds a secret, and otherwise an error with the redacted text, for
// which errors.Is still works but which does not give the original away.
func (s *scrubber) error(err error) error {
	if err == nil || s.clean(err) {
		return err
	}
	return &scrubbed{s.text(urlErrors(err)), err}
}

func (s *scrubber) clean(err error) bool {
	if _, ok := err.(*scrubbed); ok {
		return true
	}
	if _, ok := err.(*url.Error); ok { // it quotes its input, and its inner text may quote a part of it
		return false
	}
	if t := err.Error(); s.text(t) != t {
		return false
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		inner := u.Unwrap()
		return inner == nil || s.clean(inner)
	case interface{ Unwrap() []error }:
		for _, inner := range u.Unwrap() {
			if inner != nil && !s.clean(inner) {
				return false
			}
		}
	}
	return true
}

// urlErrors is the text of err with the input of URL errors left out.
func urlErrors(err error) string {
	t := err.Error()
	var ue *url.Error
	if !errors.As(err, &ue) {
		return t
	}
	short := ue.Op + ": invalid URL"
	if ue.Op != "parse" && ue.Err != nil {
		short = ue.Op + ": " + ue.Err.Error()
	}
	return strings.ReplaceAll(t, ue.Error(), short)
}

// scrubbed is an error whose text was redacted.
type scrubbed struct {
	text string
	err  error
}

func (s *scrubbed) Error() string { return s.text }

// Is makes errors.Is work without Unwrap, which would hand out the original.
func (s *scrubbed) Is(target error) bool { return errors.Is(s.err, target) }

// GoString keeps %#v from printing the original.
func (s *scrubbed) GoString() string { return "errors.New(" + strconv.Quote(s.text) + ")" }

// MarshalText is the redacted text.
func (s *scrubbed) MarshalText() ([]byte, error) { return []byte(s.text), nil }
