package actor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCellStress does everything to many actors at once, outside of a bubble, so that carriers run them and real
// goroutines race with them, and then checks what must hold whatever the timing was: every message is handled once or
// becomes a dead letter once, completions are called once, what one sender tells one actor stays in order, an actor does
// one thing at a time, children are gone before their parent ends or starts again, every watcher is told once, nobody is
// forgotten who has messages, and the end comes.
func TestCellStress(t *testing.T) {
	for procs := 1; procs <= 4; procs++ {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			newStress(t, rand.Uint64()).run()
		})
	}
}

type stress struct {
	t         *testing.T
	s         *System
	seed      uint64
	ids       atomic.Uint64
	mu        sync.Mutex
	streams   []*stream
	slots     []*slot
	observers []*observer
	problems  []string
	letters   atomic.Uint64 // dead letters that were published and seen
	spawns    atomic.Int64
}

// stream is what one sender has told. One goroutine at a time uses it.
type stream struct {
	w    *stress
	rnd  *rand.Rand
	sent []*shot
}

func (w *stress) stream() *stream {
	st := &stream{w: w, rnd: rand.New(rand.NewPCG(w.seed, w.ids.Add(1)))}
	w.mu.Lock()
	w.streams = append(w.streams, st)
	w.mu.Unlock()
	return st
}

func (w *stress) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) < 10 {
		w.problems = append(w.problems, fmt.Sprintf(format, args...))
	}
}

// shot is one message, and its completion if it is sent with one.
type shot struct {
	from     *stream
	seq      int
	act      int
	tracked  bool // has a completion
	asked    bool
	signal   bool        // it is the completion of a PoisonPill or Kill
	detoured atomic.Bool // stashed or forwarded: out of its order
	parked   atomic.Bool // stashed or held
	handled  atomic.Int32
	ended    atomic.Int32
	letters  atomic.Int32
	refused  atomic.Bool // the sender was told
	full     atomic.Bool
	how      int
	dead     atomic.Bool
}

func (m *shot) String() string {
	return fmt.Sprintf("message %d (act %d, told %d, asked %t, signal %t, detoured %t, parked %t, refused %t, full %t, dead %t): handled %d, letters %d, ended %d",
		m.seq, m.act, m.how, m.asked, m.signal, m.detoured.Load(), m.parked.Load(), m.refused.Load(), m.full.Load(), m.dead.Load(),
		m.handled.Load(), m.letters.Load(), m.ended.Load())
}

// Done notes the end, and is as unpleasant as a completion may be.
func (m *shot) Done(err error) {
	m.full.Store(errors.Is(err, ErrMailboxFull))
	m.dead.Store(errors.Is(err, ErrDeadLetter) || errors.Is(err, ErrMailboxFull))
	m.ended.Add(1)
	if !m.signal && m.act%101 == 1 {
		panic("completion")
	}
}

func (st *stream) shot() *shot {
	m := &shot{from: st, seq: len(st.sent) + 1, act: st.rnd.IntN(1000)}
	st.sent = append(st.sent, m)
	return m
}

// target is one of those that were spawned last, dead or alive.
func (st *stream) target() *slot {
	w := st.w
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.slots)
	return w.slots[n-1-st.rnd.IntN(min(n, 40))]
}

// fire tells somebody something in one of the ways there are. ctx is that of an actor, or nil.
func (st *stream) fire(ctx *Context) {
	to := st.target()
	m := st.shot()
	m.how = st.rnd.IntN(8)
	switch m.how {
	case 0, 1:
		if ctx != nil {
			ctx.Tell(to.ref, m)
			return
		}
		to.ref.Tell(m)
	case 2, 3:
		to.ref.Tell(m)
	case 4:
		if to.ref.TryTell(m) != nil {
			m.refused.Store(true)
		}
	case 5:
		wait, cancel := context.WithTimeout(context.Background(), ms)
		defer cancel()
		if ctx != nil || to.ref.TellWait(wait, m) != nil {
			m.refused.Store(true)
		}
	default:
		m.tracked = true
		Send(to.ref, Envelope{Msg: m, Done: m})
	}
}

// end stops or kills somebody.
func (st *stream) end(ctx *Context) {
	to := st.target()
	if ctx != nil && st.rnd.IntN(2) == 0 {
		ctx.Stop(to.ref)
		return
	}
	m := st.shot()
	m.tracked, m.signal = true, true
	if st.rnd.IntN(2) == 0 {
		Send(to.ref, Envelope{Msg: PoisonPill{}, Done: m})
	} else {
		Send(to.ref, Envelope{Msg: Kill{}, Done: m})
	}
}

func (st *stream) ask(to *slot, wait time.Duration) {
	if to.bounded {
		return
	}
	m := st.shot()
	m.asked = true
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	_, _ = Ask[int](&lateContext{Context: ctx}, to.ref, m)
}

