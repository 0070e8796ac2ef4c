package broker

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// subscriptions is the desired set, in the order in which the keys were first wanted. It knows nothing of connections:
// one goroutine per link compares it with what that link has and brings the two in line.
type subscriptions[S any] struct {
	mu    sync.Mutex
	want  map[string]desired[S]
	order []string
	ver   uint64
	dirty chan struct{} // signalled after every change
}

type desired[S any] struct {
	sub S
	ver uint64
}

// change is one step from what a link has to what is wanted.
type change[S any] struct {
	key    string
	sub    S
	ver    uint64 // wanted version; 0 is none
	live   bool   // the link has it, perhaps in another version
	wanted bool
}

func newSubscriptions[S any]() *subscriptions[S] {
	return &subscriptions[S]{want: map[string]desired[S]{}, dirty: make(chan struct{}, 1)}
}

func (s *subscriptions[S]) remember(key string, sub S) {
	s.mu.Lock()
	if _, known := s.want[key]; !known {
		s.order = append(s.order, key)
	}
	s.ver++
	s.want[key] = desired[S]{sub, s.ver}
	s.mu.Unlock()
	s.poke()
}

func (s *subscriptions[S]) forget(key string) {
	s.mu.Lock()
	_, known := s.want[key]
	if known {
		delete(s.want, key)
		s.order = slices.DeleteFunc(s.order, func(k string) bool { return k == key })
	}
	s.mu.Unlock()
	if known {
		s.poke()
	}
}

func (s *subscriptions[S]) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.want)
}

func (s *subscriptions[S]) poke() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// applied is what one link has: key to version. A refused key counts as applied, so that it is tried once per link.
type applied map[string]uint64

// changes lists the steps now: what has to go first, then what has to come, in the order of the set.
func (s *subscriptions[S]) changes(have applied) (cs []change[S]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range have {
		if _, wanted := s.want[key]; !wanted {
			cs = append(cs, change[S]{key: key, live: true, ver: have[key]})
		}
	}
	slices.SortFunc(cs, func(a, b change[S]) int { return cmp.Compare(a.ver, b.ver) })
	for _, key := range s.order {
		d := s.want[key]
		if v, live := have[key]; !live || v != d.ver {
			cs = append(cs, change[S]{key, d.sub, d.ver, live, true})
		}
	}
	return cs
}

// still reports whether a step is still the right one: the set may have moved on during the steps before it.
func (s *subscriptions[S]) still(c *change[S]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, wanted := s.want[c.key]
	return wanted == c.wanted && (!wanted || d.ver == c.ver)
}

// reconciler brings one link in line with the desired set, one call at a time.
type reconciler[S any] struct {
	set    *subscriptions[S]
	conn   Subscriber[S]
	revoke Revoker // nil if the Conn cannot
	have   applied
	failed func(key string, err error) // apply
	warn   func(key string, err error) // revoke
}

func newReconciler[S any](set *subscriptions[S], conn Subscriber[S]) *reconciler[S] {
	r := &reconciler[S]{set: set, conn: conn, have: applied{}}
	r.revoke, _ = conn.(Revoker)
	return r
}

// passRounds bounds the replay: a set that never comes to rest must not keep the state at connecting for ever.
const passRounds = 16

// pass is the replay: it applies the whole set, and what is added meanwhile.
func (r *reconciler[S]) pass(ctx context.Context) {
	if b, ok := r.conn.(BatchSubscriber[S]); ok {
		r.batch(ctx, b)
	}
	for range passRounds {
		if ctx.Err() != nil || r.idle() {
			return
		}
		r.round(ctx)
	}
}

func (r *reconciler[S]) batch(ctx context.Context, b BatchSubscriber[S]) {
	cs := r.set.changes(r.have)
	if len(cs) == 0 {
		return
	}
	subs := make([]Subscription[S], len(cs))
	for i, c := range cs {
		subs[i] = Subscription[S]{c.key, c.sub}
		r.have[c.key] = c.ver
	}
	for i, err := range b.ApplySubscriptions(ctx, subs) {
		if err != nil && i < len(cs) && ctx.Err() == nil {
			r.failed(cs[i].key, err)
		}
	}
}

// round takes the steps that are needed now; those that became wrong meanwhile are left to the next round.
func (r *reconciler[S]) round(ctx context.Context) {
	cs := r.set.changes(r.have)
	for i := range cs {
		if ctx.Err() != nil {
			return
		}
		if c := &cs[i]; r.set.still(c) {
			r.step(ctx, c)
		}
	}
}

func (r *reconciler[S]) step(ctx context.Context, c *change[S]) {
	if c.live {
		switch {
		case r.revoke != nil:
			delete(r.have, c.key)
			if err := r.revoke.RevokeSubscription(ctx, c.key); err != nil && ctx.Err() == nil {
				r.warn(c.key, err)
			}
		case !c.wanted:
			return // reaches the peer at the next connect
		}
	}
	if !c.wanted {
		return
	}
	r.have[c.key] = c.ver
	if err := r.conn.ApplySubscription(ctx, c.key, c.sub); err != nil && ctx.Err() == nil {
		r.failed(c.key, err)
	}
}

// idle reports whether nothing is left to do.
func (r *reconciler[S]) idle() bool {
	cs := r.set.changes(r.have)
	for i := range cs {
		if cs[i].wanted || r.revoke != nil {
			return false
		}
	}
	return true
}

// settle runs rounds until the link and the set agree.
func (r *reconciler[S]) settle(ctx context.Context) {
	for ctx.Err() == nil && !r.idle() {
		r.round(ctx)
	}
}
