package hocon

import "strings"

// maxDepth bounds how deep values, keys and resolved values may nest, so that no document can exhaust the stack.
const maxDepth = 1000

// parser reads one document by recursive descent.
type parser struct {
	scanner
	load *loader
	// prefix is where this document is included, and path the key of the object that is being read, from the root of
	// this document.
	prefix, path []string
	// arrays counts the arrays around the place that is being read.
	arrays int
	// isolated is true for a document included inside an array, whose place has no path.
	isolated bool
	depth    int
}

// document reads a whole file. The braces around the root may be left out.
func (p *parser) document() (*object, error) {
	p.blankLines()
	switch p.peek() {
	case '[':
		return nil, p.here.errorf("the document is an array; a configuration must be an object, so give the array a key")
	case '{':
		root, err := p.object()
		if err != nil {
			return nil, err
		}
		p.blankLines()
		if p.peek() != end {
			return nil, p.here.errorf("nothing may follow the closing '}' of the document")
		}
		return root, nil
	}
	root := &object{pos: p.here}
	return root, p.fields(root, false)
}

// object reads an object in braces.
func (p *parser) object() (*object, error) {
	o := &object{pos: p.here}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	p.next()
	return o, p.fields(o, true)
}

func (p *parser) enter() error {
	p.depth++
	if p.depth+len(p.path) > maxDepth {
		return p.here.errorf("values nest more than %d deep here", maxDepth)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// fields reads the fields of an object, in braces up to and with the closing one.
func (p *parser) fields(o *object, braces bool) error {
	for {
		p.blankLines()
		switch p.peek() {
		case end:
			if braces {
				return o.errorf("the '}' that closes this '{' is missing")
			}
			return nil
		case '}':
			if !braces {
				return p.here.errorf("this '}' closes nothing; remove it or add the '{' before")
			}
			p.next()
			return nil
		case ',':
			return p.here.errorf("there is no field before this comma; remove it")
		case ']':
			return p.here.errorf("this ']' closes nothing; '}' or a new field was expected")
		}
		if err := p.field(o); err != nil {
			return err
		}
		if err := p.separator('}', "field"); err != nil {
			return err
		}
	}
}

// separator steps over what separates two fields or elements: newlines, a comma, or both.
func (p *parser) separator(closing rune, what string) error {
	newline := p.blankLines()
	switch r := p.peek(); {
	case r == ',':
		p.next()
	case newline || r == closing || r == end:
	case r == ':' || r == '=':
		return p.here.errorf("'%c' is not allowed in unquoted text; put the value in double quotes, or start the next field on a new line or after a comma", r)
	case r == '}' || r == ']':
		return p.here.errorf("this '%c' closes nothing; '%c' or a new %s was expected", r, closing, what)
	default:
		return p.here.errorf("a comma or a new line must separate this from the %s before", what)
	}
	return nil
}

// field reads a field or an include statement into o.
func (p *parser) field(o *object) error {
	if p.atInclude() {
		return p.include(o)
	}
	at := p.here
	keys, err := p.key()
	if err != nil {
		return err
	}
	p.blankLines()
	add := false
	switch {
	case p.take("+="):
		add = true
	case p.take(":"), p.take("="), p.peek() == '{':
	case p.peek() == end:
		return at.errorf("the key %s has no value; write %s = value", joinPath(keys), joinPath(keys))
	default:
		return p.here.errorf("'=', ':', '+=' or '{' must follow the key %s", joinPath(keys))
	}
	outer, arrays := p.path, p.arrays
	p.path = append(outer[:len(outer):len(outer)], keys...)
	if add {
		p.arrays++ // the value becomes an element
	}
	defer func() { p.path, p.arrays = outer, arrays }()
	if p.depth+len(p.path) > maxDepth {
		return at.errorf("values nest more than %d deep here", maxDepth)
	}
	val, err := p.value("the key " + joinPath(keys))
	if err != nil {
		return err
	}
	last := len(keys) - 1
	f := field{at, keys[last], val, add}
	for i := last - 1; i >= 0; i-- {
		f = field{at, keys[i], &object{at, []field{f}}, false}
	}
	o.fields = append(o.fields, f)
	return nil
}

// array reads an array in brackets.
func (p *parser) array() (*array, error) {
	a := &array{pos: p.here}
	if err := p.enter(); err != nil {
		return nil, err
	}
	p.arrays++
	defer func() { p.arrays--; p.leave() }()
	p.next()
	for {
		p.blankLines()
		switch p.peek() {
		case end:
			return nil, a.errorf("the ']' that closes this '[' is missing")
		case ']':
			p.next()
			return a, nil
		case ',':
			return nil, p.here.errorf("there is no element before this comma; remove it")
		case '}':
			return nil, p.here.errorf("this '}' closes nothing; ']' or a new element was expected")
		}
		val, err := p.value("an element")
		if err != nil {
			return nil, err
		}
		a.elems = append(a.elems, val)
		if err := p.separator(']', "element"); err != nil {
			return nil, err
		}
	}
}

// value reads a value: everything up to the end of the line, a comma, a closing bracket or a comment.
func (p *parser) value(of string) (node, error) {
	p.blankLines()
	var parts []node
	for {
		part, err := p.part()
		if err != nil {
			return nil, err
		}
		if part == nil {
			break
		}
		parts = append(parts, part)
		if p.load.values++; p.load.values > maxValues {
			return nil, part.at().errorf("the document and its includes have more than %d values", maxValues)
		}
	}
	if n := len(parts); n > 0 && isBlank(parts[n-1]) {
		parts = parts[:n-1]
	}
	if len(parts) == 0 {
		return nil, p.here.errorf("the value of %s is missing; write \"\" for an empty string", of)
	}
	return combine(parts)
}

// part reads one of the values that stand side by side, or the whitespace between two; nil where the value ends.
func (p *parser) part() (node, error) {
	at := p.here
	if text := p.spaces(); text != "" {
		return &scalar{pos: at, kind: String, text: text, blank: true}, nil
	}
	switch p.peek() {
	case end, '\n', ',', '}', ']':
		return nil, nil
	case '"':
		text, err := p.quoted()
		if err != nil {
			return nil, err
		}
		return &scalar{pos: at, kind: String, text: text}, nil
	case '{':
		return typed(p.object())
	case '[':
		return typed(p.array())
	case '$':
		if p.sees("${") {
			return typed(p.substitution())
		}
	}
	if p.atComment() {
		return nil, nil
	}
	text := p.unquoted()
	if text == "" {
		return nil, p.unexpected()
	}
	return &scalar{pos: at, kind: kindOfText(text), text: text}, nil
}

// typed keeps a nil pointer of one type from becoming a node that is not nil.
func typed[N node](n N, err error) (node, error) {
	if err != nil {
		return nil, err
	}
	return n, nil
}

func isBlank(n node) bool {
	s, ok := n.(*scalar)
	return ok && s.blank
}

func kindOfText(text string) Kind {
	switch {
	case text == "null":
		return Null
	case text == "true" || text == "false":
		return Bool
	case isNumber(text):
		return Number
	}
	return String
}

// combine makes one value of those that stand side by side. Without a substitution among them that is done here.
func combine(parts []node) (node, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	var b strings.Builder
	var text, container node
	substituted := false
	for _, part := range parts {
		switch n := part.(type) {
		case *scalar:
			b.WriteString(n.text)
			if !n.blank && text == nil {
				text = n
			}
		case *substitution:
			substituted = true
		default:
			container = n
		}
	}
	switch {
	case text != nil && container != nil:
		return nil, text.at().errorf("text cannot stand beside an object or an array; separate the two by a comma, or put the text in quotes inside")
	case container == nil && !substituted:
		return &scalar{pos: parts[0].at(), kind: String, text: b.String()}, nil
	}
	return &concat{parts[0].at(), parts}, nil
}
