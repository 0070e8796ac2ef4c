# Everything a user or a contributor runs. It needs Go, make and git; a C compiler adds the race detector.
#
#   make demo      run the demo; options through ARGS: make demo ARGS="-orders 200000 -kills 5"
#   make test      go vet and every test, with -race where a C compiler is there
#   make servers   install the real brokers some tests want; without them those tests are skipped
#   make check     what a change must pass: formatting, vet, lint, tests
#   make bench     measure beside other runtimes; BENCH="-quick -o FILE" takes a minute and writes FILE.json and FILE.md,
#                  BENCH="-micro REGEXP" runs Go benchmarks instead, BENCH=-h lists all flags
#   make fuzz      every fuzz target for FUZZTIME (30s) each; FUZZ=regexp picks some
#   make chaos     random faults for CHAOS (10m), with every message accounted for
#   make soak      the tests with their long rounds switched on; RUN=regexp picks some

ARGS      ?=
BENCH     ?=
CHAOS     ?= 10m
FUZZ      ?= .
FUZZTIME  ?= 30s
RUN       ?= .
TESTFLAGS ?=

export BENCH CHAOS FUZZ FUZZTIME RUN TESTFLAGS

.PHONY: help demo test servers check bench chaos fuzz soak

help:
	@sed -n 's/^#   //p' Makefile

demo:
	@go run ./cmd/troupe demo $(ARGS)

test:
	@sh scripts/test.sh

servers:
	@sh scripts/servers.sh

check:
	@sh scripts/check.sh

bench:
	@sh scripts/bench.sh

chaos:
	@sh scripts/chaos.sh

fuzz:
	@sh scripts/fuzz.sh

soak:
	@sh scripts/soak.sh
