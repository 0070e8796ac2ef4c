package harness

import (
	"context"
	"fmt"
	"io"
	"time"
)

// MaxOthers is the share of the processors used by other processes above which a round is measured again.
const MaxOthers = 0.06

// CellTime bounds a cell: after it, a subject gets no further round of a workload once it has two.
const CellTime = 12 * time.Second

// maxTries is how often one disturbed round is repeated.
const maxTries = 12

// Run measures each workload on each subject, the rounds of the subjects interleaved. Patience is the time it may spend
// in all on repeating rounds that other processes disturbed. It blocks for all of that and tells progress how far it is.
// When ctx ends, so do the workers, and Run returns the rows it has with the error of ctx.
func Run(ctx context.Context, subs []Subject, ws []Workload, patience time.Duration, progress io.Writer) ([]Row, error) {
	d := &driver{patience: patience}
	var rows []Row
	groups := groupsOf(ws)
	for i, ws := range groups {
		t := time.Now()
		d.share(len(groups) - i)
		rows = append(rows, d.group(ctx, subs, ws)...)
		if err := ctx.Err(); err != nil {
			return rows, err
		}
		for _, w := range ws {
			fmt.Fprintf(progress, "%-15s ", w.Key)
		}
		fmt.Fprintf(progress, "%6.1fs, repeated %d, patience left %.0fs\n", time.Since(t).Seconds(), d.repeated, d.patience.Seconds())
	}
	return rows, nil
}

// groupsOf splits workloads into those whose rounds alternate.
func groupsOf(ws []Workload) (groups [][]Workload) {
	for len(ws) > 0 {
		n := 1
		for n < len(ws) && ws[n].With != "" && ws[n].With == ws[n-1].Key {
			n++
		}
		groups = append(groups, ws[:n])
		ws = ws[n:]
	}
	return groups
}

// driver is the state of one Run.
type driver struct {
	patience time.Duration // left in all
	reserved time.Duration // of it, for the groups after this one
	repeated int
}

// share gives the next group up to twice its part of the patience that is left, so that on a machine that is never quiet
// the first rows do not take all of it.
func (d *driver) share(groups int) {
	d.reserved = max(d.patience-2*d.patience/time.Duration(groups), 0)
}

// lane is one subject in one workload, with its own worker.
type lane struct {
	s       Subject
	w       Workload
	cell    Cell
	p       *proc // nil: not started
	spent   time.Duration
	stopped bool // absent, not run or failed
}

// group measures workloads whose rounds alternate.
func (d *driver) group(ctx context.Context, subs []Subject, ws []Workload) []Row {
	lanes, most := lanesOf(subs, ws)
	defer func() {
		for _, l := range lanes {
			l.end()
		}
	}()
	for _, l := range lanes {
		l.warm(ctx)
	}
	for i := range most {
		for _, l := range lanes {
			if i < l.w.Rounds && ctx.Err() == nil {
				d.round(ctx, l)
			}
		}
	}
	rows := make([]Row, len(ws))
	for i, w := range ws {
		rows[i] = Row{Key: w.Key, Title: w.Title}
		for _, l := range lanes {
			if l.w.Key == w.Key {
				rows[i].Cells = append(rows[i].Cells, l.cell)
			}
		}
	}
	return rows
}

// lanesOf returns the lanes of a group, those of one subject side by side, and the most rounds that one has.
func lanesOf(subs []Subject, ws []Workload) (lanes []*lane, most int) {
	for _, s := range subs {
		for _, w := range ws {
			if s.Only != nil && !s.Only[w.Req.Workload] {
				continue
			}
			most = max(most, w.Rounds)
			l := &lane{s: s, w: w, cell: Cell{Subject: s.Name}}
			switch {
			case w.Req.Workload == idle && s.MaxIdle > 0 && w.Req.N > s.MaxIdle:
				l.skip(fmt.Sprintf("not run: over the time or memory of this run beyond %d actors", s.MaxIdle))
			case w.Req.Workload == skynet && s.MaxSky > 0 && w.Req.N > s.MaxSky:
				l.skip(fmt.Sprintf("not run: over the time or memory of this run beyond %d leaves", s.MaxSky))
			}
			lanes = append(lanes, l)
		}
	}
	return lanes, most
}

// round measures a lane once, and again while others disturb it, and keeps the round that was disturbed least.
func (d *driver) round(ctx context.Context, l *lane) {
	if l.stopped || l.spent > CellTime && len(l.cell.Rounds) >= 2 {
		return
	}
	t := time.Now()
	r := l.watched(ctx)
	// What idle actors weigh does not depend on who else runs.
	for try := 0; r.Others > MaxOthers && r.Err == "" && try < maxTries && d.patience > d.reserved &&
		l.w.Req.Workload != idle && time.Since(t) < CellTime && ctx.Err() == nil; try++ {
		again := time.Now()
		time.Sleep(time.Duration(50+try*100) * time.Millisecond)
		if x := l.watched(ctx); x.Err != "" || x.Others < r.Others {
			r = x
		}
		d.patience -= time.Since(again)
		d.repeated++
	}
	l.spent += time.Since(t)
	if l.note(r) {
		l.cell.Rounds = append(l.cell.Rounds, r)
	}
}

func (l *lane) skip(why string) { l.cell.Skip, l.stopped = why, true }

// note keeps what a round says about the whole cell; it reports whether the round counts.
func (l *lane) note(r Result) bool {
	if r.Skip != "" {
		l.cell.Skip = r.Skip
	}
	if r.Err != "" {
		l.cell.Err = r.Err
	}
	if r.Skip != "" || r.Err != "" {
		l.stopped = true
		return false
	}
	return true
}

// warm runs the workload once, smaller, and throws the figures away.
func (l *lane) warm(ctx context.Context) {
	if l.stopped || l.w.Warm == 0 || ctx.Err() != nil {
		return
	}
	q := l.w.Req
	q.N = l.w.Warm
	l.note(l.once(ctx, q, func(*proc) {}, func(*proc) {}))
}

// watched measures, and also what other processes used the processors for, from a little before the round to its end.
func (l *lane) watched(ctx context.Context) Result {
	var before, after usage
	r := l.once(ctx, l.w.Req, func(p *proc) {
		before = usageNow(p)
		time.Sleep(30 * time.Millisecond)
	}, func(p *proc) { after = usageNow(p) })
	if r.Err == "" && !after.at.IsZero() {
		r.Others = after.others(before)
	}
	return r
}

// once asks the lane's worker, which it starts if there is none.
func (l *lane) once(ctx context.Context, q Request, before, after func(*proc)) Result {
	if l.p == nil {
		p, err := startProc(ctx, l.s)
		if err != nil {
			return Result{Err: err.Error()}
		}
		l.p = p
	}
	before(l.p)
	r := l.p.ask(q)
	after(l.p)
	if l.w.Fresh || r.Err != "" {
		l.end()
	}
	return r
}

func (l *lane) end() {
	if l.p != nil {
		l.p.end()
		l.p = nil
	}
}
