# Shared by the scripts beside this file, which source it; it changes to the module's root.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*"; }
die() { say "$*" >&2; exit 1; }

# sudo make servers often has another PATH, and needs no Go.
[ "$(basename "$0")" = servers.sh ] || command -v go >/dev/null 2>&1 ||
	die "the go command is not in PATH: install Go, see https://go.dev/dl"

# race_flag sets $race to -race if the race detector can be built here. Compiling runtime/cgo is the test: it finds a
# compiler that is there but has no C library headers, which CGO_ENABLED=1 alone does not.
race_flag() {
	race=
	if go build -race runtime/cgo >/dev/null 2>&1; then
		race=-race
		say "with the race detector (C compiler: $(go env CC))"
	elif [ "${TROUPE_REQUIRE:-}" = all ]; then
		die "TROUPE_REQUIRE=all wants the race detector, and go build -race fails here: install a C compiler, such as gcc"
	else
		say "without the race detector: it needs a C compiler, such as gcc"
	fi
}