// lateContext is a context that has not ended when it is asked for the first time, so that an ask is told in any case.
type lateContext struct {
	context.Context
	asked bool
}

func (p *lateContext) Err() error {
	if !p.asked {
		p.asked = true
		return nil
	}
	return p.Context.Err()
}

// slot is what is known of one actor over all its instances.
type slot struct {
	*stream
	ref     Ref
	bounded bool // its mailbox
	ordered bool
	busy    atomic.Bool
	fuel    int // how much it may still tell others
	last    map[*stream]int
	kids    []*slot
	depth   int
}

// spawn starts an actor below ctx, or at the top.
func (st *stream) spawn(ctx *Context, depth int) *slot {
	w := st.w
	if w.spawns.Add(1) > 1500 {
		return nil
	}
	k := &slot{stream: w.stream(), ordered: true, last: map[*stream]int{}, depth: depth, fuel: 40}
	kind := st.rnd.IntN(8)
	option := func(c *SpawnConfig) {
		switch kind {
		case 0:
			c.Mailbox = Mailbox{Capacity: 1 + st.rnd.IntN(20), Overflow: Overflow(st.rnd.IntN(3))}
			k.bounded = true
		case 1:
			c.Mailbox.Priority = func(msg any) int {
				m, _ := msg.(*shot)
				return m.priority()
			}
			k.ordered = false
		}
		if ctx == nil || st.rnd.IntN(4) == 0 {
			c.Supervisor = &Supervisor{Decide: decideStress(ctx == nil), MaxRestarts: -1, AllForOne: ctx != nil && st.rnd.IntN(3) == 0}
		}
	}
	// The ref is not known yet when the actor starts, but nobody tells it anything before it is among the slots.
	var err error
	if ctx != nil {
		k.ref, err = ctx.SpawnAnonymous(k.actor, option)
	} else {
		k.ref, err = w.s.SpawnAnonymous(k.actor, option)
	}
	if err != nil {
		if !errors.Is(err, ErrStopped) {
			w.problem("%v", err)
		}
		return nil
	}
	w.mu.Lock()
	w.slots = append(w.slots, k)
	w.mu.Unlock()
	return k
}

func (m *shot) priority() int {
	if m == nil {
		return 0
	}
	if m.act%97 == 0 {
		panic("priority")
	}
	return m.act % 3
}

func decideStress(top bool) func(Ref, error) Directive {
	return func(_ Ref, cause error) Directive {
		var f stressFault
		if !errors.As(cause, &f) {
			return Restart
		}
		switch {
		case f == 9 && !top:
			panic("decider")
		case f == 8 && !top:
			runtime.Goexit()
		case f > 6:
			return Restart
		case f > 3:
			return Resume
		case f > 2 && !top:
			return Escalate
		case f == 1:
			return Stop
		}
		return Restart
	}
}

type stressFault int

func (stressFault) Error() string { return "fault" }

// enter notes that the actor does something, and that it does nothing else.
func (k *slot) enter() (leave func()) {
	if k.busy.Swap(true) {
		k.w.problem("an actor does two things at once")
	}
	return func() { k.busy.Store(false) }
}

func (k *slot) actor() Actor {
	defer k.enter()()
	switch k.rnd.IntN(60) {
	case 0:
		return nil
	case 1:
		panic("factory")
	case 2:
		runtime.Goexit()
	}
	return &stressActor{k}
}

// childless checks that no child of an earlier instance is left.
func (k *slot) childless(when string) {
	for _, kid := range k.kids {
		if !kid.ref.n.cell().closedForTest() {
			k.w.problem("%s: a child has not ended", when)
		}
	}
	k.kids = nil
}

type stressActor struct{ *slot }

func (a *stressActor) Supervisor() Supervisor {
	return Supervisor{Decide: decideStress(false), MaxRestarts: -1, AllForOne: a.depth%2 == 1}
}

func (a *stressActor) hook() error {
	switch a.rnd.IntN(40) {
	case 0:
		return stressFault(a.rnd.IntN(10))
	case 1:
		panic("hook")
	case 2:
		runtime.Goexit()
	case 3:
		pause(ms / 4)
	}
	return nil
}

func (a *stressActor) PreStart(ctx *Context) error {
	defer a.enter()()
	a.childless("start")
	if a.depth < 3 && a.rnd.IntN(3) == 0 {
		a.spawnChild(ctx)
	}
	return a.hook()
}

func (a *stressActor) spawnChild(ctx *Context) {
	if k := a.spawn(ctx, a.depth+1); k != nil {
		a.kids = append(a.kids, k)
	}
}

