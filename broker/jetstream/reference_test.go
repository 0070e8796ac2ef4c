package jetstream_test

import (
	_ "embed" // for reference.conf
	"testing"

	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/conftest"
)

//go:embed reference.conf
var referenceConf string

// Every field of Config has its key in reference.conf, the other way round, and with its default.
func TestReferenceConf(t *testing.T) {
	conf, err := hocon.ParseString("reference.conf", referenceConf)
	if err == nil {
		conf, err = conf.Resolve()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range conftest.Check(jetstream.DefaultConfig(), false, func(into any) error { return hocon.Decode(conf, jetstream.Key, into) }) {
		t.Error(err)
	}
}
