package broker

import (
	"fmt"
	"testing"
)

func testOutbox(limit, window int) (*outbox[string], *Link) {
	c := DefaultConfig()
	c.OutboundBuffer = limit
	o := newOutbox[string](&c)
	o.scrub = func(err error) error { return err }
	o.evicted = func(int) {}
	o.dropped = func(string, Reason, error) {}
	l := &Link{epoch: 1}
	o.begin(l, window)
	return o, l
}

func (o *outbox[O]) queue() (out []O) {
	for i := range o.q.len() {
		out = append(out, o.q.at(i).payload)
	}
	return out
}

func fill(t *testing.T, o *outbox[string], l *Link, n int) (tokens []Token) {
	t.Helper()
	for i := range n {
		if err := o.enqueue(fmt.Sprint(i), nil, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	for {
		env, taken := o.take(l, false)
		if taken != takenOne {
			return tokens
		}
		tokens = append(tokens, env.Token)
	}
}

// TestPutBackKeepsTheOrder leaves outcomes open in every order of three while the window is full.
func TestPutBackKeepsTheOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		o, l := testOutbox(10, 3)
		tokens := fill(t, o, l, 5)
		for _, i := range order {
			o.settle(l, tokens[i], nil, ErrUnknown)
		}
		if got := fmt.Sprint(o.queue()); got != "[0 1 2 3 4]" {
			t.Errorf("order %v: queue %s", order, got)
		}
	}
}

// TestSlotsStayBelowTheWindow also when the next link's window is smaller.
func TestSlotsStayBelowTheWindow(t *testing.T) {
	o, l := testOutbox(100, 16)
	for i, token := range fill(t, o, l, 40) {
		if token.Slot() < 0 || token.Slot() >= 16 {
			t.Errorf("dispatch %d has slot %d", i, token.Slot())
		}
	}
	o.lost(l)
	next := &Link{epoch: 2}
	o.begin(next, 4)
	seen := map[int]bool{}
	for range 4 {
		env, _ := o.take(next, false)
		if s := env.Token.Slot(); s < 0 || s >= 4 || seen[s] {
			t.Errorf("slot %d", s)
		}
		seen[env.Token.Slot()] = true
	}
	if (Token{}).Slot() != -1 {
		t.Error("the zero Token has a slot")
	}
}

// TestForeignTokens: tokens of nobody and of others do nothing.
func TestForeignTokens(t *testing.T) {
	o, l := testOutbox(10, 3)
	tokens := fill(t, o, l, 3)
	o.settle(l, Token{}, nil, nil)
	o.settle(l, Token{ord: 99, slot: 99}, nil, nil)
	o.settle(l, Token{ord: tokens[0].ord, slot: tokens[1].slot}, nil, nil)
	o.settle(l, Token{ord: 99, slot: 1}, nil, nil)
	if b := o.books(); b.InFlight != 3 || b.Acked != 0 {
		t.Errorf("books %+v", b)
	}
	o.settleThrough(&Link{epoch: 7}, tokens[2], nil)
	if b := o.books(); b.InFlight != 3 {
		t.Errorf("another link settled: %+v", b)
	}
	o.settleThrough(l, tokens[1], nil)
	if b := o.books(); b.InFlight != 1 || b.Acked != 2 {
		t.Errorf("books %+v", b)
	}
}

func TestRing(t *testing.T) {
	var r ring[int]
	var want []int
	step := func(i int) {
		switch {
		case i%7 == 0 && len(want) > 3:
			r.insert(3, i)
			want = append(want[:3], append([]int{i}, want[3:]...)...)
		case i%5 == 0 && len(want) > 2:
			if got := r.remove(2); got != want[2] {
				t.Fatalf("removed %d, want %d", got, want[2])
			}
			want = append(want[:2], want[3:]...)
		default:
			r.pushBack(i)
			want = append(want, i)
		}
	}
	for i := range 5000 {
		step(i)
	}
	for i, w := range want {
		if *r.at(i) != w {
			t.Fatalf("at %d: %d, want %d", i, *r.at(i), w)
		}
	}
	for r.len() > 0 {
		r.remove(0)
	}
	if r.buf != nil {
		t.Errorf("an empty ring holds on to %d places", len(r.buf))
	}
}
