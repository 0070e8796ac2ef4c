package doctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinks follows the links between the pages of the repository.
func TestLinks(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := deadLinks(append(files, docs...))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range wrong {
		p.page = strings.TrimPrefix(p.page, root+string(filepath.Separator))
		t.Error(p)
	}
}

func TestDeadLinksAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.md": page("# One", "", "[good](b.md) [good](b.md#it-is-not-a-ticker) [good](#one) [good](https://example.com/x)", "",
			"[gone](c.md), [no heading](b.md#two)", "", "'''go", "// [not a link](d.md)", "# Not a heading", "'''", "",
			"[not a heading](#not-a-heading)"),
		"b.md": "## It is *not* a ticker\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wrong, err := deadLinks([]string{filepath.Join(dir, "a.md"), filepath.Join(dir, "b.md")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.md:5: the link to c.md leads nowhere", "a.md:5: the link to b.md#two leads nowhere", "a.md:12: the link to #not-a-heading"}
	if len(wrong) != len(want) {
		t.Fatalf("found %v, want %v", wrong, want)
	}
	for i, p := range wrong {
		p.page = filepath.Base(p.page)
		if !strings.Contains(p.String(), want[i]) {
			t.Errorf("found %v, want %v", p, want[i])
		}
	}
}
