package harness

import (
	"errors"
	"fmt"
	"time"
)

// Msg is the message of every workload. One value is shared by all sends, so that only the runtime's own costs are
// measured, never the payload's.
type Msg struct{ Seq int64 }

// M is the shared message. It is read-only.
var M = &Msg{}

// Ref is a subject's own handle of an actor.
type Ref any

// ErrAbsent marks a workload that the subject has no feature for.
var ErrAbsent = errors.New("absent")

// Absent returns an ErrAbsent with its reason, which the report shows.
func Absent(why string) error { return fmt.Errorf("%w: %s", ErrAbsent, why) }

// System is one running actor system of a subject. What else it can do it says by implementing the interfaces below.
// The harness calls all methods from one goroutine, but for Blast, which it calls from several at once.
type System interface {
	// Close ends the system. It may block until its actors have stopped.
	Close()
}

// Teller is a System for the workloads that tell.
type Teller interface {
	// Counter starts an actor that calls s.Hit for each *Msg. With armed set it has a receive timeout of an hour armed;
	// ErrAbsent if there is none.
	Counter(s *Sink, armed bool) (Ref, error)
	// Blast tells M n times to r, from the calling goroutine.
	Blast(r Ref, n int) error
	// BlastAll tells M n times, round robin over rs.
	BlastAll(rs []Ref, n int) error
}

// Handler is a System for actors with a handler of the harness's own; it is used where a message costs milliseconds,
// so what the call costs does not matter.
type Handler interface {
	// Handler starts an actor that calls f for each *Msg. f may block; tell, valid during the call, tells M to another
	// actor from inside the running one.
	Handler(f func(tell func(Ref))) (Ref, error)
}

// PingPonger is a System for the ping-pong workloads.
type PingPonger interface {
	// PingPong runs n exchanges, a ping and a pong each, between two actors. It returns the time from the first ping to
	// the last pong, and how many pongs arrived. With armed set both actors have a receive timeout of an hour;
	// ErrAbsent if there is none.
	PingPong(n int, armed bool) (time.Duration, int64, error)
}

// Asker is a System for the ask workload.
type Asker interface {
	// Ask makes len(lat) round trips one after the other, with a timeout of 5 s where there is one, and records the ns
	// of each. It returns the number of right answers.
	Ask(lat []int64) (int64, error)
}

// Spawner is a System for the workloads about the life of actors.
type Spawner interface {
	// SpawnStop starts n actors and waits until each has run its started hook, then stops them all and waits until each
	// has run its stopped hook.
	SpawnStop(n int) (Lives, error)
	// Idle starts n actors of the given kind and keeps them alive; each has run its started hook on return. ErrAbsent if
	// there is no such kind.
	Idle(n int, kind Kind) error
	// Skynet builds a tree of actors of ten children each with that many leaves. Each leaf reports its ordinal and each
	// node the sum of its children; all stop. It returns the sum at the root.
	Skynet(leaves int) (int64, error)
}

// Kind says which actors an idle workload starts.
type Kind struct {
	// Armed: each has a receive timeout of an hour.
	Armed bool
	// Named: each has a name of the caller's choice, made by Name.
	Named bool
}

// Name is the name of the i-th named idle actor: what a program that has one actor a session would use.
func Name(i int) string { return fmt.Sprintf("session-%07d", i) }

// Lives is what SpawnStop found.
type Lives struct {
	Start, Stop      time.Duration // for all actors together
	Started, Stopped int64         // hooks that ran
}

// Framework names one subject.
type Framework struct {
	Name    string
	Version string
	// Open starts a system. It is called once in a worker process.
	Open func() (System, error)
	// Only, when not nil, limits the workloads it takes part in, by Request.Workload.
	Only map[string]bool
	// Limit marks the baselines, which are no libraries.
	Limit bool
	// MaxIdle caps the idle actors it can hold, 0: no cap.
	MaxIdle int
	// MaxSkynet caps the skynet leaves, 0: no cap.
	MaxSkynet int
}
