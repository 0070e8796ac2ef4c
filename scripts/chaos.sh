#!/bin/sh
# Random faults over the fake protocol, JetStream, core NATS and Redis Streams, all at once, for CHAOS (10m); the tests account for
# every message. Each prints a seed that TROUPE_CHAOS_SEED takes back.
. "$(dirname "$0")/lib.sh"

race_flag
export TROUPE_CHAOS="${CHAOS:-10m}"
# shellcheck disable=SC2086 # may be empty
exec go test $race -count 1 -parallel 8 -timeout 3h -v -run "${RUN:-.}" ./internal/chaosrun
