#!/bin/sh
# Every benchmark of the module, and of the nested module that compares with other libraries if it is there.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2086 # may be empty or several words
go test -run '^$' -bench "${BENCH:-.}" -benchmem -timeout 60m ${TESTFLAGS:-} ./...

if [ -f bench/go.mod ]; then
	cd bench
	# shellcheck disable=SC2086
	go test -run '^$' -bench "${BENCH:-.}" -benchmem -timeout 60m ${TESTFLAGS:-} ./...
fi
