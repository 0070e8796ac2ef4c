package lint

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const modulePath = "github.com/troupe-go/troupe"

// problem is one violation.
type problem struct {
	path string // from the module's root, with slashes
	line int
	text string // what is wrong, and what would be right
}

func (p problem) String() string { return fmt.Sprintf("%s:%d: %s", p.path, p.line, p.text) }

// file is one text file of the module. For Go source, ast is set.
type file struct {
	path string
	src  []byte
	fset *token.FileSet
	ast  *ast.File
}

func (f *file) dir() string          { return path.Dir(f.path) }
func (f *file) test() bool           { return strings.HasSuffix(f.path, "_test.go") }
func (f *file) line(p token.Pos) int { return f.fset.Position(p).Line }

// lines is the number of lines, a last one without newline included.
func (f *file) lines() int {
	n := bytes.Count(f.src, []byte("\n"))
	if len(f.src) > 0 && f.src[len(f.src)-1] != '\n' {
		n++
	}
	return n
}

// library says whether other people's programs may end up running this file: neither a test nor a program.
func (f *file) library() bool {
	return !f.test() && f.ast.Name.Name != "main" && !under(f.dir(), "cmd") && !under(f.dir(), "examples")
}

// problem reports at a position of the file.
func (f *file) problem(at token.Pos, format string, args ...any) problem {
	return problem{f.path, f.line(at), fmt.Sprintf(format, args...)}
}

// module is all text files of the module in order of their paths. broken lists Go files that do not parse.
type module struct {
	files  []*file
	broken []problem
}

// source yields the Go files.
func (m *module) source(yield func(*file) bool) {
	for _, f := range m.files {
		if f.ast != nil && !yield(f) {
			return
		}
	}
}

// packages groups the Go files by folder; a folder may hold a package, its external tests, or tests only.
func (m *module) packages() map[string][]*file {
	all := map[string][]*file{}
	for f := range m.source {
		all[f.dir()] = append(all[f.dir()], f)
	}
	return all
}

// under says whether a folder is top or below it.
func under(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

// parse makes a module from sources by path.
func parse(sources map[string][]byte) *module {
	m := &module{}
	for name, src := range sources {
		f := &file{path: name, src: src}
		if strings.HasSuffix(name, ".go") {
			f.fset = token.NewFileSet()
			var err error
			f.ast, err = parser.ParseFile(f.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				m.broken = append(m.broken, problem{name, 1, "does not parse: " + err.Error()})
				f.ast = nil
			}
		}
		m.files = append(m.files, f)
	}
	slices.SortFunc(m.files, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	return m
}

// load reads the module that the current folder is in.
func load() (*module, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	sources := map[string][]byte{}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(root, name)
		}
		if !entry.Type().IsRegular() || !text(entry.Name()) {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		sources[filepath.ToSlash(rel)], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return parse(sources), nil
}

// findRoot goes up from the current folder to the one with go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod in the current folder or above it")
		}
		dir = up
	}
}

// skip leaves out what is not this module's own source.
func skip(root, dir string) error {
	switch filepath.Base(dir) {
	case ".git", "testdata", "vendor", "node_modules":
		return filepath.SkipDir
	}
	if dir == root {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return filepath.SkipDir // a module of its own
	}
	return nil
}

// text says which files people read as text.
func text(name string) bool {
	switch path.Ext(name) {
	case ".go", ".md", ".sh", ".yml", ".yaml", ".conf", ".html", ".js", ".css", ".mod":
		return true
	}
	return name == "Makefile" || name == "run"
}
