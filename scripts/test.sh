#!/bin/sh
# go vet and every test of the module, with the race detector where it can be built.
. "$(dirname "$0")/lib.sh"

race_flag
go vet ./...
if [ -n "$race" ]; then
	# What hot paths may allocate cannot be counted under the race detector.
	go test -run Alloc ./actor/... ./broker ./broker/jetstream
fi
# shellcheck disable=SC2086 # both may be empty or several words
exec go test $race -timeout 20m ${TESTFLAGS:-} ./...
