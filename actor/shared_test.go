package actor_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-go/troupe/actor"
)

// One value per system and key, made once.
func TestShared(t *testing.T) {
	type key struct{ n int }
	systems := [2]*actor.System{}
	for i := range systems {
		sys, err := actor.NewSystem(fmt.Sprint("shared", i))
		if err != nil {
			t.Fatal(err)
		}
		defer sys.Terminate(context.Background())
		systems[i] = sys
	}
	var made atomic.Int32
	got := make([]any, 40)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			got[i] = systems[i%2].Shared(key{i / 2 % 2}, func() any { made.Add(1); return new(int) })
		})
	}
	wg.Wait()
	if n := made.Load(); n != 4 {
		t.Errorf("made %d times for two keys in two systems", n)
	}
	for i := range got {
		if got[i] != got[i%4] {
			t.Errorf("call %d got another value than call %d", i, i%4)
		}
	}
	if got[0] == got[1] || got[0] == got[2] {
		t.Error("two systems or two keys have one value")
	}
	inner := systems[0].Shared(key{7}, func() any { return systems[0].Shared(key{8}, func() any { return 8 }) })
	if inner != 8 {
		t.Errorf("a value made from another one is %v", inner)
	}
}
