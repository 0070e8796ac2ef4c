#!/bin/sh
# The benchmark harness of the nested module bench, which measures troupe beside another library and the project's
# baselines. BENCH has its flags; bench -h lists them, docs/performance.md explains them. Nothing is written without -o.
#
#   BENCH="-quick -o FILE"   a tenth of the work; writes FILE.json and FILE.md
#   BENCH="-brokers"         instead: each broker protocol beside its bare driver; -h after it lists more flags
#   BENCH="-micro REGEXP"    instead: the Go benchmarks whose name matches, all of them without REGEXP
. "$(dirname "$0")/lib.sh"

set -f # a regexp is no file name pattern
# shellcheck disable=SC2086 # several flags
set -- ${BENCH:-}

if [ "${1:-}" = -micro ]; then
	[ $# -le 2 ] || die "-micro takes one regexp, and no other flag beside it: $*"
	# shellcheck disable=SC2086 # may be empty or several words
	exec go test -run '^$' -bench "${2:-.}" -benchmem -timeout 60m ${TESTFLAGS:-} ./...
fi

program=.
if [ "${1:-}" = -brokers ]; then
	program=./brokers
	shift
fi

# Built, and not go run: the program starts itself as a worker, and FILE is seen from here.
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT INT TERM
go -C bench build -o "$build/bench" "$program"
"$build/bench" "$@"
