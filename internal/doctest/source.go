package doctest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// marker is the line of a template that the listing replaces.
const marker = "// LISTING"

// unit is one package of the temporary module: a listing and those that continue it.
type unit struct {
	dir   string // from the module's root
	main  bool
	run   bool
	tests bool // has test functions, which are run
	first listing
	last  listing // whose output is the program's
	files []file
}

// file is one Go file of a unit.
type file struct {
	src  string
	main bool
	test bool // has test functions
}

// units turns the listings of one page into packages. templates is the folder of the templates.
func units(prefix, templates string, all []listing) (found []unit, wrong []problem) {
	for i, l := range all {
		if l.rule.unknown != "" {
			wrong = append(wrong, problem{l.page, l.rule.line, fmt.Sprintf("doctest does not know %q: right would be in=NAME, continue, or compile with a reason", l.rule.unknown)})
			continue
		}
		if out, err := format.Source([]byte(l.text)); err == nil && string(out) != l.text {
			n, line := difference(l.text, string(out))
			wrong = append(wrong, problem{l.page, l.line + n, fmt.Sprintf("not formatted as gofmt does it, which would be %q", line)})
		}
		join := l.rule.joins && len(found) > 0
		if l.rule.joins && !join {
			wrong = append(wrong, problem{l.page, l.rule.line, "there is no listing before this one that it could continue"})
			continue
		}
		pkg := "listing"
		if join && found[len(found)-1].main {
			pkg = "main"
		}
		f, err := source(templates, pkg, l)
		if err != nil {
			wrong = append(wrong, problem{l.page, l.line, err.Error()})
			continue
		}
		if !join {
			found = append(found, unit{dir: fmt.Sprintf("%s%d", prefix, i+1), main: f.main, run: f.main, first: l})
		}
		u := &found[len(found)-1]
		u.files = append(u.files, f)
		u.last = l
		u.run = u.run && !l.rule.noRun
		u.tests = u.tests || f.test && !l.rule.noRun
	}
	return found, wrong
}

// difference is the first line in which want differs, counted from 0.
func difference(got, want string) (n int, line string) {
	gots, wants := strings.Split(got, "\n"), strings.Split(want, "\n")
	for n < len(gots) && n < len(wants) && gots[n] == wants[n] {
		n++
	}
	if n < len(wants) {
		line = wants[n]
	}
	return n, line
}

// source is the Go file made of a listing, with line directives so that errors name the page.
func source(templates, pkg string, l listing) (file, error) {
	at := fmt.Sprintf("//line %s:%d\n", l.page, l.line)
	whole, complete := at+l.text, false
	var err error
	switch {
	case l.rule.in != "":
		whole, err = fill(templates, l.rule.in, at, l.text)
	case parses(l.text) == nil:
		complete = true // and has its own imports
	case parses("package p; "+l.text) == nil:
		whole = "package " + pkg + "\n\n" + at + l.text
	case parses("package p; func _() {\n"+l.text+"\n}") == nil:
		whole, err = fill(templates, "statements", at, l.text)
	default:
		err = fmt.Errorf("the listing is neither a file nor declarations nor statements: %w", parses(l.text))
	}
	if err != nil {
		return file{}, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", whole, parser.ParseComments)
	if err != nil {
		return file{}, fmt.Errorf("the listing does not parse: %w", err)
	}
	if !complete {
		whole = withImports(whole, fset, f)
	}
	return file{src: whole, main: f.Name.Name == "main", test: hasTests(f)}, nil
}

// hasTests says whether the go command would find something to run in a file.
func hasTests(f *ast.File) bool {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && len(fn.Type.Params.List) == 1 {
			return true
		}
	}
	return false
}

// fill puts a listing into a template.
func fill(templates, name, at, text string) (string, error) {
	file := name + ".tmpl"
	t, err := os.ReadFile(filepath.Join(templates, file))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no template %s in %s", file, templates)
	}
	if err != nil {
		return "", err
	}
	before, after, ok := strings.Cut(string(t), marker+"\n")
	if !ok {
		return "", fmt.Errorf("template %s has no line that is %q", file, marker)
	}
	before = strings.TrimRight(before, " \t")
	rest := fmt.Sprintf("//line %s:%d\n", file, strings.Count(before, "\n")+2)
	return before + "\n" + at + text + rest + after, nil
}

// withImports adds the imports that a file lacks, after its package clause.
func withImports(src string, fset *token.FileSet, f *ast.File) string {
	var add strings.Builder
	for _, path := range missingImports(f) {
		fmt.Fprintf(&add, "; import %q", path)
	}
	end := fset.PositionFor(f.Name.End(), false).Offset
	return src[:end] + add.String() + src[end:]
}

func parses(src string) error {
	_, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	return err
}
