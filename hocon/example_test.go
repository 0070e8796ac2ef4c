package hocon_test

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/hocon"
)

const reference = `
defaults {
  initialDelay = 200ms
  maxDelay     = 30s
}
broker.nats = ${defaults} {
  url     = "nats://localhost:4222"
  url     = ${?NATS_URL}
  subjects = [orders]
}
`

const application = `
defaults.maxDelay = 1 minute
broker.nats.subjects += invoices
`

// Nats are the settings of a connection.
type Nats struct {
	URL                    string
	Subjects               []string
	InitialDelay, MaxDelay time.Duration
	MaxAttempts            int
}

// A configuration of the application is laid over the reference, resolved, and decoded into a struct that holds the
// defaults of what neither of them sets.
func Example() {
	noEnv := func(o *hocon.Options) { o.Env = func(string) (string, bool) { return "", false } }
	ref, err := hocon.ParseString("reference.conf", reference, noEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := hocon.ParseString("application.conf", application, noEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := app.WithFallback(ref).Resolve()
	if err != nil {
		fmt.Println(err)
		return
	}
	settings := Nats{MaxAttempts: 10}
	if err := hocon.Decode(all, "broker.nats", &settings); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", settings)
	// Output: {URL:nats://localhost:4222 Subjects:[orders invoices] InitialDelay:200ms MaxDelay:1m0s MaxAttempts:10}
}

// An error names the file, the line, the column, the key, and what would be right.
func ExampleDecode_error() {
	app, err := hocon.ParseString("application.conf", "broker.nats {\n  maxDelay = 30 parsecs\n}")
	if err != nil {
		fmt.Println(err)
		return
	}
	if app, err = app.Resolve(); err != nil {
		fmt.Println(err)
		return
	}
	var settings Nats
	fmt.Println(hocon.Decode(app, "broker.nats", &settings))
	// Output: application.conf:2:14: broker.nats.maxDelay: the unit is not known, want a duration such as 500ms, 30s, 5m or 1.5h (a plain number is milliseconds)
}

// Retries are a number of attempts that may be written as infinite.
type Retries int

// UnmarshalHOCON reads a word or a number.
func (r *Retries) UnmarshalHOCON(v hocon.Value) error {
	if s, err := v.String(); err == nil && s == "infinite" {
		*r = -1
		return nil
	}
	return v.Decode((*int)(r))
}

// A type can read its value itself.
func ExampleValue() {
	c, err := hocon.ParseString("application.conf", "first = infinite, second = 5")
	if err != nil {
		fmt.Println(err)
		return
	}
	if c, err = c.Resolve(); err != nil {
		fmt.Println(err)
		return
	}
	var settings struct{ First, Second Retries }
	if err := hocon.Decode(c, "", &settings); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(settings.First, settings.Second)
	// Output: -1 5
}
