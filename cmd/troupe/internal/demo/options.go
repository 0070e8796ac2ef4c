// Package demo is the main job of troupe in one run: orders go through JetStream to one actor per customer while the
// server is killed, connections are reset and the network goes silent, and in the end every total has to be right.
package demo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/troupe-go/troupe/cmd/troupe/internal/order"
)

// Options say what a run does.
type Options struct {
	// Orders is how many orders are generated when there is no Input.
	Orders int
	// Customers is how many customers the generated orders have.
	Customers int
	// Seed makes the generated orders; the same seed makes the same orders.
	Seed uint64
	// Input has orders as JSON lines; nil generates them. InputLines is their number, -1 if unknown.
	Input      io.Reader
	InputLines int
	// Kills is how often the server is killed; a reset and a blackhole come on top. Negative means no fault at all.
	Kills int
	// Idle is the receive timeout of a session.
	Idle time.Duration
	// Dir is where the server keeps its store, in a new folder that stays there; empty is a temporary directory that is
	// removed at the end.
	Dir string
	// Port of the server; 0 is a free one.
	Port int
	// Config is a HOCON file with settings over those of the demo; empty is none.
	Config string
	// Exe is the program that is started again as the server.
	Exe string
	// Log gets the runtime's own log; nil discards it.
	Log io.Writer
}

// Validate names the flag of what is wrong.
func (o *Options) Validate() error {
	switch {
	case o.Orders < 1 || o.Orders > 10_000_000:
		return fmt.Errorf("-orders must be from 1 to 10000000, it is %d", o.Orders)
	case o.Customers < 1 || o.Customers > 1_000_000:
		return fmt.Errorf("-customers must be from 1 to 1000000, it is %d", o.Customers)
	case o.Kills > 1000:
		return fmt.Errorf("-kills must be at most 1000, it is %d", o.Kills)
	case o.Idle < time.Millisecond:
		return fmt.Errorf("-idle must be at least 1ms, it is %v", o.Idle)
	case o.Port < 0 || o.Port > 65535:
		return fmt.Errorf("-port must be from 0 to 65535, it is %d", o.Port)
	}
	return nil
}

// source is where the orders come from.
func (o *Options) source() *order.Source {
	if o.Input != nil {
		return order.FromReader(o.Input, o.InputLines)
	}
	return order.FromGenerator(o.Orders, o.Customers, o.Seed)
}

// store makes sure that the directory for the server's store can be used. remove deletes it again if it is temporary.
func (o *Options) store() (dir string, remove func(), err error) {
	if o.Dir == "" {
		dir, err = os.MkdirTemp("", "troupe-demo-")
		if err != nil {
			return "", nil, fmt.Errorf("no temporary directory for the server's store: %w", plainPath(err))
		}
		return dir, func() { _ = os.RemoveAll(dir) }, nil
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("the directory %s cannot be made: %w", o.Dir, plainPath(err))
	}
	// A folder of its own for each run: a store of an earlier one knows the ids of its orders and would not take them again.
	dir, err = os.MkdirTemp(o.Dir, "run-")
	if err != nil {
		return "", nil, fmt.Errorf("the directory %s cannot be written to: %w", o.Dir, plainPath(err))
	}
	return dir, func() {}, nil
}

// plainPath takes the path out of a file error: the sentence around it names it.
func plainPath(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
