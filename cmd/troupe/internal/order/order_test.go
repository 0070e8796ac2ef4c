package order

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, line, wrong string }{
		{"good", `{"id":"a","customer":"c","amount":-5}`, ""},
		{"other keys are ignored", `{"id":"a","customer":"c","amount":1,"note":"x"}`, ""},
		{"not JSON", `hello`, "it is not JSON: invalid character 'h'"},
		{"cut off", `{"id":"a"`, "it ends too early"},
		{"empty", "  ", "the line is empty"},
		{"two values", `{"id":"a","customer":"c","amount":1}{}`, "something behind"},
		{"array", `[]`, "it must be a JSON object, it is a JSON array"},
		{"no id", `{"customer":"c","amount":1}`, `"id" is missing`},
		{"no customer", `{"id":"a","amount":1}`, `"customer" is missing`},
		{"no amount", `{"id":"a","customer":"c"}`, `"amount" is missing`},
		{"null", `null`, `"id" is missing`},
		{"empty id", `{"id":"","customer":"c","amount":1}`, `"id" must not be empty`},
		{"number as id", `{"id":7,"customer":"c","amount":1}`, `"id" must be a string, it is a JSON number`},
		{"decimals", `{"id":"a","customer":"c","amount":1.5}`, `a whole number of cents, it is 1.5`},
		{"text as amount", `{"id":"a","customer":"c","amount":true}`, `"amount" must be a whole number of cents, it is a JSON bool`},
		{"huge", `{"id":"a","customer":"c","amount":1000000000001}`, `"amount" must be between`},
		{"overflow", `{"id":"a","customer":"c","amount":99999999999999999999}`, `a whole number of cents`},
		{"control character", `{"id":"a\nb","customer":"c","amount":1}`, `"id" must not contain the control character '\n'`},
		{"long id", `{"id":"` + strings.Repeat("x", MaxName+1) + `","customer":"c","amount":1}`, `"id" must have at most 200 bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.line))
			switch {
			case c.wrong == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Fatalf("error %v, want one with %q", err, c.wrong)
			}
		})
	}
}

func read(t *testing.T, r io.Reader) (good []Order, bad map[int]string, s *Source) {
	t.Helper()
	s, bad = FromReader(r, -1), map[int]string{}
	s.Start(t.Context())
	for {
		e, ok := s.Next(t.Context())
		if !ok {
			return good, bad, s
		}
		if e.Err != nil {
			bad[e.Line] = e.Err.Error()
		} else {
			good = append(good, e.Order)
		}
	}
}

func TestSource_bad_lines_are_numbered_and_do_not_end_the_input(t *testing.T) {
	input := "\ufeff" + `{"id":"a","customer":"c","amount":1}` + "\r\n" +
		"oops\n" +
		"\n" +
		`{"id":"b","customer":"d","amount":2}` + "\n" +
		`{"id":"` + strings.Repeat("x", MaxLine) + `"}` + "\n" +
		`{"id":"a","customer":"c","amount":9}` + "\n" +
		`{"id":"c","customer":"c","amount":4}` // no line feed at the end
	good, bad, s := read(t, strings.NewReader(input))
	want := []Order{{"a", "c", 1}, {"b", "d", 2}, {"c", "c", 4}}
	if !slices.Equal(good, want) {
		t.Errorf("orders %v, want %v", good, want)
	}
	for line, text := range map[int]string{2: "not JSON", 3: "empty", 5: "longer than", 6: "used on line 1 already"} {
		if !strings.Contains(bad[line], text) {
			t.Errorf("line %d: %q, want one with %q", line, bad[line], text)
		}
	}
	if s.Bad() != 4 || len(bad) != 4 {
		t.Errorf("%d bad lines counted, %d reported, want 4", s.Bad(), len(bad))
	}
	if got := s.Book().Totals(); !maps.Equal(got, map[string]int64{"c": 5, "d": 2}) {
		t.Errorf("totals %v", got)
	}
	if n, err := CountLines(strings.NewReader(input)); n != 7 || err != nil {
		t.Errorf("CountLines: %d, %v, want 7", n, err)
	}
}

func TestSource_a_long_last_line_is_one_bad_line(t *testing.T) {
	for _, end := range []string{"", "\n"} {
		_, bad, _ := read(t, strings.NewReader(strings.Repeat("x", 3*MaxLine)+end))
		if len(bad) != 1 || !strings.Contains(bad[1], "longer than") {
			t.Errorf("with end %q: %v", end, bad)
		}
	}
}

func TestSource_a_failing_read_is_reported_with_its_line(t *testing.T) {
	broken := errors.New("the disk is gone")
	r := io.MultiReader(strings.NewReader(`{"id":"a","customer":"c","amount":1}`+"\n"), failing{broken})
	good, _, s := read(t, r)
	if err := s.Err(); len(good) != 1 || !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%d orders, error %v", len(good), s.Err())
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestSource_reads_no_further_than_one_line_while_nobody_takes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		made := 0
		s := newSource(100, func(yield func(Entry, error) bool) {
			for made = 1; yield(Entry{Line: made, Order: Order{ID: fmt.Sprint(made)}}, nil); made++ {
			}
		})
		s.Start(ctx)
		for range 3 {
			s.Next(ctx)
		}
		synctest.Wait()
		if made != 4 {
			t.Errorf("%d lines were read when 3 were taken, want 4", made)
		}
		cancel()
		if err := s.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("error after cancel: %v", err)
		}
	})
}

func TestSource_Probe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat("x\n", 10)
		for _, c := range []struct{ limit, total int }{{100, 10}, {5, -1}} {
			s := FromReader(strings.NewReader(text), -1)
			s.Start(t.Context())
			s.Probe(t.Context(), time.Second, c.limit)
			if s.Total() != c.total {
				t.Errorf("limit %d: total %d, want %d", c.limit, s.Total(), c.total)
			}
			lines := 0
			for e, ok := s.Next(t.Context()); ok; e, ok = s.Next(t.Context()) {
				if lines++; e.Line != lines {
					t.Errorf("line %d came as number %d", e.Line, lines)
				}
			}
			if lines != 10 {
				t.Errorf("limit %d: %d lines", c.limit, lines)
			}
		}
		r, w := io.Pipe() // a producer that is slow
		s := FromReader(r, -1)
		s.Start(t.Context())
		before := time.Now()
		s.Probe(t.Context(), time.Second, 5)
		if d := time.Since(before); d != time.Second || s.Total() != -1 {
			t.Errorf("a silent input was probed for %v, total %d", d, s.Total())
		}
		w.Close()
		<-s.done
	})
}

func TestGenerate(t *testing.T) {
	a, b := slices.Collect(Generate(5000, 40, 7)), slices.Collect(Generate(5000, 40, 7))
	if !slices.Equal(a, b) {
		t.Error("the same seed made other orders")
	}
	if slices.Equal(a, slices.Collect(Generate(5000, 40, 8))) {
		t.Error("another seed made the same orders")
	}
	customers, ids := map[string]int{}, map[string]bool{}
	for _, o := range a {
		customers[o.Customer]++
		ids[o.ID] = true
		if data := fmt.Sprintf(`{"id":%q,"customer":%q,"amount":%d}`, o.ID, o.Customer, o.Amount); o.Amount < 1 {
			t.Errorf("amount of %s", data)
		} else if back, err := Parse([]byte(data)); err != nil || back != o {
			t.Errorf("%s does not parse: %v", data, err)
		}
	}
	if len(customers) != 40 || len(ids) != 5000 {
		t.Errorf("%d customers, %d ids, want 40 and 5000", len(customers), len(ids))
	}
	first := map[string]bool{}
	for _, o := range a[:500] {
		first[o.Customer] = true
	}
	if len(first) > 30 {
		t.Errorf("%d of 40 customers in the first tenth: nobody pauses", len(first))
	}
	for _, n := range []int{0, 1, 3} {
		for _, c := range []int{1, 2, 1000} {
			if got := len(slices.Collect(Generate(n, c, 1))); got != n {
				t.Errorf("Generate(%d, %d) made %d", n, c, got)
			}
		}
	}
}

func TestBook_Difference(t *testing.T) {
	b := NewBook()
	for i, o := range []Order{{"1", "a", 5}, {"2", "b", 6}, {"3", "a", 7}} {
		if err := b.Add(o, i+1); err != nil {
			t.Fatal(err)
		}
	}
	if d := b.Difference(map[string]int64{"a": 12, "b": 6}); len(d) != 0 {
		t.Errorf("equal totals differ: %v", d)
	}
	got := b.Difference(map[string]int64{"a": 11, "z": 1})
	want := []string{
		`customer "a" has a total of 11, the input says 12`,
		`customer "b" has no total, the input says 6`,
		`customer "z" has a total of 1 and is not in the input`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
