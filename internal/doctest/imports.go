package doctest

import (
	"go/ast"
	"maps"
	"slices"
)

// importable says what a name in a listing without import declarations means.
//
// read-only
var importable = map[string]string{
	"atomic":  "sync/atomic",
	"bufio":   "bufio",
	"bytes":   "bytes",
	"cmp":     "cmp",
	"context": "context",
	"errors":  "errors",
	"fmt":     "fmt",
	"http":    "net/http",
	"io":      "io",
	"json":    "encoding/json",
	"log":     "log",
	"maps":    "maps",
	"net":     "net",
	"os":      "os",
	"signal":  "os/signal",
	"slices":  "slices",
	"slog":    "log/slog",
	"sort":    "sort",
	"strconv": "strconv",
	"strings": "strings",
	"sync":    "sync",
	"testing": "testing",
	"time":    "time",

	"synctest": "testing/synctest",

	"actor":       "github.com/troupe-go/troupe/actor",
	"actortest":   "github.com/troupe-go/troupe/actortest",
	"broker":      "github.com/troupe-go/troupe/broker",
	"brokertest":  "github.com/troupe-go/troupe/broker/brokertest",
	"hocon":       "github.com/troupe-go/troupe/hocon",
	"jetstream":   "github.com/troupe-go/troupe/broker/jetstream",
	"nats":        "github.com/troupe-go/troupe/broker/nats",
	"redisstream": "github.com/troupe-go/troupe/broker/redisstream",
	"resilience":  "github.com/troupe-go/troupe/actor/resilience",
	"router":      "github.com/troupe-go/troupe/actor/router",
}

// missingImports are the paths a file uses without importing them, sorted.
func missingImports(f *ast.File) []string {
	imported := map[string]bool{}
	for _, spec := range f.Imports {
		imported[spec.Path.Value] = true
	}
	used := map[string]bool{}
	selected := map[*ast.Ident]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				selected[x] = true
			}
		}
		return true
	})
	for _, id := range f.Unresolved {
		path := importable[id.Name]
		if selected[id] && path != "" && !imported[`"`+path+`"`] {
			used[path] = true
		}
	}
	return slices.Sorted(maps.Keys(used))
}
