package actor

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/timing"
)

// SystemConfig configures a System. The zero value is the default.
type SystemConfig struct {
	// Config is the application's configuration, unresolved or resolved; the runtime's reference configuration is layered
	// below it. Default nil: the reference alone. The system does not change it.
	Config *hocon.Config
	// Logger gets what the runtime has to say. Default nil: slog.Default at the time of NewSystem.
	Logger *slog.Logger
	// Hook looks at every message that a handler gets, of every actor. Default nil: none, and no cost.
	Hook MessageHook
}

// Validate fills in the defaults. There is nothing that could be wrong with the fields themselves, so the error is always
// nil.
func (c *SystemConfig) Validate() error {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// System is a tree of actors with one event stream, one configuration and one clock. Nothing of it is process-wide: a
// program may have several. All methods may be called from any goroutine.
type System struct {
	name     string
	log      *slog.Logger
	config   *hocon.Config
	settings settings
	clock    *timing.Clock
	events   *EventStream
	hooks    hookChecker
	hook     MessageHook

	root, user *cell
	guardians  []*cell // user, system, root: in the order they are stopped

	sched   scheduler
	wakes   wakePool
	none    rare           // stands for that of a cell which has none; it is only read
	helpers sync.WaitGroup // goroutines of PipeToSelf and shutdown tasks

	shared     shared
	shutdown   shutdown
	stats      struct{ dropped atomic.Int64 }
	over       atomic.Bool // no actor is left, and the clock is about to stop
	terminated chan struct{}
}

// NewSystem starts a system. The error wraps ErrName for a bad name and is a *ConfigError that names the key for a bad
// setting; in both cases nothing is left running.
func NewSystem(name string, opts ...func(*SystemConfig)) (*System, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("actor: system %q: %w", name, err)
	}
	var sc SystemConfig
	for _, o := range opts {
		if o != nil {
			o(&sc)
		}
	}
	if err := sc.Validate(); err != nil {
		return nil, err
	}
	config, settings, err := resolveSettings(sc.Config)
	if err != nil {
		return nil, err
	}
	s := &System{name: name, log: sc.Logger, hook: sc.Hook, config: config, settings: settings, clock: timing.New(), terminated: make(chan struct{})}
	s.events = &EventStream{sys: s}
	s.sched.start(s.clock)
	s.root = s.newGuardian(nil, "", func() Actor { return rootGuardian{} })
	s.user = s.newGuardian(s.root, "user", func() Actor { return guardian{} })
	s.guardians = []*cell{s.user, s.newGuardian(s.root, "system", func() Actor { return guardian{} }), s.root}
	s.root.signal(sigStart, nil)
	for _, g := range s.guardians[:2] {
		if err := s.root.kids().add(g, g.name(), nil); err != nil {
			return nil, fmt.Errorf("actor: system %q: %w", name, err)
		}
	}
	return s, nil
}

func (s *System) newGuardian(parent *cell, name string, newActor func() Actor) *cell {
	g := newCell(s, parent, name, newActor, nil)
	g.x().kids.Store(new(family))
	g.rare().ended = make(chan struct{})
	return g
}

// guardian is the parent of top-level actors. It judges them by the default Supervisor.
type guardian struct{}

// Receive makes a dead letter of what a top-level actor tells its parent.
func (guardian) Receive(ctx *Context, _ any) error {
	ctx.Unhandled()
	return nil
}

// rootGuardian is the parent of the guardians: a failure that reaches it ends the system.
type rootGuardian struct{ guardian }

func (rootGuardian) Supervisor() Supervisor {
	return Supervisor{Decide: func(Ref, error) Directive { return Escalate }}
}

// Name is the system's name, the first part of every path.
func (s *System) Name() string { return s.name }

// EventStream is the system's event stream.
func (s *System) EventStream() *EventStream { return s.events }

// Log is the system's logger.
func (s *System) Log() *slog.Logger { return s.log }

// Config is the resolved configuration: the runtime's reference below what the application gave. Never nil; shared, and
// not changed by anybody.
func (s *System) Config() *hocon.Config { return s.config }

// Spawn starts a top-level actor, below /user; see Context.Spawn. The error wraps ErrStopped from the moment the system's
// termination has begun.
func (s *System) Spawn(name string, newActor func() Actor, opts ...func(*SpawnConfig)) (Ref, error) {
	if err := checkName(name); err != nil {
		return Ref{}, s.user.spawnError(name, err)
	}
	return s.spawnTop(name, newActor, opts)
}

// SpawnAnonymous is Spawn under a generated name, which begins with "$".
func (s *System) SpawnAnonymous(newActor func() Actor, opts ...func(*SpawnConfig)) (Ref, error) {
	return s.spawnTop("", newActor, opts)
}

func (s *System) spawnTop(name string, newActor func() Actor, opts []func(*SpawnConfig)) (Ref, error) {
	if s.shutdown.started.Load() {
		return Ref{}, s.user.spawnError(name, ErrStopped)
	}
	return s.user.spawn(s.user.kids(), name, newActor, opts, nil)
}
