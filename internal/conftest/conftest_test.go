package conftest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/conftest"
)

type common struct{ Shared int }

type config struct {
	common
	Delay time.Duration
	Name  string
	On    bool
	Size  hocon.Bytes
	Seeds []string
	Inner struct{ Ratio float64 }
	Not   func() `hocon:"-"`
}

func defaults() config {
	c := config{common: common{7}, Delay: time.Second, On: true, Size: 1024}
	c.Inner.Ratio = 0.5
	return c
}

const good = "delay = 1s, name = \"\", on = true, size = 1k, seeds = [], inner.ratio = 0.5\n"

// TestCheck: each disagreement is found, and agreement is none.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		text, says string
		embedded   bool
	}{
		"agreement":             {text: good},
		"agreement, embedded":   {text: good + "shared = 7", embedded: true},
		"embedded key missing":  {text: good, embedded: true, says: "Shared"},
		"key missing":           {text: strings.Replace(good, "on = true,", "", 1), says: "On is false"},
		"empty list missing":    {text: strings.Replace(good, "seeds = [],", "", 1), says: "Seeds"},
		"empty text missing":    {text: strings.Replace(good, "name = \"\",", "", 1), says: "Name"},
		"inner key missing":     {text: strings.Replace(good, ", inner.ratio = 0.5", "", 1), says: "Inner.Ratio"},
		"another value":         {text: good + "delay = 2s", says: "Delay is 2s"},
		"another value, inside": {text: good + "inner.ratio = 1", says: "Inner.Ratio is 1"},
		"no field":              {text: good + "dely = 2s", says: "unknown key; did you mean delay?"},
		"another list":          {text: good + "seeds = [x]", says: "Seeds is [x]"},
	} {
		t.Run(name, func(t *testing.T) {
			conf, err := hocon.ParseString("reference.conf", c.text)
			if err == nil {
				conf, err = conf.Resolve()
			}
			if err != nil {
				t.Fatal(err)
			}
			errs := conftest.Check(defaults(), c.embedded, func(into any) error { return hocon.Decode(conf, "", into) })
			if c.says == "" {
				if len(errs) != 0 {
					t.Error(errs)
				}
				return
			}
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.says) {
				t.Errorf("got %v, want one error with %q", errs, c.says)
			}
		})
	}
}

// TestCheckUnknownKinds: what cannot be proved is said, not passed over.
func TestCheckUnknownKinds(t *testing.T) {
	nothing := func(any) error { return nil }
	if errs := conftest.Check(struct{ F func() }{}, false, nothing); len(errs) != 1 {
		t.Error(errs)
	}
	if errs := conftest.Check(5, false, nothing); len(errs) != 1 {
		t.Error(errs)
	}
}
