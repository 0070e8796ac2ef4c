package actor

import "sync"

// shared holds one value per key for packages above this one.
type shared struct {
	mu     sync.Mutex
	values map[any]*sharedValue
}

type sharedValue struct {
	once sync.Once
	v    any
}

// Shared returns the value of a key in this system, made by make at the first call: what a library keeps per system, such
// as a registry, without a variable of its package. The key is comparable and best of a type that is not exported, as with
// a context's values. It may be called from any goroutine; it blocks while another call makes the same value. The value
// lives as long as the system and is not closed with it.
func (s *System) Shared(key any, make func() any) any {
	s.shared.mu.Lock()
	e, ok := s.shared.values[key]
	if !ok {
		if s.shared.values == nil {
			s.shared.values = map[any]*sharedValue{}
		}
		e = &sharedValue{}
		s.shared.values[key] = e
	}
	s.shared.mu.Unlock()
	e.once.Do(func() { e.v = make() })
	return e.v
}
