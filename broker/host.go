package broker

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/hocon"
)

// Definition is one protocol: where its settings come from and how it is made from them. C is its Config struct; it
// embeds broker.Config and may have a Validate method of its own.
type Definition[C, O, S any] struct {
	// Key is the dotted HOCON path of the settings, such as troupe.broker.nats. The keys present there are written over
	// the defaults; an unknown key fails the start. It may be absent from the configuration.
	Key string
	// Default returns the defaults. Nil is the zero Config with broker.DefaultConfig in the embedded part.
	Default func() C
	// New makes the protocol from the resolved and validated settings. It is called once per start of the actor, on its
	// goroutine, and must not block.
	New func(cfg C) (Protocol[O, S], error)
}

// New returns the factory of an actor that runs the protocol of d, for Spawn. The settings are resolved at each start:
// defaults, then the HOCON block at d.Key, then opts in order, then Validate; a setting that is wrong fails the start
// with an *actor.ConfigError that names the dotted key. The start returns at once; connecting happens beside the mailbox.
// The actor also takes the commands Reconnect, Pause, Resume and QueryStatus.
func New[C, O, S any](d Definition[C, O, S], opts ...func(*C)) func() actor.Actor {
	return func() actor.Actor { return &host[C, O, S]{def: d, opts: opts} }
}

// Reconnect is a command every broker actor takes: as Base.Reconnect. An ask is answered with the Status.
type Reconnect struct{}

// QueryStatus is a command every broker actor takes: an ask for its Status.
type QueryStatus struct{}

// Pause is a command every broker actor takes: no message is sent and none is taken in until Resume. The connection stays
// up, or is made again, with its deadlines; what is in flight or being handled ends as ever, and what is published waits in
// the buffer. A stop sends what waits before it ends, paused or not. An ask is answered with the Status. It may be told
// again. A restart of the actor ends it.
type Pause struct{}

// Resume is a command every broker actor takes: the end of a Pause. An ask is answered with the Status.
type Resume struct{}

// host is the actor.
type host[C, O, S any] struct {
	def  Definition[C, O, S]
	opts []func(*C)
	base Base[O, S]
	p    Protocol[O, S]
}

// resolve writes one Config three times: defaults, configuration, code.
func (h *host[C, O, S]) resolve(conf *hocon.Config) (Protocol[O, S], *Config, error) {
	var c C
	if h.def.Default != nil {
		c = h.def.Default()
	} else if e, ok := any(&c).(embedsConfig); ok {
		*e.common() = DefaultConfig()
	}
	e, ok := any(&c).(embedsConfig)
	if !ok {
		return nil, nil, h.refuse(fmt.Errorf("%T does not embed broker.Config", c))
	}
	if conf != nil && h.def.Key != "" && conf.Has(h.def.Key) {
		if err := hocon.Decode(conf, h.def.Key, &c); err != nil {
			return nil, nil, h.refuse(err)
		}
	}
	for _, opt := range h.opts {
		if opt != nil {
			opt(&c)
		}
	}
	if err := e.common().Validate(); err != nil {
		return nil, nil, h.refuse(err)
	}
	if v, ok := any(&c).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return nil, nil, h.refuse(err)
		}
	}
	p, err := h.def.New(c)
	if err != nil {
		return nil, nil, h.refuse(err)
	}
	if p == nil {
		return nil, nil, h.refuse(errors.New("the protocol's New returned nil"))
	}
	return p, e.common(), nil
}

type embedsConfig interface{ common() *Config }

// refuse turns an error into a failed start that is not tried again.
func (h *host[C, O, S]) refuse(err error) error {
	var f *FieldError
	if errors.As(err, &f) {
		path := f.Key
		if h.def.Key != "" {
			path = h.def.Key + "." + f.Key
		}
		return &actor.ConfigError{Path: path, Err: errors.New(Redact(f.Msg))}
	}
	if he, ok := errors.AsType[*hocon.Error](err); ok && he.Key != "" {
		place := *he
		place.Key = "" // the ConfigError begins with it
		return &actor.ConfigError{Path: he.Key, Err: errors.New(Redact(place.Error()))}
	}
	return &actor.ConfigError{Path: h.def.Key, Err: newScrubber("", nil).error(err)}
}

