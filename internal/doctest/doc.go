// Package doctest compiles and runs the Go listings of the documentation: every fenced block marked go in README.md and
// docs/*.md. Its test puts them into one temporary module that requires this one, as a user's program would, builds and
// vets that module, and runs every program. An error names the page and the line of the listing.
//
// What a listing is compiled as:
//
//   - One that begins with a package clause is a file. A package main is also run, with an empty standard input, in an
//     empty folder, for at most 20 seconds; it must exit with status 0. If the next fenced block of the page is marked
//     text, and no heading and no more than one paragraph stands between them, that block is the program's standard
//     output, to the letter but for white space at the end of lines.
//   - One that consists of declarations gets a package clause and its imports. One with test functions is a test file,
//     and its tests are run.
//   - One that consists of statements is put into testdata/statements.tmpl: a handler, with ctx and msg, and with sys, a
//     *actor.System, and ref, an actor.Ref.
//
// A comment in the page, on the lines before the listing, says otherwise:
//
//	<!-- doctest: in=NAME -->        put the listing into testdata/NAME.tmpl, at the line that is only // LISTING
//	<!-- doctest: continue -->       compile it into the same package as the listing before
//	<!-- doctest: compile WHY -->    do not run it, for the reason given
//
// Listings that are no complete files, and templates, need not import what they use: the packages of imports.go are
// imported for them. Every listing is formatted by gofmt. A listing that says nats://localhost:4222 talks to a server
// that the test starts.
//
// The links between the pages of the repository are followed, too.
package doctest
