package actor_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
)

// plain writes log lines without the time, so that they can be compared.
func plain() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// The attributes that the asker gives come with the message, and with what is told because of it.
func ExampleWithLog() {
	sys, err := actor.NewSystem("shop", func(c *actor.SystemConfig) { c.Logger = plain() })
	if err != nil {
		log.Fatal(err)
	}
	till, err := sys.Spawn("till", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, _ any) error {
			ctx.Log().Info("paid")
			ctx.Reply("thank you")
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	counter, err := sys.Spawn("counter", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, _ any) error {
			ctx.Forward(till)
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := actor.WithLog(context.Background(), slog.Int("order", 4711))
	answer, err := actor.Ask[string](ctx, counter, "pay")
	fmt.Println(answer, err)
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// msg=paid actor=troupe://shop/user/till order=4711
	// thank you <nil>
}

// failures counts messages that were not handled well.
type failures struct{ n atomic.Int64 }

func (f *failures) Before(ctx context.Context, _ actor.Ref, _ any) (context.Context, func(error)) {
	return ctx, func(err error) {
		if err != nil {
			f.n.Add(1)
		}
	}
}

func ExampleMessageHook() {
	failed := &failures{}
	sys, err := actor.NewSystem("shop", func(c *actor.SystemConfig) { c.Hook = failed })
	if err != nil {
		log.Fatal(err)
	}
	picky, err := sys.Spawn("picky", func() actor.Actor {
		return actor.Func(func(ctx *actor.Context, msg any) error {
			if msg == "bad" {
				return actor.Reject(fmt.Errorf("%v is refused", msg))
			}
			ctx.Reply(msg)
			return nil
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, msg := range []string{"good", "bad", "good"} {
		if _, err := actor.Ask[string](context.Background(), picky, msg); err != nil {
			fmt.Println(err)
		}
	}
	if err := sys.Terminate(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(failed.n.Load(), "failed")
	// Output:
	// ask troupe://shop/user/picky with string: bad is refused
	// 1 failed
}
