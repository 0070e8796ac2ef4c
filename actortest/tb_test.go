package actortest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actortest"
)

// fakeTB is a testing.TB of its own: it notes what a test logs and fails with, and runs its cleanups.
type fakeTB struct {
	testing.TB // nil: what is not below is not used
	cleanups   []func()
	logged     []string
	failed     []string
}

func (f *fakeTB) Helper()                      {}
func (f *fakeTB) Name() string                 { return "fake" }
func (f *fakeTB) Context() context.Context     { return context.Background() }
func (f *fakeTB) Cleanup(c func())             { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Log(args ...any)              { f.logged = append(f.logged, fmt.Sprint(args...)) }
func (f *fakeTB) Logf(format string, a ...any) { f.Log(fmt.Sprintf(format, a...)) }
func (f *fakeTB) Error(args ...any)            { f.failed = append(f.failed, fmt.Sprint(args...)) }
func (f *fakeTB) Errorf(format string, a ...any) {
	f.Error(fmt.Sprintf(format, a...))
}
func (f *fakeTB) Fatal(args ...any) {
	f.Error(args...)
	runtime.Goexit()
}
func (f *fakeTB) Fatalf(format string, a ...any) {
	f.Fatal(fmt.Sprintf(format, a...))
}

// runTest runs a test to its end.
func runTest(test func(t testing.TB)) *fakeTB {
	f := &fakeTB{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, c := range slices.Backward(f.cleanups) {
				c()
			}
		}()
		test(f)
	}()
	<-done
	return f
}

// run is what go test does with an example's test.
func run(test func(t testing.TB)) {
	f := runTest(test)
	if len(f.failed) > 0 {
		fmt.Println("FAIL", f.failed)
		return
	}
	fmt.Println("PASS")
}

// TestSystemFailsItsTestForWhatIsLeft: the system does not end in silence when somebody is still at work.
func TestSystemFailsItsTestForWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		for name, f := range map[string]func(ctx *actor.Context){
			"a function of PipeToSelf": func(ctx *actor.Context) {
				ctx.PipeToSelf(func(context.Context) (any, error) { <-release; return nil, nil })
			},
			"a handler": func(*actor.Context) { <-release },
		} {
			tb := runTest(func(tb testing.TB) {
				ref, err := actortest.NewSystem(tb).Spawn("a", doer)
				if err != nil {
					tb.Fatal(err)
				}
				ref.Tell(do(f))
				synctest.Wait()
			})
			if len(tb.failed) != 1 || !strings.Contains(tb.failed[0], "actortest: ") {
				t.Errorf("%s: the test fails with %q", name, tb.failed)
			}
		}
	})
}

// TestLogIsTheTests: what the system and a Context log goes to the test, and not once the test has ended.
func TestLogIsTheTests(t *testing.T) {
	var late []*actor.System
	tb := runTest(func(tb testing.TB) {
		sys := actortest.NewSystem(tb)
		sys.Log().Info("from the system")
		c := actortest.NewContext(tb)
		_ = c.Deliver(doer(), do(func(ctx *actor.Context) { ctx.Log().Debug("from the context") }))
		late = append(late, sys, c.Context.System())
	})
	for _, s := range late {
		s.Log().Error("too late")
	}
	all := strings.Join(tb.logged, "\n")
	if !strings.Contains(all, "from the system") || !strings.Contains(all, "from the context") || strings.Contains(all, "too late") {
		t.Errorf("the log is %q", all)
	}
}

// TestVerifyNoLeaksFindsOne: and says where it comes from.
func TestVerifyNoLeaksFindsOne(t *testing.T) {
	release := make(chan struct{})
	tb := runTest(func(tb testing.TB) {
		actortest.VerifyNoLeaks(tb)
		go func() { <-release }()
	})
	close(release)
	if len(tb.failed) != 1 || !strings.Contains(tb.failed[0], "TestVerifyNoLeaksFindsOne") {
		t.Errorf("it fails with %q", tb.failed)
	}
}
