# The paths of the installed files, below the prefix; sourced by install and uninstall.
declare -A completion=(
  [bash]=share/bash-completion/completions/cachefetch
  [zsh]=share/zsh/site-functions/_cachefetch
  [fish]=share/fish/vendor_completions.d/cachefetch.fish
)
program=bin/cachefetch
manual=share/man/man1/cachefetch.1

# Where the files are put is $root: the prefix, below DESTDIR if there is one.
stage=${DESTDIR-}
prefix=/usr/local
[ -n "$stage" ] || [ -w "$prefix/bin" ] || prefix=$HOME/.local
usage() { say "error: $* (usage: scripts/${0##*/} [--prefix DIR])"; exit 64; }
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) [ $# -ge 2 ] || usage "--prefix needs a folder"; prefix=$2; shift 2 ;;
    --prefix=*) prefix=${1#--prefix=}; shift ;;
    -h | --help) exec "scripts/${0##*/}" --help ;;
    *) usage "unknown argument: $1" ;;
  esac
done
[ -n "$prefix" ] || usage "--prefix needs a folder"
case $prefix in /*) ;; *) prefix=$OLDPWD/$prefix ;; esac
case $stage in '' | /*) ;; *) stage=$OLDPWD/$stage ;; esac
root=$stage$prefix
