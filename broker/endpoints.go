package broker

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Endpoint is the type of a setting that says where a peer is: an address or a URL as it was configured, with whatever
// credentials are in it. It is a string in every way but one: what prints it (fmt with any verb, JSON, slog) shows it as
// RedactEndpoint does. In a field that is not exported fmt cannot know that, and a string conversion gives the original.
type Endpoint string

// String is the redacted endpoint.
func (e Endpoint) String() string { return RedactEndpoint(string(e)) }

// Format writes the redacted endpoint, for %q in quotes.
func (e Endpoint) Format(f fmt.State, verb rune) { printRedacted(f, verb, e.String()) }

// MarshalText is the redacted endpoint.
func (e Endpoint) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// LogValue is the redacted endpoint.
func (e Endpoint) LogValue() slog.Value { return slog.StringValue(e.String()) }

// Endpoints is the type of a setting that lists several, as Endpoint is of one. A []string can be assigned to it.
type Endpoints []string

// String is the redacted list in brackets.
func (e Endpoints) String() string { return "[" + strings.Join(e.redacted(), " ") + "]" }

// Format writes the redacted list, for %q in quotes.
func (e Endpoints) Format(f fmt.State, verb rune) { printRedacted(f, verb, e.String()) }

// MarshalJSON is an array of redacted endpoints.
func (e Endpoints) MarshalJSON() ([]byte, error) { return json.Marshal(e.redacted()) }

// LogValue is the redacted list.
func (e Endpoints) LogValue() slog.Value { return slog.StringValue(e.String()) }

func (e Endpoints) redacted() []string {
	out := make([]string, len(e))
	for i, one := range e {
		out[i] = RedactEndpoint(one)
	}
	return out
}

func printRedacted(w io.Writer, verb rune, text string) {
	if verb == 'q' {
		text = fmt.Sprintf("%q", text)
	}
	_, _ = io.WriteString(w, text) // fmt keeps what its writer returns
}
