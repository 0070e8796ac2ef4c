package rt2

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPanicStops11thAndCompletions(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		var starts, done atomic.Int32
		a := rt.Spawn(func() Receiver {
			starts.Add(1)
			return Func(func(c *Ctx, m any) error { panic(m) })
		})
		var errs []error
		var mu sync.Mutex
		for i := range 15 {
			a.TellFunc(i, func(err error) {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
				done.Add(1)
			})
		}
		synctest.Wait()
		if starts.Load() != 11 || done.Load() != 15 {
			t.Fatal(starts.Load(), done.Load())
		}
		mu.Lock()
		defer mu.Unlock()
		for i, err := range errs {
			var p *PanicError
			if i < 11 && (!errors.As(err, &p) || p.Value != any(i)) || i >= 11 && err != ErrDeadLetter {
				t.Error(i, err)
			}
		}
		a.TellFunc(1, func(err error) {
			if err != ErrDeadLetter {
				t.Error(err)
			}
			done.Add(1)
		})
		if done.Load() != 16 {
			t.Error("no completion from a dead actor")
		}
		if rt.root.child() != nil || len(rt.root.family().budget) != 0 {
			t.Error("root keeps it")
		}
	})
}

// Children stop before the parent's PostStop and before a new instance; the
// mailbox survives the restart.
func TestTreeOrder(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		n := 0
		a := rt.Spawn(func() Receiver {
			n++
			l.add("new %d", n)
			return &fn{
				pre: func(c *Ctx) error {
					for i := range 2 {
						c.Spawn(func() Receiver {
							return &fn{
								recv: func(*Ctx, any) error { return nil },
								post: func(*Ctx) { time.Sleep(time.Duration(5*(i+1)) * ms); l.add("kid %d", i) },
							}
						})
					}
					return nil
				},
				recv: func(c *Ctx, m any) error {
					l.add("%v", m)
					if e, ok := m.(error); ok {
						return e
					}
					return nil
				},
				post: func(*Ctx) { l.add("post") },
			}
		})
		a.Tell(errors.New("x"))
		a.Tell("y")
		synctest.Wait()
		sleepUntil(l, 100*ms)
		rt.Stop(a)
		sleepUntil(l, 200*ms)
		l.want(t, "0 new 1", "0 x", "0 post", "5 kid 0", "10 kid 1", "10 new 2", "10 y",
			"105 kid 0", "110 kid 1", "110 post")
	})
}

func TestStopBeatsRestart(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		n := 0
		a := rt.Spawn(func() Receiver {
			n++
			return &fn{
				pre: func(c *Ctx) error {
					c.Spawn(func() Receiver {
						return &fn{recv: func(*Ctx, any) error { return nil }, post: func(*Ctx) { time.Sleep(time.Second) }}
					})
					return nil
				},
				recv: func(c *Ctx, m any) error { return errors.New("x") },
			}
		})
		a.Tell(1)
		time.Sleep(10 * ms)
		rt.Stop(a)
		time.Sleep(10 * time.Second)
		if n != 1 || a.w.Load() != dead {
			t.Error(n, a.w.Load())
		}
	})
}

func TestEscalate(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		var tops, kids atomic.Int32
		var kid atomic.Pointer[Ref]
		rt.Spawn(func() Receiver {
			tops.Add(1)
			return &escalator{kid: func() Receiver {
				kids.Add(1)
				return Func(func(c *Ctx, m any) error { return errors.New("x") })
			}, at: &kid}
		})
		synctest.Wait()
		time.Sleep(10 * ms)
		kid.Load().Tell(1)
		time.Sleep(10 * ms)
		if tops.Load() != 2 || kids.Load() != 2 {
			t.Error(tops.Load(), kids.Load())
		}
	})
}

type escalator struct {
	kid Factory
	at  *atomic.Pointer[Ref]
}

func (e *escalator) PreStart(c *Ctx) error         { e.at.Store(c.Spawn(e.kid)); return nil }
func (*escalator) Receive(*Ctx, any) error         { return nil }
func (*escalator) Supervise(*Ref, error) Directive { return Escalate }

func TestWatch(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		noop := of(func(*Ctx, any) error { return nil })
		a, b, d := rt.Spawn(noop), rt.Spawn(noop), rt.Spawn(noop)
		rt.Stop(d)
		synctest.Wait()
		w := rt.Spawn(of(func(c *Ctx, m any) error {
			switch m := m.(type) {
			case string:
				l.add("%s", m)
				c.Watch(a)
				c.Watch(a)
				c.Watch(b)
				c.Watch(d) // dead already
			case Terminated:
				switch m.Ref {
				case a:
					l.add("a")
				case b:
					l.add("b")
				case d:
					l.add("d")
				}
			case *Ref:
				c.StopRef(m)
				time.Sleep(5 * ms) // b's end is queued now
				c.Unwatch(m)
			}
			return nil
		}))
		w.Tell("go")
		time.Sleep(10 * ms)
		a.Poison()
		time.Sleep(10 * ms)
		w.Tell(b)
		time.Sleep(20 * ms)
		l.want(t, "0 go", "0 d", "10 a")
	})
}

