#!/bin/sh
# Installs the real brokers that some tests start, as Debian packages, iproute2 for the tests that cut a network, and
# HOCON's reference implementation, with a Java to run it. It may be run again at any time: what is there stays. The tests start servers of their own on free ports and touch none
# that runs already.
. "$(dirname "$0")/lib.sh"

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# program:package, one pair a word
servers="nats-server:nats-server redis-server:redis-server ip:iproute2 java:default-jre-headless"
# file:package
files="/usr/share/java/typesafe-config.jar:libtypesafe-config-java"

missing=
for pair in $servers; do
	program=${pair%%:*}
	if found=$(command -v "$program"); then
		say "$program is here: $found"
	else
		missing="$missing ${pair##*:}"
	fi
done
for pair in $files; do
	if [ -f "${pair%%:*}" ]; then
		say "${pair%%:*} is here"
	else
		missing="$missing ${pair##*:}"
	fi
done
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null 2>&1 ||
	die "missing:$missing. This script knows Debian's apt-get only: install them another way and put them in PATH"

as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || die "installing$missing needs root, and there is no sudo: run make servers as root"
	as_root=sudo
fi

say "installing$missing"
# A package list that is too old names files the mirror no longer has, so it is read anew before the install.
$as_root apt-get -qq update
# shellcheck disable=SC2086 # as_root may be empty, missing may be several words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends $missing

for pair in $servers; do
	program=${pair%%:*}
	found=$(command -v "$program") || die "$program is still missing after the install of package ${pair##*:}"
	say "$program is here: $found"
done
for pair in $files; do
	[ -f "${pair%%:*}" ] || die "${pair%%:*} is still missing after the install of package ${pair##*:}"
	say "${pair%%:*} is here"
done
