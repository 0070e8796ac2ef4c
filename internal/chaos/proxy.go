package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// ErrClosed is returned by Accept when the proxy is closed.
var ErrClosed = errors.New("chaos: proxy closed")

// Proxy passes connections to one target and breaks them as told. Make one with New and end it with Close. All methods
// may be called from any goroutine; none but New, Accept and Close takes longer than a lock.
type Proxy struct {
	target string
	hold   func() // gives the port back
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // every goroutine; Add only under mu while not closed

	mu     sync.Mutex
	addr   string // where to listen; the port is known after the first time
	closed bool
	ln     net.Listener // nil while refusing
	links  map[*link]struct{}
	dials  int
	faults faults
	turned chan struct{} // closed and made anew when faults.hole changes
}

// faults is what is switched on.
type faults struct {
	hole, silent, split bool
	latency             time.Duration
	cut                 int64 // 0: off
	resets              int   // connections still to be reset
}

// New starts a proxy for target, a TCP address such as "127.0.0.1:4222". The target need not be up: it is dialled anew
// for each connection, and a client whose target cannot be reached is reset. The error is that of listening.
func New(target string) (*Proxy, error) {
	addr, release, err := reserve()
	if err != nil {
		return nil, fmt.Errorf("chaos: reserve a port on 127.0.0.1: %w", err)
	}
	// The proxy lives until Close, not until some caller's context ends.
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{
		target: target, addr: addr, hold: release, ctx: ctx, cancel: cancel,
		links: map[*link]struct{}{}, turned: make(chan struct{}),
	}
	if err := p.Accept(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Addr is where the proxy listens, "127.0.0.1:port". It never changes.
func (p *Proxy) Addr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// Dials is how many connections the proxy has accepted since New, those it then reset or left unanswered included, and
// those it refused not: the kernel refuses them.
func (p *Proxy) Dials() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// Live is how many links are open now. A link counts until both ends have closed it, or it was reset; what an end does
// behind a Hole is not seen before the hole is lifted.
func (p *Proxy) Live() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Refuse makes the port refuse connections until Accept. Open links stay; call Reset after it for a server that is gone.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ln != nil {
		p.ln.Close()
		p.ln = nil
	}
}

// Accept takes connections again, on the same port, after Refuse; otherwise it does nothing. It fails with ErrClosed
// after Close, and when the system does not let it listen.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.ln != nil {
		return nil
	}
	var config net.ListenConfig
	ln, err := config.Listen(p.ctx, "tcp4", p.addr)
	if err != nil {
		return fmt.Errorf("chaos: listen again on %s: %w", p.addr, err)
	}
	p.addr, p.ln = ln.Addr().String(), ln
	p.work.Go(func() { p.serve(ln) })
	return nil
}

// Reset ends every open link with RST to both ends; when it returns, Live is 0 unless a new one came in.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.endLocked(true)
	}
}

// Hole switches the hole: while it is on, every link stays open, present and future, and nothing passes, a close or
// reset of an end included. When it is off again what was held back arrives, in order and complete.
func (p *Proxy) Hole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.hole != on {
		p.faults.hole = on
		close(p.turned)
		p.turned = make(chan struct{})
	}
}

// Silent switches silence: while it is on, new connections are accepted and read from, but never answered, and the target
// is not dialled. Those accepted meanwhile stay silent when it is off again, until they are closed or reset.
func (p *Proxy) Silent(on bool) { p.set(func(f *faults) { f.silent = on }) }

// Split switches splitting: while it is on, every byte is written by itself, so that a reader sees a frame in pieces.
func (p *Proxy) Split(on bool) { p.set(func(f *faults) { f.split = on }) }

// Latency delays everything that is read from now on by d in each direction, without limiting how much is under way:
// what was sent together arrives together. Zero or less is off.
func (p *Proxy) Latency(d time.Duration) { p.set(func(f *faults) { f.latency = d }) }

// ResetAfterHandshake resets the next n connections right after TCP's handshake; the target does not hear of them. The
// client gets the reset from its first read or, if it comes that early, from the dial. Zero or less is off. For a reset
// after a protocol's own handshake use CutAfter.
func (p *Proxy) ResetAfterHandshake(n int) { p.set(func(f *faults) { f.resets = n }) }

// CutAfter ends each link with RST when n more bytes have passed, both directions counted together; for links to come,
// that is n bytes from their start. No byte more passes; fewer do only if an end did not read. Zero or less is off.
func (p *Proxy) CutAfter(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults.cut = max(n, 0)
	for l := range p.links {
		l.passed = 0
	}
}

// Close refuses further connections, resets the open links, waits until every goroutine of the proxy has ended, and
// gives the port back. It may be called more than once and concurrently; every call waits.
func (p *Proxy) Close() {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()

	p.cancel()
	p.Refuse()
	p.Reset()
	p.work.Wait()
	if first {
		p.hold()
	}
}

func (p *Proxy) set(change func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.faults)
}

// serve accepts until its listener is closed.
func (p *Proxy) serve(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			p.admit(ln, conn.(*net.TCPConn))
		case errors.Is(err, net.ErrClosed):
			return
		default: // out of descriptors: others have to close some first
			if !pause(p.ctx, 5*time.Millisecond) {
				return
			}
		}
	}
}

// admit starts the link of an accepted connection, or resets it.
func (p *Proxy) admit(ln net.Listener, client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ln != ln {
		drop(client, true) // it came in while Refuse closed the listener
		return
	}
	p.dials++
	if p.faults.resets > 0 {
		p.faults.resets--
		drop(client, true)
		return
	}
	l := &link{proxy: p, client: client, silent: p.faults.silent}
	l.ctx, l.cancel = context.WithCancel(p.ctx)
	p.links[l] = struct{}{}
	p.work.Go(l.run)
}

// pause waits for d and reports whether ctx lasted that long.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// drop closes a connection, with RST instead of FIN if reset is set. It does not block.
func drop(conn *net.TCPConn, reset bool) {
	if reset {
		// Cannot fail on an open socket; on a closed one there is nothing left to reset.
		_ = conn.SetLinger(0)
	}
	conn.Close()
}