// A suspended subtree handles nothing until it is resumed, and stays in order.
func TestSuspendedSubtree(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		var top, kid *Ref
		boss := rt.Spawn(func() Receiver {
			return &slowBoss{d: 50 * ms, dir: Resume, child: func() Receiver {
				return &fn{
					pre: func(c *Ctx) error {
						top = c.Self()
						kid = c.Spawn(of(func(c *Ctx, m any) error { l.add("kid %v", m); return nil }))
						return nil
					},
					recv: func(c *Ctx, m any) error { l.add("%v", m); return errors.New("x") },
				}
			}}
		})
		_ = boss
		time.Sleep(10 * ms)
		synctest.Wait()
		top.Tell(1)
		time.Sleep(10 * ms)
		kid.Tell(1)
		kid.Tell(2)
		kid.Tell(3)
		time.Sleep(100 * ms)
		l.want(t, "10 1", "60 kid 1", "60 kid 2", "60 kid 3")
	})
}

func TestStashOrder(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		var got []int
		var completed atomic.Int32
		a := rt.Spawn(func() Receiver {
			opened := false
			return Func(func(c *Ctx, m any) error {
				n := m.(int)
				if n == 100 && !opened {
					opened = true
					c.UnstashAll()
					return nil
				}
				if !opened {
					return c.Stash()
				}
				got = append(got, n)
				return nil
			})
		})
		for i := range 200 {
			a.TellFunc(i, func(err error) {
				if err != nil {
					t.Error(err)
				}
				completed.Add(1)
			})
		}
		synctest.Wait()
		time.Sleep(ms)
		if len(got) != 199 || completed.Load() != 200 {
			t.Fatal(len(got), completed.Load())
		}
		for i, n := range got {
			if w := i; i >= 100 && n != i+1 || i < 100 && n != w {
				t.Fatal(i, n)
			}
		}
	})
}

func TestGoexitInHandler(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		var n atomic.Int32
		a := rt.Spawn(of(func(c *Ctx, m any) error {
			if m == any("exit") {
				runtime.Goexit()
			}
			n.Add(1)
			return nil
		}))
		for range 5 {
			a.Tell("exit")
			a.Tell("x")
		}
		time.Sleep(10 * ms)
		if n.Load() != 5 {
			t.Error(n.Load())
		}
	})
}

// In a bubble synctest.Wait means: all that can run has run, also what a
// handler that blocks now has told.
func TestWaitSeesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := New()
		ran := make(chan struct{}, 1)
		b := rt.Spawn(of(func(c *Ctx, m any) error { ran <- struct{}{}; return nil }))
		a := rt.Spawn(of(func(c *Ctx, m any) error { c.Tell(b, m); time.Sleep(time.Hour); return nil }))
		a.Tell(1)
		synctest.Wait()
		if len(ran) != 1 {
			t.Error("b waits behind a")
		}
		time.Sleep(time.Hour)
	})
}

// With carriers a blocked handler delays what waits behind it by a virtual
// millisecond, and the watchdog then sleeps: no steps in the rest of the hour.
func TestWatchdogInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := NewWith(Options{Carriers: true})
		l := newLog()
		b := rt.Spawn(of(func(c *Ctx, m any) error { l.add("b"); return nil }))
		a := rt.Spawn(of(func(c *Ctx, m any) error { c.Tell(b, m); time.Sleep(time.Hour); return nil }))
		synctest.Wait()
		a.Tell(1)
		time.Sleep(5 * ms)
		l.want(t, "1 b")
		if rt.dog.on.Load() {
			t.Error("the watchdog is awake")
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestAskInBubble(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		mute := rt.Spawn(of(func(c *Ctx, m any) error { return nil }))
		t0 := time.Now()
		if _, err := rt.Ask(mute, 1, 5*time.Second); err != ErrTimeout || time.Since(t0) != 5*time.Second {
			t.Error(err, time.Since(t0))
		}
		echo := rt.Spawn(of(func(c *Ctx, m any) error { c.Reply(m); c.Reply(-1); return nil }))
		for i := range 100 {
			if v, err := rt.Ask(echo, i, time.Second); v != any(i) || err != nil {
				t.Fatal(v, err)
			}
		}
	})
}
