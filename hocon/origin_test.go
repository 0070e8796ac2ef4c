package hocon

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestOrigins(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"main.conf": "a = 1\nb = ${a}\nc = ${b}\nx { include \"sub\" }\nl = [1, ${HOCON_PORT}, {}]\no = ${x}\nj = p-${HOCON_HOST}-${a}\nn = 5\nn = ${?nothing}",
		"sub.conf":  "s = 1\nt = ${s}",
	})
	c, err := ParseFile(filepath.Join(dir, "main.conf"), func(o *Options) { o.Env = goldenEnv })
	if err == nil {
		c, err = c.Resolve()
	}
	if err != nil {
		t.Fatal(err)
	}
	origins, err := c.Origins()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, o := range origins {
		fmt.Fprintf(&b, "%s %s %s %s %s %v\n", o.Key, o.Place, o.Substitution, o.SubstitutionAt, o.Variable, o.Included)
	}
	got := strings.NewReplacer(dir+string(filepath.Separator), "", " :0:0", "").Replace(b.String())
	const want = "a main.conf:1:5   []\n" +
		"b main.conf:1:5 ${a} main.conf:2:5  []\n" +
		"c main.conf:1:5 ${b} main.conf:3:5  []\n" +
		"x.s sub.conf:1:5   [main.conf:4:5]\n" +
		"x.t sub.conf:1:5 ${s} sub.conf:2:5  [main.conf:4:5]\n" +
		"l.0 main.conf:5:6   []\n" +
		"l.1 main.conf:5:9 ${HOCON_PORT} main.conf:5:9 HOCON_PORT []\n" +
		"l.2 main.conf:5:24   []\n" +
		"o.s sub.conf:1:5   [main.conf:4:5]\n" +
		"o.t sub.conf:1:5 ${s} sub.conf:2:5  [main.conf:4:5]\n" +
		"j main.conf:7:5 ${HOCON_HOST} main.conf:7:7 HOCON_HOST []\n" +
		"n main.conf:8:5   []\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if _, err := parse(t, "a = 1").Origins(); err == nil || !strings.Contains(err.Error(), "Resolve") {
		t.Error(err)
	}
	if o, err := (*Config)(nil).Origins(); len(o) != 0 || err != nil {
		t.Error(o, err)
	}
}

// A document that is small but has too many leaves ends in an error.
func TestOriginsAreBounded(t *testing.T) {
	c := resolved(t, "a0 = [1,1,1,1]\n"+repeat(18, "a%[2]d = [${a%[1]d}, ${a%[1]d}]"))
	if _, err := c.Origins(); err == nil || !strings.Contains(err.Error(), "leaves") {
		t.Error(err)
	}
}
