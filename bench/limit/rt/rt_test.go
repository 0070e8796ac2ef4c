package rt

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Each sender's messages arrive in order, each exactly once, also while the
// receiver tells on to others.
func TestOrderAndCount(t *testing.T) {
	rt := New()
	defer rt.Close()
	const senders, n = 8, 20000
	type msg struct{ who, seq int }
	var got atomic.Int64
	done := make(chan struct{})
	var relays [4]*Actor
	for i := range relays {
		last := map[int]int{}
		relays[i] = rt.Spawn(Func(func(c *Ctx, m any) {
			if m, ok := m.(msg); ok {
				if m.seq <= last[m.who] {
					t.Errorf("out of order: %d after %d of %d", m.seq, last[m.who], m.who)
				}
				last[m.who] = m.seq
				if got.Add(1) == senders*n {
					close(done)
				}
			}
		}))
	}
	front := rt.Spawn(Func(func(c *Ctx, m any) {
		if m, ok := m.(msg); ok {
			c.Tell(relays[m.seq%4], m)
		}
	}))
	var wg sync.WaitGroup
	for s := range senders {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range n {
				rt.Tell(front, msg{s, i + 1})
			}
		}()
	}
	wg.Wait()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("lost messages: %d of %d", got.Load(), senders*n)
	}
}

func TestAskTimeoutsAndAnswers(t *testing.T) {
	rt := New()
	defer rt.Close()
	echo := rt.Spawn(Func(func(c *Ctx, m any) {
		if s, ok := m.(int); ok && s >= 0 {
			c.Tell(c.Sender(), s)
			c.Tell(c.Sender(), -1) // a second answer must reach nobody
		}
	}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 3000 {
				v, err := rt.Ask(echo, i, time.Second)
				if err != nil || v != any(i) {
					t.Errorf("ask %d: %v %v", i, v, err)
					return
				}
			}
			if _, err := rt.Ask(echo, -5, 30*time.Millisecond); err != ErrTimeout {
				t.Errorf("want timeout, got %v", err)
			}
		}()
	}
	wg.Wait()
}

// An actor told by a handler that then blocks must still run soon.
func TestBlockedHandlerDoesNotHoldOthers(t *testing.T) {
	rt := New()
	defer rt.Close()
	ran := make(chan time.Time, 1)
	b := rt.Spawn(Func(func(c *Ctx, m any) {
		if m == any("go") {
			ran <- time.Now()
		}
	}))
	var free sync.WaitGroup
	free.Add(1)
	for range 8 { // more blocked handlers than carriers
		a := rt.Spawn(Func(func(c *Ctx, m any) {
			if m == any("block") {
				free.Wait()
			}
		}))
		rt.Tell(a, "block")
	}
	a := rt.Spawn(Func(func(c *Ctx, m any) {
		if m == any("x") {
			c.Tell(b, "go")
			free.Wait()
		}
	}))
	t0 := time.Now()
	rt.Tell(a, "x")
	select {
	case at := <-ran:
		t.Logf("ran after %v", at.Sub(t0))
	case <-time.After(3 * time.Second):
		t.Fatal("starved")
	}
	free.Done()
}

// The window counts from the last message, rounded to the clock's ticks; the clock is a ticker, so a bubble's time runs.
func TestReceiveTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := New()
		defer rt.Close()
		fired := make(chan time.Time, 10)
		a := rt.Spawn(Func(func(c *Ctx, m any) {
			switch m.(type) {
			case Started:
				c.SetReceiveTimeout(100 * time.Millisecond)
			case ReceiveTimeout:
				fired <- time.Now()
				c.SetReceiveTimeout(0)
			}
		}))
		for range 20 {
			rt.Tell(a, 1)
			time.Sleep(20 * time.Millisecond)
		}
		last := time.Now().Add(-20 * time.Millisecond)
		if len(fired) > 0 {
			t.Fatal("fired between the messages")
		}
		if d := (<-fired).Sub(last); d < 90*time.Millisecond || d > 130*time.Millisecond {
			t.Errorf("fired %v after the last message", d)
		}
		time.Sleep(time.Second)
		if len(fired) > 0 {
			t.Error("fired after it was switched off")
		}
	})
}

func TestPanicStopsOnlyTheActor(t *testing.T) {
	rt := New()
	defer rt.Close()
	var stops atomic.Int32
	gone := make(chan struct{})
	a := rt.Spawn(Func(func(c *Ctx, m any) {
		switch m.(type) {
		case int:
			panic("x")
		case Stopped:
			stops.Add(1)
			close(gone)
		}
	}))
	rt.Tell(a, 1)
	b := rt.Spawn(Func(func(c *Ctx, m any) {
		if m == any("hi") {
			c.Tell(c.Sender(), "ho")
		}
	}))
	if v, err := rt.Ask(b, "hi", time.Second); v != any("ho") || err != nil {
		t.Fatal(v, err)
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Fatal("not stopped")
	}
	rt.Tell(a, 2)
	if rt.deadLetters.Load() == 0 {
		t.Fatal("no dead letter")
	}
}
