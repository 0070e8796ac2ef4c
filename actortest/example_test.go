package actortest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

// order is what the examples' shop knows of an order.
type order struct {
	id    string
	cents int
}

// shop is the actor of the examples: it lets a till take the money and forgets orders that nobody pays for.
type shop struct {
	till actor.Ref
	open map[string]int
}

// paid says that the till has got the money for an order.
type paid struct{ id string }

func (s *shop) PreStart(ctx *actor.Context) error {
	s.open = map[string]int{}
	ctx.Watch(s.till)
	return nil
}

func (s *shop) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case order:
		if m.cents <= 0 {
			return actor.Reject(errors.New("an order is not free"))
		}
		s.open[m.id] = m.cents
		ctx.Tell(s.till, m)
		ctx.Reply("thank you")
		return ctx.Timers().StartSingle(m.id, forget{m.id}, 15*time.Minute)
	case paid:
		ctx.Timers().Cancel(m.id)
		delete(s.open, m.id)
	case forget:
		delete(s.open, m.id)
	case actor.Terminated:
		ctx.StopSelf()
	default:
		ctx.Unhandled()
	}
	return nil
}

type forget struct{ id string }

// An actor is tested without a system: the test delivers what it likes and then looks at what the actor has done.
func ExampleNewContext() {
	test := func(t testing.TB) {
		c := actortest.NewContext(t)
		till := c.NewRef("till")
		s := &shop{till: till}
		if err := c.PreStart(s); err != nil {
			t.Fatal(err)
		}
		if err := c.Deliver(s, order{"42", 1999}); err != nil {
			t.Fatal(err)
		}
		c.ExpectSent(till, order{"42", 1999})
		fmt.Println("replies:", c.Replies())
		fmt.Printf("timers: %+v\n", c.Timers())
		fmt.Println("watched:", c.Watched())

		if err := c.Deliver(s, actor.Terminated{Ref: till}); err != nil {
			t.Fatal(err)
		}
		fmt.Println("stopping:", c.Stopping())
	}
	run(test)
	// Output:
	// replies: [thank you]
	// timers: [{Key:42 Msg:{id:42} Delay:15m0s Interval:0s FixedRate:false}]
	// watched: [troupe://test/user/till]
	// stopping: true
	// PASS
}

// A timer's tick comes when the test says so.
func ExampleContext_Fire() {
	test := func(t testing.TB) {
		c := actortest.NewContext(t)
		s := &shop{till: c.NewRef("till"), open: map[string]int{}}
		if err := c.Deliver(s, order{"42", 1999}); err != nil {
			t.Fatal(err)
		}
		if err := c.Fire(s, "42"); err != nil {
			t.Fatal(err)
		}
		fmt.Println("open orders:", len(s.open))
	}
	run(test)
	// Output:
	// open orders: 0
	// PASS
}

// An ask ends as it would in a system: with the reply, or with the error of the handler.
func ExampleContext_Ask() {
	test := func(t testing.TB) {
		c := actortest.NewContext(t)
		s := &shop{till: c.NewRef("till"), open: map[string]int{}}
		fmt.Println(c.Ask(s, order{"42", 1999}).Reply())
		fmt.Println(c.Ask(s, order{"43", 0}).Err())
		fmt.Println(c.Ask(s, "what?").Err())
		fmt.Println(c.Ask(s, paid{"42"}))
	}
	run(test)
	// Output:
	// thank you
	// an order is not free
	// actor: dead letter: actor: unhandled message of type string
	// no reply yet
	// PASS
}

