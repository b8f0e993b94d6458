#!/usr/bin/env bash
# Does 28 jobs of a shell's user, each in the shortest form there is, against an origin of its own: with nothing stored, something
# stored, a change, an error page, an outage. Compares what is printed, the exit status, and how often the origin was asked.
# usage: Tests/Documents/jobs.sh PROGRAM
# shellcheck disable=SC2016,SC1111,SC2034,SC2154  # `run` expands the commands; quotation marks are words
set -euo pipefail
cd "$(dirname "$0")"
origin_program=$PWD/jobs-origin.py
program=$(cd "$OLDPWD" && realpath "$1")
scratch=$(mktemp -d)
origin_id=
trap 'kill $origin_id 2>/dev/null || true; rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/work"
ln -s "$program" "$scratch/bin/cachefetch"
export PATH=$scratch/bin:$PATH CACHEFETCH_STORE=$scratch/store/s.sqlite LC_ALL=C.UTF-8
unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR
cd "$scratch/work"

coproc origin { exec python3 "$origin_program" "$PWD"; }
origin_id=$origin_PID
# A subshell has no coprocess, but these.
exec {orders}>&"${origin[1]}" {answers}<&"${origin[0]}"
read -r plain secure <&"$answers"
B=http://127.0.0.1:$plain
T=https://localhost:$secure
tell() {
  printf '%s\n' "$*" >&"$orders"
  read -r told <&"$answers"
}

failed=0 done=0 errors=
fail() {
  printf 'job %s, line %s: %s\n    %s\n' "$job" "${BASH_LINENO[1]}" "$1" "${2-}" >&2
  failed=$((failed + 1))
}

# Nothing is stored, and the origin answers with its first edition. usage: job WHAT
job() {
  job=$1
  done=$((done + 1))
  rm -rf "$scratch/store"
  mkdir "$scratch/store"
  tell edition 1
  tell mode up
  tell asked
}

# usage: run STATUS OUTPUT COMMAND      OUTPUT is a pattern
run() {
  local status=0 output
  output=$(eval "$3" 2>"$scratch/errors" </dev/null) || status=$?
  errors=$(<"$scratch/errors")
  [ "$status" = "$1" ] || fail "$3" "ends with $status, not $1: $output $errors"
  # shellcheck disable=SC2053
  [[ $output == $2 ]] || fail "$3" "prints “$output”, not “$2”; $errors"
}

# usage: says PATTERN      of what the last command said
says() {
  # shellcheck disable=SC2053
  [[ $errors == $1 ]] || fail "said “$errors”, not “$1”"
}

# usage: asked TIMES       since it was last looked at
asked() {
  tell asked
  [ "$told" = "$1" ] || fail "the origin was asked $told times, not $1"
}

# Until what another process does is done. usage: until_printed OUTPUT COMMAND
until_printed() {
  local tries=200
  until [ "$(eval "$2" 2>/dev/null)" = "$1" ]; do
    [ $((tries -= 1)) -gt 0 ] || { fail "$2" "does not print “$1” in ten seconds"; return; }
    sleep 0.05
  done
}

edition() { printf '{"edition": %s, "path": "/%s"}' "$1" "$2"; }

job 'a prompt, a status bar'
prompt='cachefetch -q --background --max-age 5m $B/line.txt'
run 4 '' "$prompt"
until_printed 'line.txt, edition 1' 'cachefetch --offline $B/line.txt'
asked 1
tell edition 2
run 0 'line.txt, edition 1' "$prompt"
run 0 'line.txt, edition 1' 'cachefetch -q1 --max-age 5m $B/line.txt'
asked 0
run 0 'line.txt, edition 1' 'cachefetch -q --background --max-age 0 $B/line.txt'
until_printed 'line.txt, edition 2' 'cachefetch --offline $B/line.txt'
tell mode 500
run 3 'line.txt, edition 2' 'cachefetch -q1 $B/line.txt'

job 'cron keeps a list warm'
printf '%s\n' "$B/a" "$B/b" > urls.txt
run 0 '' 'cachefetch preload -sS urls.txt'
says ''
asked 2
tell mode 404
run 3 '' 'cachefetch preload -sS urls.txt'
says 'cachefetch: http*404*cachefetch: http*404*'
tell mode 503
run 0 '' 'cachefetch preload -sS --stale-ok --retry 0 urls.txt'

job 'CI through an outage'
run 0 1 'cachefetch -1 --stale-ok $B/fixtures | jq .edition'
tell mode down
run 0 1 'cachefetch -1 --stale-ok --retry 0 $B/fixtures | jq .edition'
says 'cachefetch: *'
run 0 "$(edition 1 fixtures)" 'cachefetch --offline $B/fixtures'
tell mode 404
run 3 1 'cachefetch -1 --stale-ok $B/fixtures | jq .edition'
run 22 '' 'cachefetch -1 --stale-ok $B/others | jq .edition'

