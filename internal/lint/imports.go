package lint

import (
	"path"
	"slices"
	"strings"
)

// testOnly are modules that tests use and users never compile.
//
// read-only
var testOnly = []string{
	"pgregory.net/rapid", "go.uber.org/goleak", "github.com/google/go-cmp", "github.com/nats-io/nats-server/v2",
	"github.com/alicebob/miniredis/v2",
}

// direction says, per folder, what of this module its packages may import. "actor" is that package alone, "actor/..."
// is it and all below; of the entries that fit a folder the longest counts. The folders of free are not in it.
//
// read-only
var direction = map[string][]string{
	"hocon/...":         {},
	"internal/...":      {"internal/..."},
	"actor":             {"internal/...", "hocon"},
	"actor/...":         {"internal/...", "hocon", "actor"},
	"actortest":         {"internal/...", "hocon", "actor/..."},
	"broker":            {"internal/...", "hocon", "actor/..."},
	"broker/brokertest": {"internal/...", "hocon", "actor/...", "actortest", "broker"},
	"broker/...":        {"hocon", "actor/...", "broker"},
	"persist/...":       {"internal/...", "hocon", "actor/...", "persist/..."},
	"cluster":           {"internal/...", "hocon", "actor/...", "persist/..."},
	"cluster/...":       {"internal/...", "hocon", "actor/...", "persist/...", "cluster"},
}

// free are the folders whose packages may import anything of this module but programs.
//
// read-only
var free = []string{".", "dashboard", "cmd", "examples", "docs"}

// drivers says which modules a protocol's package may import: its one driver, with what belongs to it.
//
// read-only
var drivers = map[string][]string{
	"broker/kafka":       {"github.com/twmb/franz-go"},
	"broker/mqtt":        {"github.com/eclipse/paho.golang"},
	"broker/nats":        {"github.com/nats-io/nats.go"},
	"broker/jetstream":   {"github.com/nats-io/nats.go"},
	"broker/amqp":        {"github.com/rabbitmq/amqp091-go"},
	"broker/redisstream": {"github.com/redis/go-redis/v9"},
	"broker/grpc":        {"google.golang.org/grpc", "google.golang.org/protobuf"},
	"broker/websocket":   {"github.com/coder/websocket"},
}

// importDirection keeps the imports between the folders one way.
func importDirection(m *module) (found []problem) {
	for f := range m.source {
		if f.test() {
			continue
		}
		may, known := allowed(f.dir())
		for spec, name := range f.imports {
			target, ours := strings.CutPrefix(name, modulePath+"/")
			switch {
			case !ours:
			case !known:
				found = append(found, f.problem(spec.Pos(), "folder %s is not in the table of internal/lint/imports.go: say there what it may import", f.dir()))
			case under(target, "cmd") && !under(f.dir(), "cmd"):
				found = append(found, f.problem(spec.Pos(), "%s imports the program %s: move what they share into a library package", f.dir(), target))
			case may != nil && !permitted(f.dir(), target, may):
				found = append(found, f.problem(spec.Pos(), "%s must not import %s; it may import %s", f.dir(), target, listed(may)))
			}
		}
	}
	return found
}

// allowed finds what a folder may import; nil with known set is anything.
func allowed(dir string) (may []string, known bool) {
	if may, ok := direction[dir]; ok {
		return may, true
	}
	for d := dir; d != "."; d = path.Dir(d) {
		if may, ok := direction[d+"/..."]; ok {
			return may, true
		}
	}
	return nil, slices.ContainsFunc(free, func(top string) bool { return under(dir, top) })
}

// permitted says whether a package may import target, which is what may lists or an internal package beside it.
func permitted(dir, target string, may []string) bool {
	if parent, _, ok := strings.Cut(target, "/internal"); ok && under(dir, parent) {
		return true
	}
	return slices.ContainsFunc(may, func(m string) bool {
		top, tree := strings.CutSuffix(m, "/...")
		return target == top || tree && under(target, top)
	})
}

func listed(may []string) string {
	if len(may) == 0 {
		return "nothing of this module"
	}
	return strings.Join(may, ", ")
}

// testOnlyImports keeps modules that only tests need out of what users compile.
func testOnlyImports(m *module) (found []problem) {
	for f := range m.source {
		if f.test() || strings.HasSuffix(f.dir(), "test") || under(f.dir(), "cmd") {
			continue
		}
		for spec, name := range f.imports {
			for _, mod := range testOnly {
				if under(name, mod) {
					found = append(found, f.problem(spec.Pos(), "%s is for tests: import it in a _test.go file or in a package whose name ends in test", mod))
				}
			}
		}
	}
	return found
}

// thirdParty keeps other people's modules where they belong: none below the protocols, and there one driver.
func thirdParty(m *module) (found []problem) {
	for f := range m.source {
		dir := f.dir()
		if f.test() || strings.HasSuffix(dir, "test") {
			continue
		}
		restricted := slices.ContainsFunc([]string{"hocon", "internal", "actor", "broker"}, func(top string) bool { return under(dir, top) })
		if !restricted {
			continue
		}
		for spec, name := range f.imports {
			if own(name) || standard(name) || driverOf(dir, name) {
				continue
			}
			want := "the standard library only"
			if mods := drivers[dir]; mods != nil {
				want = "its driver only: " + strings.Join(mods, ", ")
			}
			found = append(found, f.problem(spec.Pos(), "%s must not import %s; it may import %s", dir, name, want))
		}
	}
	return found
}

func own(name string) bool { return under(name, modulePath) }

// standard says whether an import path is the standard library's: its first element has no dot.
func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

// driverOf says whether name belongs to the driver of the protocol in dir. What protocols share under broker/internal
// may use any driver.
func driverOf(dir, name string) bool {
	for protocol, mods := range drivers {
		if !under(dir, protocol) && !under(dir, "broker/internal") {
			continue
		}
		if slices.ContainsFunc(mods, func(mod string) bool { return under(name, mod) }) {
			return true
		}
	}
	return false
}
