package rt2

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// timeouts logs ReceiveTimeout and other messages of an actor armed with d; a
// Duration as message is a handler that takes that long, an error fails.
func timeouts(l *log, d time.Duration) Factory {
	return func() Receiver {
		return &fn{
			pre: func(c *Ctx) error { c.SetReceiveTimeout(d); return nil },
			recv: func(c *Ctx, m any) error {
				switch m := m.(type) {
				case time.Duration:
					time.Sleep(m)
					l.add("slow")
				case error:
					l.add("err")
					return m
				case func(*Ctx) error:
					return m(c)
				case ReceiveTimeout:
					l.add("RT")
				case Terminated:
					l.add("term")
				default:
					l.add("%v", m)
				}
				return nil
			},
			post: func(*Ctx) { l.add("post") },
		}
	}
}

func TestTimeoutFifteenMinutes(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		gone := make(chan time.Duration, 1)
		t0 := time.Now()
		a := rt.Spawn(func() Receiver {
			return &fn{
				pre: func(c *Ctx) error { c.SetReceiveTimeout(15 * time.Minute); return nil },
				recv: func(c *Ctx, m any) error {
					if m == rtMsg {
						c.Stop()
					}
					return nil
				},
				post: func(*Ctx) { gone <- time.Since(t0) },
			}
		})
		a.Tell(1)
		time.Sleep(15*time.Minute - 1)
		synctest.Wait()
		if len(gone) > 0 {
			t.Fatal("too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		select {
		case d := <-gone:
			if d != 15*time.Minute {
				t.Fatal(d)
			}
		default:
			t.Fatal("too late")
		}
	})
}

func TestTimeoutRepeats(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		rt.Spawn(timeouts(l, 30*ms))
		time.Sleep(100 * ms)
		l.want(t, "30 RT", "60 RT", "90 RT")
	})
}

// The window counts from the end of the last user handler, and a backlog
// comes first: a (80 ms), b, c, then RT.
func TestTimeoutFromHandlerEnd(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		a := rt.Spawn(timeouts(l, 40*ms))
		synctest.Wait()
		a.Tell(80 * ms)
		a.Tell("b")
		a.Tell("c")
		time.Sleep(130 * ms)
		l.want(t, "80 slow", "80 b", "80 c", "120 RT")
	})
}

func TestTimeoutReset(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		a := rt.Spawn(timeouts(l, 50*ms))
		for i := range 5 {
			sleepUntil(l, time.Duration(i+1)*40*ms)
			a.Tell(i)
		}
		time.Sleep(51 * ms)
		l.want(t, "40 0", "80 1", "120 2", "160 3", "200 4", "250 RT")
	})
}

// Setting in the handler of the timeout wins over the automatic re-arm:
// 20 then 60 fires at 20, 80, 140.
func TestTimeoutSetInHandler(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		rt.Spawn(func() Receiver {
			return &fn{
				pre: func(c *Ctx) error { c.SetReceiveTimeout(20 * ms); return nil },
				recv: func(c *Ctx, m any) error {
					l.add("RT")
					c.SetReceiveTimeout(60 * ms)
					return nil
				},
			}
		})
		time.Sleep(141 * ms)
		l.want(t, "20 RT", "80 RT", "140 RT")
	})
}

func TestTimeoutShorterLongerOff(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		a := rt.Spawn(timeouts(l, time.Hour))
		set := func(d time.Duration) {
			a.Tell(func(c *Ctx) error { c.SetReceiveTimeout(d); return nil })
		}
		sleepUntil(l, 10*ms)
		set(20 * ms) // shorter: 30
		sleepUntil(l, 35*ms)
		set(100 * ms) // longer: 135
		sleepUntil(l, 140*ms)
		set(0)
		sleepUntil(l, 500*ms)
		set(-5)
		set(5 * ms) // 505
		sleepUntil(l, 507*ms)
		set(100 * time.Microsecond) // rounded up: 508
		sleepUntil(l, 508*ms)
		synctest.Wait()
		set(1<<63 - 1) // does not overflow
		time.Sleep(24 * 365 * time.Hour)
		l.want(t, "30 RT", "135 RT", "505 RT", "508 RT")
	})
}

