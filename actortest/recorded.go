package actortest

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Sent is one message that the actor has sent to somebody.
type Sent struct {
	To     actor.Ref
	Msg    any
	Sender actor.Ref
	// Done is the completion that came with it: a forwarded ask's is an actor.Answerer. Nil for a message that was told.
	Done actor.Completion
}

// Spawned is one child that the actor has spawned. It does not run.
type Spawned struct {
	Ref actor.Ref
	// New is the factory. It has not been called; the test may.
	New func() actor.Actor
	// Config is what the options made of it.
	Config actor.SpawnConfig
}

// Timer is a timer that has been started and has neither ended nor been cancelled.
type Timer struct {
	Key string
	Msg any
	// Delay is from its start, or from its last tick, to the next one.
	Delay time.Duration
	// Interval is that of a timer which sends again and again, 0 for one that sends once.
	Interval time.Duration
	// FixedRate tells Timers.StartFixedRate from StartFixedDelay.
	FixedRate bool
}

// look gets what has happened since the last time.
func (c *Context) look() seen {
	s := c.cell.Look()
	for _, m := range s.Sent {
		c.sent = append(c.sent, Sent{m.To, m.Envelope.Msg, m.Envelope.Sender, m.Envelope.Done})
	}
	for _, k := range s.Spawned {
		c.spawned = append(c.spawned, Spawned(k))
	}
	c.dead = append(c.dead, s.DeadLetters...)
	return s
}

// Sent is everything that the actor has told, replied or forwarded to others, in that order, since the Context was made or
// Forget was called. A PoisonPill is in it, too, which is what Stop sends. Messages to several children in one turn are
// in order child by child. What the actor told itself is in Mailbox, and replies to an Ask are in Asked.
func (c *Context) Sent() []Sent {
	c.look()
	return slices.Clone(c.sent)
}

// SentTo is the messages of Sent that went to one ref.
func (c *Context) SentTo(ref actor.Ref) []any {
	c.look()
	var msgs []any
	for _, s := range c.sent {
		if s.To == ref {
			msgs = append(msgs, s.Msg)
		}
	}
	return msgs
}

// Replies is the messages that went to Sender.
func (c *Context) Replies() []any { return c.SentTo(c.sender) }

// ExpectSent fails the test unless the messages that went to ref since the last Forget are these, in this order. They are
// compared as by Probe.Expect.
func (c *Context) ExpectSent(ref actor.Ref, want ...any) {
	c.tb.Helper()
	if got := c.SentTo(ref); !equal(got, want) && len(got)+len(want) > 0 {
		c.tb.Fatalf("actortest: %s was sent %s, want %s%s", ref.Name(), cut(showAll(got)), cut(showAll(want)), differences(got, want))
	}
}

// Spawned is the children that the actor has spawned, in that order, since the Context was made or Forget was called.
func (c *Context) Spawned() []Spawned {
	c.look()
	return slices.Clone(c.spawned)
}

// DeadLetters is what became a dead letter, such as a message that the actor left unhandled, since the Context was made
// or Forget was called.
func (c *Context) DeadLetters() []actor.DeadLetter {
	c.look()
	return slices.Clone(c.dead)
}

// Forget begins the record of Sent, Spawned and DeadLetters anew.
func (c *Context) Forget() {
	c.look()
	c.sent, c.spawned, c.dead = nil, nil, nil
}

// Stopping reports whether the actor has called StopSelf, was delivered a PoisonPill, or has ended by PostStop.
func (c *Context) Stopping() bool { return c.look().Stopping }

// Stopped is the refs that the actor has told a PoisonPill, by Stop or otherwise, since the last Forget.
func (c *Context) Stopped() []actor.Ref {
	c.look()
	var refs []actor.Ref
	for _, s := range c.sent {
		if s.Msg == any(actor.PoisonPill{}) {
			refs = append(refs, s.To)
		}
	}
	return refs
}

// Watched is the refs that the actor watches, ordered by path.
func (c *Context) Watched() []actor.Ref { return c.look().Watched }

// ReceiveTimeout is the window that the actor has set, 0 if it is off.
func (c *Context) ReceiveTimeout() time.Duration { return c.look().Window }

// Timers is the actor's timers, ordered by key.
func (c *Context) Timers() []Timer {
	var ts []Timer
	for _, t := range c.look().Timers {
		ts = append(ts, Timer(t))
	}
	return ts
}

// Behaviors is how many behaviours are stacked on the actor's own Receive: 0, or 1 after Become.
func (c *Context) Behaviors() int { return c.look().Behaviors }

// Stashed is the messages in the stash, oldest first.
func (c *Context) Stashed() []any { return messages(c.look().Stash) }

// Mailbox is the messages that wait in the actor's own mailbox, in the order in which DeliverNext delivers them: what it
// told itself, what came out of the stash, and results of PipeToSelf.
func (c *Context) Mailbox() []any { return messages(c.look().Mailbox) }

// Held is how many completions the actor holds that have not ended.
func (c *Context) Held() int { return c.look().Held }

func messages(es []actor.Envelope) []any {
	var msgs []any
	for _, e := range es {
		msgs = append(msgs, e.Msg)
	}
	return msgs
}

func showAll(msgs []any) string {
	rs := make([]Received, len(msgs))
	for i, m := range msgs {
		rs[i].Msg = m
	}
	return list(rs)
}