// What an actor puts into its stash or tells itself is delivered one by one.
func ExampleContext_DeliverNext() {
	door := func(ctx *actor.Context, msg any) error {
		if msg != "open" {
			return ctx.Stash()
		}
		ctx.Become(func(ctx *actor.Context, msg any) error {
			ctx.Reply(fmt.Sprint("come in, ", msg))
			return nil
		})
		ctx.UnstashAll()
		return nil
	}
	test := func(t testing.TB) {
		c := actortest.NewContext(t)
		a := actor.Func(door)
		for _, msg := range []any{"Ann", "Bob", "open"} {
			if err := c.Deliver(a, msg); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Println("waiting:", c.Mailbox())
		for ok := true; ok; {
			var err error
			if ok, err = c.DeliverNext(a); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Println(c.Replies())
	}
	run(test)
	// Output:
	// waiting: [Ann Bob]
	// [come in, Ann come in, Bob]
	// PASS
}

// A probe stands for those that the actor under test talks to.
func ExampleNewProbe() {
	test := func(t testing.TB) {
		sys := actortest.NewSystem(t)
		till := actortest.NewProbe(t, sys, func(c *actortest.ProbeConfig) { c.Name = "till" })
		customer := actortest.NewProbe(t, sys)
		ref, err := sys.Spawn("shop", func() actor.Actor { return &shop{till: till.Ref()} })
		if err != nil {
			t.Fatal(err)
		}
		customer.Tell(ref, order{"42", 1999})
		customer.Expect("thank you")
		o := actortest.Expect[order](till)
		till.Reply(paid{o.id}) // to the shop, the sender of the order

		customer.Watch(ref)
		till.Stop()
		customer.ExpectTerminated(ref)
	}
	run(test)
	// Output:
	// PASS
}

// The probe is who is asked.
func ExampleProbe_Reply() {
	test := func(t testing.TB) {
		sys := actortest.NewSystem(t)
		stock := actortest.NewProbe(t, sys)
		answers := make(chan int)
		go func() {
			n, err := actor.Ask[int](context.Background(), stock.Ref(), "how many apples?")
			if err != nil {
				n = -1
			}
			answers <- n
		}()
		stock.Expect("how many apples?")
		stock.Reply(7)
		fmt.Println(<-answers)
	}
	run(test)
	// Output:
	// 7
	// PASS
}

// The probe is the parent of the actor under test, and decides what its failure leads to.
func ExampleProbe_Spawn() {
	test := func(t testing.TB) {
		sys := actortest.NewSystem(t)
		parent := actortest.NewProbe(t, sys)
		fragile := func(ctx *actor.Context, msg any) error {
			ctx.Tell(ctx.Parent(), fmt.Sprint("got ", msg))
			return errors.New("broken")
		}
		ref := parent.Spawn("fragile", func() actor.Actor { return actor.Func(fragile) }, func(c *actor.SpawnConfig) {
			c.Supervisor = &actor.Supervisor{Decide: func(actor.Ref, error) actor.Directive { return actor.Stop }}
		})
		parent.Watch(ref)
		ref.Tell(1)
		parent.Expect("got 1")
		fmt.Println(parent.ExpectTerminated(ref).Cause)
	}
	run(test)
	// Output:
	// broken
	// PASS
}

// Messages that do not matter here are passed over.
func ExampleFish() {
	test := func(t testing.TB) {
		p := actortest.NewProbe(t, actortest.NewSystem(t))
		for i := range 10 {
			p.Ref().Tell(order{fmt.Sprint(i), 100 * i})
		}
		o := actortest.Fish(p, func(o order) bool { return o.cents > 500 })
		fmt.Println(o.id)
	}
	run(test)
	// Output:
	// 6
	// PASS
}

// The next message has to be of the type.
func ExampleExpect() {
	test := func(t testing.TB) {
		p := actortest.NewProbe(t, actortest.NewSystem(t))
		p.Ref().Tell(order{"42", 1999})
		o := actortest.Expect[order](p)
		fmt.Println(o.cents)
	}
	run(test)
	// Output:
	// 1999
	// PASS
}

// Several expectations share one patience.
func ExampleProbe_Within() {
	test := func(t testing.TB) {
		p := actortest.NewProbe(t, actortest.NewSystem(t))
		p.Ref().Tell(1)
		p.Ref().Tell(2)
		p.Within(time.Second, func() {
			p.Expect(1)
			p.Expect(2)
		})
	}
	run(test)
	// Output:
	// PASS
}

// The system ends with the test; it may have other settings.
func ExampleNewSystem() {
	test := func(t testing.TB) {
		sys := actortest.NewSystem(t, func(c *actor.SystemConfig) { c.Logger = nil /* slog.Default */ })
		fmt.Println(sys.Name())
	}
	run(test)
	// Output:
	// test
	// PASS
}

// Called first, it sees what everything else in the test has left behind.
func ExampleVerifyNoLeaks() {
	test := func(t testing.TB) {
		actortest.VerifyNoLeaks(t)
		actortest.NewProbe(t, actortest.NewSystem(t)).Ref().Tell("work")
	}
	run(test)
	// Output:
	// PASS
}

// A session that ends itself when nobody talked to it for 15 minutes, tested to the nanosecond in no time at all.
func ExampleProbe() {
	session := func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			if msg == any(actor.ReceiveTimeout{}) {
				ctx.StopSelf()
				return nil
			}
			ctx.SetReceiveTimeout(15 * time.Minute)
			return nil
		})
	}
	_ = func(t *testing.T) { // a test function of yours
		synctest.Test(t, func(t *testing.T) {
			sys := actortest.NewSystem(t)
			probe := actortest.NewProbe(t, sys)
			ref, err := sys.Spawn("session", session)
			if err != nil {
				t.Fatal(err)
			}
			probe.Watch(ref)
			ref.Tell("hello")
			probe.ExpectNone(15*time.Minute - 1)
			probe.ExpectTerminated(ref)
		})
	}
	// Output:
}
