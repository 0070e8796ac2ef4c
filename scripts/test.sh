#!/bin/sh
# go vet and every test of the module, with the race detector where it can be built.
. "$(dirname "$0")/lib.sh"

race_flag
go vet ./...
# shellcheck disable=SC2086 # both may be empty or several words
exec go test $race -timeout 20m ${TESTFLAGS:-} ./...
