package doctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// checker compiles and runs listings.
type checker struct {
	root      string        // of this module
	templates string        // folder
	work      string        // an empty folder for the temporary module
	limit     time.Duration // of one program's run
	// replace is what stands in the pages and what it becomes in the programs; their output is translated back.
	replace map[string]string
}

// pages are the files whose listings are checked.
func pages(root string) ([]string, error) {
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	return append([]string{filepath.Join(root, "README.md")}, docs...), nil
}

// check returns what is wrong with the listings of the pages, which are file names. The error is for what has nothing to
// do with them. It blocks for as long as the build and the slowest program take; ctx ends both.
func (c *checker) check(ctx context.Context, pages []string) (wrong []problem, units []unit, err error) {
	for i, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, nil, err
		}
		us, bad := c.units(fmt.Sprintf("page%d_", i+1), page, string(text))
		wrong = append(wrong, bad...)
		units = append(units, us...)
	}
	if len(units) == 0 {
		return wrong, nil, nil
	}
	if err := c.write(units); err != nil {
		return nil, nil, err
	}
	bad, err := c.build(ctx, units)
	wrong = append(wrong, bad...)
	if err != nil || len(bad) > 0 {
		return wrong, units, err
	}
	return append(wrong, c.runAll(ctx, units)...), units, nil
}

func (c *checker) units(prefix, page, text string) ([]unit, []problem) {
	for from, to := range c.replace {
		text = strings.ReplaceAll(text, from, to)
	}
	return units(prefix, c.templates, extract(page, text))
}

// write lays out the temporary module: this module's requirements, and this module itself by its folder.
func (c *checker) write(units []unit) error {
	mod, err := os.ReadFile(filepath.Join(c.root, "go.mod"))
	if err != nil {
		return err
	}
	name := modulePath(mod)
	if name == "" {
		return fmt.Errorf("doctest: %s/go.mod has no module line", c.root)
	}
	mod = moduleLine.ReplaceAll(mod, []byte("module listings"))
	mod = fmt.Appendf(mod, "\nrequire %s v0.0.0\n\nreplace %s => %s\n", name, name, c.root)
	if err := os.WriteFile(filepath.Join(c.work, "go.mod"), mod, 0o600); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(c.root, "go.sum"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.work, "go.sum"), sum, 0o600); err != nil {
		return err
	}
	for _, u := range units {
		dir := filepath.Join(c.work, u.dir)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		for i, f := range u.files {
			name := fmt.Sprintf("listing%d.go", i+1)
			if f.test {
				name = fmt.Sprintf("listing%d_test.go", i+1)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(f.src), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+(\S+)`)

func modulePath(mod []byte) string {
	m := moduleLine.FindSubmatch(mod)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// build compiles everything at once, and vets it if that succeeded.
func (c *checker) build(ctx context.Context, units []unit) ([]problem, error) {
	bin := filepath.Join(c.work, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return nil, err
	}
	args := []string{"build"}
	if slices.ContainsFunc(units, func(u unit) bool { return u.main }) {
		args = append(args, "-o", bin+string(filepath.Separator))
	}
	for _, args := range [][]string{append(args, "./..."), {"vet", "./..."}} {
		out, err := c.goCommand(ctx, args...)
		if err == nil {
			continue
		}
		if found := c.compilerProblems(out); len(found) > 0 && ctx.Err() == nil {
			return found, nil
		}
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, out)
	}
	return nil, nil
}

func (c *checker) goCommand(ctx context.Context, args ...string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = c.work
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// position is file:line of the compiler or of vet, with or without a column.
var position = regexp.MustCompile(`^(?:vet: )?(\S+?):(\d+)(?::\d+)?: (.*)$`)

// compilerProblems reads the output of go build and go vet.
func (c *checker) compilerProblems(out string) (found []problem) {
	for line := range strings.Lines(out) {
		m := position.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		n := 0
		_, _ = fmt.Sscan(m[2], &n) // the expression allows digits only
		file := m[1]
		if !filepath.IsAbs(file) {
			file = filepath.Join(c.work, file)
		}
		found = append(found, problem{file, n, m[3]})
	}
	return found
}

// runAll runs programs and tests, as many at a time as there are processors.
func (c *checker) runAll(ctx context.Context, units []unit) (wrong []problem) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	try := func(u unit, f func(context.Context, unit) string) {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if text := f(ctx, u); text != "" {
				mu.Lock()
				wrong = append(wrong, problem{u.first.page, u.first.line, text})
				mu.Unlock()
			}
		})
	}
	for _, u := range units {
		if u.run {
			try(u, c.run)
		}
		if u.tests {
			try(u, c.test)
		}
	}
	wg.Wait()
	return wrong
}

// test runs the test functions of one package; empty if they pass.
func (c *checker) test(ctx context.Context, u unit) string {
	out, err := c.goCommand(ctx, "test", "-count=1", "-timeout", c.limit.String(), "./"+u.dir)
	if err != nil {
		return fmt.Sprintf("the test failed: %v\n%s", err, out)
	}
	return ""
}

// run runs one program; empty if it did what the page says.
func (c *checker) run(ctx context.Context, u unit) string {
	dir := filepath.Join(c.work, "run", u.dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.work, "bin", u.dir))
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("the program did not end within %v\n%s%s", c.limit, &stdout, &stderr)
	case err != nil:
		return fmt.Sprintf("the program failed: %v\n%s%s", err, &stdout, &stderr)
	case !u.last.hasOutput:
		return ""
	}
	got, want := stdout.String(), u.last.output
	for from, to := range c.replace {
		got, want = strings.ReplaceAll(got, to, from), strings.ReplaceAll(want, to, from)
	}
	if trimmed(got) != trimmed(want) {
		return fmt.Sprintf("the program prints\n%s\nthe page says\n%s", got, want)
	}
	return ""
}

// trimmed leaves out white space at the end of lines and of the text.
func trimmed(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return strings.Join(lines, "\n")
}