// A queued timeout is void after set and cancel: the handler in whose time it
// was queued is not possible (a busy actor gets none), so it is queued while
// the actor is suspended.
func TestTimeoutStaleIsVoid(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		// A supervisor that resumes after 100 ms.
		rt.Spawn(func() Receiver {
			return &slowBoss{d: 100 * ms, dir: Resume, child: func() Receiver {
				return &fn{
					pre: func(c *Ctx) error {
						c.SetReceiveTimeout(30 * ms)
						c.Tell(c.Self(), "fail")
						return nil
					},
					recv: func(c *Ctx, m any) error {
						l.add("%v", m)
						if m == any("fail") {
							return errors.New("x")
						}
						return nil
					},
				}
			}}
		})
		time.Sleep(131 * ms)
		// fails at 0, expires at 30 while suspended, handed out at 100.
		l.want(t, "0 fail", "100 {}", "130 {}")
		l2 := newLog()
		rt.Spawn(func() Receiver {
			return &slowBoss{d: 100 * ms, dir: Resume, child: func() Receiver {
				return &fn{
					pre: func(c *Ctx) error {
						c.SetReceiveTimeout(30 * ms)
						c.Tell(c.Self(), "fail")
						c.Tell(c.Self(), "set")
						return nil
					},
					recv: func(c *Ctx, m any) error {
						l2.add("%v", m)
						switch m {
						case "fail":
							return errors.New("x")
						case "set":
							c.SetReceiveTimeout(50 * ms)
						}
						return nil
					},
				}
			}}
		})
		time.Sleep(151 * ms)
		// Suspended with a message waiting is not idle: nothing queued.
		l2.want(t, "0 fail", "100 set", "150 {}")
	})
}

type slowBoss struct {
	d     time.Duration
	dir   Directive
	child Factory
}

func (b *slowBoss) PreStart(c *Ctx) error   { c.Spawn(b.child); return nil }
func (b *slowBoss) Receive(*Ctx, any) error { return nil }
func (b *slowBoss) Supervise(*Ref, error) Directive {
	time.Sleep(b.d)
	return b.dir
}

// Restart clears the window and voids what is queued; the new instance has
// none unless it sets one.
func TestTimeoutRestart(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		n := 0
		a := rt.Spawn(func() Receiver {
			n++
			me := n
			return &fn{
				pre: func(c *Ctx) error {
					l.add("start %d", me)
					if me == 1 {
						c.SetReceiveTimeout(30 * ms)
					}
					return nil
				},
				recv: func(c *Ctx, m any) error {
					l.add("%d %v", me, m)
					if e, ok := m.(error); ok {
						return e
					}
					if d, ok := m.(time.Duration); ok {
						c.SetReceiveTimeout(d)
					}
					return nil
				},
			}
		})
		sleepUntil(l, 20*ms)
		a.Tell(errors.New("x"))
		sleepUntil(l, 200*ms)
		a.Tell(10 * ms)
		sleepUntil(l, 215*ms)
		l.want(t, "0 start 1", "20 1 x", "20 start 2", "200 2 10ms", "210 2 {}")
	})
}

// A queued timeout of a restarted instance never reaches the new one.
func TestTimeoutRestartVoidsQueued(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		rt.Spawn(func() Receiver {
			return &slowBoss{d: 100 * ms, dir: Restart, child: func() Receiver {
				first := len(l.l) == 0
				return &fn{
					pre: func(c *Ctx) error {
						if first {
							c.SetReceiveTimeout(30 * ms)
							c.Tell(c.Self(), "fail")
						}
						return nil
					},
					recv: func(c *Ctx, m any) error { l.add("%v", m); return errors.New("x") },
				}
			}}
		})
		time.Sleep(time.Second)
		l.want(t, "0 fail")
	})
}

// Neither Terminated nor system work resets the window.
func TestTimeoutNotResetBySignals(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		var kids []*Ref
		for range 3 {
			kids = append(kids, rt.Spawn(of(func(*Ctx, any) error { return nil })))
		}
		a := rt.Spawn(timeouts(l, 60*ms))
		a.Tell(func(c *Ctx) error {
			for _, k := range kids {
				c.Watch(k)
			}
			return nil
		})
		for i, k := range kids {
			sleepUntil(l, time.Duration(i+1)*25*ms)
			rt.Stop(k)
		}
		sleepUntil(l, 125*ms)
		l.want(t, "25 term", "50 term", "60 RT", "75 term", "120 RT")
	})
}

