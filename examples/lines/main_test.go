package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers every line of the connections of l; on the first it hangs up after one.
func echo(l net.Listener) {
	for first := true; ; first = false {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		for in := bufio.NewScanner(nc); in.Scan(); {
			fmt.Fprintln(nc, "you said", in.Text())
			if first {
				break
			}
		}
		nc.Close()
	}
}

func TestLinesGoOnAfterALoss(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go echo(l)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	keyboard, typed := io.Pipe()
	shown, screen := io.Pipe()
	defer shown.Close() // what nobody reads any more must not hold the screen up
	done := make(chan error, 1)
	go func() { done <- run(ctx, keyboard, screen, l.Addr().String()) }()

	out := bufio.NewScanner(shown)
	until := func(want string) {
		t.Helper()
		for out.Scan() {
			if strings.HasPrefix(out.Text(), want) {
				return
			}
		}
		t.Fatalf("%q did not come", want)
	}
	until("-- connected to tcp://127.0.0.1:")
	fmt.Fprintln(typed, "one")
	until("you said one")
	until("-- lost: ")
	fmt.Fprintln(typed, "two") // while there is no connection
	until("-- attempt 1 after ")
	until("-- connected")
	until("you said two")
	typed.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