job 'page after page'
pages='u=$B/page/1
while [ "$u" ]; do
  l=$(cachefetch -q1 -o page.json -w "%header{link}" "$u")
  cat page.json
  u=$(sed -n "s/.*<\([^>]*\)>; rel=.next.*/\1/p" <<< "$l")
done'
run 0 $'\\["item 1"]\n\\["item 2"]\n\\["item 3"]' "$pages"
tell mode down
run 0 $'\\["item 1"]\n\\["item 2"]\n\\["item 3"]' "${pages/-q1/-q1 --retry 0 --stale-ok}"

job 'a limit, and how long it holds'
run 0 "$(edition 1 news)" 'cachefetch -1 $B/news'
run 22 '' 'cachefetch -1 $B/limited'
says '*429*'
asked 2
run 3 "$(edition 1 news)" 'cachefetch -1 $B/news'
run 0 "$(edition 1 news)" 'cachefetch -1 --stale-ok $B/news'
asked 0
run 0 '' 'cachefetch rm --pause 127.0.0.1'
run 0 "$(edition 1 news)" 'cachefetch -1 $B/news'
asked 1

job 'an API with a token and an ETag'
TOKEN=s3cret-one
run 22 '' 'cachefetch -1 $B/user'
says '*401*'
run 0 "$(edition 1 user)" 'cachefetch -1 -H "Authorization: Bearer $TOKEN" $B/user'
run 0 'true' 'cachefetch --json -H "Authorization: Bearer $TOKEN" $B/user | jq -s ".[1].revalidated"'
asked 3
! grep -rq "$TOKEN" "$scratch/store" || fail "the token is in the store"

job 'a token that is renewed'
me='cachefetch -1 --account me -H "Authorization: Bearer $TOKEN" $B/user'
run 0 "$(edition 1 user)" "$me"
TOKEN=s3cret-two
run 0 "$(edition 1 user)" "$me --offline"
tell mode down
run 3 "$(edition 1 user)" "$me --retry 0"
tell mode 401
run 3 "$(edition 1 user)" "$me --stale-ok"
run 4 '' 'cachefetch -q1 --offline --account you $B/user'

job 'GraphQL'
run 0 '{"edition": 1, "asked": "{ a }"}' $'cachefetch -1 --read --max-age 1h -d \'{"query": "{ a }"}\' $B/graphql'
run 0 '{"edition": 1, "asked": "{ a }"}' $'cachefetch -1 --read --max-age 1h -d \'{"query": "{ a }"}\' $B/graphql'
run 0 '{"edition": 1, "asked": "{ b }"}' $'cachefetch -1 --read --max-age 1h -d \'{"query": "{ b }"}\' $B/graphql'
asked 2

job 'JSON for jq'
run 0 1 'cachefetch -1 $B/news | jq .edition'
tell edition 2
run 0 2 'cachefetch -1 $B/news | jq .edition'
tell mode 403
run 3 2 'cachefetch -1 $B/news | jq .edition'

job 'a feed, only if it has changed'
run 0 "$(edition 1 feed)" 'cachefetch --print changed $B/feed'
run 0 '' 'cachefetch --print changed $B/feed'
tell edition 2
run 0 "$(edition 2 feed)" 'cachefetch --print changed $B/feed'

job 'a large file, cut off in the middle'
run 0 '' 'cachefetch -q -o big $B/big'
cmp big <(python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(250)) * 12000)') || fail "big has other bytes"
asked 2

job 'the metadata of a mirror'
seq -f "$B/package/%g" 120 > list
run 0 '' 'cachefetch preload -sS list'
run 0 '*120 fresh (120 unchanged)*' 'cachefetch preload list 2>&1'

job 'a laptop on a train'
run 0 "$(edition 1 news)" 'cachefetch $B/news'
tell mode down
run 3 "$(edition 1 news)" 'cachefetch --retry 0 $B/news'
run 0 "$(edition 1 news)" 'cachefetch --offline $B/news'
run 3 "$(edition 1 news)" 'cachefetch --retry 0 --max-stale 7d $B/news'
run 4 '' 'cachefetch --retry 0 --max-stale 0 $B/news'

job 'a page of a kiosk'
run 0 '' 'cachefetch -o page.txt $B/page.txt'
before=$(stat -c '%i %y' page.txt)
run 0 '' 'cachefetch -o page.txt $B/page.txt'
tell mode 500
run 3 '' 'cachefetch -q --retry 0 -o page.txt $B/page.txt'
[ "$(stat -c '%i %y' page.txt)" = "$before" ] || fail "page.txt was touched"
tell mode up
tell edition 2
run 0 'page.txt, edition 2' 'cachefetch -o page.txt $B/page.txt; cat page.txt'

job 'is it healthy'
run 0 200 'cachefetch -w "%{http_code}" --print none $B/health'
tell mode 503
run 3 503 'cachefetch -q --retry 0 -w "%{http_code}" --print none $B/health'
tell mode down
run 3 000 'cachefetch -q --retry 0 -w "%{http_code}" --print none $B/health'