// The window counts from the end of the last user handler, also when a slow
// Terminated handler follows it in the same activation.
func TestTimeoutSealedBeforeSignal(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		k := rt.Spawn(of(func(*Ctx, any) error { return nil }))
		rt.Spawn(func() Receiver {
			return &fn{
				pre: func(c *Ctx) error { c.Watch(k); c.SetReceiveTimeout(60 * ms); return nil },
				recv: func(c *Ctx, m any) error {
					l.add("%T", m)
					switch m := m.(type) {
					case time.Duration:
						c.StopRef(k)
						time.Sleep(m)
					case Terminated:
						time.Sleep(20 * ms)
					}
					return nil
				},
			}
		}).Tell(10 * ms)
		time.Sleep(time.Second)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.l[0] != "0 time.Duration" || l.l[1] != "10 rt2.Terminated" || l.l[2] != "70 rt2.ReceiveTimeout" {
			t.Error(l.l)
		}
	})
}

// A failure re-arms too; an error in the handler of the timeout under Resume
// does not end the timeouts.
func TestTimeoutAfterFailure(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		rt.Spawn(func() Receiver {
			return &slowBoss{dir: Resume, child: func() Receiver {
				return &fn{
					pre:  func(c *Ctx) error { c.SetReceiveTimeout(30 * ms); return nil },
					recv: func(c *Ctx, m any) error { l.add("RT"); return errors.New("x") },
				}
			}}
		})
		time.Sleep(100 * ms)
		l.want(t, "30 RT", "60 RT", "90 RT")
	})
}

func TestTimeoutPoisonStop(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		a := rt.Spawn(timeouts(l, 30*ms))
		sleepUntil(l, 29*ms)
		a.Tell(50 * ms)
		a.Poison()
		time.Sleep(time.Second)
		l.want(t, "79 slow", "79 post")
		// Arming in PostStop is refused.
		b := rt.Spawn(func() Receiver {
			return &fn{
				recv: func(c *Ctx, m any) error { return nil },
				post: func(c *Ctx) { c.SetReceiveTimeout(ms) },
			}
		})
		rt.Stop(b)
		time.Sleep(time.Second)
		if n := rt.deadLetters.Load(); n != 0 {
			t.Error("dead letters", n)
		}
		rt.clk.mu.Lock()
		if rt.clk.wake != 0 {
			t.Error("timer left")
		}
		rt.clk.mu.Unlock()
	})
}

// A user's own ReceiveTimeout is delivered and does not reset.
func TestTimeoutByUser(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		a := rt.Spawn(timeouts(l, 30*ms))
		sleepUntil(l, 20*ms)
		a.Tell(ReceiveTimeout{})
		sleepUntil(l, 61*ms)
		l.want(t, "20 RT", "30 RT", "60 RT")
	})
}

func TestTimeoutBecomeStash(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		l := newLog()
		var open Func = func(c *Ctx, m any) error { l.add("open %v", m); return nil }
		rt.Spawn(func() Receiver {
			return &fn{
				pre: func(c *Ctx) error { c.SetReceiveTimeout(30 * ms); return nil },
				recv: func(c *Ctx, m any) error {
					if m == any("open") {
						c.Become(open)
						c.UnstashAll()
						return nil
					}
					l.add("stash %v", m)
					return c.Stash()
				},
			}
		}).Tell("a")
		time.Sleep(31 * ms)
		l.want(t, "0 stash a", "30 stash {}")
		l.mu.Lock()
		l.l = nil
		l.mu.Unlock()
		var a *Ref
		for _, x := range rt.reg.tab {
			if x != nil {
				a = &x.Ref
			}
		}
		sleepUntil(l, 40*ms)
		a.Tell("open")
		a.Tell("b")
		sleepUntil(l, 71*ms)
		l.want(t, "40 open a", "40 open {}", "40 open b", "70 open {}")
	})
}

// A handler that takes long must not delay the timeouts of others that its
// carrier ran before (their epoch is closed by the watchdog).
func TestTimeoutBehindLongHandler(t *testing.T) {
	bubble(t, func(t *testing.T, rt *Runtime) {
		rt.max = 1
		l := newLog()
		long := rt.Spawn(of(func(c *Ctx, m any) error { time.Sleep(10 * time.Second); return nil }))
		a := rt.Spawn(timeouts(l, 30*ms))
		a.Tell(func(c *Ctx) error { c.Tell(long, 1); return nil })
		time.Sleep(35 * ms)
		defer time.Sleep(10 * time.Second)
		l.mu.Lock()
		defer l.mu.Unlock()
		// 1 ms for the epoch, 1 ms to be rescued.
		if len(l.l) != 1 || l.l[0] != "30 RT" && l.l[0] != "31 RT" && l.l[0] != "32 RT" {
			t.Error(l.l)
		}
	})
}
