package harness

import (
	"fmt"
	"strings"
)

// Markdown draws the report: what was measured, the medians side by side, the ratios of one subject to the others, what
// an armed receive timeout adds, what is allocated, and a table for each row. Main is the subject that the ratios are of; without figures
// of it they are left out.
func (p Report) Markdown(main string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, GOMAXPROCS=%d, %s, %s, whole run %.0f s", p.CPU, p.Procs, p.Go, p.Date, p.Seconds)
	if p.Quick {
		b.WriteString(" (QUICK: a tenth of the work)")
	}
	b.WriteString("\n\n")
	for _, s := range p.Subjects {
		fmt.Fprintf(&b, "- %s: %s\n", s.Name, s.Version)
	}
	p.summary(&b)
	p.ratios(&b, main)
	p.armed(&b)
	p.allocations(&b)
	for _, r := range p.Rows {
		r.table(&b)
	}
	return b.String()
}

// head writes the first two lines of a table: the left columns, then right-aligned ones.
func head(b *strings.Builder, left, right []string) {
	b.WriteString("|")
	for _, h := range left {
		fmt.Fprintf(b, " %s |", h)
	}
	for _, h := range right {
		fmt.Fprintf(b, " %s |", h)
	}
	b.WriteString("\n|" + strings.Repeat("---|", len(left)) + strings.Repeat("---:|", len(right)) + "\n")
}

// names are the subjects in the order of the report, without one.
func (p Report) names(without string) (l []string) {
	for _, s := range p.Subjects {
		if s.Name != without {
			l = append(l, s.Name)
		}
	}
	return l
}

// summary is one line a row: the median of its first figure for each subject, the best library's in bold.
func (p Report) summary(b *strings.Builder) {
	b.WriteString("\n### Summary: medians of the first figure of each table below, best library in bold\n\n")
	head(b, []string{"row", "unit"}, p.names(""))
	limit := map[string]bool{}
	for _, s := range p.Subjects {
		limit[s.Name] = s.Limit
	}
	for _, r := range p.Rows {
		k := columns(r.Key)[0]
		best, val := "", map[string]float64{}
		for _, c := range r.Cells {
			if !c.ok() {
				continue
			}
			v := c.Of(k.of).Med
			val[c.Subject] = v
			if !limit[c.Subject] && (best == "" || k.more && v > val[best] || !k.more && v < val[best]) {
				best = c.Subject
			}
		}
		fmt.Fprintf(b, "| %s | %s |", r.Key, k.head)
		for _, s := range p.Subjects {
			v, ok := val[s.Name]
			switch {
			case !ok:
				b.WriteString(" – |")
			case s.Name == best:
				fmt.Fprintf(b, " **%.*f** |", k.dec, v)
			default:
				fmt.Fprintf(b, " %.*f |", k.dec, v)
			}
		}
		b.WriteString("\n")
	}
}

// allocations is one line a row: how many each subject makes for one operation, the median of its rounds.
func (p Report) allocations(b *strings.Builder) {
	b.WriteString("\n### Allocations for each message, exchange, round trip or actor: medians\n\n")
	head(b, []string{"row"}, p.names(""))
	for _, r := range p.Rows {
		if !countsAllocations(r.Key) {
			continue
		}
		fmt.Fprintf(b, "| %s |", r.Key)
		for _, s := range p.names("") {
			if c, ok := r.cell(s); ok {
				fmt.Fprintf(b, " %.2f |", c.Of(allocs).Med)
			} else {
				b.WriteString(" – |")
			}
		}
		b.WriteString("\n")
	}
}

// table is one row in full.
func (r Row) table(b *strings.Builder) {
	cs, most := columns(r.Key), 0
	for _, c := range r.Cells {
		most = max(most, len(c.Rounds))
	}
	fmt.Fprintf(b, "\n### %s (`%s`)\n\nMedian (min–max) of %d rounds; ~: disturbed by other processes.\n\n", r.Title, r.Key, most)
	heads := make([]string, len(cs))
	for i, k := range cs {
		heads[i] = k.head
	}
	head(b, []string{"subject"}, heads)
	for _, c := range r.Cells {
		fmt.Fprintf(b, "| %s |", c.Subject)
		if !c.ok() {
			fmt.Fprintf(b, " %s |%s\n", c.why(), strings.Repeat(" |", len(cs)-1))
			continue
		}
		mark := ""
		if c.Of(func(r Result) float64 { return r.Others }).Med > MaxOthers {
			mark = "~"
		}
		for i, k := range cs {
			s := c.Of(k.of)
			if i > 0 {
				fmt.Fprintf(b, " %.*f |", k.dec, s.Med)
				continue
			}
			fmt.Fprintf(b, " **%s%.*f** (%.*f–%.*f)", mark, k.dec, s.Med, k.dec, s.Min, k.dec, s.Max)
			if len(c.Rounds) != most {
				fmt.Fprintf(b, " n=%d", len(c.Rounds))
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
}

// why says why a cell has no figures.
func (c Cell) why() string {
	switch {
	case c.Err != "":
		return "FAILED: " + c.Err
	case strings.HasPrefix(c.Skip, "not run"):
		return c.Skip
	}
	return "absent: " + c.Skip
}
