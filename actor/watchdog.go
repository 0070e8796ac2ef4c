package actor

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/mailbox"
)

// watchdog rescues cells that wait behind a handler that blocks. It is a timer, armed only when a cell was put where it
// may have to wait: into a carrier's slot or batch, or into the queue without a carrier launched for it. It also closes the
// epochs that carriers have left open.
type watchdog struct {
	on      atomic.Bool // the timer is set, or look runs and will decide
	timer   *time.Timer
	looking sync.Mutex // held by look
	stopped bool       // with looking

	mu    sync.Mutex
	all   []*carrier
	young []*carrier // of the look under way: those that have made a step since the last one
}

// patience is how long a cell may wait behind another before somebody looks.
const patience = time.Millisecond

func (d *watchdog) start(s *scheduler) {
	d.timer = time.AfterFunc(time.Hour, s.look)
	d.timer.Stop()
}

// stop ends the watchdog and waits for a look that is under way.
func (d *watchdog) stop() {
	d.timer.Stop()
	d.looking.Lock()
	d.stopped = true
	d.looking.Unlock()
}

func (d *watchdog) add(k *carrier) {
	d.mu.Lock()
	d.all = append(d.all, k)
	d.mu.Unlock()
}

func (d *watchdog) remove(k *carrier) {
	d.mu.Lock()
	if i := slices.Index(d.all, k); i >= 0 {
		last := len(d.all) - 1
		d.all[i], d.all[last] = d.all[last], nil
		d.all = d.all[:last]
	}
	d.mu.Unlock()
}

// alarm arms the watchdog. The marks are set here, so that its first look already knows who has made no step since. k is
// the carrier that has something waiting, nil for all.
func (s *scheduler) alarm(k *carrier) {
	d := &s.dog
	if d.on.Load() || !d.on.CompareAndSwap(false, true) {
		return
	}
	if k != nil {
		k.mark.Store(true)
	} else {
		d.mu.Lock()
		for _, k := range d.all {
			k.mark.Store(true)
		}
		d.mu.Unlock()
	}
	d.timer.Reset(patience)
}

// look is what the timer calls. A carrier that has made no step since the last look leaves the count of active ones,
// and what it had taken goes into the queue. If somebody waits behind a stuck carrier, others are started: as many as
// wait if a processor is idle, since then the handlers block, and those that wait may block as well; one if none is,
// since then handlers compute, and more goroutines would only share what there is.
func (s *scheduler) look() {
	d := &s.dog
	d.looking.Lock()
	defer d.looking.Unlock()
	if d.stopped {
		return
	}
	waits, stuck := s.loosen()
	idle := false
	if waits {
		var found bool
		idle, found = s.watchYoung()
		stuck = stuck || found
	}
	s.mu.Lock()
	queued := s.queued
	s.single = stuck
	s.mu.Unlock()
	for ; queued > 0; queued-- {
		if n := s.active.Load(); n >= s.max || !s.launch(n) {
			break
		}
	}
	if stuck && queued > 0 {
		if !idle {
			queued = 1
		}
		for range min(queued, 256) {
			s.carriers.Add(1)
			go s.carry(true)
		}
	}
	if !s.waiting() {
		// Who sets a slot after this look at it has seen on, or sees it cleared now.
		d.on.Store(false)
		if !s.waiting() || !d.on.CompareAndSwap(false, true) {
			return
		}
	}
	d.timer.Reset(patience)
}

// loosen takes out carriers without a step since the last look, and marks the others.
func (s *scheduler) loosen() (waits, stuck bool) {
	d := &s.dog
	d.mu.Lock()
	defer d.mu.Unlock()
	waits = s.some.Load()
	d.young = d.young[:0]
	for _, k := range d.all {
		k.epoch.close(s)
		waits = waits || k.slotWaits() || k.batchWaits()
		if !k.mark.Load() {
			k.mark.Store(true)
			d.young = append(d.young, k)
			continue
		}
		if k.loose.CompareAndSwap(false, true) {
			s.active.Add(-1)
			stuck = true
		}
		if k.rescue() {
			stuck = true
		}
	}
	return waits, stuck
}

// watchYoung looks for some microseconds whether those that have made a step make another: a carrier whose handlers all
// block for less than patience has made one since the last look, and still keeps others waiting. idle says that a
// processor has nothing to do: giving it up came back at once.
func (s *scheduler) watchYoung() (idle, stuck bool) {
	begin := time.Now()
	for range 16 {
		mailbox.Pause(256)
		runtime.Gosched()
	}
	idle = time.Since(begin) < patience/10
	d := &s.dog
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.all {
		if k.mark.Load() && slices.Contains(d.young, k) && (k.rescue() || !k.loose.Load()) {
			stuck = true
		}
	}
	clear(d.young)
	return idle, stuck
}

// rescue moves what waits in k into the queue, without the usual care for carriers: look sees to that.
func (k *carrier) rescue() (some bool) {
	if c := k.takeSlot(); c != nil {
		k.sched.append(c)
		some = true
	}
	if b := k.batchState.Load(); b != busy && b>>8 < b&255 && k.batchState.CompareAndSwap(b, busy) {
		for _, c := range k.batch[b>>8 : b&255] {
			k.sched.append(c)
		}
		k.batchState.Store(0)
		some = true
	}
	return some
}

// waiting reports whether anything may wait behind a handler.
func (s *scheduler) waiting() bool {
	if s.some.Load() {
		return true
	}
	d := &s.dog
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.all, func(k *carrier) bool {
		return k.slotWaits() || k.batchWaits() || k.epoch.open.Load() != 0
	})
}
