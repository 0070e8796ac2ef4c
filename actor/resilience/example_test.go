package resilience_test

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor/resilience"
)

func ExampleExponential() {
	policy := resilience.Exponential(200*time.Millisecond, 5*time.Second, resilience.DefaultRandomFactor)
	policy.Random = func() float64 { return 0.5 } // no jitter, so that the output is always the same
	if err := policy.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	for failures := range 7 {
		fmt.Print(policy.Delay(failures), " ")
	}
	// Output: 200ms 400ms 800ms 1.6s 3.2s 5s 5s
}

func ExampleLinear() {
	policy := resilience.Linear(1*time.Second, 3*time.Second, 500*time.Millisecond)
	for failures := range 6 {
		fmt.Print(policy.Delay(failures), " ")
	}
	// Output: 1s 1.5s 2s 2.5s 3s 3s
}

func ExampleBackoff_Validate() {
	policy := resilience.Exponential(10*time.Second, 1*time.Second, 0.2)
	fmt.Println(policy.Validate())
	// Output: resilience: bad backoff: Max is 1s, must be at least Min, 10s
}
