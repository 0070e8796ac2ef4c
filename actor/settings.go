package actor

import (
	_ "embed" // for the reference configuration
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/hocon"
)

//go:embed reference.conf
var referenceConf string // read-only

// settingsPath is where the runtime's own settings are.
const settingsPath = "troupe.actor"

// settings are the runtime's own, see reference.conf.
type settings struct {
	AskTimeout   time.Duration
	DrainTimeout time.Duration
	PhaseTimeout time.Duration
}

func defaultSettings() settings {
	return settings{AskTimeout: 5 * time.Second, DrainTimeout: 2 * time.Second, PhaseTimeout: 5 * time.Second}
}

// validate names the key of what is wrong.
func (s *settings) validate() error {
	bad := func(key, want string, is time.Duration) error {
		return &ConfigError{Path: settingsPath + "." + key, Err: fmt.Errorf("must be %s, it is %v", want, is)}
	}
	switch {
	case s.AskTimeout <= 0:
		return bad("askTimeout", "positive", s.AskTimeout)
	case s.DrainTimeout < 0:
		return bad("drainTimeout", "0 or more", s.DrainTimeout)
	case s.PhaseTimeout <= 0:
		return bad("phaseTimeout", "positive", s.PhaseTimeout)
	}
	return nil
}

// resolveSettings layers the configuration: reference, then what the application gave.
func resolveSettings(app *hocon.Config) (*hocon.Config, settings, error) {
	s := defaultSettings()
	ref, err := hocon.ParseString("reference.conf", referenceConf)
	if err != nil {
		return nil, s, fmt.Errorf("actor: %w", err)
	}
	all := ref
	if app != nil {
		all = app.WithFallback(ref)
	}
	all, err = all.Resolve()
	if err != nil {
		return nil, s, fmt.Errorf("actor: configuration: %w", err)
	}
	if err := hocon.Decode(all, settingsPath, &s); err != nil {
		return nil, s, decodeError(err)
	}
	if err := s.validate(); err != nil {
		return nil, s, err
	}
	return all, s, nil
}

// decodeError makes a ConfigError of a decoding error, which knows the key and the place.
func decodeError(err error) error {
	var he *hocon.Error
	if errors.As(err, &he) && he.Key != "" {
		return &ConfigError{Path: he.Key, Err: err}
	}
	return &ConfigError{Path: settingsPath, Err: err}
}
