package doctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	// The listings are compiled by a go command of their own. These imports make the test depend on what they use, so
	// that a cached result is not taken for one of the code as it is.
	_ "github.com/troupe-go/troupe/actor/resilience"
	_ "github.com/troupe-go/troupe/broker/jetstream"
	_ "github.com/troupe-go/troupe/broker/nats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const natsURL = "nats://localhost:4222"

// TestListings compiles, vets and runs every listing of the documentation.
func TestListings(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := pages(root)
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{root: root, templates: "testdata", work: t.TempDir(), limit: 20 * time.Second}
	if mentions(t, files, natsURL) {
		c.replace = map[string]string{natsURL: startNATS(t)}
	}
	wrong, units, err := c.check(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range wrong {
		p.page = strings.TrimPrefix(p.page, root+string(filepath.Separator))
		t.Error(p)
	}
	ran := count(units, func(u unit) bool { return u.run })
	tests := count(units, func(u unit) bool { return u.tests })
	if ran == 0 {
		t.Error("no listing of the documentation was run: the test looks in the wrong place")
	}
	t.Logf("%d packages compiled, %d programs run, %d packages tested", len(units), ran, tests)
}

func count(units []unit, pred func(unit) bool) (n int) {
	for _, u := range units {
		if pred(u) {
			n++
		}
	}
	return n
}

func mentions(t *testing.T, files []string, what string) bool {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), what) {
			return true
		}
	}
	return false
}

// startNATS starts a NATS server with JetStream for the length of the test and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the embedded nats-server was not ready within 10 s")
	}
	return s.ClientURL()
}

// page puts a page together; a fence is written as ”' there.
func page(lines ...string) string {
	return strings.ReplaceAll(strings.Join(lines, "\n"), "'''", "```") + "\n"
}

// checkPage checks one page of its own module and returns what is wrong as text.
func checkPage(t *testing.T, limit time.Duration, text string) (wrong []string, units []unit) {
	t.Helper()
	root, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/m\n\ngo 1.26\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	template := "package main\n\nfunc double(n int) int { return 2 * n }\n\nfunc main() {\n\t// LISTING\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "calc.tmpl"), []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "page.md")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &checker{root: root, templates: dir, work: t.TempDir(), limit: limit, replace: map[string]string{"PLACE": "there"}}
	found, units, err := c.check(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		wrong = append(wrong, strings.TrimPrefix(p.String(), root+string(filepath.Separator)))
	}
	return wrong, units
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	hello := []string{"'''go", "package main", "", `import "fmt"`, "", `func main() { fmt.Println("hello") }`, "'''"}
	for name, tc := range map[string]struct {
		page []string
		want string // contained in the only problem
	}{
		"does not compile": {[]string{"# t", "", "'''go", "package main", "", "func main() {", "\tvar n int", "}", "'''"},
			"page.md:7: declared and not used: n"},
		"unknown name in a declaration": {[]string{"'''go", "var a = b", "'''"}, "page.md:2: undefined: b"},
		"template does not fit": {[]string{"<!-- doctest: in=calc -->", "'''go", "double(\"x\")", "'''"},
			"page.md:3: cannot use \"x\""},
		"vet": {[]string{"'''go", "func f() { fmt.Printf(\"%d\\n\", \"x\") }", "'''"},
			"page.md:2: fmt.Printf format %d has arg \"x\" of wrong type string"},
		"prints something else": {append(hello, "", "prints:", "", "'''text", "hallo", "'''"),
			"page.md:2: the program prints\nhello\n\nthe page says\nhallo"},
		"fails": {[]string{"'''go", "package main", "", `import "os"`, "", "func main() { os.Exit(3) }", "'''"},
			"page.md:2: the program failed: exit status 3"},
		"test":             {[]string{"'''go", "func TestX(t *testing.T) { t.Error(\"broken\") }", "'''"}, "page.md:2: the test failed"},
		"not formatted":    {[]string{"'''go", "func f( ) {}", "'''"}, "page.md:2: not formatted as gofmt does it, which would be \"func f() {}\""},
		"no Go":            {[]string{"'''go", "func {", "'''"}, "page.md:2: the listing is neither"},
		"no such template": {[]string{"<!-- doctest: in=nope -->", "'''go", "f()", "'''"}, "page.md:3: there is no template nope.tmpl"},
		"unknown comment":  {[]string{"<!-- doctest: skip -->", "'''go", "f()", "'''"}, `page.md:1: doctest does not know "skip"`},
		"no reason":        {[]string{"<!-- doctest: compile -->", "'''go", "f()", "'''"}, `page.md:1: doctest does not know "compile"`},
		"continues nothing": {[]string{"<!-- doctest: continue -->", "'''go", "var x int", "'''"},
			"page.md:1: there is no listing before this one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, _ := checkPage(t, 20*time.Second, page(tc.page...))
			if len(wrong) != 1 || !strings.Contains(wrong[0], tc.want) {
				t.Errorf("found %q, want one problem with %q", wrong, tc.want)
			}
		})
	}
}

