package actor

import (
	"fmt"
	"reflect"
	"sync"
)

// Wrapper is an Actor around another value, as Typed returns one. A hook that the wrapper does not have itself is looked
// up in what Unwrap returns, which may be a Wrapper again. Unwrap is called often and must be cheap and always return
// the same; nil ends the chain.
type Wrapper interface {
	Unwrap() any
}

// maxLayers cuts a chain of wrappers that is longer than any sensible one: a wrapper that returns itself never ends.
const maxLayers = 64

// hook finds the outermost layer of a that has a hook.
func hook[H any](a any) (h H, ok bool) {
	for range maxLayers {
		if h, ok = a.(H); ok || a == nil {
			return h, ok
		}
		w, wraps := a.(Wrapper)
		if !wraps {
			break
		}
		a = w.Unwrap()
	}
	return h, false
}

// hookChecker knows which types have hooks of the right shape, one system's worth, so that reflection runs once a type.
type hookChecker struct{ seen sync.Map } // reflect.Type → hookVerdict

type hookVerdict struct{ err error }

// check looks at every layer of a.
func (h *hookChecker) check(a any) error {
	for range maxLayers {
		if a == nil {
			return nil
		}
		if err := h.checkOne(reflect.TypeOf(a)); err != nil {
			return err
		}
		w, ok := a.(Wrapper)
		if !ok {
			return nil
		}
		a = w.Unwrap()
	}
	return nil
}

func (h *hookChecker) checkOne(t reflect.Type) error {
	if v, ok := h.seen.Load(t); ok {
		return v.(hookVerdict).err
	}
	err := checkHooks(t)
	h.seen.Store(t, hookVerdict{err})
	return err
}

// checkHooks spells the names out as constants: the linker then keeps these methods and no others for reflection.
func checkHooks(t reflect.Type) error {
	p := t
	if t.Kind() != reflect.Pointer {
		p = reflect.PointerTo(t)
	}
	for _, h := range [...]struct {
		shape  reflect.Type
		method func(reflect.Type) (reflect.Method, bool)
	}{
		{reflect.TypeFor[PreStarter](), func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("PreStart") }},
		{reflect.TypeFor[PostStopper](), func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("PostStop") }},
		{reflect.TypeFor[PreRestarter](), func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("PreRestart") }},
		{reflect.TypeFor[PostRestarter](), func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("PostRestart") }},
		{reflect.TypeFor[Supervising](), func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Supervisor") }},
	} {
		name, want := h.shape.Method(0).Name, h.shape.Method(0).Type
		m, ok := h.method(t)
		if !ok {
			if _, lost := h.method(p); lost { // it would never be called: the same mistake
				return fmt.Errorf("%w: %s has a pointer receiver, but the factory returns %s and not *%s", ErrHookShape, name, t, t)
			}
			continue
		}
		if !t.Implements(h.shape) {
			return fmt.Errorf("%w: %s.%s is %s with the receiver first, want %s", ErrHookShape, t, name, m.Type, want)
		}
	}
	return nil
}
