package harness

import (
	"encoding/json"
	"slices"
)

// Report is all that a run found; it is what the JSON file holds.
type Report struct {
	CPU      string
	Procs    int
	Go       string
	Date     string
	Quick    bool
	Seconds  float64
	Subjects []Subject
	Rows     []Row
}

// Row is one workload's cells.
type Row struct {
	Key, Title string
	Cells      []Cell
}

// Cell is one subject's rounds of one workload.
type Cell struct {
	Subject string
	Rounds  []Result
	Skip    string `json:",omitempty"` // why there are none: no such feature, or not run
	Err     string `json:",omitempty"` // what failed
}

// Stat is a median with its extremes.
type Stat struct{ Med, Min, Max float64 }

// Of collects f over a cell's rounds; all zero if there are none.
func (c Cell) Of(f func(Result) float64) Stat {
	v := make([]float64, 0, len(c.Rounds))
	for _, r := range c.Rounds {
		v = append(v, f(r))
	}
	return statOf(v)
}

func statOf(v []float64) Stat {
	if len(v) == 0 {
		return Stat{}
	}
	slices.Sort(v)
	n := len(v)
	return Stat{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]}
}

// ok reports whether the cell has figures.
func (c Cell) ok() bool { return len(c.Rounds) > 0 && c.Err == "" }

// cell finds the figures of a subject in a row.
func (r Row) cell(subject string) (Cell, bool) {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Subject == subject })
	if i < 0 || !r.Cells[i].ok() {
		return Cell{}, false
	}
	return r.Cells[i], true
}

// row finds a row by its key.
func (p Report) row(key string) (Row, bool) {
	i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Key == key })
	if i < 0 {
		return Row{}, false
	}
	return p.Rows[i], true
}

// JSON is the report as it is kept in a file.
func (p Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(p, "", " ")
	return append(b, '\n'), err
}

// ReadReport reads what JSON wrote.
func ReadReport(b []byte) (p Report, err error) {
	err = json.Unmarshal(b, &p)
	return p, err
}

// Merge takes from old the order, and all cells that p did not measure again.
func (p *Report) Merge(old Report) {
	fresh := p.Rows
	p.Rows = old.Rows
	for _, r := range fresh {
		i := slices.IndexFunc(p.Rows, func(o Row) bool { return o.Key == r.Key })
		if i < 0 {
			p.Rows = append(p.Rows, r)
			continue
		}
		for _, c := range r.Cells {
			cells := p.Rows[i].Cells
			if j := slices.IndexFunc(cells, func(o Cell) bool { return o.Subject == c.Subject }); j >= 0 {
				cells[j] = c
			} else {
				p.Rows[i].Cells = append(cells, c)
			}
		}
	}
	if len(fresh) == 0 {
		p.Date, p.Quick = old.Date, old.Quick
	}
	subs := old.Subjects
	for _, s := range p.Subjects {
		if i := slices.IndexFunc(subs, func(o Subject) bool { return o.Name == s.Name }); i >= 0 {
			subs[i] = s
		} else {
			subs = append(subs, s)
		}
	}
	p.Subjects = subs
	p.Seconds += old.Seconds
}