func (a *stressActor) PreRestart(ctx *Context, cause error, _ any) error {
	defer a.enter()()
	if cause == nil {
		a.w.problem("a restart without a cause")
	}
	a.fire(ctx)
	return a.hook()
}

func (a *stressActor) PostStop(ctx *Context) error {
	defer a.enter()()
	a.childless("end")
	a.fire(ctx)
	return a.hook()
}

func (a *stressActor) Receive(ctx *Context, msg any) error {
	defer a.enter()()
	m, ok := msg.(*shot)
	if !ok { // a tick, ReceiveTimeout, Terminated
		return nil
	}
	if a.ordered && !m.detoured.Load() {
		if a.last[m.from] >= m.seq {
			a.w.problem("%s: after %d of the same sender", m, a.last[m.from])
		}
		a.last[m.from] = m.seq
	}
	switch {
	case m.act < 15:
		m.detoured.Store(true)
		m.parked.Store(true)
		m.act += 100 // the next time it is something else
		if ctx.Stash() == nil {
			if a.rnd.IntN(10) == 0 {
				return stressFault(a.rnd.IntN(10))
			}
			return nil
		}
	case m.act < 25 && !m.asked: // a bound would end an ask without a letter
		m.detoured.Store(true)
		m.act += 100
		ctx.Forward(a.target().ref)
		return nil
	case m.act < 35 && m.tracked:
		m.handled.Add(1)
		m.parked.Store(true)
		if done := ctx.Hold(); a.rnd.IntN(2) == 0 {
			go func() { done.Done(nil); done.Done(errBoom) }()
		}
		return nil
	}
	m.parked.Store(false)
	m.handled.Add(1)
	return a.act(ctx, m)
}

// act does what the message says.
func (a *stressActor) act(ctx *Context, m *shot) error {
	switch m.act % 100 {
	case 50:
		return stressFault(a.rnd.IntN(10))
	case 51:
		panic(stressFault(a.rnd.IntN(10)))
	case 52:
		runtime.Goexit()
	case 53:
		ctx.StopSelf()
	case 54, 55:
		if a.depth < 3 {
			a.spawnChild(ctx)
		}
	case 56:
		a.end(ctx)
	case 57, 58:
		ctx.UnstashAll()
	case 59:
		ctx.BecomeStacked(a.Receive)
	case 60:
		ctx.Unbecome()
	case 61:
		ctx.SetReceiveTimeout(time.Duration(a.rnd.IntN(3)) * ms)
	case 62:
		return Reject(ctx.Timers().StartFixedRate("rate", "tick", ms, ms))
	case 63:
		return Reject(ctx.Timers().StartSingle("once", "tick", ms))
	case 64:
		ctx.Watch(a.target().ref)
	case 65:
		ctx.Unwatch(a.target().ref)
	case 66:
		pause(time.Duration(a.rnd.IntN(3)) * ms)
	case 67:
		for until := time.Now().Add(ms / 10); time.Now().Before(until); {
			runtime.Gosched()
		}
	case 68:
		a.ask(a.target(), ms)
	case 69:
		piped := a.shot()
		piped.act = 99
		piped.detoured.Store(true)
		ctx.PipeToSelf(func(context.Context) (any, error) { runtime.Gosched(); return piped, nil })
	case 70:
		if m.asked {
			ctx.Reply(1)
		}
	}
	for ; a.fuel > 0 && a.rnd.IntN(2) == 0; a.fuel-- {
		a.fire(ctx)
	}
	return nil
}

// observer watches others and does nothing else.
type observer struct {
	ref   Ref
	mu    sync.Mutex
	asked map[Ref]bool
	told  map[Ref]int
}

func (o *observer) Receive(ctx *Context, msg any) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch m := msg.(type) {
	case Ref:
		if !o.asked[m] { // a watch of what has ended is answered each time
			o.asked[m] = true
			ctx.Watch(m)
		}
	case Terminated:
		o.told[m.Ref]++
		if !m.Ref.n.cell().closedForTest() {
			panic("told of the end of one that has not ended")
		}
	}
	return nil
}

func newStress(t *testing.T, seed uint64) *stress {
	s, err := NewSystem("stress", quiet)
	if err != nil {
		t.Fatal(err)
	}
	w := &stress{t: t, s: s, seed: seed}
	for range 3 {
		o := &observer{asked: map[Ref]bool{}, told: map[Ref]int{}}
		o.ref = mustSpawn(t, s, fmt.Sprint("observer", len(w.observers)), always(o))
		w.observers = append(w.observers, o)
	}
	recorder := mustSpawn(t, s, "recorder", always(Func(func(_ *Context, msg any) error {
		if m, ok := msg.(DeadLetter).Msg.(*shot); ok {
			m.letters.Add(1)
		}
		w.letters.Add(1)
		return nil
	})))
	Subscribe[DeadLetter](s.EventStream(), recorder)
	return w
}

