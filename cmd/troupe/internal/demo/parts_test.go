package demo

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/cmd/troupe/internal/order"
	"github.com/troupe-go/troupe/cmd/troupe/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScript(t *testing.T) {
	for kills, want := range map[int][]fault{
		-1: nil,
		0:  {reset, hole},
		1:  {kill, reset, hole},
		3:  {kill, reset, kill, hole, kill},
		5:  {kill, reset, kill, kill, hole, kill, kill},
	} {
		if got := script(kills); !slices.Equal(got, want) {
			t.Errorf("%d kills: %v, want %v", kills, got, want)
		}
	}
}

// TestGatePlacesFaultsInTheFlow: with any number of orders every fault has its place within them.
func TestGatePlacesFaultsInTheFlow(t *testing.T) {
	for _, total := range []int{1, 2, 5, 100, 20_000} {
		for _, faults := range []int{0, 1, 5, 12} {
			g := newGate(faults, total)
			if len(g.places) != faults {
				t.Fatalf("%d places for %d faults", len(g.places), faults)
			}
			for _, at := range g.places {
				if at < 1 || at > int64(total) {
					t.Errorf("a fault at order %d of %d", at, total)
				}
			}
			if !slices.IsSorted(g.places) {
				t.Error(g.places)
			}
		}
	}
	if g := newGate(2, -1); !slices.Equal(g.places, []int64{unknownEvery, 2 * unknownEvery}) {
		t.Errorf("length unknown: %v", g.places)
	}
}

func TestGateShutsUntilTheFaultHasBegun(t *testing.T) {
	woken := 0
	g := newGate(3, 1) // all at the first order
	g.wake = func() { woken++ }
	g.passed(1)
	if g.open() {
		t.Fatal("open at the place of a fault")
	}
	<-g.due
	g.reopen()
	if !g.open() || woken != 1 {
		t.Fatal("not reopened")
	}
	g.end()
	for range 2 {
		<-g.due // the next at the same place, although no order follows
		g.reopen()
		g.again()
	}
	<-g.over
	select {
	case <-g.due:
		t.Error("more faults than places")
	default:
	}
}

func TestGateLeavesOutWhatTheInputIsTooShortFor(t *testing.T) {
	g := newGate(2, -1)
	g.passed(unknownEvery - 1)
	g.end()
	<-g.over
	if !g.open() {
		t.Error("shut")
	}
	none := newGate(0, 5)
	none.passed(1)
	<-none.over
}

// TestResultKeys: the object of -json has exactly the keys that are promised.
func TestResultKeys(t *testing.T) {
	var m map[string]any
	if err := json.Unmarshal([]byte(Result{Wrong: []string{"x"}, Bad: 1}.JSON()), &m); err != nil {
		t.Fatal(err)
	}
	want := []string{"accepted", "confirmed", "delivered", "duplicates", "handled", "lost", "outage_max_ms", "per_second", "reconnects", "sessions_retired", "sessions_started"}
	if got := slices.Sorted(maps.Keys(m)); !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
}

type noView struct{}

func (noView) Line(Line) {}

func TestResultTellsRightFromWrong(t *testing.T) {
	book := order.NewBook()
	for i, o := range []order.Order{{ID: "1", Customer: "ada", Amount: 5}, {ID: "2", Customer: "bob", Amount: 7}} {
		if err := book.Add(o, i+1); err != nil {
			t.Fatal(err)
		}
	}
	right := session.Ledger{
		"ada": {Total: 5, Seen: map[string]struct{}{"1": {}}},
		"bob": {Total: 7, Seen: map[string]struct{}{"2": {}}},
	}
	s := newState(noView{})
	s.accepted = 2
	if r := s.result(right, book, time.Second); !r.OK() || r.Handled != 2 || r.Lost != 0 {
		t.Errorf("%+v", r)
	}
	missing := session.Ledger{"ada": right["ada"]}
	if r := s.result(missing, book, time.Second); r.OK() || r.Lost != 1 || len(r.Wrong) != 1 {
		t.Errorf("a lost order: %+v", r)
	}
	twice := session.Ledger{"ada": {Total: 10, Seen: right["ada"].Seen}, "bob": right["bob"]}
	if r := s.result(twice, book, time.Second); r.OK() || r.Lost != 0 {
		t.Errorf("an order that counts twice: %+v", r)
	}
	s.letters = 1
	if r := s.result(right, book, time.Second); r.OK() {
		t.Error("a dead letter is no success")
	}
	s.letters = 0
	s.counts.Broken.Add(1)
	if r := s.result(right, book, time.Second); r.OK() {
		t.Error("a broken session is no success")
	}
}

func TestOptionsAreNamed(t *testing.T) {
	good := Options{Orders: 1, Customers: 1, Idle: time.Second}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for flag, edit := range map[string]func(*Options){
		"-orders":    func(o *Options) { o.Orders = 0 },
		"-customers": func(o *Options) { o.Customers = 0 },
		"-kills":     func(o *Options) { o.Kills = 1001 },
		"-idle":      func(o *Options) { o.Idle = 0 },
		"-port":      func(o *Options) { o.Port = 70000 },
	} {
		o := good
		edit(&o)
		if err := o.Validate(); err == nil || err.Error()[:len(flag)] != flag {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
