package lint

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPackageComment(t *testing.T) {
	check(t, packageComment, "doc.go", []ruleCase{
		{"none", map[string]string{"a/a.go": "package a\n", "a/b.go": "// b.\n\npackage a\n"}, []string{"a/a.go:1"}},
		{"doc.go", map[string]string{"a/a.go": "package a\n", "a/doc.go": "// Package a.\npackage a\n"}, nil},
		{"a licence is none", one("a/a.go", "// Copyright.\n\npackage a\n"), []string{"a/a.go:3"}},
		{"a directive is none", one("a/a.go", "//go:build linux\n\n//go:debug x=1\npackage main\n"), []string{"a/a.go:4"}},
		{"in a test only", map[string]string{"a/a.go": "package a\n", "a/a_test.go": "// Package a.\npackage a\n"}, []string{"a/a.go:1"}},
		{"tests only", one("a/a_test.go", "package a\n"), nil},
	})
}

func TestDocComments(t *testing.T) {
	check(t, docComments, "has no comment", []ruleCase{
		{"function", one("a.go", "package a\n\nfunc F() {}\n\n// G does.\nfunc G() {}\n\nfunc h() {}\n"), []string{"a.go:3"}},
		{"empty comment", one("a.go", "package a\n\n//\nfunc F() {}\n"), []string{"a.go:4"}},
		{"directive", one("a.go", "package a\n\n//go:noinline\nfunc F() {}\n"), []string{"a.go:4"}},
		{"method", one("a.go", "package a\n\nfunc (T) F() {}\nfunc (*T) F() {}\nfunc (T[A]) F() {}\nfunc (*T[A, B]) F() {}\nfunc (t) F() {}\nfunc (*t[A]) F() {}\n"),
			[]string{"a.go:3", "a.go:4", "a.go:5", "a.go:6"}},
		{"type", one("a.go", "package a\n\ntype A int\n\ntype (\n\t// B is.\n\tB int\n\tC int\n)\n"), []string{"a.go:3", "a.go:8"}},
		{"group comment does not speak for types", one("a.go", "package a\n\n// Kinds.\ntype (\n\tA int\n\tB int\n)\n"), []string{"a.go:5", "a.go:6"}},
		{"constants", one("a.go", "package a\n\nconst A = 1\n\n// All.\nconst (\n\tB = 1\n\tC = 2\n)\n\nconst (\n\tD = 1 // line\n\tE, e = 2, 3\n)\n"), []string{"a.go:3", "a.go:13"}},
		{"variable", one("a.go", "package a\n\nvar A, B int\n"), []string{"a.go:3", "a.go:3"}},
		{"interface method", one("a.go", "package a\n\n// I is served by Named.\ntype I interface {\n\tNamed()\n\t// Own has one.\n\tOwn()\n\tName()\n\thidden()\n}\n"), []string{"a.go:8"}},
		{"config field", one("a.go", "package a\n\n// Config has A.\ntype Config struct {\n\tA int\n\tB int // b\n\tC int\n}\n"), []string{"a.go:7"}},
		{"field of another struct", one("a.go", "package a\n\n// Event is.\ntype Event struct{ A int }\n"), nil},
		{"test and program", map[string]string{"a_test.go": "package a\n\nfunc F() {}\n", "cmd/x/a.go": "package main\n\nfunc F() {}\n"}, nil},
	})
}

