package lint

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// initFunctions: importing a package does nothing.
func initFunctions(m *module) (found []problem) {
	for f := range m.source {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, f.problem(fn.Pos(), "func init: do it in a constructor, so that an import has no effect"))
			}
		}
	}
	return found
}

// globals: two systems in one process share nothing. Allowed are errors, compiled expressions, interface assertions and
// what a comment promises to be read-only. Tests are left out.
func globals(m *module) (found []problem) {
	for f := range m.source {
		if f.test() {
			continue
		}
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR || promised(d.Doc) {
				continue
			}
			for _, s := range d.Specs {
				spec := s.(*ast.ValueSpec)
				if !promised(spec.Doc) && !promised(spec.Comment) && !constant(f, spec) {
					found = append(found, f.problem(spec.Pos(), "package variable %s: make it a field of what uses it, a constant or a function; if nothing writes it, say read-only in its comment", spec.Names[0].Name))
				}
			}
		}
	}
	return found
}

func promised(doc *ast.CommentGroup) bool { return strings.Contains(flat(doc), "read-only") }

// constant says whether a variable cannot sensibly change: all names blank, or all values errors or expressions.
func constant(f *file, spec *ast.ValueSpec) bool {
	blank := true
	for _, name := range spec.Names {
		blank = blank && name.Name == "_"
	}
	if blank {
		return true
	}
	for _, value := range spec.Values {
		call, ok := value.(*ast.CallExpr)
		if !ok {
			return false
		}
		errorsName, _ := f.selector(call.Fun, "errors")
		fmtName, _ := f.selector(call.Fun, "fmt")
		regexpName, _ := f.selector(call.Fun, "regexp")
		if errorsName != "New" && fmtName != "Errorf" && regexpName != "MustCompile" {
			return false
		}
	}
	return len(spec.Values) > 0
}

// leftovers are the words for work that somebody meant to come back to.
var leftovers = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

// words: what is left to do is an issue, not a comment.
func words(m *module) (found []problem) {
	for _, f := range m.files {
		for i, line := range strings.Split(string(f.src), "\n") {
			if word := leftovers.FindString(line); word != "" && !strings.Contains(line, "context."+word) {
				found = append(found, problem{f.path, i + 1, word + ": do it now, or file an issue and leave the word out"})
			}
		}
	}
	return found
}
