// Command troupe is the program that comes with the library: the demo, and tools for its configuration.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/troupe-go/troupe/cmd/troupe/internal/natsd"
)

// cli is the command line.
type cli struct {
	Demo    demoCmd    `cmd:"" help:"Send orders through JetStream to one actor per customer, break the server and the network meanwhile, and check that nothing is lost."`
	Config  configCmd  `cmd:"" help:"Print a HOCON file, resolved, as JSON."`
	Version versionCmd `cmd:"" help:"Print the version."`
	Server  serverCmd  `cmd:"" name:"nats-server" hidden:"" help:"The demo's server process."`
}

// streams are what the program reads and writes.
type streams struct {
	in       *os.File
	out, err io.Writer
}

// exitCode is an error that has been reported already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

func main() { os.Exit(run(os.Args[1:], &streams{os.Stdin, os.Stdout, os.Stderr})) }

// run carries out a command line and returns the exit code: 0, 1 for a failure, 2 for a wrong command line, 130 when
// interrupted.
func run(args []string, std *streams) int {
	var c cli
	quit := -1
	parser, err := kong.New(&c, kong.Name("troupe"),
		kong.Description("An actor runtime for Go whose actors keep talking to the outside world when that world breaks."),
		kong.Writers(std.out, std.err), kong.Exit(func(code int) { quit = code }), kong.UsageOnError(), kong.Bind(std))
	if err != nil {
		fmt.Fprintln(std.err, "troupe:", err)
		return 1
	}
	ctx, err := parser.Parse(normalise(args))
	if quit >= 0 {
		return quit
	}
	if err != nil {
		fmt.Fprintf(std.err, "troupe: %v\ntroupe: see troupe --help\n", err)
		return 2
	}
	err = ctx.Run(std)
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintln(std.err, "troupe:", err)
	return 1
}

// normalise makes -orders the same as --orders: long options may have one dash, as is usual with Go programs.
func normalise(args []string) []string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		if len(a) > 2 && a[0] == '-' && a[1] != '-' && !strings.ContainsRune("0123456789.", rune(a[1])) {
			a = "-" + a
		}
		out = append(out, a)
	}
	return out
}

type versionCmd struct{}

// Run prints the version the program was built from.
func (versionCmd) Run(std *streams) error {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		if version == "" {
			version = "(devel)"
		}
	}
	_, err := fmt.Fprintln(std.out, "troupe", version)
	return err
}

type serverCmd struct {
	Dir  string `required:"" help:"Directory of the store."`
	Port int    `required:"" help:"Port on loopback."`
}

// Run is the server process; it ends with its standard input.
func (c serverCmd) Run(std *streams) error { return natsd.Serve(c.Dir, c.Port, std.in, std.out) }
