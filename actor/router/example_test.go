package router_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/router"
)

type job struct{ customer, text string }

// HashKey keeps the jobs of one customer together.
func (j job) HashKey() string { return j.customer }

// newClerk is a routee that answers with its name and what it was told.
func newClerk() actor.Actor {
	return actor.Func(func(ctx *actor.Context, msg any) error {
		if j, ok := msg.(job); ok {
			ctx.Reply(ctx.Self().Name() + ": " + j.text)
		}
		return nil
	})
}

// office is what the examples run in: a quiet system and a router.
func office(newRouter func() actor.Actor, err error) (*actor.System, actor.Ref) {
	if err != nil {
		log.Fatal(err)
	}
	sys, err := actor.NewSystem("office", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if err != nil {
		log.Fatal(err)
	}
	ref, err := sys.Spawn("clerks", newRouter)
	if err != nil {
		log.Fatal(err)
	}
	return sys, ref
}

func end(sys *actor.System) {
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func ask(ref actor.Ref, msg any) {
	answer, err := actor.Ask[string](context.Background(), ref, msg)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer)
}

func ExamplePool() {
	sys, clerks := office(router.Pool(2, newClerk))
	defer end(sys)
	for _, text := range []string{"a", "b", "c"} {
		ask(clerks, job{"ann", text})
	}
	// Output:
	// routee-1: a
	// routee-2: b
	// routee-1: c
}

func ExampleGroup() {
	sys, clerks := office(router.Group(nil))
	defer end(sys)
	ask(clerks, job{"ann", "a"})
	berta, err := sys.Spawn("berta", newClerk)
	if err != nil {
		fmt.Println(err)
		return
	}
	clerks.Tell(router.AddRoutee{Ref: berta})
	ask(clerks, job{"ann", "b"})
	clerks.Tell(router.RemoveRoutee{Ref: berta})
	ask(clerks, job{"ann", "c"})
	// Output:
	// ask troupe://office/user/clerks with router_test.job: actor: dead letter: router: no routee is left
	// berta: b
	// ask troupe://office/user/clerks with router_test.job: actor: dead letter: router: no routee is left
}

func ExampleConfig() {
	sys, clerks := office(router.Pool(4, newClerk, func(c *router.Config) {
		c.Logic = router.SmallestMailbox
		c.ReplaceAfter = time.Second
		c.Routee = func(s *actor.SpawnConfig) { s.Mailbox.Capacity = 1000 }
		c.Supervisor.MaxRestarts = 3
	}))
	defer end(sys)
	ask(clerks, job{"ann", "a"})
	// Output: routee-1: a
}

func ExampleConfig_Validate() {
	c := router.DefaultConfig()
	c.VirtualNodes = 0
	fmt.Println(c.Validate())
	// Output: router: bad configuration: VirtualNodes is 0, must be 1 to 65536
}

func ExampleRandom() {
	sys, clerks := office(router.Pool(1, newClerk, func(c *router.Config) { c.Logic = router.Random }))
	defer end(sys)
	ask(clerks, job{"ann", "a"})
	// Output: routee-1: a
}

func ExampleConsistentHash() {
	sys, clerks := office(router.Pool(4, newClerk, func(c *router.Config) { c.Logic = router.ConsistentHash }))
	defer end(sys)
	at := map[string]bool{}
	for range 10 {
		answer, err := actor.Ask[string](context.Background(), clerks, job{"ann", "again"})
		if err != nil {
			fmt.Println(err)
			return
		}
		at[answer] = true
	}
	fmt.Println("ann was seen by", len(at))
	ask(clerks, "no key")
	// Output:
	// ann was seen by 1
	// ask troupe://office/user/clerks with string: actor: dead letter: router: the message has no key
}

func ExampleFanOut() {
	sys, clerks := office(router.Pool(3, newClerk, func(c *router.Config) { c.Logic = router.FanOut }))
	defer end(sys)
	answer, err := actor.Ask[string](context.Background(), clerks, job{"ann", "a"})
	fmt.Println(strings.HasSuffix(answer, ": a"), err)
	// Output: true <nil>
}

func ExampleBroadcast() {
	sys, clerks := office(router.Pool(3, newClerk))
	defer end(sys)
	answer, err := actor.Ask[string](context.Background(), clerks, router.Broadcast{Msg: job{"ann", "a"}})
	fmt.Println(strings.HasSuffix(answer, ": a"), err)
	// Output: true <nil>
}

func ExampleResize() {
	sys, clerks := office(router.Pool(1, newClerk))
	defer end(sys)
	clerks.Tell(router.Resize{Size: 3})
	refs, err := actor.Ask[[]actor.Ref](context.Background(), clerks, router.QueryRoutees{})
	fmt.Println(len(refs), err)
	// Output: 3 <nil>
}

func ExampleDrain() {
	sys, clerks := office(router.Pool(2, newClerk))
	defer end(sys)
	_, err := actor.Ask[any](context.Background(), clerks, router.Drain{})
	fmt.Println("drained", err)
	// Output: drained <nil>
}

// byPriority keeps the first routee for what is urgent.
type byPriority struct{ others router.Logic }

func (l byPriority) Select(msg any, routees []actor.Ref) int {
	if j, ok := msg.(job); ok && j.customer == "boss" || len(routees) == 1 {
		return 0
	}
	i := l.others.Select(msg, routees[1:])
	if i == router.None {
		return router.None
	}
	return i + 1
}

func ExampleLogic() {
	sys, clerks := office(router.Pool(3, newClerk, func(c *router.Config) {
		c.Logic = func() router.Logic { return byPriority{router.RoundRobin()} }
	}))
	defer end(sys)
	for _, j := range []job{{"ann", "a"}, {"boss", "b"}, {"ann", "c"}, {"ann", "d"}} {
		ask(clerks, j)
	}
	// Output:
	// routee-2: a
	// routee-1: b
	// routee-3: c
	// routee-2: d
}

// first is a logic that remembers the routee whose name comes first.
type first struct{ index int }

func (l *first) Update(routees []actor.Ref) {
	least := slices.MinFunc(routees, func(a, b actor.Ref) int { return strings.Compare(a.Name(), b.Name()) })
	l.index = slices.Index(routees, least)
}

func (l *first) Select(any, []actor.Ref) int { return l.index }

func ExampleUpdater() {
	sys, clerks := office(router.Pool(3, newClerk, func(c *router.Config) {
		c.Logic = func() router.Logic { return &first{} }
	}))
	defer end(sys)
	ask(clerks, job{"ann", "a"})
	// Output: routee-1: a
}
