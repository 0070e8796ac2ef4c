package order

import (
	"fmt"
	"iter"
	"math/rand/v2"
)

// waves is how often the generated orders go through all customers.
const waves = 3

// Generate makes n orders of the given number of customers, the same for the same seed. Customers come in waves: at any
// time a part of them is active and the others pause, as real ones do, so that idle sessions exist.
func Generate(n, customers int, seed uint64) iter.Seq[Order] {
	return func(yield func(Order) bool) {
		random := rand.New(rand.NewPCG(seed, 0x6f7264657273)) // the second half is any constant
		active := max(customers/8, 1)
		for i := range n {
			centre := i * waves % n * customers / n
			who := (centre + random.IntN(active)) % customers
			o := Order{
				ID:       fmt.Sprintf("order-%07d", i+1),
				Customer: fmt.Sprintf("customer-%04d", who+1),
				Amount:   int64(random.IntN(50_000) + 1),
			}
			if !yield(o) {
				return
			}
		}
	}
}
