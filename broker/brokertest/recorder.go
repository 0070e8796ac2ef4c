package brokertest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker"
)

// Recorder collects the broker events and dead letters of one system, in the order in which they were published. Its
// methods may be called from any goroutine.
type Recorder struct {
	mu      sync.Mutex
	events  []broker.Event
	letters []actor.DeadLetter
}

// Record starts to record; do so before the broker actor starts. The recording actor lives as long as the system.
func Record(sys *actor.System) (*Recorder, error) {
	r := &Recorder{}
	ref, err := sys.SpawnAnonymous(func() actor.Actor { return actor.Func(r.receive) })
	if err != nil {
		return nil, fmt.Errorf("brokertest: %w", err)
	}
	actor.Subscribe[broker.Event](sys.EventStream(), ref)
	actor.Subscribe[actor.DeadLetter](sys.EventStream(), ref)
	return r, nil
}

func (r *Recorder) receive(_ *actor.Context, msg any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch m := msg.(type) {
	case broker.Event:
		r.events = append(r.events, m)
	case actor.DeadLetter:
		r.letters = append(r.letters, m)
	}
	return nil
}

// Events returns what was published so far.
func (r *Recorder) Events() []broker.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// DeadLetters returns all dead letters so far.
func (r *Recorder) DeadLetters() []actor.DeadLetter {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.letters)
}

// Undelivered returns those that account for outbound payloads.
func (r *Recorder) Undelivered() []broker.Undelivered {
	var out []broker.Undelivered
	for _, d := range r.DeadLetters() {
		if u, ok := d.Msg.(broker.Undelivered); ok {
			out = append(out, u)
		}
	}
	return out
}

// Names returns the events as short words: "Connected", "Disconnected", "Attempt(2)", "Failed(2)", "Overflow(1)",
// "NotConnected", "SubscriptionFailed(key)".
func (r *Recorder) Names() []string {
	var out []string
	for _, e := range r.Events() {
		switch e := e.(type) {
		case broker.Connected:
			out = append(out, "Connected")
		case broker.Disconnected:
			out = append(out, "Disconnected")
		case broker.ReconnectAttempt:
			out = append(out, fmt.Sprintf("Attempt(%d)", e.Attempt))
		case broker.ReconnectFailed:
			out = append(out, fmt.Sprintf("Failed(%d)", e.Attempts))
		case broker.BufferOverflow:
			out = append(out, fmt.Sprintf("Overflow(%d)", e.Count))
		case broker.NotConnected:
			out = append(out, "NotConnected")
		case broker.SubscriptionFailed:
			out = append(out, "SubscriptionFailed("+e.Key+")")
		}
	}
	return out
}
