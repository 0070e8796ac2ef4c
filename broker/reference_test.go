package broker

import (
	_ "embed"
	"testing"

	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/conftest"
)

//go:embed reference.conf
var referenceConf string

// Every field of Config has its key in reference.conf, the other way round, and with its default; and the defaults are
// valid.
func TestReferenceConf(t *testing.T) {
	conf, err := hocon.ParseString("reference.conf", referenceConf)
	if err == nil {
		conf, err = conf.Resolve()
	}
	if err != nil {
		t.Fatal(err)
	}
	decode := func(into any) error { return hocon.Decode(conf, "troupe.broker.example", into) }
	for _, err := range conftest.Check(DefaultConfig(), false, decode) {
		t.Error(err)
	}
	c := DefaultConfig()
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are not valid: %v", err)
	}
}
