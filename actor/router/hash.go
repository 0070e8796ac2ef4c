package router

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"github.com/troupe-go/troupe/actor"
)

// ConsistentHash is the Logic that sends messages with the same key to the same routee, as long as the routees stay the
// same; when one leaves only its keys move, each to one of the others, and when one joins it takes a share of keys from
// the others and no key moves between those. Keys of a routee that is stopping go where they go once it is gone.
//
// The key is what Config.Key finds, else that of a message that is a HashKeyer. A message without a key is a dead letter
// with ErrNoKey. Where a key goes depends on the paths of the routees alone: it is the same after a restart, in another
// process, on another machine.
func ConsistentHash() Logic { return &hashRing{nodes: DefaultVirtualNodes} }

// hashRing is a ring of hashes on which each routee has a number of points. A key belongs to the routee of the first
// point at or after the key's own hash.
type hashRing struct {
	key    func(msg any) (string, bool)
	nodes  int
	points []point
	noKey  bool // why the last Select chose nobody
}

type point struct {
	hash   uint64
	routee int32
}

// configure takes over what Config says about hashing.
func (l *hashRing) configure(c *Config) { l.key, l.nodes = c.Key, c.VirtualNodes }

// reason is why the last Select returned None.
func (l *hashRing) reason() error {
	if l.noKey {
		return ErrNoKey
	}
	return ErrNoRoutee
}

// Update builds the ring.
func (l *hashRing) Update(routees []actor.Ref) {
	l.points = slices.Grow(l.points[:0], len(routees)*l.nodes)
	var label []byte
	for i, ref := range routees {
		label = append(label[:0], ref.Path()...)
		label = append(label, '#')
		stem := len(label)
		for v := range l.nodes {
			label = strconv.AppendInt(label[:stem], int64(v), 10)
			l.points = append(l.points, point{hash(label), int32(i)})
		}
	}
	// Points with the same hash are ordered by path, and those of two incarnations of one path, which all have, by age with
	// the younger first.
	slices.SortFunc(l.points, func(a, b point) int {
		if c := cmp.Compare(a.hash, b.hash); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(routees[a.routee].Path(), routees[b.routee].Path()), cmp.Compare(b.routee, a.routee))
	})
}

// Select finds the routee of the key, and goes on round the ring while it finds one that is stopping.
func (l *hashRing) Select(msg any, routees []actor.Ref) int {
	key, ok := l.keyOf(msg)
	if l.noKey = !ok; l.noKey {
		return None
	}
	h := hash(key)
	n := len(l.points)
	from := sort.Search(n, func(i int) bool { return l.points[i].hash >= h })
	dead := None
	for k := range n {
		i := int(l.points[(from+k)%n].routee)
		if i == dead {
			continue
		}
		if !routees[i].Stopping() {
			return i
		}
		dead = i
	}
	return None
}

func (l *hashRing) keyOf(msg any) (string, bool) {
	if l.key != nil {
		if key, ok := l.key(msg); ok {
			return key, true
		}
	}
	if k, ok := msg.(HashKeyer); ok {
		return k.HashKey(), true
	}
	return "", false
}

// hash is FNV-1a, the one of hash/fnv, written out because that one has an allocation for each message, and followed by
// a finalizer: keys that differ in their last characters only have FNV hashes that differ little in the upper bits, and
// on a ring those decide. hash/maphash would be faster for long keys, but its seed is another one in each process.
func hash[S string | []byte](s S) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h ^= uint64(s[i])
		h *= 1099511628211
	}
	return mix(h)
}

// mix makes every bit of h depend on every other. It is a bijection, so it adds no collisions.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
