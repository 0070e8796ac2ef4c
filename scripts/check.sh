#!/bin/sh
# What a change must pass before it lands: formatting, vet, lint and the tests.
. "$(dirname "$0")/lib.sh"

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || die "not formatted, run gofmt -w on: $unformatted"
say "gofmt: clean"

if command -v golangci-lint >/dev/null 2>&1; then
	golangci-lint run ./...
	say "golangci-lint: clean"
else
	say "golangci-lint is not installed, its checks are skipped; to have them:"
	say "  go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest"
fi

exec sh scripts/test.sh
