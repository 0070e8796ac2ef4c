package hocon

import (
	"fmt"
	"io"
	"log/slog"
	"unique"
)

const hidden = "***"

// Secret is a setting that must not be shown, such as a password. Whatever prints it (fmt with any verb, JSON, text,
// slog) shows ***, also where it is a field that is not exported; only [Secret.Reveal] gives the value. It is read like
// a string. The zero value is an empty secret. Secrets can be compared by ==, copied, and used by any goroutine.
type Secret struct {
	// value is a handle because fmt prints what is not exported without asking its methods: of a handle that is an
	// address.
	value unique.Handle[string]
}

// NewSecret returns a secret with this value. It does not block.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{unique.Make(value)}
}

// Reveal returns the value. It does not block.
func (s Secret) Reveal() string {
	if s.Empty() {
		return ""
	}
	return s.value.Value()
}

// Empty reports whether the value is the empty string.
func (s Secret) Empty() bool { return s == Secret{} }

// String returns ***.
func (s Secret) String() string { return hidden }

// Format writes *** for every verb.
func (s Secret) Format(f fmt.State, _ rune) {
	// fmt keeps what its writer returns.
	_, _ = io.WriteString(f, hidden)
}

// MarshalJSON returns *** as a JSON string, and no error.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// MarshalText returns ***, and no error.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue returns ***.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// UnmarshalHOCON reads a string. Errors are *[Error] without the value.
func (s *Secret) UnmarshalHOCON(v Value) error {
	text, err := v.String()
	if err == nil {
		*s = NewSecret(text)
	}
	return err
}

// UnmarshalText takes any text, and returns no error: for flags and other formats. The text is copied.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
