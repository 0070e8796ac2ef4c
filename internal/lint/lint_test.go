package lint

import "testing"

// rules are all that look at source.
func rules() map[string]func(*module) []problem {
	return map[string]func(*module) []problem{
		"file_size":         fileSize,
		"function_size":     funcSize,
		"interface_size":    interfaceSize,
		"import_direction":  importDirection,
		"test_only_modules": testOnlyImports,
		"third_party":       thirdParty,
		"package_comment":   packageComment,
		"doc_comments":      docComments,
		"forbidden_calls":   calls,
		"init_functions":    initFunctions,
		"global_variables":  globals,
		"leftover_words":    words,
		"secret_fields":     secretFields,
	}
}

func TestModule(t *testing.T) {
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.broken {
		t.Error(p)
	}
	n := 0
	for range m.source {
		n++
	}
	if n < 10 {
		t.Fatalf("found %d Go files, so the walk does not see the module", n)
	}
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			for _, p := range rule(m) {
				t.Error(p)
			}
		})
	}
}

func TestWhatUsersCompile(t *testing.T) {
	g, err := loadGraph(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(g.chains(modulePath+"/actor")) < 10 {
		t.Fatalf("package actor compiles %d packages, so the graph is not complete", len(g.chains(modulePath+"/actor")))
	}
	for _, p := range light(g) {
		t.Error(p)
	}
}
