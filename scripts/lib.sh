# Shared by the scripts beside it; sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
step() { printf '\n== %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif have sudo; then sudo "$@"; else die "not root and no sudo; run as root: $*"; fi
}

# Installs Debian's package of a program that only some scripts need, if it is missing. usage: need PROGRAM PACKAGE
need() {
  have "$1" || [ -x "/usr/sbin/$1" ] || ! have apt-get ||
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$2" >&2 || true
  have "$1" || [ -x "/usr/sbin/$1" ] || die "$1 is needed and could not be installed"
}

# SwiftPM plans a package again only if its own files change, not if a file is added to a package it depends on by path.
# Removing the plan makes it plan again. usage: forget_plan BUILD_FOLDER
forget_plan() { rm -f "$1"/debug.yaml "$1"/release.yaml; }

# Flags for every debug build of this package; scripts/check sets them, so that its steps share one build.
read -ra build_flags <<< "${BUILD_FLAGS-}"

# The build of Apple's systems (Package.swift) has a folder of its own, so that the two builds do not invalidate each other.
[ "${PORTABLE-}" != 1 ] || build_flags+=(--scratch-path .build/portable)

# Runs tests and repeats the failures at the end, since thousands of lines follow them.
# usage: run_tests COMMAND...
run_tests() {
  local output status=0
  output=$(mktemp)
  "$@" 2>&1 | tee "$output" || status=$?
  if [ "$status" != 0 ]; then
    say "the failures once more:"
    grep -A 3 -E '✘|error: a test hangs|WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer' "$output" >&2 || true
  fi
  rm -f "$output"
  return "$status"
}
