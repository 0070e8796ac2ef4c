package router

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// DefaultVirtualNodes is the default of Config.VirtualNodes.
const DefaultVirtualNodes = 128

// maxVirtualNodes bounds the memory of a ring; beyond it the shares do not get visibly more equal.
const maxVirtualNodes = 1 << 16

// Config configures a router. Pool and Group start from DefaultConfig and apply their options to it. It is read while
// the options run and kept after that: do not change it later.
type Config struct {
	// Logic makes the Logic that chooses the routees. It is called once for each instance of the router, on the router's
	// goroutine, so that no two routers share a state. Default RoundRobin.
	Logic func() Logic
	// Key finds the key of a message for ConsistentHash; false: it has none. It is called on the router's goroutine and
	// must not block. Default nil. A message that it has no key for may have a method HashKey, see HashKeyer.
	Key func(msg any) (string, bool)
	// VirtualNodes is how many places each routee has on the ring of ConsistentHash, 1 to 65536. More make the shares of
	// the routees more equal, and each takes 16 bytes. Default DefaultVirtualNodes: shares differ by some ten percent.
	VirtualNodes int

	// Supervisor judges the failures of a pool's routees. Default the runtime's: restart, at most 10 times in 60 s for each.
	// For a pool only.
	Supervisor actor.Supervisor
	// Routee is applied to the SpawnConfig of every routee, for example to bound its mailbox. It is called at the check of
	// the Config and at each spawn, on the goroutine that does it. Default nil. For a pool only.
	Routee func(*actor.SpawnConfig)
	// ReplaceAfter is how long after the end of a routee another takes its place, under the same name. Default 0: never,
	// the pool becomes smaller. The wait keeps a routee that ends at once from being spawned in an endless hurry. For a
	// pool only.
	ReplaceAfter time.Duration
}

// DefaultConfig is what Pool and Group start from: RoundRobin, the runtime's supervision, no replacement.
func DefaultConfig() Config {
	return Config{Logic: RoundRobin, VirtualNodes: DefaultVirtualNodes}
}

// Validate reports the first field that is out of its range, as an error that wraps ErrConfig.
func (c *Config) Validate() error {
	switch {
	case c.Logic == nil:
		return fmt.Errorf("%w: Logic is nil, must be a function that makes one, such as RoundRobin", ErrConfig)
	case c.VirtualNodes < 1 || c.VirtualNodes > maxVirtualNodes:
		return fmt.Errorf("%w: VirtualNodes is %d, must be 1 to %d", ErrConfig, c.VirtualNodes, maxVirtualNodes)
	case c.ReplaceAfter < 0:
		return fmt.Errorf("%w: ReplaceAfter is %v, must be positive, or 0 for never", ErrConfig, c.ReplaceAfter)
	}
	if c.Routee != nil {
		var s actor.SpawnConfig
		c.Routee(&s)
		if err := s.Validate(); err != nil {
			return fmt.Errorf("%w: Routee: %w", ErrConfig, err)
		}
	}
	return nil
}

// poolOnly names the first field that is set and means nothing to a group.
func (c *Config) poolOnly() string {
	switch s := &c.Supervisor; {
	case s.Decide != nil || s.MaxRestarts != 0 || s.Within != 0:
		return "Supervisor"
	case c.Routee != nil:
		return "Routee"
	case c.ReplaceAfter != 0:
		return "ReplaceAfter"
	}
	return ""
}

// configured is the Config of a router.
func configured(opts []func(*Config)) (*Config, error) {
	c := DefaultConfig()
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &c, nil
}
