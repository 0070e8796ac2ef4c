package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// packageComment wants one in every folder that has more than tests.
func packageComment(m *module) (found []problem) {
	for _, files := range m.packages() {
		files = slices.DeleteFunc(slices.Clone(files), (*file).test)
		if len(files) == 0 {
			continue
		}
		if !slices.ContainsFunc(files, func(f *file) bool { return f.ast.Doc.Text() != "" }) {
			f := files[0]
			found = append(found, f.problem(f.ast.Package, "package %s has no package comment: say in its doc.go what it is for", f.ast.Name.Name))
		}
	}
	return found
}

// docComments wants one on everything exported: functions, methods of exported types, types, constants and variables;
// a method of an exported interface and a field of an exported type named …Config may be explained in the type's
// comment instead, by name.
func docComments(m *module) (found []problem) {
	for f := range m.source {
		if f.test() || f.ast.Name.Name == "main" {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if visible(d) && d.Doc.Text() == "" {
					found = append(found, undocumented(f, d.Name))
				}
			case *ast.GenDecl:
				if d.Tok == token.CONST || d.Tok == token.VAR {
					found = append(found, valueComments(f, d)...)
				}
			}
		}
		for spec, doc := range f.types {
			if !spec.Name.IsExported() {
				continue
			}
			if doc.Text() == "" {
				found = append(found, undocumented(f, spec.Name))
			}
			found = append(found, partComments(f, spec, doc)...)
		}
	}
	return found
}

func undocumented(f *file, name *ast.Ident) problem {
	return f.problem(name.Pos(), "%s is exported and has no comment: say what it is, its default and unit, whether it blocks and who may call it", name.Name)
}

// visible says whether users can call a function: its name and its receiver's are exported.
func visible(d *ast.FuncDecl) bool {
	if !d.Name.IsExported() {
		return false
	}
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

// valueComments looks at constants and variables; one comment above a group in parentheses is enough for all of it.
func valueComments(f *file, d *ast.GenDecl) (found []problem) {
	if d.Doc.Text() != "" {
		return nil
	}
	for _, s := range d.Specs {
		spec := s.(*ast.ValueSpec)
		if spec.Doc.Text() != "" || spec.Comment.Text() != "" {
			continue
		}
		for _, name := range spec.Names {
			if name.IsExported() {
				found = append(found, undocumented(f, name))
			}
		}
	}
	return found
}

// partComments looks at the methods of an interface and the fields of a Config.
func partComments(f *file, spec *ast.TypeSpec, doc *ast.CommentGroup) (found []problem) {
	var parts *ast.FieldList
	switch t := spec.Type.(type) {
	case *ast.InterfaceType:
		parts = t.Methods
	case *ast.StructType:
		if !strings.HasSuffix(spec.Name.Name, "Config") {
			return nil
		}
		parts = t.Fields
	default:
		return nil
	}
	words := strings.FieldsFunc(doc.Text(), func(r rune) bool { return !identifier(r) })
	for _, part := range parts.List {
		if part.Doc.Text() != "" || part.Comment.Text() != "" {
			continue
		}
		for _, name := range part.Names {
			if name.IsExported() && !slices.Contains(words, name.Name) {
				found = append(found, undocumented(f, name))
			}
		}
	}
	return found
}

func identifier(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
