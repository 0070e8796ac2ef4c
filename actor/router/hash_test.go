package router

import (
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/actor"
)

// refsNamed spawns actors with these names, so that refs with paths are there for a ring.
func refsNamed(t *testing.T, names ...string) (refs []actor.Ref) {
	t.Helper()
	s, err := actor.NewSystem("ring", func(c *actor.SystemConfig) { c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Terminate(t.Context()) })
	for _, name := range names {
		ref, err := s.Spawn(name, func() actor.Actor { return actor.Func(func(*actor.Context, any) error { return nil }) })
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	return refs
}

func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("routee-%d", i+1))
	}
	return names
}

const keys = 20_000

// owners says for each of many keys whose it is.
func owners(t *testing.T, refs []actor.Ref, nodes int) []actor.Ref {
	t.Helper()
	l := &hashRing{nodes: nodes}
	l.Update(refs)
	owner := make([]actor.Ref, keys)
	for k := range owner {
		i := l.Select(&keyed{fmt.Sprintf("user-%d", k)}, refs)
		if i < 0 || i >= len(refs) {
			t.Fatalf("key %d: index %d of %d", k, i, len(refs))
		}
		owner[k] = refs[i]
	}
	return owner
}

func TestHashIsFNV1aOfTheStandardLibrary(t *testing.T) {
	for _, s := range []string{"", "a", "routee-1#0", "troupe://shop/user/orders/routee-3#127", "\x00\xff"} {
		h := fnv.New64a()
		_, _ = h.Write([]byte(s))
		if got, want := hash(s), mix(h.Sum64()); got != want {
			t.Errorf("%q: %x, want %x", s, got, want)
		}
	}
}

// Who keeps something by key looks for it at the same routee in the next process: these numbers never change.
func TestHashIsTheSameInEveryProcess(t *testing.T) {
	for s, want := range map[string]uint64{"": 0x2180a92350d49cce, "order-4711": 0x09311a7be7ca8a06} {
		if got := hash(s); got != want {
			t.Errorf("%q: %#x, want %#x", s, got, want)
		}
	}
}

func TestRingSharesAreAboutEqual(t *testing.T) {
	refs := refsNamed(t, numbered(10)...)
	count := map[actor.Ref]int{}
	for _, ref := range owners(t, refs, DefaultVirtualNodes) {
		count[ref]++
	}
	for _, ref := range refs {
		if n := count[ref]; n < keys/10*6/10 || n > keys/10*14/10 { // 4 standard deviations of 128 points
			t.Errorf("%s has %d keys of %d, want about a tenth", ref.Name(), n, keys)
		}
	}
}

func TestRingMovesOnlyTheKeysOfWhoLeaves(t *testing.T) {
	refs := refsNamed(t, numbered(8)...)
	before := owners(t, refs, DefaultVirtualNodes)
	for i, gone := range refs {
		rest := slices.Delete(slices.Clone(refs), i, i+1)
		after := owners(t, rest, DefaultVirtualNodes)
		heirs := map[actor.Ref]bool{}
		for k := range after {
			switch {
			case before[k] == gone:
				heirs[after[k]] = true
			case before[k] != after[k]:
				t.Fatalf("key %d moved from %s to %s when %s left", k, before[k].Name(), after[k].Name(), gone.Name())
			}
		}
		if len(heirs) != len(rest) {
			t.Errorf("the keys of %s went to %d routees, want all %d", gone.Name(), len(heirs), len(rest))
		}
	}
}

func TestRingGivesAShareToWhoJoins(t *testing.T) {
	refs := refsNamed(t, numbered(9)...)
	joined := refs[8]
	before, after := owners(t, refs[:8], DefaultVirtualNodes), owners(t, refs, DefaultVirtualNodes)
	moved := 0
	for k := range after {
		if before[k] == after[k] {
			continue
		}
		moved++
		if after[k] != joined {
			t.Fatalf("key %d moved from %s to %s when another joined", k, before[k].Name(), after[k].Name())
		}
	}
	if moved < keys/9*6/10 || moved > keys/9*14/10 {
		t.Errorf("%d keys of %d moved, want about a ninth", moved, keys)
	}
}

// The order of the routees in the table depends on who was replaced when; where keys go must not.
func TestRingDoesNotDependOnTheOrder(t *testing.T) {
	refs := refsNamed(t, numbered(5)...)
	before := owners(t, refs, 16)
	mixed := []actor.Ref{refs[3], refs[0], refs[4], refs[2], refs[1]}
	if !slices.Equal(before, owners(t, mixed, 16)) {
		t.Error("the order of the routees decides where keys go")
	}
}

func TestKeyComesBeforeHashKey(t *testing.T) {
	l := &hashRing{nodes: 1}
	l.configure(&Config{VirtualNodes: 7, Key: func(msg any) (string, bool) {
		s, ok := msg.(string)
		return s, ok
	}})
	if l.nodes != 7 {
		t.Errorf("%d nodes", l.nodes)
	}
	for _, c := range []struct {
		msg any
		key string
		ok  bool
	}{{"a", "a", true}, {"", "", true}, {&keyed{"b"}, "b", true}, {3, "", false}} {
		if key, ok := l.keyOf(c.msg); key != c.key || ok != c.ok {
			t.Errorf("%v: %q, %v", c.msg, key, ok)
		}
	}
}
