package actor

import (
	"errors"
	"strings"
	"testing"
)

type base struct{}

func (base) Receive(*Context, any) error { return nil }

// Each of these has a hook's name and not its shape.
type (
	noContext   struct{ base }
	noError     struct{ base }
	twoResults  struct{ base }
	noMessage   struct{ base }
	noCause     struct{ base }
	pointerSup  struct{ base }
	lostPointer struct{ base }
	embeds      struct{ noContext }
)

func (noContext) PreStart() error                     { return nil }
func (noError) PostStop(*Context)                     {}
func (twoResults) PreStart(*Context) (int, error)     { return 0, nil }
func (noMessage) PreRestart(*Context, error) error    { return nil }
func (noCause) PostRestart(*Context) error            { return nil }
func (pointerSup) Supervisor() *Supervisor            { return nil }
func (*lostPointer) PreStart(*Context) error          { return nil }
func (*lostPointer) AnythingElse(*Context) (_, _ int) { return }

// typedBad is one of a typed actor.
type typedBad struct{}

func (typedBad) Receive(*Context, int) error { return nil }
func (typedBad) PostStop() error             { return nil }

// around is a user's own wrapper.
type around struct {
	Actor
	inner any
}

func (a around) Unwrap() any { return a.inner }

type selfish struct{ base }

func (s *selfish) Unwrap() any { return s }

func TestHookShapes(t *testing.T) {
	typed := func(a TypedActor[int]) Actor { return Typed(func() TypedActor[int] { return a })() }
	for name, c := range map[string]struct {
		a    Actor
		want string // "" is a start that succeeds
	}{
		"no context":              {noContext{}, "PreStart"},
		"no error":                {&noError{}, "PostStop"},
		"two results":             {&twoResults{}, "PreStart"},
		"no message":              {noMessage{}, "PreRestart"},
		"no cause":                {noCause{}, "PostRestart"},
		"pointer to a supervisor": {pointerSup{}, "Supervisor"},
		"pointer receiver":        {lostPointer{}, "pointer receiver"},
		"embedded":                {&embeds{}, "PreStart"},
		"typed":                   {typed(typedBad{}), "PostStop"},
		"typed pointer":           {typed(&typedBad{}), "PostStop"},
		"wrapped":                 {around{base{}, noCause{}}, "PostRestart"},
		"wrapped twice":           {around{base{}, around{base{}, &noError{}}}, "PostStop"},
		"pointer":                 {&lostPointer{}, ""},
		"func":                    {Func(func(*Context, any) error { return nil }), ""},
		"wraps nothing":           {around{base{}, nil}, ""},
		"wraps itself":            {&selfish{}, ""},
		"all hooks":               {&hooked{r: newRecord()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System, r *record) {
				starts := 0
				var cause error
				a := mustSpawn(t, s, "a", func() Actor { starts++; return c.a }, func(sc *SpawnConfig) {
					sc.Supervisor = &Supervisor{Decide: func(ref Ref, err error) Directive { cause = err; return DefaultDecider(ref, err) }}
				})
				r.at(0)
				if starts != 1 {
					t.Errorf("%d starts", starts)
				}
				if c.want == "" {
					if cause != nil || a.TryTell(1) != nil {
						t.Error(cause)
					}
					return
				}
				if !errors.Is(cause, ErrHookShape) || !strings.Contains(cause.Error(), c.want) || a.TryTell(1) == nil {
					t.Errorf("%v, want one about %s", cause, c.want)
				}
			})
		})
	}
}

// typedHooks has all of them.
type typedHooks struct{ hooked }

func (h *typedHooks) Receive(ctx *Context, n int) error {
	if n == 0 {
		return errBoom
	}
	h.r.add("%d", n)
	return nil
}

func (h *typedHooks) Signal(_ *Context, msg any) error { h.r.add("signal %T", msg); return nil }

// decorated adds one hook to what it wraps and leaves the others to it.
type decorated struct {
	Actor
	r *record
}

func (d *decorated) Unwrap() any { return d.Actor }

func (d *decorated) PreStart(ctx *Context) error {
	d.r.add("decorator")
	if h, ok := d.Actor.(Wrapper).Unwrap().(PreStarter); ok {
		return h.PreStart(ctx)
	}
	return nil
}

func TestHooksThroughTypedAndWrappers(t *testing.T) {
	bubble(t, func(t *testing.T, s *System, r *record) {
		newTyped := Typed(func() TypedActor[int] { return &typedHooks{hooked{r: r, n: 7}} })
		a := mustSpawn(t, s, "a", func() Actor { return &decorated{newTyped(), r} })
		ref := TypedRef[int]{a}
		ref.Tell(1)
		ref.Tell(0)
		if err := ref.TryTell(2); err != nil {
			t.Error(err)
		}
		a.Tell("text")
		a.Tell(PoisonPill{})
		r.at(0)
		r.want(t, "0 decorator", "0 7 PreStart", "0 1", "0 7 PreRestart boom 0", "0 7 PostRestart boom", "0 2", "0 signal string", "0 7 PostStop")
		if n := s.clock.Len(); n != 0 {
			t.Error(n)
		}
		b := mustSpawn(t, s, "b", Typed(func() TypedActor[int] { return nil }), supervisedBy(Stop))
		r.reset()
		r.watcher(t, s, b)
		r.want(t, "0 ended b: actor: the factory of troupe://test/user/b returned nil")
	})
}
