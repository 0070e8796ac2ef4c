package broker

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/hocon"
)

//go:embed reference.conf
var referenceConf string

// TestReferenceConf holds reference.conf against the code: every key with its default, and no key too few.
func TestReferenceConf(t *testing.T) {
	conf, err := hocon.ParseString("reference.conf", referenceConf)
	if err != nil {
		t.Fatal(err)
	}
	if conf, err = conf.Resolve(); err != nil {
		t.Fatal(err)
	}
	c := Config{OutboundBuffer: -1, Overflow: 9, InFlight: -1, InboundWindow: -1, AckMode: 9, IdleTimeout: -1, ConnectTimeout: -1, FlushTimeout: -1,
		OutboundBytes: -1, MaxAge: -1, AckTimeout: -1, MaxDeliveries: -1, Required: true, FailFast: true,
		Redelivery:     RedeliveryConfig{InitialDelay: -1, MaxDelay: -1, Factor: -1},
		Reconnect:      ReconnectConfig{InitialDelay: -1, MaxDelay: -1, Factor: -1, MaxAttempts: -1, RandomFactor: -1, StableAfter: -1},
		CircuitBreaker: BreakerConfig{FailureThreshold: -1, Reset: -1}}
	if err := hocon.Decode(conf, "troupe.broker.example", &c); err != nil {
		t.Fatal(err)
	}
	if want := DefaultConfig(); !reflect.DeepEqual(c, want) {
		t.Errorf("reference.conf says %+v\nthe code says        %+v", c, want)
	}
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are not valid: %v", err)
	}
	text, err := conf.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]map[string]map[string]map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	keys := doc["troupe"]["broker"]["example"]
	typ := reflect.TypeFor[Config]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Tag.Get("hocon") == "-" {
			continue
		}
		key := strings.ToLower(f.Name[:1]) + f.Name[1:]
		if _, ok := keys[key]; !ok {
			t.Errorf("reference.conf lacks %s", key)
		}
	}
}
