#!/bin/sh
# The tests with their long rounds switched on: tests behind the build tag soak are compiled in, and tests that look at
# TROUPE_SOAK repeat their rounds by the hundred. This takes long.
. "$(dirname "$0")/lib.sh"

race_flag
export TROUPE_SOAK=1
# shellcheck disable=SC2086 # both may be empty or several words
exec go test $race -tags soak -count 1 -timeout 3h -run "${RUN:-.}" ${TESTFLAGS:-} ./...