job 'many at once, in order'
many=$(for number in 1 2 3 4 5 6 7 8 9; do edition 1 "$number"; echo; done)
run 0 "$(edition 1 slow)"$'\n'"$many" 'cachefetch -1 $B/slow $B/{1..9}'

job 'a store that many share'
mkdir shared
for n in {1..12}; do cachefetch -1 -v $B/held > shared/out.$n 2> shared/err.$n & done
until_printed 11 'grep -l "waiting for another process" shared/err.* | wc -l'
tell release
until_printed 12 'cat shared/out.* | grep -c edition'
asked 1

job 'a layer of an image'
run 0 '' 'cachefetch preload -sS $B/a $B/b && cachefetch export -q data.cfx'
chmod a-w data.cfx
before=$(sha256sum data.cfx; ls -A)
run 0 "$(edition 1 b)" 'cachefetch --store data.cfx --offline $B/b'
[ "$(sha256sum data.cfx; ls -A)" = "$before" ] || fail "something is written beside the copy"

job 'behind a proxy'
run 0 "$(edition 1 news)" 'cachefetch -1 -x $B http://example.invalid/news'
run 0 "$(edition 1 news)" 'http_proxy=$B cachefetch --offline http://example.invalid/news'
run 0 "$(edition 1 news)" 'http_proxy=$B cachefetch -1 http://example.invalid/news'

job 'an authority of the house'
run 4 '' 'cachefetch -1 $T/news'
says '*--cacert*'
run 0 "$(edition 1 news)" 'cachefetch -1 --cacert ca.pem $T/news'
echo '# renewed' >> ca.pem
tell mode down
run 3 "$(edition 1 news)" 'cachefetch -1 --retry 0 --cacert ca.pem $T/news'

job 'a Unix-domain socket'
run 0 "$(edition 1 news)" 'cachefetch -1 --unix-socket socket http://daemon/news'

job 'the head alone'
run 0 'HTTP/1.1 200*ETag: "1"*' 'cachefetch -I $B/news'
run 0 "$(edition 1 news)" 'cachefetch $B/news'
tell mode down
run 0 'HTTP/1.1 200*ETag: "1"*' 'cachefetch -I --offline $B/news'

job 'one of two forms'
run 0 "$(edition 1 either)" 'cachefetch -1 --accept application/json $B/either'
run 0 'as text' 'cachefetch -1 --accept text/plain $B/either'
run 4 '' 'cachefetch -1 --accept image/png $B/news'
says '*not accepted*'
run 0 "$(edition 1 either)" 'cachefetch -1 -H "Accept: application/json" $B/either'
run 0 'as text' 'cachefetch -1 -H "Accept: text/plain" $B/either'
tell mode down
run 3 "$(edition 1 either)" 'cachefetch -1 --retry 0 -H "Accept: application/json" $B/either'
run 3 'as text' 'cachefetch -1 --retry 0 -H "Accept: text/plain" $B/either'

job 'stored or fresh'
run 4 'none' 'tell mode down; cachefetch -q1 --retry 0 -w "%{printed}" $B/news'
tell mode up
run 0 "$(edition 1 news)"$'\nfresh' 'cachefetch -1 -w "%{printed}" $B/news'
tell mode 404
run 3 "$(edition 1 news)"$'\nstored' 'cachefetch -q1 -w "%{printed}" $B/news'

job 'two versions'
run 0 '' 'cachefetch diff -q $B/news'
tell edition 2
run 1 '*edition*1*2*' 'cachefetch diff $B/news'
run 0 '' 'cachefetch diff $B/news'

job 'a command at each change'
(
  until_printed 1 'cachefetch --offline $B/news | jq .edition'
  tell edition 2
) &
run 0 'it is 2' 'cachefetch watch --json --every 1s --until-changed $B/news |
  jq --unbuffered -c "select(.change == \"changed\") | .body | fromjson.edition" | while read -r n; do echo "it is $n"; done'
wait $!

job 'clean up, and limits'
run 0 '' 'cachefetch preload -sS $B/a $B/b'
run 0 '*/a*/b*' 'cachefetch -1 list --sort url'
run 64 '' 'cachefetch rm --host 127.0.0.1'
run 0 '' 'cachefetch rm --host 127.0.0.1 --yes'
says '*2*'
run 0 '' 'cachefetch list'
run 0 '*10*' 'cachefetch limits --bytes 10M'

job 'to another machine, and why it is stale'
run 0 '' 'cachefetch -q1 --tag demo $B/stale >/dev/null; cachefetch -q export --tag demo moved.cfx'
run 0 '' 'cachefetch --store other.sqlite -q import moved.cfx'
tell mode down
run 0 "$(edition 1 stale)" 'cachefetch --store other.sqlite --offline $B/stale'
run 0 '*stale*' 'cachefetch explain $B/stale'

printf '%s jobs, %s comparisons failed\n' "$done" "$failed" >&2
[ "$failed" = 0 ]
