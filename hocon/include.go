package hocon

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

const (
	// maxIncludeDepth bounds a chain of includes that is not a cycle by name, as with symbolic links.
	maxIncludeDepth = 50
	// maxIncludes and maxText bound what one document can pull in.
	maxIncludes = 1000
	maxText     = 64 << 20
	// maxValues bounds the memory that a document takes, which is far more per value than its text.
	maxValues = 1_000_000
)

// loader is what the documents of one parse have in common.
type loader struct {
	opts Options
	// chain are the documents that are being parsed, the outermost first.
	chain []string
	count int
	bytes int
	// values counts what was parsed.
	values int
}

func newLoader(o Options) *loader { return &loader{opts: o} }

// parse parses one document. The parent is the parser at the include statement, whose
// place is from; both are nil for the outermost document.
func (l *loader) parse(name, text string, from *pos, parent *parser) (*object, error) {
	start := pos{file: name, line: 1, col: 1, from: from}
	l.bytes += len(text)
	if l.bytes > maxText {
		return nil, start.errorf("the document and its includes have more than 64 MiB")
	}
	if err := checkUTF8(start, text); err != nil {
		return nil, err
	}
	p := &parser{scanner: scanner{src: text, here: start}, load: l}
	if parent != nil {
		p.prefix = append(parent.prefix[:len(parent.prefix):len(parent.prefix)], parent.path...)
		p.isolated = parent.isolated || parent.arrays > 0
		p.depth = parent.depth + len(parent.path)
	}
	l.chain = append(l.chain, filepath.Clean(name))
	defer func() { l.chain = l.chain[:len(l.chain)-1] }()
	return p.document()
}

// atInclude reports whether an include statement comes next: the word, unquoted, and alone.
func (p *parser) atInclude() bool {
	if !p.sees("include") {
		return false
	}
	s := p.scanner
	return s.unquoted() == "include"
}

// include reads an include statement and puts the fields of the file into o.
func (p *parser) include(o *object) error {
	at := p.here
	p.step(len("include"))
	p.spaces()
	required := p.call("required(")
	if p.call("url(") || p.call("classpath(") {
		return at.errorf("only files can be included; write include \"name.conf\" or include file(\"name.conf\")")
	}
	exact := p.call("file(")
	p.spaces()
	if p.peek() != '"' {
		return at.errorf("after include a file name in double quotes must follow; for a key of that name write \"include\" in quotes")
	}
	name, err := p.quoted()
	if err != nil {
		return err
	}
	for _, open := range []bool{exact, required} {
		p.spaces()
		if open && !p.take(")") {
			return p.here.errorf("the ')' behind the file name is missing")
		}
	}
	if name == "" {
		return at.errorf("the name of the file to include is empty")
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(p.here.file), name)
	}
	found := false
	for _, candidate := range candidates(name, exact) {
		if found && candidate == name {
			break
		}
		ok, err := p.includeFile(o, candidate, at)
		if err != nil {
			return err
		}
		found = found || ok
	}
	if !found && required {
		return at.errorf("there is no file %s, and this include is required", name)
	}
	return nil
}

// call steps over the start of a call such as file( and reports whether it was there.
func (p *parser) call(name string) bool {
	p.spaces()
	return p.take(name)
}

// candidates are the files an include may mean, the lowest first. A name without an extension may be JSON, HOCON or both.
func candidates(name string, exact bool) []string {
	if exact || strings.HasSuffix(name, ".conf") || strings.HasSuffix(name, ".json") {
		return []string{name}
	}
	return []string{name + ".json", name + ".conf", name}
}

// includeFile puts the fields of one file into o and reports whether there is such a file.
func (p *parser) includeFile(o *object, name string, at pos) (bool, error) {
	for i, outer := range p.load.chain {
		if outer == filepath.Clean(name) {
			return false, at.errorf("the file includes itself: %s", strings.Join(append(p.load.chain[i:len(p.load.chain):len(p.load.chain)], outer), " > "))
		}
	}
	if len(p.load.chain) >= maxIncludeDepth {
		return false, at.errorf("files include each other more than %d deep here; is there a cycle?", maxIncludeDepth)
	}
	text, err := p.load.opts.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		e := at.errorf("cannot read %s: %s", name, reason(err))
		e.cause = err
		return false, e
	}
	if p.load.count++; p.load.count > maxIncludes {
		return false, at.errorf("more than %d files are included", maxIncludes)
	}
	included, err := p.load.parse(name, string(text), &at, p)
	if err != nil {
		return false, err
	}
	o.fields = append(o.fields, included.fields...)
	return true, nil
}
