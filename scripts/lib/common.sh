# Shared by the scripts in scripts and scripts/lib; sourced, not run.
set -euo pipefail

# The comment at the head of a script is its help.
if [ "${1-}" = --help ]; then
  awk 'NR > 1 { if (!sub(/^# ?/, "")) exit; print }' "$0"
  exit
fi

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
step() { printf '\n== %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif have sudo; then sudo "$@"; else die "not root and no sudo; run as root: $*"; fi
}

# Installs Debian packages.
install_packages() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2
}

# Servers that the tests and the benchmarks start themselves. The install of Debian's package of a server starts a service and
# enables it, so these packages are unpacked here and not installed.
unpacked=$PWD/.build/servers
PATH=$PATH:/usr/sbin:$unpacked/usr/sbin:$unpacked/usr/bin

# Installs Debian's package of a program that only some scripts need, if it is missing. The package must not have a service.
# usage: need PROGRAM PACKAGE
need() {
  have "$1" || ! have apt-get || install_packages "$2" || true
  have "$1" || die "$1 is needed and could not be installed"
}

# Unpacks a server, and installs the libraries it needs. The packages are tried in turn until the program is there.
# usage: unpack_server PROGRAM PACKAGE...
unpack_server() {
  local program=$1 package archives library libraries
  shift
  say "unpacking $program below .build/servers, for tests and benchmarks alone: no service is started or enabled"
  archives=$(mktemp -d)
  mkdir -p "$unpacked"
  for package; do
    (cd "$archives" && apt-get download -q -o APT::Sandbox::User=root "$package" >&2) || continue
    dpkg-deb -x "$archives/${package}"_*.deb "$unpacked"
    libraries=()
    # nginx's modules depend on the package of the server itself.
    for library in $(dpkg-deb -f "$archives/${package}"_*.deb Depends | grep -oE '(^|, )lib[^ ,]+' | grep -oE 'lib.*'); do
      [[ $library == libnginx* ]] || installed "$library" || libraries+=("$library")
    done
    [ ${#libraries[@]} = 0 ] || install_packages "${libraries[@]}"
    ! have "$program" || break
  done
  rm -rf "$archives"
  have "$program" || die "$program is needed and could not be unpacked"
}

# Whether a Debian package is installed.
installed() { dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

# SwiftPM plans a package again only if its own files change, not if a file is added to a package it depends on by path.
# Removing the plan makes it plan again. usage: forget_plan BUILD_FOLDER
forget_plan() { rm -f "$1"/debug.yaml "$1"/release.yaml; }

# Where packages are built that use this one as a user's would, of the same flags: one folder, so that whoever comes second finds
# the libraries built.
users=$PWD/.build/users

# Flags for every debug build of this package; scripts/check sets them, so that its steps share one build.
read -ra build_flags <<< "${BUILD_FLAGS-}"

# The build of Apple's systems (Package.swift) has a folder of its own, so that the two builds do not invalidate each other.
[ "${PORTABLE-}" != 1 ] || build_flags+=(--scratch-path .build/portable)

# Has these tests built alone, with what is shared in their targets; Package.swift reads the variables.
# usage: choose_tests FILE_OR_FOLDER...      below Tests
choose_tests() {
  local path
  for path; do [ -e "Tests/$path" ] || die "no such tests: Tests/$path"; done
  CACHEFETCH_TESTS=$(printf '%s\n' "${@%%/*}" | sort -u | xargs)
  CACHEFETCH_LEFT_OUT=$(cd Tests && find $CACHEFETCH_TESTS -name '*.swift' |
    { grep -vFf <(printf '%s\n' "$@" "${@/%\/*//Support/}") || true; } | xargs)
  export CACHEFETCH_TESTS CACHEFETCH_LEFT_OUT
}

# The processes of a run of tests, with their command lines. usage: left_processes RUN
left_processes() {
  local process
  {
    grep -lsz "^CACHEFETCH_TEST_RUN=$1\$" /proc/[0-9]*/environ
    # redis-server writes its title over its environment.
    find /proc/[0-9]*/cwd -maxdepth 0 -lname "$1/*" 2>/dev/null
  } | cut -d / -f 3 | sort -nu | while read -r process; do
    printf '%s %s\n' "$process" "$(tr '\0' ' ' < "/proc/$process/cmdline" 2>/dev/null)"
  done || true
}

# Ends what is left of a run of tests, and removes its folders. usage: clear_away RUN
clear_away() {
  local process
  while read -r process _; do kill -KILL "$process" 2>/dev/null || true; done < <(left_processes "$1")
  # What a test must not have below /dev is in a folder of the same name.
  rm -rf "$1" "/tmp/${1##*/}"
}

# Reports what a run of tests has left, and removes it. A background refresh, or a server that is shutting down, has ten
# seconds to end. Folders are only named. usage: nothing_left RUN
nothing_left() {
  local tries=50 left folders
  while [ -n "$(left_processes "$1")" ] && [ $((tries -= 1)) -gt 0 ]; do sleep 0.2; done
  left=$(left_processes "$1"; grep -s " $1" /proc/self/mounts || true)
  # SwiftPM's own are its locks and the folders of its manifests.
  folders=$(ls -A "$1" | grep -vE '^(_.*\.lock|TemporaryDirectory\..*)$' || true)
  [ -z "$folders" ] || { say "note: the tests left in their folder:"; say "$folders"; }
  clear_away "$1"
  [ -z "$left" ] || { say "error: the tests left behind:"; say "$left"; return 1; }
}

# Where the tests' folders are made: $TMPDIR, else memory where there is plenty of it and programs may be run from it, since
# half of what a store's test costs on a disk is the making of files; else /tmp. usage: tests_folder
tests_folder() {
  local mount free memory
  [ -z "${TMPDIR-}" ] || { echo "$TMPDIR"; return; }
  mount=$(grep -E '^[^ ]+ /dev/shm tmpfs ' /proc/self/mounts 2>/dev/null | tail -1 || true)
  if [ -n "$mount" ] && [[ $mount != *noexec* ]] && [ -w /dev/shm ]; then
    free=$(df --output=avail /dev/shm | tail -1)
    memory=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
    if [ "$free" -ge $((6 << 20)) ] && [ "$memory" -ge $((8 << 20)) ]; then echo /dev/shm; return; fi
  fi
  echo /tmp
}

# Links the programs that the tests start to Swift's libraries in archives, at a fixed address, into one folder, and prints
# it: a start then takes half as long, and there are thousands. The toolchain has such archives on Linux alone.
# usage: quick_programs
quick_programs() {
  local built folder product module
  built=$(swift build --show-bin-path "${build_flags[@]}")
  folder=$built/quick
  mkdir -p "$folder"
  for product in cachefetch demo-origin StoreDriver LaunchDemo NewsReader; do
    module=$product
    [ "$product" != demo-origin ] || module=DemoOrigin
    # The main function of a program that tests import has the module's name in it.
    [ "$folder/$product" -nt "$built/$product" ] ||
      swiftc -static-stdlib -Xclang-linker -no-pie -l_FoundationCollections -l_FoundationCShims \
        -Xlinker "--defsym=main=${module}_main" -o "$folder/$product" \
        "@$built/$product.product/Objects.LinkFileList" > "$folder/$product.log" 2>&1 ||
      { say "note: $product starts slowly: $(tail -1 "$folder/$product.log")"; ln -f "$built/$product" "$folder/"; }
  done
  echo "$folder"
}

# Runs tests, repeats the failures at the end, since thousands of lines follow them, and fails where they leave a process or
# a mount behind. All folders of the tests are below one of the run's, and all their processes have its name in the
# environment. The name is short, since it contains Unix-domain sockets.
# usage: run_tests COMMAND...
run_tests() {
  local output run status=0
  output=$(mktemp)
  run=$(mktemp -d "$(tests_folder)/cf-XXXXXX")
  # If the script is killed, a watching subshell cleans up in its place.
  if [ -d /proc/self ]; then
    (
      trap '' INT TERM HUP
      exec </dev/null >/dev/null 2>&1
      tail --pid=$$ -f /dev/null
      clear_away "$run"
    ) &
  fi
  TMPDIR=$run CACHEFETCH_TEST_RUN=$run "$@" 2>&1 | tee "$output" || status=$?
  if [ "$status" != 0 ]; then
    say "the failures once more:"
    grep -A 3 -E '✘|error: a test hangs|WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer' "$output" >&2 || true
  fi
  rm -f "$output"
  nothing_left "$run" || status=1
  return "$status"
}
