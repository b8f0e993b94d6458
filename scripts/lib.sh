# Shared by the scripts beside it; sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
step() { printf '\n== %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# SwiftPM plans a package anew only when its own files change, not when a file is added to a package it depends on by
# path: without its plan it looks again. usage: forget_plan BUILD_FOLDER
forget_plan() { rm -f "$1"/debug.yaml "$1"/release.yaml; }

# Flags for every debug build of this package; scripts/check sets them, so that its steps share one build.
read -ra build_flags <<< "${BUILD_FLAGS-}"
