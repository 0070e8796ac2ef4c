package actor

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/hocon"
)

func configured(t *testing.T, text string) func(*SystemConfig) {
	t.Helper()
	c, err := hocon.ParseString("application.conf", text)
	if err != nil {
		t.Fatal(err)
	}
	return func(sc *SystemConfig) { sc.Config = c }
}

// reference.conf says what the code does: with every field wrong, decoding it alone gives the defaults, so it has every
// key and the right value for each.
func TestReferenceIsTheDefault(t *testing.T) {
	c, err := hocon.ParseString("reference.conf", referenceConf)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.Resolve(); err != nil {
		t.Fatal(err)
	}
	s := settings{-1, -1, -1}
	if err := hocon.Decode(c, settingsPath, &s); err != nil {
		t.Fatal(err)
	}
	if s != defaultSettings() {
		t.Errorf("reference.conf says %+v, the code %+v", s, defaultSettings())
	}
	if n := reflect.TypeFor[settings]().NumField(); n != 3 {
		t.Errorf("%d settings: set each of them above", n)
	}
	if d := defaultSettings(); d.DrainTimeout >= d.PhaseTimeout { // HC-S6
		t.Error("the drain does not fit into its phase")
	}
}

func TestSettings(t *testing.T) {
	s := newTestSystem(t, configured(t, `troupe.actor { askTimeout = 250, drainTimeout = 0 } , mine.key = 7`))
	if want := (settings{250 * ms, 0, 5 * time.Second}); s.settings != want {
		t.Errorf("%+v, want %+v", s.settings, want)
	}
	if !s.Config().Has("mine.key") || !s.Config().Has("troupe.actor.phaseTimeout") {
		t.Error("Config is the reference below the application's")
	}
	if newTestSystem(t).Config() == nil {
		t.Error("Config is nil without a configuration")
	}
}

func TestBadSettings(t *testing.T) {
	for text, key := range map[string]string{
		"troupe.actor.askTimeout = 0":            "troupe.actor.askTimeout",
		"troupe.actor.askTimeout = -1s":          "troupe.actor.askTimeout",
		"troupe.actor.askTimeout = soon":         "troupe.actor.askTimeout",
		"troupe.actor.askTimeout = NaN":          "troupe.actor.askTimeout",
		"troupe.actor.askTimeout = Infinity":     "troupe.actor.askTimeout",
		"troupe.actor.askTimeout = 1e400":        "troupe.actor.askTimeout",
		"troupe.actor.askTimeout = 300000 years": "troupe.actor.askTimeout",
		"troupe.actor.askTimeout = 200000000 d":  "troupe.actor.askTimeout",
		"troupe.actor.drainTimeout = -1":         "troupe.actor.drainTimeout",
		"troupe.actor.phaseTimeout = 0s":         "troupe.actor.phaseTimeout",
		"troupe.actor.askTimout = 1s":            "troupe.actor.askTimout",
		"troupe.actor = 1":                       "troupe.actor",
	} {
		_, err := NewSystem("test", quiet, configured(t, text))
		var c *ConfigError
		if !errors.As(err, &c) || c.Path != key || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := NewSystem("test", quiet, configured(t, "a = ${b}")); err == nil {
		t.Error("an unresolved substitution is no error")
	}
}
