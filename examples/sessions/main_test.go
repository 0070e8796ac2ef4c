package main

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output is a writer for several goroutines.
type output struct {
	mu sync.Mutex
	b  strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func TestACustomerRetiresAndComesBackWithItsTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var out output
		done := make(chan error, 1)
		go func() { done <- run(t.Context(), r, &out, time.Minute) }()
		write := func(line string) {
			if _, err := io.WriteString(w, line+"\n"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		write("ada 25")
		write("bob")
		time.Sleep(time.Minute)
		synctest.Wait()
		write("ada 5")
		write("a/b 1")
		w.Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		got := strings.Split(out.String(), "\n")
		want := []string{"ada has spent 25", `"bob" is not a customer and an amount`, "ada retires with 25", "ada has spent 30"}
		for i, line := range want {
			if i >= len(got) || got[i] != line {
				t.Fatalf("got %q, want %q first", got, want)
			}
		}
		if !strings.Contains(out.String(), "bad name") {
			t.Errorf("a name that cannot be one was not refused: %q", got)
		}
	})
}
