package lint

import (
	"go/ast"
	"strings"
)

// calls keeps out of the source what has a better place. It looks at whole files, so that it also sees a function that
// is only named, as in time.AfterFunc(d, os.Exit).
func calls(m *module) (found []problem) {
	for f := range m.source {
		comments := f.commented()
		for _, decl := range f.ast.Decls {
			fn, _ := decl.(*ast.FuncDecl)
			ast.Inspect(decl, func(n ast.Node) bool {
				why := ""
				switch e := n.(type) {
				case *ast.SelectorExpr:
					why = forbidden(f, fn, e, comments)
				case *ast.CallExpr:
					why = forbiddenBuiltin(f, e)
				}
				if why != "" {
					found = append(found, f.problem(n.Pos(), "%s", why))
				}
				return true
			})
		}
	}
	return found
}

// forbidden says what is wrong with naming pkg.Func inside fn; empty if nothing is.
func forbidden(f *file, fn *ast.FuncDecl, e *ast.SelectorExpr, comments map[int]bool) string {
	in := ""
	if fn != nil {
		in = fn.Name.Name
	}
	if name, ok := f.selector(e, "time"); ok && name == "Sleep" && !maySleep(f, in) {
		return "time.Sleep: wait for the event itself, with a deadline, or test in a testing/synctest bubble"
	}
	if name, ok := f.selector(e, "os"); ok && name == "Exit" && !mayExit(f, in) {
		return "os.Exit outside cmd: return an error; the deferred calls do not run this way"
	}
	if !f.library() {
		return ""
	}
	if name, ok := f.selector(e, "fmt"); ok && strings.HasPrefix(name, "Print") {
		return "fmt." + name + " in library code: log through the *slog.Logger that was handed in, or write to an io.Writer"
	}
	if name, ok := f.selector(e, "log"); ok {
		return "log." + name + " in library code: log through the *slog.Logger that was handed in"
	}
	if name, ok := f.selector(e, "context"); ok && (name == "Background" || name == "TO"+"DO") {
		if line := f.line(e.Pos()); !comments[line] && !comments[line-1] {
			return "context." + name + " in library code: take a ctx, or say on this or the line before why it must not be the caller's"
		}
	}
	return ""
}

// maySleep: a bubble's clock does not wait for real, and one helper of the broker tests is there to spread starts.
func maySleep(f *file, in string) bool {
	return f.test() && f.importName("testing/synctest") != "" || f.dir() == "broker/brokertest" && in == "Jitter"
}

// mayExit: programs, and tests that start themselves as a child process.
func mayExit(f *file, in string) bool {
	return under(f.dir(), "cmd") || f.ast.Name.Name == "main" || f.test() && in == "TestMain"
}

// forbiddenBuiltin says what is wrong with calling panic, print or println.
func forbiddenBuiltin(f *file, call *ast.CallExpr) string {
	name, ok := call.Fun.(*ast.Ident)
	if !ok || f.test() {
		return ""
	}
	switch name.Name {
	case "panic":
		if f.dir() != "internal/invariants" {
			return "panic: return an error; for what cannot happen use internal/invariants"
		}
	case "print", "println":
		return name.Name + ": log through the *slog.Logger that was handed in, or write to an io.Writer"
	}
	return ""
}
