package hocon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestSecret: nothing shows the value but Reveal.
func TestSecret(t *testing.T) {
	const value = "pa55-wörd"
	type settings struct {
		Password Secret
		Others   map[string]Secret
		private  Secret
	}
	var s settings
	if err := Decode(resolved(t, `password = "`+value+`", others { a = "`+value+`" }`), "", &s); err != nil {
		t.Fatal(err)
	}
	s.private = s.Password
	if s.Password.Reveal() != value || s.Others["a"] != s.Password || s.Password.Empty() {
		t.Fatal("the secret was not read")
	}
	var zero Secret
	if !zero.Empty() || zero.Reveal() != "" || zero != NewSecret("") {
		t.Error("the zero value is not the empty secret")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		if got := fmt.Sprintf(verb, s.Password); got != hidden {
			t.Errorf("%s: %s", verb, got)
		}
		for _, v := range []any{s, &s, []Secret{s.Password}, &s.Password} {
			got := fmt.Sprintf(verb, v)
			if strings.Contains(got, value) || strings.Contains(strings.ToLower(got), fmt.Sprintf("%x", value)) {
				t.Errorf("%s of a %T: %s", verb, v, got)
			}
		}
	}
	b, err := json.Marshal(s)
	if err != nil || strings.Contains(string(b), value) || !strings.Contains(string(b), `"Password":"***"`) {
		t.Errorf("%s, %v", b, err)
	}
	if b, err := s.Password.MarshalText(); string(b) != hidden || err != nil {
		t.Errorf("%s, %v", b, err)
	}
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", s.Password, "all", s)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "secret", s.Password, "all", s)
	if strings.Contains(out.String(), value) || strings.Count(out.String(), hidden) < 2 {
		t.Error(out.String())
	}
	err = Decode(resolved(t, `password { a = "`+value+`" }`), "", &s)
	if err == nil || strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), "want a string, found an object") {
		t.Error(err)
	}
}

// TestText: an enumeration reads its words by UnmarshalText, and its error gets the place.
func TestText(t *testing.T) {
	var s struct {
		Level  slog.Level
		Levels []slog.Level
		Next   *slog.Level
	}
	if err := Decode(resolved(t, "level = warn, levels = [debug, error], next = info"), "", &s); err != nil {
		t.Fatal(err)
	}
	if s.Level != slog.LevelWarn || len(s.Levels) != 2 || s.Levels[1] != slog.LevelError || *s.Next != slog.LevelInfo {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]string{
		"level = loud":           "test.conf:1:9: level: slog: level string \"loud\"",
		"level = []":             "test.conf:1:9: level: want a string, found an array",
		"level = ${HOCON_HOST}":  "a value from the environment",
		"levels = [debug, loud]": "test.conf:1:18: levels.1: ",
	} {
		if err := Decode(resolved(t, text), "", &s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "envhost") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
