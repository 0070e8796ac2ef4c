// Package lint checks the module's own rules, those no general linter knows: how long a file and a function may be,
// which package may import which, what has a comment, and what library code does not call. Its tests run every rule
// over the whole module, so go test ./... is enough to see a violation; each is reported as file:line with what would
// be right. Every rule also has a test that proves it catches what it is for.
//
// A rule is a function from a module to problems. It sees parsed source, so the tests feed it source from strings. To
// add one, write the function, a table for it, and a line in rules.
package lint
