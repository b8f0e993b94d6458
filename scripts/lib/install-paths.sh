# The paths of the installed files, below the prefix; sourced by install and uninstall.
declare -A completion=(
  [bash]=share/bash-completion/completions/cachefetch
  [zsh]=share/zsh/site-functions/_cachefetch
  [fish]=share/fish/vendor_completions.d/cachefetch.fish
)
program=bin/cachefetch
manual=share/man/man1/cachefetch.1

prefix=/usr/local
[ -w "$prefix/bin" ] || prefix=$HOME/.local
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) [ $# -ge 2 ] || die "--prefix needs a folder"; prefix=$2; shift 2 ;;
    --prefix=*) prefix=${1#--prefix=}; shift ;;
    *) die "unknown argument: $1 (usage: ${0##*/} [--prefix DIR])" ;;
  esac
done
case $prefix in /*) ;; *) prefix=$OLDPWD/$prefix ;; esac
