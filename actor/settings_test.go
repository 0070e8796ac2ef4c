package actor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/conftest"
)

func configured(t *testing.T, text string) func(*SystemConfig) {
	t.Helper()
	c, err := hocon.ParseString("application.conf", text)
	if err != nil {
		t.Fatal(err)
	}
	return func(sc *SystemConfig) { sc.Config = c }
}

// Every setting has its key in reference.conf, the other way round, and with its default.
func TestReferenceIsTheDefault(t *testing.T) {
	c, err := hocon.ParseString("reference.conf", referenceConf)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.Resolve(); err != nil {
		t.Fatal(err)
	}
	for _, err := range conftest.Check(defaultSettings(), false, func(into any) error { return hocon.Decode(c, settingsPath, into) }) {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	s := newTestSystem(t, configured(t, `troupe.actor { askTimeout = 250, drainTimeout = 0 } , mine.key = 7`))
	want := defaultSettings()
	want.AskTimeout, want.DrainTimeout = 250*ms, 0
	if s.settings != want {
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
		"troupe.actor.stopTimeout = 0":           "troupe.actor.stopTimeout",
		"troupe.actor.shutdown.unbind = 0":       "troupe.actor.shutdown.unbind",
		"troupe.actor.shutdown.drain = -1s":      "troupe.actor.shutdown.drain",
		"troupe.actor.shutdown.brokers = 0":      "troupe.actor.shutdown.brokers",
		"troupe.actor.shutdown.cluster = 0":      "troupe.actor.shutdown.cluster",
		"troupe.actor.shutdown.terminate = 0":    "troupe.actor.shutdown.terminate",
		"troupe.actor.shutdown.stop = 1s":        "troupe.actor.shutdown.stop",
		"troupe.actor.deadLetters.log = -1":      "troupe.actor.deadLetters.log",
		"troupe.actor.deadLetters.log = 1.5":     "troupe.actor.deadLetters.log",
		"troupe.actor.deadLetters.window = 0":    "troupe.actor.deadLetters.window",
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

// The budget of every phase is phaseTimeout unless it has one of its own.
func TestPhaseBudgets(t *testing.T) {
	s := newTestSystem(t, configured(t, `troupe.actor { phaseTimeout = 3s, shutdown { brokers = 20s, unbind = 100 } }`))
	if want := (phaseBudgets{100 * ms, 3 * time.Second, 20 * time.Second, 3 * time.Second, 3 * time.Second}); s.settings.Shutdown != want {
		t.Errorf("%+v, want %+v", s.settings.Shutdown, want)
	}
}

// HC-S6: the drain must fit into its phase, or it would be cut off without a word. The error names both settings.
func TestHC_S6_drain_fits_into_its_phase(t *testing.T) {
	if d := defaultSettings(); d.DrainTimeout >= d.Shutdown.Drain {
		t.Error("the default drain does not fit into its phase")
	}
	for text, ok := range map[string]bool{
		"drainTimeout = 5s":                       false,
		"drainTimeout = 4999":                     true,
		"phaseTimeout = 2s":                       false,
		"phaseTimeout = 2s, shutdown.drain = 3s":  true,
		"shutdown.drain = 1s":                     false,
		"shutdown.drain = 1s, drainTimeout = 0":   true,
		"shutdown.drain = 1m, drainTimeout = 59s": true,
	} {
		s, err := NewSystem("test", quiet, configured(t, "troupe.actor { "+text+" }"))
		if s != nil {
			terminate(t, s)
		}
		if ok {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		var c *ConfigError
		if !errors.As(err, &c) || c.Path != "troupe.actor.drainTimeout" || !strings.Contains(err.Error(), "troupe.actor.shutdown.drain") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
