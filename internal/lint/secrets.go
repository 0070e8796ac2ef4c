package lint

import (
	"go/ast"
	"regexp"
	"strings"
)

// secretName is what the field of a Config that holds a credential is called.
var secretName = regexp.MustCompile(`(?i)(password|passphrase|secret|token|apikey|privatekey)$`)

// endpointName is what the field of a Config that says where a peer is, and may hold credentials, is called.
var endpointName = regexp.MustCompile(`^(URL|URLs|Servers|Brokers|Endpoint|Endpoints|Addr|Addrs|Address)$`)

// secretFields: in a Config of a broker package a credential is no string, and an address that may be a URL is not one
// either: fmt, JSON and logs would show it. hocon.Secret, broker.Endpoint and broker.Endpoints do not.
func secretFields(m *module) (found []problem) {
	for f := range m.source {
		if f.test() || !strings.HasPrefix(f.dir(), "broker/") {
			continue
		}
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && strings.HasSuffix(t.Name.Name, "Config") {
					found = append(found, secretsOf(f, t)...)
				}
			}
		}
	}
	return found
}

func secretsOf(f *file, t *ast.TypeSpec) (found []problem) {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, field := range s.Fields.List {
		typ := field.Type
		if list, ok := typ.(*ast.ArrayType); ok {
			typ = list.Elt
		}
		if id, ok := typ.(*ast.Ident); !ok || id.Name != "string" {
			continue
		}
		for _, name := range field.Names {
			switch {
			case secretName.MatchString(name.Name):
				found = append(found, f.problem(name.Pos(), "secret %s.%s: make it a hocon.Secret", t.Name.Name, name.Name))
			case endpointName.MatchString(name.Name):
				found = append(found, f.problem(name.Pos(), "secret: %s.%s may hold one: make it a broker.Endpoint or broker.Endpoints", t.Name.Name, name.Name))
			}
		}
	}
	return found
}
