package actortest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Next takes the next message, whatever it is.
func (p *Probe) Next() Received {
	p.tb.Helper()
	return p.next("any")
}

// next takes the next message or fails the test, saying what was wanted.
func (p *Probe) next(want string) Received {
	p.tb.Helper()
	d := p.patience()
	r, ok := p.take(d)
	if !ok {
		p.fatalf("no message within %v, want %s%s", d, want, p.before())
	}
	return r
}

// before tells what was taken before, for the message of a failure.
func (p *Probe) before() string {
	if p.taken == 0 {
		return "; none came before"
	}
	return fmt.Sprintf("; %d came before, the last was %s", p.taken, show(p.last.Msg))
}

// waiting tells what has come and was not taken, for the message of a failure.
func (p *Probe) waiting() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return ""
	}
	return "\nbehind it: " + list(p.queue)
}

// Expect takes the next message, which has to equal want. Equal is what reflect.DeepEqual says, but that two refs are
// equal if they are the same incarnation. The failure lists what differs.
func (p *Probe) Expect(want any) {
	p.tb.Helper()
	r := p.next(show(want))
	if !equal(r.Msg, want) {
		p.fatalf("got %s, want %s%s%s", show(r.Msg), show(want), differences(r.Msg, want), p.waiting())
	}
}

// Expect takes the probe's next message, which has to be a T, and returns it.
func Expect[T any](p *Probe) T {
	p.tb.Helper()
	r := p.next("a " + typeName[T]())
	v, ok := r.Msg.(T)
	if !ok {
		p.fatalf("got %s, want a %s%s", show(r.Msg), typeName[T](), p.waiting())
	}
	return v
}

// ExpectAll takes as many messages as there are values in want and pairs them, in any order. All of them together have
// the patience of one.
func (p *Probe) ExpectAll(want ...any) {
	p.tb.Helper()
	got := p.ReceiveN(len(want))
	left := slices.Clone(got)
	var missing []string
	for _, w := range want {
		if i := slices.IndexFunc(left, func(r Received) bool { return equal(r.Msg, w) }); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			missing = append(missing, show(w))
		}
	}
	if len(missing) > 0 {
		p.fatalf("missing [%s], got %s in their place; got %s in all", strings.Join(missing, ", "), list(left), list(got))
	}
}

// ReceiveN takes n messages, which together have the patience of one.
func (p *Probe) ReceiveN(n int) []Received {
	p.tb.Helper()
	d := p.patience()
	end := time.Now().Add(d)
	var got []Received
	for len(got) < n {
		r, ok := p.take(time.Until(end))
		if !ok {
			p.fatalf("%d of %d messages within %v: %s", len(got), n, d, list(got))
		}
		got = append(got, r)
	}
	return got
}

// Fish takes messages until one is a T for which pred is true, and returns it; the others are dropped. A nil pred is
// true for every T. All of it together has the patience of one message.
func Fish[T any](p *Probe, pred func(T) bool) T {
	p.tb.Helper()
	d := p.patience()
	end := time.Now().Add(d)
	var other []Received
	for {
		r, ok := p.take(time.Until(end))
		if !ok {
			p.fatalf("no %s that is right within %v; %d others came: %s", typeName[T](), d, len(other), list(other))
		}
		if v, ok := r.Msg.(T); ok && (pred == nil || pred(v)) {
			return v
		}
		other = append(other, r)
	}
}

// ExpectTerminated takes the next message, which has to be the Terminated of ref, and returns it.
func (p *Probe) ExpectTerminated(ref actor.Ref) actor.Terminated {
	p.tb.Helper()
	r := p.next("the end of " + ref.String())
	t, ok := r.Msg.(actor.Terminated)
	if !ok {
		p.fatalf("got %s, want the end of %v%s", show(r.Msg), ref, p.waiting())
	}
	if t.Ref != ref {
		p.fatalf("%v has ended, want %v%s", t.Ref, ref, p.waiting())
	}
	return t
}

// ExpectNone waits for d, in which no message may come and none may be there already. One that is there fails the test
// at once. In a Within it waits until the end of that at most.
func (p *Probe) ExpectNone(d time.Duration) {
	p.tb.Helper()
	if !p.deadline.IsZero() {
		d = min(d, p.patience())
	}
	if r, ok := p.take(d); ok {
		p.fatalf("got %s, want nothing for %v%s", show(r.Msg), d, p.waiting())
	}
}

func typeName[T any]() string { return reflect.TypeFor[T]().String() }

// list shows messages for a failure, and not more of them than somebody reads.
func list(rs []Received) string {
	const most = 10
	var b strings.Builder
	b.WriteByte('[')
	for i, r := range rs {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == most {
			fmt.Fprintf(&b, "and %d more", len(rs)-most)
			break
		}
		b.WriteString(show(r.Msg))
	}
	b.WriteByte(']')
	return b.String()
}

// show is a value with its type, cut where it gets too long to read.
func show(v any) string {
	if v == nil {
		return "nil"
	}
	return cut(fmt.Sprintf("%T %+v", v, v))
}
