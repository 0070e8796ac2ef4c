package lint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// graph is what each package of a build imports, tests left out.
type graph map[string][]string

// loadGraph asks the go command. It blocks for about a second.
func loadGraph(ctx context.Context) (graph, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}
	g := graph{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return g, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		g[p.ImportPath] = p.Imports
	}
}

// chains finds everything a package compiles, each with one chain of imports that leads there.
func (g graph) chains(from string) map[string][]string {
	found := map[string][]string{from: {from}}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g[queue[0]] {
			if found[next] == nil {
				found[next] = append(slices.Clone(found[queue[0]]), next)
				queue = append(queue, next)
			}
		}
	}
	return found
}

// light checks what users compile: with hocon, actor and the broker base nothing of other people's, and with a protocol
// no other protocol's driver. It sees what an import leads to, which the rules over single files do not.
func light(g graph) (found []string) {
	for _, pkg := range slices.Sorted(maps.Keys(g)) {
		dir, ours := strings.CutPrefix(pkg, modulePath+"/")
		if !ours || strings.HasSuffix(dir, "test") {
			continue
		}
		chains := g.chains(pkg)
		for _, dep := range slices.Sorted(maps.Keys(chains)) {
			if why := heavy(dir, dep); why != "" {
				found = append(found, fmt.Sprintf("%s compiles %s (%s); %s", dir, dep, strings.Join(chains[dep], " → "), why))
			}
		}
	}
	return found
}

// heavy says what is wrong with the package in dir compiling dep; empty if nothing is.
func heavy(dir, dep string) string {
	if own(dep) || standard(dep) {
		return ""
	}
	if under(dir, "hocon") || under(dir, "actor") || dir == "broker" {
		return "right would be the standard library only"
	}
	if !strings.HasPrefix(dir, "broker/") || driverOf(dir, dep) {
		return ""
	}
	for protocol, mods := range drivers {
		if slices.ContainsFunc(mods, func(mod string) bool { return under(dep, mod) }) {
			return "right would be its own driver only, this one is " + protocol + "'s"
		}
	}
	return ""
}
