package rt2

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

func TestSize(t *testing.T) {
	if n := unsafe.Sizeof(Actor{}); n != 192 {
		t.Error("actor", n)
	}
	if n := unsafe.Sizeof(chunk{}); n > 1024 {
		t.Error("chunk", n)
	}
}

func TestOrderAndCount(t *testing.T) {
	rt := New()
	defer rt.Close()
	const senders, n = 8, 20000
	type msg struct{ who, seq int }
	var got, completed atomic.Int64
	done := make(chan struct{})
	var relays [4]*Ref
	for i := range relays {
		last := map[int]int{}
		relays[i] = rt.Spawn(of(func(c *Ctx, m any) error {
			if m, ok := m.(msg); ok {
				if m.seq <= last[m.who] {
					t.Errorf("out of order: %d after %d of %d", m.seq, last[m.who], m.who)
				}
				last[m.who] = m.seq
				if got.Add(1) == senders*n {
					close(done)
				}
			}
			return nil
		}))
	}
	front := rt.Spawn(of(func(c *Ctx, m any) error {
		if m, ok := m.(msg); ok {
			c.Tell(relays[m.seq%4], m)
		}
		return nil
	}))
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range n {
				if i%3 == 0 {
					front.TellFunc(msg{s, i + 1}, func(err error) {
						if err == nil {
							completed.Add(1)
						}
					})
				} else {
					front.Tell(msg{s, i + 1})
				}
			}
		})
	}
	wg.Wait()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("lost messages: %d of %d", got.Load(), senders*n)
	}
	if completed.Load() != senders*((n+2)/3) {
		t.Error(completed.Load())
	}
}

// Every message told to actors that fail, restart, stop and are respawned
// meanwhile is either handled or completed with an error, exactly once.
func TestAccount(t *testing.T) {
	rt := New()
	defer rt.Close()
	var handled, done, failed, letters atomic.Int64
	mk := func() Receiver {
		return Func(func(c *Ctx, m any) error {
			n := m.(int)
			if n%97 == 0 {
				return errors.New("x")
			}
			if n%193 == 0 {
				panic("y")
			}
			if n%1999 == 0 {
				c.Stop()
			}
			handled.Add(1)
			return nil
		})
	}
	var refs [8]atomic.Pointer[Ref]
	for i := range refs {
		refs[i].Store(rt.Spawn(mk))
	}
	const senders, n = 4, 20000
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range n {
				k := (i*7 + s) % len(refs)
				r := refs[k].Load()
				if r.w.Load()&dead != 0 {
					refs[k].CompareAndSwap(r, rt.Spawn(mk))
				}
				r.TellFunc(i+1, func(err error) {
					done.Add(1)
					switch err {
					case nil:
					case ErrDeadLetter:
						letters.Add(1)
					default:
						failed.Add(1)
					}
				})
				if i%5000 == 4999 {
					r.Poison()
				}
			}
		})
	}
	wg.Wait()
	for end := time.Now().Add(10 * time.Second); done.Load() != senders*n; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d of %d", done.Load(), senders*n)
		}
	}
	if handled.Load()+failed.Load()+letters.Load() != senders*n {
		t.Error(handled.Load(), failed.Load(), letters.Load())
	}
	t.Log(handled.Load(), failed.Load(), letters.Load())
}

func TestAskTimeoutsAndAnswers(t *testing.T) {
	rt := New()
	defer rt.Close()
	echo := rt.Spawn(of(func(c *Ctx, m any) error {
		if s, ok := m.(int); ok && s >= 0 {
			c.Reply(s)
			c.Reply(-1)
		}
		return nil
	}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 3000 {
				v, err := rt.Ask(echo, i, time.Second)
				if err != nil || v != any(i) {
					t.Errorf("ask %d: %v %v", i, v, err)
					return
				}
			}
			t0 := time.Now()
			if _, err := rt.Ask(echo, -5, 30*time.Millisecond); err != ErrTimeout {
				t.Errorf("want timeout, got %v", err)
			}
			if d := time.Since(t0); d < 30*ms {
				t.Error(d)
			}
		})
	}
	wg.Wait()
}