func TestForbiddenCalls(t *testing.T) {
	file := func(pkg, body string, imports ...string) string {
		src := "package " + pkg + "\n"
		for _, name := range imports {
			src += "import " + name + "\n"
		}
		return src + body
	}
	const sleep = "func f() { time.Sleep(1) }\n"
	check(t, calls, ": ", []ruleCase{
		{"sleep", one("actor/a.go", file("actor", sleep, `"time"`)), []string{"actor/a.go:3"}},
		{"sleep under another name", one("actor/a.go", file("actor", "var _ = t.Sleep\n", `t "time"`)), []string{"actor/a.go:3"}},
		{"sleep in a test", one("actor/a_test.go", file("actor", sleep, `"time"`)), []string{"actor/a_test.go:3"}},
		{"sleep in a bubble", one("actor/a_test.go", file("actor", sleep, `"time"`, `"testing/synctest"`)), nil},
		{"sleep in a program", one("cmd/x/a.go", file("main", sleep, `"time"`)), []string{"cmd/x/a.go:3"}},
		{"jitter", one("broker/brokertest/a.go", file("brokertest", "func Jitter() { time.Sleep(1) }\n"+sleep, `"time"`)), []string{"broker/brokertest/a.go:4"}},
		{"somebody else's Sleep", one("actor/a.go", file("actor", sleep, `"example.org/time"`)), nil},
		{"print", one("hocon/a.go", file("hocon", "func f() { fmt.Println(); fmt.Printf(``) }\n", `"fmt"`)), []string{"hocon/a.go:3", "hocon/a.go:3"}},
		{"print to a writer", one("hocon/a.go", file("hocon", "func f() { fmt.Fprintln(nil); _ = fmt.Sprint() }\n", `"fmt"`)), nil},
		{"print in a program", one("cmd/x/a.go", file("main", "func f() { fmt.Println() }\n", `"fmt"`)), nil},
		{"print in a program's package", one("cmd/x/y/a.go", file("y", "func f() { fmt.Println() }\n", `"fmt"`)), nil},
		{"print in an example", one("actor/example_test.go", file("actor_test", "func Example() { fmt.Println() }\n", `"fmt"`)), nil},
		{"log", one("actor/a.go", file("actor", "func f() { log.Printf(``) }\n", `"log"`)), []string{"actor/a.go:3"}},
		{"slog", one("actor/a.go", file("actor", "func f() { slog.Info(``) }\n", `"log/slog"`)), nil},
		{"panic", one("actor/a.go", file("actor", "func f() { panic(1) }\n")), []string{"actor/a.go:2"}},
		{"panic in a program", one("cmd/x/a.go", file("main", "func f() { panic(1) }\n")), []string{"cmd/x/a.go:2"}},
		{"panic of the invariants", one("internal/invariants/a.go", file("invariants", "func f() { panic(1) }\n")), nil},
		{"panic in a test", one("actor/a_test.go", file("actor", "func f() { panic(1) }\n")), nil},
		{"println", one("actor/a.go", file("actor", "func f() { println(1) }\n")), []string{"actor/a.go:2"}},
		{"background", one("actor/a.go", file("actor", "\nvar c = context.Background()\n", `"context"`)), []string{"actor/a.go:4"}},
		{"background with a reason before", one("actor/a.go", file("actor", "// it outlives the caller\nvar c = context.Background()\n", `"context"`)), nil},
		{"background with a reason beside", one("actor/a.go", file("actor", "\nvar c = context.Background() // outlives the caller\n", `"context"`)), nil},
		{"background with a reason too far", one("actor/a.go", file("actor", "// it outlives the caller\n\nvar c = context.Background()\n", `"context"`)), []string{"actor/a.go:5"}},
		{"background to be done", one("actor/a.go", file("actor", "\nvar c = context.TO"+"DO()\n", `"context"`)), []string{"actor/a.go:4"}},
		{"background in a test", one("actor/a_test.go", file("actor", "\nvar c = context.Background()\n", `"context"`)), nil},
		{"exit", one("actor/a.go", file("actor", "func f() { os.Exit(1) }\n", `"os"`)), []string{"actor/a.go:3"}},
		{"exit in a program", one("cmd/x/a.go", file("main", "func f() { os.Exit(1) }\n", `"os"`)), nil},
		{"exit in a test", one("actor/a_test.go", file("actor", "func TestX() { os.Exit(1) }\n", `"os"`)), []string{"actor/a_test.go:3"}},
		{"exit in TestMain", one("actor/a_test.go", file("actor", "func TestMain() { os.Exit(1) }\n", `"os"`)), nil},
	})
}

