package hocon

import "strings"

// key reads the dotted key of a field.
func (p *parser) key() ([]string, error) {
	at := p.here
	keys, err := p.pathExpression("key")
	if err == nil && keys == nil {
		if r := p.peek(); r != '=' && r != ':' && r != '{' && !p.sees("+=") {
			return nil, p.unexpected()
		}
		err = at.errorf("there is no key before this; write \"\" for an empty one")
	}
	return keys, err
}

// pathExpression reads keys with dots between them. What is quoted is taken as it is, whitespace between words belongs
// to a key. It stops at whatever cannot be a part of it, and returns nil if there is nothing.
func (s *scanner) pathExpression(what string) ([]string, error) {
	at := s.here
	var keys []string
	var word strings.Builder
	written := false // there is something in word, if only ""
	gap := ""        // whitespace that belongs to the key if another word follows
	s.spaces()
	for {
		switch {
		case s.peek() == '"':
			text, err := s.quoted()
			if err != nil {
				return nil, err
			}
			word.WriteString(gap + text)
			written = true
		case s.atComment():
			return finishPath(at, keys, word.String(), written, what)
		default:
			text := s.unquoted()
			if text == "" {
				return finishPath(at, keys, word.String(), written, what)
			}
			word.WriteString(gap)
			for i, piece := range strings.Split(text, ".") {
				if i > 0 {
					if !written {
						return nil, emptyKey(at, what)
					}
					keys = append(keys, word.String())
					word.Reset()
					written = false
				}
				word.WriteString(piece)
				written = written || piece != ""
			}
		}
		gap = s.spaces()
	}
}

func finishPath(at pos, keys []string, word string, written bool, what string) ([]string, error) {
	if !written {
		if len(keys) == 0 {
			return nil, nil
		}
		return nil, emptyKey(at, what)
	}
	return append(keys, word), nil
}

func emptyKey(at pos, what string) error {
	return at.errorf("the %s has a dot with nothing before or behind it; remove the dot, or write \"\" for an empty key", what)
}

// substitution reads ${path}, ${?path}, or with [] behind the path a list from the environment.
func (p *parser) substitution() (*substitution, error) {
	sub := &substitution{pos: p.here, prefix: p.prefix}
	p.step(2)
	sub.optional = p.take("?")
	var err error
	if sub.path, err = p.pathExpression("substitution"); err != nil {
		return nil, err
	}
	if sub.path == nil {
		return nil, sub.errorf("the substitution has no path; write ${path}, or ${?path} if it may be undefined")
	}
	sub.list = p.take("[]")
	p.spaces()
	if !p.take("}") {
		return nil, sub.errorf("the '}' that closes this substitution is missing behind its path")
	}
	if len(sub.path) > maxDepth {
		return nil, sub.errorf("the path of this substitution has more than %d keys", maxDepth)
	}
	if p.isolated {
		return nil, sub.errorf("a file that is included inside an array cannot use substitutions; include it under a key and refer to that key in the array")
	}
	return sub, nil
}

// String writes the substitution as in a document.
func (s *substitution) String() string {
	text := "${"
	if s.optional {
		text = "${?"
	}
	text += joinPath(s.path)
	if s.list {
		text += "[]"
	}
	return text + "}"
}

// splitPath reads a path that is given to a function, such as broker.nats or "a.b".c.
func splitPath(path string) ([]string, error) {
	if strings.TrimSpace(path) == "" {
		return nil, nil
	}
	s := scanner{src: path}
	keys, err := s.pathExpression("path")
	if err != nil || s.off < len(path) {
		return nil, &Error{Key: path, Msg: "this is not a path; write keys with dots between them, and quote a key that contains other than letters, digits and hyphens"}
	}
	return keys, nil
}

// joinPath writes keys as a path, quoted where they have to be.
func joinPath(keys []string) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(quoteKey(key))
	}
	return b.String()
}

func quoteKey(key string) string {
	s := scanner{src: key}
	if key == "" || s.unquoted() != key || strings.Contains(key, ".") {
		return jsonString(key)
	}
	return key
}
