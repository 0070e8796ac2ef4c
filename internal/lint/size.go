package lint

import (
	"go/ast"
	"strings"
)

const (
	maxFileLines     = 500
	maxTestFileLines = 900
	maxFuncLines     = 80
	maxMethods       = 4

	// manyMethods in an interface's doc comment is how it explains that it has more of them.
	manyMethods = "more than four methods because"
)

// fileSize keeps a file at one job.
func fileSize(m *module) (found []problem) {
	for f := range m.source {
		limit := maxFileLines
		if f.test() {
			limit = maxTestFileLines
		}
		if n := f.lines(); n > limit && !ast.IsGenerated(f.ast) {
			found = append(found, problem{f.path, limit + 1, sprintf("the file has %d lines, at most %d: split it by job", n, limit)})
		}
	}
	return found
}

// funcSize keeps a function at what can be seen at once. A literal counts for the function around it; one that is a
// package's variable counts by itself.
func funcSize(m *module) (found []problem) {
	for f := range m.source {
		if ast.IsGenerated(f.ast) {
			continue
		}
		check := func(n ast.Node, what string) {
			if lines := f.line(n.End()) - f.line(n.Pos()) + 1; lines > maxFuncLines {
				found = append(found, f.problem(n.Pos(), "%s has %d lines, at most %d: take parts out into functions of their own",
					what, lines, maxFuncLines))
			}
		}
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				check(fn, "function "+fn.Name.Name)
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				lit, ok := n.(*ast.FuncLit)
				if ok {
					check(lit, "this function literal")
				}
				return !ok
			})
		}
	}
	return found
}

// interfaceSize keeps interfaces small enough to be implemented by a user.
func interfaceSize(m *module) (found []problem) {
	for _, files := range m.packages() {
		local := interfaces(files)
		for _, f := range files {
			for spec, doc := range f.types {
				it, ok := spec.Type.(*ast.InterfaceType)
				if !ok || strings.Contains(flat(doc), manyMethods) {
					continue
				}
				if n := methods(it, local, 0); n > maxMethods {
					found = append(found, f.problem(spec.Pos(),
						"interface %s has %d methods, at most %d: split it, or say in its comment %q and why",
						spec.Name.Name, n, maxMethods, manyMethods))
				}
			}
		}
	}
	return found
}

// interfaces finds the interface types of a package by name.
func interfaces(files []*file) map[string]*ast.InterfaceType {
	all := map[string]*ast.InterfaceType{}
	for _, f := range files {
		for spec := range f.types {
			if it, ok := spec.Type.(*ast.InterfaceType); ok {
				all[spec.Name.Name] = it
			}
		}
	}
	return all
}

// methods counts, embedded interfaces of the same package included; one of another package counts as a method, a union
// of types as none.
func methods(it *ast.InterfaceType, local map[string]*ast.InterfaceType, depth int) int {
	n := 0
	for _, field := range it.Methods.List {
		if len(field.Names) > 0 {
			n += len(field.Names)
			continue
		}
		switch embedded := field.Type.(type) {
		case *ast.Ident:
			if inner := local[embedded.Name]; inner != nil && depth < 10 {
				n += methods(inner, local, depth+1)
			}
		case *ast.SelectorExpr:
			n++
		}
	}
	return n
}
