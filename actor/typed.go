package actor

// TypedRef is a Ref whose Tell takes an M: a check at compile time for the sender. It is comparable and costs nothing.
type TypedRef[M any] struct{ Ref Ref }

// Tell is Ref.Tell for an M.
func (r TypedRef[M]) Tell(msg M) { r.Ref.Tell(msg) }

// TryTell is Ref.TryTell for an M.
func (r TypedRef[M]) TryTell(msg M) error { return r.Ref.TryTell(msg) }

// TypedActor is an actor for messages of type M, usually a sealed interface. Anything else is unhandled, unless the
// actor is a SignalReceiver.
type TypedActor[M any] interface {
	// Receive handles one message, as Actor.Receive does.
	Receive(ctx *Context, msg M) error
}

// SignalReceiver is an optional part of a TypedActor: Signal gets what is not an M, such as ReceiveTimeout, Terminated
// and events.
type SignalReceiver interface {
	Signal(ctx *Context, msg any) error
}

// Typed makes an ordinary factory of a typed one. Hooks of the TypedActor work as those of an Actor do.
func Typed[M any](newActor func() TypedActor[M]) func() Actor {
	return func() Actor {
		a := newActor()
		if a == nil {
			return nil
		}
		s, _ := a.(SignalReceiver)
		return &typed[M]{a, s}
	}
}

type typed[M any] struct {
	inner   TypedActor[M]
	signals SignalReceiver
}

func (t *typed[M]) Receive(ctx *Context, msg any) error {
	if m, ok := msg.(M); ok {
		return t.inner.Receive(ctx, m)
	}
	if t.signals != nil {
		return t.signals.Signal(ctx, msg)
	}
	ctx.Unhandled()
	return nil
}

// Unwrap shows the runtime where the hooks are.
func (t *typed[M]) Unwrap() any { return t.inner }
