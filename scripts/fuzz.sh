#!/bin/sh
# Every fuzz target of the module, one after the other: go test -fuzz takes one target of one package at a time.
# An input that fails is written to the package's testdata/fuzz; commit it with the fix.
. "$(dirname "$0")/lib.sh"

FUZZTIME=${FUZZTIME:-30s}
ran=0
for package in $(go list ./...); do
	listed=$(go test -list '^Fuzz' "$package")
	for target in $(printf '%s\n' "$listed" | grep '^Fuzz' | grep -E "${FUZZ:-.}" || :); do
		say "$package $target for $FUZZTIME"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" "$package"
		ran=$((ran + 1))
	done
done
say "$ran fuzz targets ran"
