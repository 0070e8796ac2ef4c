package view

import (
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/troupe-go/troupe/cmd/troupe/internal/demo"
)

// Live is the view for a terminal: the timeline scrolls, the status stays below it. It implements demo.Viewer. Make it
// with NewLive.
type Live struct {
	program *tea.Program
	done    chan error
}

// NewLive returns a view on a terminal. Input nil means that no keys are read; with one, Ctrl-C calls interrupt.
func NewLive(in io.Reader, out io.Writer, snapshot func() demo.Snapshot, interrupt func()) *Live {
	m := model{snapshot: snapshot, interrupt: interrupt}
	return &Live{
		program: tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()),
		done:    make(chan error, 1),
	}
}

// Start takes the terminal over, until Stop.
func (l *Live) Start() {
	go func() {
		_, err := l.program.Run()
		l.done <- err
	}()
}

// Stop gives the terminal back and waits for that.
func (l *Live) Stop() error {
	l.program.Quit()
	return <-l.done
}

// Line adds an entry to the timeline.
func (l *Live) Line(line demo.Line) {
	style := lipgloss.NewStyle()
	switch {
	case line.What == "fault":
		style = style.Foreground(lipgloss.Color("11")).Bold(true)
	case strings.HasPrefix(line.Text, "connected"):
		style = style.Foreground(lipgloss.Color("10"))
	case line.What == "link" || line.What == "input":
		style = style.Foreground(lipgloss.Color("9"))
	}
	l.program.Println(style.Render(text(line)))
}

// refresh is the tick of the status.
type refresh struct{}

func again() tea.Cmd {
	return tea.Tick(100*time.Millisecond, func(time.Time) tea.Msg { return refresh{} })
}

// model is the status below the timeline.
type model struct {
	snapshot  func() demo.Snapshot
	interrupt func()
	stopping  bool
}

// Init begins the ticks.
func (m model) Init() tea.Cmd { return again() }

// Update reacts to ticks and to Ctrl-C.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case refresh:
		return m, again()
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+c" || msg.String() == "q" {
			m.stopping = true
			m.interrupt()
		}
	}
	return m, nil
}

// View draws the status.
func (m model) View() tea.View {
	lines := status(m.snapshot())
	hint := "Ctrl-C stops"
	if m.stopping {
		hint = "stopping"
	}
	lines = append(lines, lipgloss.NewStyle().Faint(true).Render(hint))
	box := lipgloss.NewStyle().Border(lipgloss.RoundedBorder()).Padding(0, 1)
	// The line feed keeps the frame whole when the terminal is given back: its last line is cleared then.
	return tea.NewView(box.Render(strings.Join(lines, "\n")) + "\n")
}
