package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/troupe-go/troupe/cmd/troupe/internal/demo"
)

func TestPlainLine(t *testing.T) {
	var b bytes.Buffer
	p := NewPlain(&b)
	p.Line(demo.Line{At: 1234 * time.Millisecond, What: "fault", Text: "SIGKILL to the server"})
	if got, want := b.String(), "   1.234s  fault  SIGKILL to the server\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Stop() // never started
}

func TestStatus(t *testing.T) {
	s := demo.Snapshot{Phase: "publishing", Link: "connected", Total: -1, Accepted: 7, Alive: 3, Faults: 1, FaultsAll: 5}
	all := strings.Join(status(s), "\n")
	for _, want := range []string{"publishing", "connected", "accepted 7 of ?", "alive 3", "faults 1 of 5"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	s.Total = 20
	if all := strings.Join(status(s), "\n"); !strings.Contains(all, "accepted 7 of 20") {
		t.Error(all)
	}
}

func TestModelInterruptsOnKeys(t *testing.T) {
	for _, key := range []tea.KeyPressMsg{{Code: 'c', Mod: tea.ModCtrl}, {Code: 'q', Text: "q"}} {
		n := 0
		m, _ := model{snapshot: func() demo.Snapshot { return demo.Snapshot{} }, interrupt: func() { n++ }}.Update(key)
		if n != 1 || !m.(model).stopping {
			t.Errorf("%s: interrupted %d times", key, n)
		}
		if got := m.View().Content; !strings.Contains(got, "stopping") {
			t.Errorf("%s: %s", key, got)
		}
	}
	n := 0
	m, cmd := model{snapshot: func() demo.Snapshot { return demo.Snapshot{} }, interrupt: func() { n++ }}.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
	if n != 0 || cmd != nil || !strings.Contains(m.View().Content, "Ctrl-C stops") {
		t.Error("another key does something")
	}
	if _, cmd := m.Update(refresh{}); cmd == nil {
		t.Error("the ticks end")
	}
}
