package mailbox

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// TestPushWaitInTurn has somebody who takes the room as soon as there is some: those who wait get theirs all the same, in
// the order they came, and who comes later does not overtake them.
func TestPushWaitInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Box[int]{Capacity: 1, Overflow: Reject}
		if r, _, _ := b.Push(-1, 0, true); r != Taken {
			t.Fatal(r)
		}
		const n = 20
		wait := func(i int) {
			go func() {
				if err := b.PushWait(context.Background(), i, 0); err != nil {
					t.Error(err)
				}
			}()
		}
		for i := range n {
			wait(i)
			synctest.Wait()
		}
		var got []int
		for i := range 2 * n {
			e, ok := b.Pop()
			if !ok {
				break
			}
			if e >= 0 {
				got = append(got, e)
			}
			b.Push(-2, 0, true) // before whoever was called has run
			if i == 3 {
				wait(n)
			}
			synctest.Wait()
		}
		want := make([]int, n+1)
		for i := range want {
			want[i] = i
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

// TestPushWaitGivesUp has waiters that leave, before their turn and at it.
func TestPushWaitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Box[int]{Capacity: 1}
		b.Push(0, 0, true)
		var errs []error
		cancels := map[int]context.CancelFunc{}
		for i := 1; i <= 4; i++ {
			ctx, cancel := context.WithCancel(t.Context())
			cancels[i] = cancel
			go func() {
				if err := b.PushWait(ctx, i, 0); err != nil {
					errs = append(errs, err)
				}
			}()
			synctest.Wait()
		}
		cancels[2]()
		synctest.Wait()
		b.Pop()
		cancels[1]() // at its turn
		synctest.Wait()
		var got []int
		for e, ok := b.Pop(); ok; e, ok = b.Pop() {
			got = append(got, e)
			synctest.Wait()
		}
		// Its message is in if its turn came first, and then it was told so.
		if in := slices.Contains(got, 1); len(errs) != 1 && in || len(errs) != 2 && !in || !errors.Is(errs[0], context.Canceled) {
			t.Errorf("got %v, errors %v", got, errs)
		}
		if slices.Contains(got, 2) || !slices.Contains(got, 3) || !slices.Contains(got, 4) {
			t.Errorf("got %v", got)
		}
		for _, cancel := range cancels {
			cancel()
		}
		if b.Len() != 0 || len(b.Close()) != 0 {
			t.Error("something is left")
		}
	})
}
