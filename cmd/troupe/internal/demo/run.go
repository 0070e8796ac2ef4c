package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/cmd/troupe/internal/natsd"
	"github.com/troupe-go/troupe/cmd/troupe/internal/order"
	"github.com/troupe-go/troupe/cmd/troupe/internal/session"
	"github.com/troupe-go/troupe/hocon"
	"github.com/troupe-go/troupe/internal/chaos"
)

// settings are the demo's own, below those of a file the user gave. The stream remembers ids for longer than any run's
// outage, so an order that is sent again is stored once.
const settings = `
troupe.actor.drainTimeout = 200ms
troupe.broker.jetstream {
  idleTimeout = 900ms
  connectTimeout = 2s
  flushTimeout = 300ms
  reconnect { initialDelay = 100ms, maxDelay = 1s }
  stream { name = ORDERS, subjects = [orders], storage = file, duplicateWindow = 10m }
  consumer { name = sessions, ackWait = 2s }
}
`

const (
	consumerName = "sessions"
	roomLimit    = 5 * time.Second        // of refusals for want of room
	stallLimit   = 30 * time.Second       // without progress the run has failed
	stopLimit    = 600 * time.Millisecond // for the actors at an interrupted end
	serverLimit  = 200 * time.Millisecond // for the server process at the end
)

// ErrInterrupted is the error of a run that its context ended.
var ErrInterrupted = errors.New("interrupted")

// Run is one run. Make it with New.
type Run struct {
	opts  Options
	state *state
}

// New returns a run that v watches. The options must be valid.
func New(o Options, v Viewer) *Run { return &Run{opts: o, state: newState(v)} }

// Snapshot is the run as it is now. Any goroutine may call it.
func (r *Run) Snapshot() Snapshot { return r.state.Snapshot() }

// parts is what a run has built and has to take down.
type parts struct {
	dir    string
	server *natsd.Server
	proxy  *chaos.Proxy
	sys    *actor.System
	src    *order.Source
	gate   *gate
	broker actor.Ref
	done   chan struct{} // the publisher has ended
	cust   actor.Ref
}

// Go carries the run out and blocks until everything of it has ended. The error says in a sentence what prevented it; an
// outcome that is wrong is no error but in the Result.
func (r *Run) Go(ctx context.Context) (Result, error) {
	dir, remove, err := r.opts.store()
	if err != nil {
		return Result{}, err
	}
	defer remove()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p := &parts{dir: dir, done: make(chan struct{})}
	defer r.takeDown(p)
	if err := r.build(ctx, p, dir, fail); err != nil {
		return Result{}, interrupted(ctx, err)
	}
	res, err := r.flow(ctx, p, fail)
	return res, interrupted(ctx, err)
}

// interrupted prefers the reason why the context ended to what followed from it.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return ErrInterrupted
}

