//go:build race || invariants

package invariants

import "fmt"

// Enabled says whether Check does anything, so that a condition that costs something is computed only then.
const Enabled = true

// Check panics with the formatted text if cond is false. It may be called from any goroutine and does not block.
func Check(cond bool, format string, args ...any) {
	if !cond {
		panic("invariant violated: " + fmt.Sprintf(format, args...))
	}
}