// PreStart resolves the settings and starts the engine.
func (h *host[C, O, S]) PreStart(ctx *actor.Context) error {
	p, cfg, err := h.resolve(ctx.System().Config())
	if err != nil {
		return err
	}
	if _, ok := p.(Sizer[O]); !ok && cfg.OutboundBytes > 0 {
		return h.refuse(Invalid("outboundBytes", int64(cfg.OutboundBytes), "must be 0: this protocol does not know the size of its messages"))
	}
	h.p = p
	e := newEngine(p, *cfg, ctx)
	h.base = Base[O, S]{e: e, ctx: ctx}
	started := false
	defer func() { // also when Start panics: PostStop must not wait for an engine that never ran
		if !started {
			h.base.e = nil
			e.out.close()
		}
	}()
	if s, ok := p.(Starter[O, S]); ok {
		if err := s.Start(&h.base); err != nil {
			return h.refuse(err)
		}
	}
	err = e.start()
	started = err == nil
	return err
}

// PostStop ends the engine and waits for it.
func (h *host[C, O, S]) PostStop(*actor.Context) error {
	if h.base.e != nil {
		h.base.e.stop()
	}
	return nil
}

// Receive keeps deaths and the base's own commands from the protocol, which gets everything else.
func (h *host[C, O, S]) Receive(ctx *actor.Context, msg any) error {
	switch m := msg.(type) {
	case actor.Terminated:
		h.terminated(m)
		return nil
	case Reconnect:
		h.base.Reconnect()
		h.answer(ctx)
		return nil
	case Pause:
		h.base.e.setPaused(true)
		h.answer(ctx)
		return nil
	case Resume:
		h.base.e.setPaused(false)
		h.answer(ctx)
		return nil
	case QueryStatus:
		h.answer(ctx)
		return nil
	}
	h.base.reported = false
	handled, err := h.command(msg)
	switch {
	case err != nil:
		h.failed(ctx, msg, err)
	case !handled:
		ctx.Unhandled()
	}
	return nil
}

// answer ends one of the base's own commands.
func (h *host[C, O, S]) answer(ctx *actor.Context) {
	switch done := ctx.Hold().(type) {
	case nil:
		if !ctx.Sender().IsZero() {
			ctx.Reply(h.base.e.status())
		}
	case actor.Answerer:
		done.Answer(h.base.e.status())
	default:
		done.Done(nil)
	}
}

// command calls the protocol; a panic is an error of this command.
func (h *host[C, O, S]) command(msg any) (handled bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			handled, err = true, &actor.PanicError{Value: v, Stack: debug.Stack()}
			h.base.e.panicked("a command panicked", fmt.Sprintf("%T", msg), v)
		}
	}()
	return h.p.Command(&h.base, msg)
}

// failed tells whoever waits for the command; a told one becomes a dead letter, unless Enqueue made one already.
func (h *host[C, O, S]) failed(ctx *actor.Context, msg any, err error) {
	err = h.base.e.scrub.error(err)
	if done := ctx.Hold(); done != nil {
		done.Done(err)
		return
	}
	if h.base.reported {
		return
	}
	h.base.e.sys.EventStream().Publish(actor.DeadLetter{Msg: msg, To: ctx.Self(), Sender: ctx.Sender(), Reason: err})
}

// terminated prunes the incarnation that died, and only that one, and then asks the protocol.
func (h *host[C, O, S]) terminated(t actor.Terminated) {
	b := &h.base
	b.e.in.leftBehind(t.Ref)
	if b.topics.prune(func(r actor.Ref) bool { return r == t.Ref }) {
		b.e.fan.set(&b.topics)
		if len(b.topics.refs) == 0 {
			b.e.in.setDeserted(true)
		}
	}
	w, ok := h.p.(TerminatedHandler[O, S])
	if !ok {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			b.e.panicked("a hook of the protocol panicked", "terminated", v)
		}
	}()
	w.Terminated(b, t)
}