// build starts the server, the proxy before it, and the actors.
func (r *Run) build(ctx context.Context, p *parts, dir string, fail func(error)) (err error) {
	s := r.state
	port := r.opts.Port
	if port == 0 {
		if port, err = natsd.FreePort(); err != nil {
			return err
		}
	} else if err := natsd.CheckPort(port); err != nil {
		return err
	}
	config, err := r.config()
	if err != nil {
		return err
	}
	s.say("run", "starting a NATS server as a child process on port %d, its store in %s", port, dir)
	p.server = natsd.New(r.opts.Exe, dir, port)
	if err := p.server.Start(ctx); err != nil {
		return err
	}
	if p.proxy, err = chaos.New(p.server.Addr()); err != nil {
		return err
	}
	log := r.opts.Log
	if log == nil {
		log = io.Discard
	}
	p.sys, err = actor.NewSystem("demo", func(c *actor.SystemConfig) {
		c.Config = config
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	if err != nil {
		return err
	}
	faults := script(r.opts.Kills)
	p.src = r.opts.source()
	p.src.Start(ctx)
	p.src.Probe(ctx, 300*time.Millisecond, 10*unknownEvery)
	p.gate = newGate(len(faults), p.src.Total())
	s.with(func() { s.total, s.faultsAll = p.src.Total(), len(faults) })
	return r.actors(p, fail)
}

// actors spawns them, each before the one that needs its ref.
func (r *Run) actors(p *parts, fail func(error)) error {
	s := r.state
	spawn := func(name string, f func() actor.Actor) (ref actor.Ref, err error) {
		ref, err = p.sys.Spawn(name, f)
		return ref, err
	}
	watcher, err := spawn("monitor", func() actor.Actor { return &monitor{s: s, failed: fail} })
	if err != nil {
		return err
	}
	if p.cust, err = spawn("customers", session.New(r.opts.Idle, &s.counts)); err != nil {
		return err
	}
	target, err := spawn("consumer", func() actor.Actor { return &consumer{s: s, to: p.cust} })
	if err != nil {
		return err
	}
	p.broker, err = spawn("jetstream", jetstream.New(func(c *jetstream.Config) {
		c.Servers = []string{p.proxy.Addr()} // what the file says goes to a server that the demo does not start
		c.Target = target
	}))
	if err != nil {
		return err
	}
	watcher.Tell(watchBroker{p.broker})
	return nil
}

// config layers the user's file over the demo's settings.
func (r *Run) config() (*hocon.Config, error) {
	own, err := hocon.ParseString("demo", settings)
	if err != nil {
		return nil, err
	}
	if r.opts.Config == "" {
		return own, nil
	}
	file, err := hocon.ParseFile(r.opts.Config)
	if err != nil {
		return nil, err
	}
	return file.WithFallback(own), nil
}

// flow is the run proper: publish, break, drain, close.
func (r *Run) flow(ctx context.Context, p *parts, fail func(error)) (res Result, err error) {
	s := r.state
	var wg sync.WaitGroup
	defer func() {
		fail(err) // ends what still runs beside
		wg.Wait()
	}()
	wg.Go(func() {
		select {
		case err := <-p.server.Died():
			fail(err)
		case <-ctx.Done():
		}
	})
	if err := r.firstConnection(ctx); err != nil {
		return Result{}, err
	}
	s.setPhase("publishing")
	began := time.Now()
	pub, err := p.sys.Spawn("publisher", func() actor.Actor {
		return &publisher{s: s, src: p.src, to: p.broker, gate: p.gate, done: p.done, failed: fail}
	})
	if err != nil {
		return Result{}, err
	}
	p.gate.mu.Lock()
	p.gate.wake = wakes(pub)
	p.gate.mu.Unlock()

	broken := make(chan struct{})
	wg.Go(func() {
		defer close(broken)
		b := &breaker{s: s, server: p.server, proxy: p.proxy, gate: p.gate, faults: script(r.opts.Kills)}
		if err := b.run(ctx); err != nil {
			fail(err)
		}
	})
	if err := r.wait(ctx, p); err != nil {
		return Result{}, err
	}
	<-broken // the script is at its end before the stream is looked at
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if err := p.src.Err(); err != nil {
		return Result{}, fmt.Errorf("the input cannot be read further: %w", err)
	}
	s.say("run", "every order is confirmed; waiting until the stream is drained")
	s.setPhase("draining")
	if err := r.drain(ctx, p); err != nil {
		return Result{}, err
	}
	elapsed := time.Since(began)
	s.setPhase("closing")
	ledger, err := actor.Ask[session.Ledger](ctx, p.cust, session.Close{})
	if err != nil {
		return Result{}, fmt.Errorf("the sessions did not hand back their accounts: %w", err)
	}
	s.setPhase("done")
	return s.result(ledger, p.src.Book(), elapsed), nil
}

// firstConnection waits for it, so that a wrong setting is found before an order is read.
func (r *Run) firstConnection(ctx context.Context) error {
	t := time.NewTimer(recoverWithin)
	defer t.Stop()
	for {
		if _, up := r.state.connections(); up {
			return nil
		}
		select {
		case <-r.state.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.C:
			return fmt.Errorf("no connection to the server within %v", recoverWithin)
		}
	}
}

// wait waits for the publisher, as long as there is progress.
func (r *Run) wait(ctx context.Context, p *parts) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	last, since := Snapshot{}, time.Now()
	for {
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
		if time.Since(since) > roomLimit {
			if err := r.noRoom(p.dir); err != nil {
				return err
			}
		}
		now := r.state.Snapshot()
		if now.Confirmed != last.Confirmed || now.Unanswered == 0 {
			last, since = now, time.Now() // with nothing unanswered it is the input that is slow
		} else if time.Since(since) > stallLimit {
			return r.stalled(now.Unanswered)
		}
	}
}

// noRoom says so when the server keeps refusing because its disk is full, or nearly so.
func (r *Run) noRoom(dir string) error {
	var last error
	r.state.with(func() { last = r.state.lastLoss })
	if last == nil || !strings.Contains(last.Error(), "insufficient") && !strings.Contains(last.Error(), "no space left") {
		return nil
	}
	return fmt.Errorf("the disk under the server's store %s has no room for more orders: %w", dir, last)
}

// stalled says that nothing moves, and what is known of the reason.
func (r *Run) stalled(unanswered int64) error {
	var last error
	r.state.with(func() { last = r.state.lastLoss })
	if last == nil {
		return fmt.Errorf("no order was confirmed for %v, %d are unanswered", stallLimit, unanswered)
	}
	return fmt.Errorf("no order was confirmed for %v, %d are unanswered; the last thing heard of the connection: %w", stallLimit, unanswered, last)
}

// takeDown ends everything, also what was built only in part. It takes less than a second.
func (r *Run) takeDown(p *parts) {
	var wg sync.WaitGroup
	if p.sys != nil {
		wg.Go(func() {
			// A bound of its own: the run's context has ended when it was interrupted.
			ctx, cancel := context.WithTimeout(context.Background(), stopLimit) // see above
			defer cancel()
			if err := p.sys.Terminate(ctx); err != nil {
				r.state.say("run", "%v", err)
			}
		})
	}
	wg.Wait()
	if p.proxy != nil {
		p.proxy.Close()
	}
	if p.server != nil {
		p.server.Stop(serverLimit)
	}
}
