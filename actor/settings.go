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
	StopTimeout  time.Duration
	Shutdown     phaseBudgets
	DeadLetters  letterSettings
}

// phaseBudgets are how long the phases of the termination may take. In reference.conf each is phaseTimeout.
type phaseBudgets struct{ Unbind, Drain, Brokers, Cluster, Terminate time.Duration }

// of is one phase's budget.
func (b *phaseBudgets) of(p Phase) time.Duration {
	return [phases]time.Duration{b.Unbind, b.Drain, b.Brokers, b.Cluster, b.Terminate}[p]
}

// letterSettings say how many dead letters are logged in a window of time.
type letterSettings struct {
	Log    int
	Window time.Duration
}

func defaultSettings() settings {
	const phase = 5 * time.Second
	return settings{
		AskTimeout: 5 * time.Second, DrainTimeout: 2 * time.Second, PhaseTimeout: phase, StopTimeout: 10 * time.Second,
		Shutdown:    phaseBudgets{phase, phase, phase, phase, phase},
		DeadLetters: letterSettings{Log: 10, Window: time.Minute},
	}
}

// validate names the key of what is wrong.
func (s *settings) validate() error {
	bad := func(key, want string, is any) error {
		return &ConfigError{Path: settingsPath + "." + key, Err: fmt.Errorf("must be %s, it is %v", want, is)}
	}
	switch {
	case s.AskTimeout <= 0:
		return bad("askTimeout", "positive", s.AskTimeout)
	case s.DrainTimeout < 0:
		return bad("drainTimeout", "0 or more", s.DrainTimeout)
	case s.PhaseTimeout <= 0:
		return bad("phaseTimeout", "positive", s.PhaseTimeout)
	case s.StopTimeout <= 0:
		return bad("stopTimeout", "positive", s.StopTimeout)
	}
	for p := range Phase(phases) {
		if b := s.Shutdown.of(p); b <= 0 {
			return bad("shutdown."+p.String(), "positive", b)
		}
	}
	switch {
	case s.DrainTimeout >= s.Shutdown.Drain:
		// The drain is a part of its phase; a longer one would be cut off by it.
		return bad("drainTimeout", fmt.Sprintf("less than %s.shutdown.drain, the %v of the phase that it is a part of",
			settingsPath, s.Shutdown.Drain), s.DrainTimeout)
	case s.DeadLetters.Log < 0:
		return bad("deadLetters.log", "0 or more", s.DeadLetters.Log)
	case s.DeadLetters.Window <= 0:
		return bad("deadLetters.window", "positive", s.DeadLetters.Window)
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