func TestCheckEndsProgramsThatHang(t *testing.T) {
	t.Parallel()
	start := time.Now()
	wrong, _ := checkPage(t, 200*time.Millisecond, page("'''go", "package main", "", `import "time"`, "", "func main() { time.Sleep(time.Hour) }", "'''"))
	if len(wrong) != 1 || !strings.Contains(wrong[0], "page.md:2: the program did not end within 200ms") {
		t.Errorf("found %q", wrong)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

func TestCheckAcceptsWhatIsRight(t *testing.T) {
	t.Parallel()
	wrong, units := checkPage(t, 20*time.Second, page(
		"# A program and its output", "",
		"'''go", "package main", "", `import "fmt"`, "", `func main() { fmt.Println("at PLACE  ") }`, "'''", "",
		"It prints", "", "'''text", "at PLACE", "'''", "",
		"'''go", "type celsius float64", "'''", "",
		"Goes on:", "", "<!-- doctest: continue -->", "'''go", "var boiling = celsius(100)", "'''", "",
		"<!-- doctest: continue -->",
		"'''go", "func TestBoiling(t *testing.T) {", "\tif boiling != 100 {", "\t\tt.Error(boiling)", "\t}", "}", "'''", "",
		"<!-- doctest: in=calc -->", "'''go", "fmt.Println(strings.Repeat(\"ab\", double(2)))", "'''", "",
		"'''text", "abababab", "'''", "",
		"<!-- doctest: compile it never ends -->", "'''go", "package main", "", "func main() {", "\tfor {", "\t}", "}", "'''", "",
		"Not the output of anything:", "", "'''text", "nothing", "'''", "",
		"'''sh", "exit 1", "'''",
	))
	if len(wrong) > 0 {
		t.Errorf("found %q", wrong)
	}
	ran := count(units, func(u unit) bool { return u.run })
	tests := count(units, func(u unit) bool { return u.tests })
	if len(units) != 4 || ran != 2 || tests != 1 {
		t.Errorf("%d packages, %d run, %d tested; want 4, 2 and 1", len(units), ran, tests)
	}
}

func TestOutputBelongsToTheProgramRightBefore(t *testing.T) {
	t.Parallel()
	program := []string{"'''go", "package main", "", "func main() {}", "'''", ""}
	output := []string{"'''text", "x", "'''"}
	for name, tc := range map[string]struct {
		between []string
		want    bool
	}{
		"nothing between":          {nil, true},
		"one paragraph":            {[]string{"two", "lines", ""}, true},
		"two paragraphs":           {[]string{"one", "", "two", ""}, false},
		"heading":                  {[]string{"## next", ""}, false},
		"another block in between": {[]string{"'''sh", "ls", "'''", ""}, false},
	} {
		all := extract("page.md", page(append(append(append([]string{}, program...), tc.between...), output...)...))
		if len(all) != 1 || all[0].hasOutput != tc.want {
			t.Errorf("%s: %+v, want output: %v", name, all, tc.want)
		}
	}
}
