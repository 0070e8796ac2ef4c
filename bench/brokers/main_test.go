package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test's program be the server, as the real one is.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-serve") {
		if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestEveryRowHasFigures(t *testing.T) {
	var out, log strings.Builder
	if err := run(t.Context(), []string{"-messages", "500", "-rounds", "1", "-outstanding", "16"}, &out, &log); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	for _, r := range rows() {
		if !strings.Contains(out.String(), "| "+r.name+" | ") {
			t.Errorf("no row %s in\n%s", r.name, &out)
		}
	}
	if strings.Contains(out.String(), "not installed") {
		t.Logf("left out:\n%s", &out)
	}
	if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "| 0/s") {
		t.Errorf("a figure is missing:\n%s", &out)
	}
	for _, bad := range [][]string{{"-messages", "0"}, {"-rounds", "0"}, {"-nonsense"}} {
		if err := run(t.Context(), bad, &out, &log); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}
