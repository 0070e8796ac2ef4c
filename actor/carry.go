package actor

import (
	"context"
	"log/slog"
	"slices"
)

// carried is the done of an envelope that brings a context along; inner is its completion, if it has one. An envelope
// without a context, which is the usual case, does not have it and costs nothing.
type carried struct {
	ctx   context.Context
	inner Completion
}

// Done ends the completion.
func (d *carried) Done(err error) {
	if d.inner != nil {
		d.inner.Done(err)
	}
}

// carryKey marks a context that travels, and is where its attributes for the log are.
type carryKey struct{}

// WithLog returns a context that travels: told by Send, or given to Ask, its values come with the message and with
// everything that is told while that message is handled, from actor to actor. Context.Log adds attrs, and those of
// earlier calls, to each line of such a message. Only the values travel, not the deadline or the cancellation. Without
// attributes it just makes the context travel, for values of a tracer for example. The slice is not kept. A nil ctx is
// context.Background.
func WithLog(ctx context.Context, attrs ...slog.Attr) context.Context {
	if ctx == nil {
		ctx = context.Background() // as documented
	}
	all := slices.Concat(logAttrs(ctx), attrs)
	return context.WithValue(ctx, carryKey{}, all)
}

// logAttrs are the attributes of a context that travels.
func logAttrs(ctx context.Context) []slog.Attr {
	attrs, _ := ctx.Value(carryKey{}).([]slog.Attr)
	return attrs
}

// travels returns ctx as a message carries it, nil if it does not travel.
func travels(ctx context.Context) context.Context {
	if ctx == nil || ctx.Value(carryKey{}) == nil {
		return nil
	}
	return context.WithoutCancel(ctx)
}

// carry makes the envelope bring ctx along, which may be nil.
func (e *envelope) carry(ctx context.Context) {
	if ctx != nil {
		e.done = &carried{ctx, e.done}
	}
}

// drop takes off what the envelope brings along, so that done is the completion.
func (e *envelope) drop() {
	switch d := e.done.(type) {
	case *carried:
		e.done = d.inner
	case *pipeMark:
		e.done = nil
	}
}

// MessageContext is the context that came with the current message, for the values in it: attributes of WithLog, a
// tracer's span. It is context.Background if none came, in hooks, and for ReceiveTimeout, Terminated and timer ticks. It
// never ends; what ends with the actor is Context.
func (x *Context) MessageContext() context.Context {
	if k := x.current("MessageContext"); k != nil {
		if ctx := k.ctx; ctx != nil { // read once, see current
			return ctx
		}
	}
	return context.Background() // as documented
}

// Carry replaces the context of the current message: from here to the end of the handler it is what MessageContext and
// Log use, and what is told brings it along, if ctx comes from WithLog. In hooks it lasts to the end of the hook.
func (x *Context) Carry(ctx context.Context) {
	if k := x.current("Carry"); k != nil {
		k.ctx = travels(ctx)
	}
}

// MessageHook looks at every message that a handler gets: for metrics and for tracing. It is given to SystemConfig.
type MessageHook interface {
	// Before is called on the actor's goroutine, right before the handler, with the message's context. The context that it
	// returns takes that one's place; it travels if it comes from WithLog. after, which may be nil, is called when the
	// handler has returned, with its error, or *PanicError. Both must not block. A panic in one of them is logged.
	Before(ctx context.Context, to Ref, msg any) (_ context.Context, after func(error))
}

// hookBefore calls the hook for the current message.
func (c *cell) hookBefore(h MessageHook) {
	k := c.run
	defer func() {
		if v := recover(); v != nil {
			c.sys.report(slog.LevelError, "MessageHook panicked", "error", newPanicError(v))
		}
	}()
	ctx := k.ctx
	if ctx == nil {
		ctx = context.Background() // no context came
	}
	ctx, k.after = h.Before(ctx, c.ref(), k.e.msg)
	k.ctx = travels(ctx)
}

// hookAfter tells the hook how the handler ended.
func (c *cell) hookAfter(err error) {
	after := c.run.after
	c.run.after = nil
	defer func() {
		if v := recover(); v != nil {
			c.sys.report(slog.LevelError, "MessageHook panicked", "error", newPanicError(v))
		}
	}()
	after(err)
}
