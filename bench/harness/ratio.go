package harness

import (
	"fmt"
	"strings"
)

// Ratio is what main costs in a row for what base costs, both the medians of the row's first figure: below 1 main is
// ahead. Where more is better, as with actors per second, it is turned over. It is false if one of them has no figure,
// or one that is not positive.
func (r Row) Ratio(main, base string) (float64, bool) {
	m, ok1 := r.cell(main)
	o, ok2 := r.cell(base)
	if !ok1 || !ok2 {
		return 0, false
	}
	k := columns(r.Key)[0]
	a, b := m.Of(k.of).Med, o.Of(k.of).Med
	if a <= 0 || b <= 0 {
		return 0, false
	}
	if k.more {
		a, b = b, a
	}
	return a / b, true
}

// ratios is one line a row: the ratio of main to every other subject in the same run.
func (p Report) ratios(b *strings.Builder, main string) {
	others := p.names(main)
	if len(others) == 0 || len(others) == len(p.Subjects) {
		return
	}
	fmt.Fprintf(b, "\n### %s against: its cost as a multiple of the other's, both medians of this run; below 1 %[1]s is ahead\n\n", main)
	head(b, []string{"row"}, others)
	for _, r := range p.Rows {
		fmt.Fprintf(b, "| %s |", r.Key)
		for _, o := range others {
			if v, ok := r.Ratio(main, o); ok {
				fmt.Fprintf(b, " %.2f |", v)
			} else {
				b.WriteString(" – |")
			}
		}
		b.WriteString("\n")
	}
}

// Added is what an armed receive timeout adds to a row's first figure, round by round: the rounds of the two rows
// alternate, so that a machine that slows down slows both.
func (p Report) Added(unarmed, armed, subject string) (Stat, bool) {
	off, ok1 := p.row(unarmed)
	on, ok2 := p.row(armed)
	if !ok1 || !ok2 {
		return Stat{}, false
	}
	a, ok1 := off.cell(subject)
	b, ok2 := on.cell(subject)
	if !ok1 || !ok2 {
		return Stat{}, false
	}
	k := columns(unarmed)[0]
	var v []float64
	for i := range min(len(a.Rounds), len(b.Rounds)) {
		v = append(v, k.of(b.Rounds[i])-k.of(a.Rounds[i]))
	}
	return statOf(v), true
}

// armed is a table of Added for every pair of rows that has figures.
func (p Report) armed(b *strings.Builder) {
	var lines strings.Builder
	for _, pair := range armedPairs {
		k, some := columns(pair[0])[0], false
		var line strings.Builder
		fmt.Fprintf(&line, "| %s → %s | %s |", pair[0], pair[1], k.head)
		for _, s := range p.names("") {
			if d, ok := p.Added(pair[0], pair[1], s); ok {
				some = true
				fmt.Fprintf(&line, " **%+.*f** (%+.*f–%+.*f) |", k.dec, d.Med, k.dec, d.Min, k.dec, d.Max)
			} else {
				line.WriteString(" – |")
			}
		}
		if some {
			lines.WriteString(line.String() + "\n")
		}
	}
	if lines.Len() == 0 {
		return
	}
	b.WriteString("\n### What an armed receive timeout adds: median (min–max) of the differences round by round\n\n")
	head(b, []string{"rows", "unit"}, p.names(""))
	b.WriteString(lines.String())
}
