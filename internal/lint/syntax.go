package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// flat is a comment's text on one line, so that a phrase is found across a line break.
func flat(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }

// types yields the type declarations at the top of a file, each with its doc comment or nil.
func (f *file) types(yield func(*ast.TypeSpec, *ast.CommentGroup) bool) {
	for _, decl := range f.ast.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, s := range gen.Specs {
			spec := s.(*ast.TypeSpec)
			doc := spec.Doc
			if doc == nil && len(gen.Specs) == 1 {
				doc = gen.Doc
			}
			if !yield(spec, doc) {
				return
			}
		}
	}
}

// imports yields the file's import specs with their unquoted paths.
func (f *file) imports(yield func(*ast.ImportSpec, string) bool) {
	for _, spec := range f.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err == nil && !yield(spec, name) {
			return
		}
	}
}

// importName is what the file calls a package: its alias or the last element of its path; empty if it is not imported.
func (f *file) importName(want string) string {
	for spec, name := range f.imports {
		if name != want {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(want)
	}
	return ""
}

// selector reports whether e is pkg.name for an imported package and returns the name.
func (f *file) selector(e ast.Expr, pkg string) (name string, ok bool) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok || x.Name != f.importName(pkg) {
		return "", false
	}
	return sel.Sel.Name, true
}

// commented returns the lines on which a comment stands or ends.
func (f *file) commented() map[int]bool {
	lines := map[int]bool{}
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			for l := f.line(c.Pos()); l <= f.line(c.End()); l++ {
				lines[l] = true
			}
		}
	}
	return lines
}
