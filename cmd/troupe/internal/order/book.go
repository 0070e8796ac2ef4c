package order

import (
	"fmt"
	"maps"
	"slices"
)

// Book is what the input itself adds up to, without any actor or broker: the yardstick for the totals of a run. It is
// not safe for concurrent use. Make one with NewBook.
type Book struct {
	totals map[string]int64
	seen   map[string]int // id → line
}

// NewBook returns an empty book.
func NewBook() *Book { return &Book{totals: map[string]int64{}, seen: map[string]int{}} }

// Add enters an order that stands in a line. An id that is in the book already is refused, the error names its line.
func (b *Book) Add(o Order, line int) error {
	if first, ok := b.seen[o.ID]; ok {
		return fmt.Errorf("the id %q was used on line %d already", o.ID, first)
	}
	b.seen[o.ID] = line
	b.totals[o.Customer] += o.Amount
	return nil
}

// Len is the number of orders.
func (b *Book) Len() int { return len(b.seen) }

// Totals is the sum per customer. The map is the caller's.
func (b *Book) Totals() map[string]int64 { return maps.Clone(b.totals) }

// Difference lists the customers whose total in got is not the book's, sorted, each as a sentence. Empty means equal.
func (b *Book) Difference(got map[string]int64) []string {
	names := map[string]bool{}
	for c := range b.totals {
		names[c] = true
	}
	for c := range got {
		names[c] = true
	}
	var found []string
	for _, c := range slices.Sorted(maps.Keys(names)) {
		want, known := b.totals[c]
		have, ok := got[c]
		switch {
		case !known:
			found = append(found, fmt.Sprintf("customer %q has a total of %d and is not in the input", c, have))
		case !ok:
			found = append(found, fmt.Sprintf("customer %q has no total, the input says %d", c, want))
		case want != have:
			found = append(found, fmt.Sprintf("customer %q has a total of %d, the input says %d", c, have, want))
		}
	}
	return found
}