func (w *stress) run() {
	defer func() {
		if w.t.Failed() {
			w.t.Logf("seed %d", w.seed)
		}
	}()
	first := w.stream()
	for range 10 {
		first.spawn(nil, 0)
	}
	var wg sync.WaitGroup
	for range 6 {
		st := w.stream()
		wg.Go(func() { st.outside(500) })
	}
	wg.Wait()
	w.settle()
	w.end()
	w.verify()
}

// outside is one goroutine that is not an actor's.
func (st *stream) outside(n int) {
	for range n {
		switch st.rnd.IntN(40) {
		case 0, 1, 2:
			st.spawn(nil, 0)
		case 3:
			st.end(nil)
		case 4:
			st.ask(st.target(), 2*ms)
		case 5, 6:
			o := st.w.observers[st.rnd.IntN(len(st.w.observers))]
			o.ref.Tell(st.target().ref)
		case 7:
			pause(ms / 10)
		default:
			st.fire(nil)
		}
	}
}

// all calls do for every message.
func (w *stress) all(do func(*shot)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, st := range w.streams {
		for _, m := range st.sent {
			do(m)
		}
	}
}

// actors are all that were spawned up to now.
func (w *stress) actors() []*slot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots
}

// settle waits until nobody has anything to do. Actors that have ticks coming are never quiet for long, but then too
// nothing may wait for long.
func (w *stress) settle() {
	deadline := time.Now().Add(20 * time.Second)
	for range 2 {
		for {
			waiting := ""
			for _, k := range w.actors() {
				c := k.ref.n.cell()
				if n := c.pending(); n > 0 && !c.closedForTest() {
					waiting = fmt.Sprintf("%s has %d messages, owned: %t", c.path(), n, c.mb.Owned())
				}
			}
			if waiting == "" {
				break
			}
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<20)
				w.t.Fatalf("not quiet: %s\n%s", waiting, buf[:runtime.Stack(buf, true)])
			}
			pause(ms)
		}
		pause(2 * ms)
	}
}

// end stops all actors but the observers, looks at what those were told, and ends the system.
func (w *stress) end() {
	st := w.stream()
	for _, k := range w.actors() { // those at the top are complete
		k.ref.n.cell().stop()
	}
	deadline := time.Now().Add(20 * time.Second)
	for i := 0; i < len(w.actors()); i++ {
		k := w.actors()[i]
		for !k.ref.n.cell().closedForTest() {
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<20)
				w.t.Fatalf("%s does not end\n%s", k.ref, buf[:runtime.Stack(buf, true)])
			}
			pause(ms)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, o := range w.observers {
		for {
			o.mu.Lock()
			missing, twice := 0, 0
			for ref := range o.asked {
				if o.told[ref] == 0 {
					missing++
				}
			}
			for _, n := range o.told {
				if n > 1 {
					twice++
				}
			}
			o.mu.Unlock()
			if missing == 0 && twice == 0 {
				break
			}
			if ctx.Err() != nil || twice > 0 {
				w.t.Errorf("a watcher was not told of %d ends, and of %d more than once", missing, twice)
				break
			}
			pause(ms)
		}
	}
	st.fire(nil) // a dead letter
	for w.letters.Load() < w.s.Stats().DeadLetters && ctx.Err() == nil {
		pause(ms)
	}
	if err := w.s.Terminate(ctx); err != nil {
		w.t.Error(err)
	}
}

func (w *stress) verify() {
	w.mu.Lock()
	for _, p := range w.problems {
		w.t.Error(p)
	}
	w.mu.Unlock()
	told, handled, bad := 0, 0, 0
	w.all(func(m *shot) {
		told++
		n, letters, ended := int(m.handled.Load()), int(m.letters.Load()), int(m.ended.Load())
		handled += n
		ends := n + letters
		if m.refused.Load() || m.full.Load() || m.signal {
			ends++
		}
		wantEnded := 0
		if m.tracked {
			wantEnded = 1
		}
		if ends == 1 && ended == wantEnded && (!m.tracked || m.signal || m.dead.Load() == (n == 0)) {
			return
		}
		if bad++; bad < 10 {
			w.t.Error(m)
		}
	})
	if seen, all := w.letters.Load(), w.s.Stats().DeadLetters; seen != all {
		w.t.Errorf("%d dead letters were published, and %d counted", seen, all)
	}
	if n := w.s.sched.carriers.Load(); n != 0 || w.s.clock.Len() != 0 {
		w.t.Errorf("%d goroutines and %d deadlines are left", n, w.s.clock.Len())
	}
	w.t.Logf("%d actors, %d messages, %d handled, %d dead letters", len(w.slots), told, handled, w.letters.Load())
}