func TestInitFunctions(t *testing.T) {
	check(t, initFunctions, "constructor", []ruleCase{
		{"init", one("actor/a.go", "package a\n\nfunc init() {}\n"), []string{"actor/a.go:3"}},
		{"in a test", one("actor/a_test.go", "package a\n\nfunc init() {}\n"), []string{"actor/a_test.go:3"}},
		{"a method", one("actor/a.go", "package a\n\nfunc (t T) init() {}\n"), nil},
	})
}

func TestGlobals(t *testing.T) {
	const imports = "package a\nimport \"errors\"\nimport \"regexp\"\nimport \"fmt\"\n"
	check(t, globals, "read-only", []ruleCase{
		{"without value", one("a.go", imports+"var x int\n"), []string{"a.go:5"}},
		{"map", one("a.go", imports+"var x = map[string]int{}\n"), []string{"a.go:5"}},
		{"call", one("a.go", imports+"var x = New()\n"), []string{"a.go:5"}},
		{"sentinels", one("a.go", imports+"var (\n\tErrA = errors.New(``)\n\tErrB = fmt.Errorf(``)\n\tc int\n)\n"), []string{"a.go:8"}},
		{"somebody else's errors", one("a.go", "package a\nimport \"example.org/errors\"\nvar x = errors.New(``)\n"), []string{"a.go:3"}},
		{"one of two", one("a.go", imports+"var a, b = errors.New(``), 1\n"), []string{"a.go:5"}},
		{"expression", one("a.go", imports+"var x = regexp.MustCompile(`a`)\n"), nil},
		{"assertion", one("a.go", imports+"var _ error = (*T)(nil)\n"), nil},
		{"promised", one("a.go", imports+"// x is the table. It is\n// read-only.\nvar x = []int{1}\nvar y = []int{1} // read-only\n"), nil},
		{"promised in a group", one("a.go", imports+"var (\n\t// x is read-only.\n\tx = []int{1}\n\ty = []int{1}\n)\n"), []string{"a.go:8"}},
		{"inside a function", one("a.go", imports+"func f() { var x int; _ = x }\n"), nil},
		{"test", one("a_test.go", imports+"var x int\n"), nil},
	})
}

func TestLeftoverWords(t *testing.T) {
	const do, fix, xs = "TO" + "DO", "FIX" + "ME", "XX" + "X"
	check(t, words, "issue", []ruleCase{
		{"go", one("a.go", "package a\n\n// "+do+": more\n"), []string{"a.go:3"}},
		{"page", one("docs/a.md", "# A\n"+fix+"\n\n("+xs+")\n"), []string{"docs/a.md:2", "docs/a.md:4"}},
		{"part of a word", one("a.go", "package a\n\nconst a"+xs+"b = 1\n"), nil},
		{"the function", one("a.go", "package a\n\n// not context."+do+"\n"), nil},
	})
}

func TestLoad(t *testing.T) {
	root := t.TempDir()
	for name, src := range map[string]string{
		"go.mod": "module x\n", "a/a.go": "package a\n", "a/b.go": "package", "README.md": "# X\n", "a/picture.png": "\x89PNG",
		".git/a.go": "package a\n", "a/testdata/b.go": "not Go", "bench/go.mod": "module y\n", "bench/b.go": "package b\n", ".ci/run": "#!/bin/sh\n",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, "a"))
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range m.files {
		got += f.path + " "
	}
	if want := ".ci/run README.md a/a.go a/b.go go.mod "; got != want {
		t.Errorf("loaded %q, want %q", got, want)
	}
	if len(m.broken) != 1 || m.broken[0].path != "a/b.go" {
		t.Errorf("broken = %v, want a/b.go", m.broken)
	}
	t.Chdir("/")
	if _, err := load(); err == nil {
		t.Error("load outside a module succeeded")
	}
}
