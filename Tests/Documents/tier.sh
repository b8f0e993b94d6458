#!/usr/bin/env bash
# Does what docs/tier.md says, in the page's order: makes the certificates, starts a server with the page's configuration, and
# shares a response between two machines (two homes) that ask it from an address other than loopback's.
# usage: Tests/Documents/tier.sh PROGRAM      in a network and mounts of its own; scripts/check documentation starts it so
source "$(dirname "$0")/../../scripts/lib/common.sh"
program=$(cd "$OLDPWD" && realpath "$1")
scratch=$(mktemp -d)
ids=()
trap 'kill "${ids[@]}" 2>/dev/null || true; rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{bin,etc/redis,etc/cachefetch,first,second}
ln -s "$program" "$scratch/bin/cachefetch"
unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR \
  XDG_CACHE_HOME CACHEFETCH_STORE CACHEFETCH_TIER

# The server's address is one of documentation's. Redis takes whoever comes from it for another machine.
ip link set lo up
ip address add 192.0.2.1/32 dev lo 2>/dev/null || true
printf '127.0.0.1 localhost\n192.0.2.1 cache.internal\n' > "$scratch/hosts"
mount --bind "$scratch/hosts" /etc/hosts

# Prints the block of the page that has a line, with /etc below this test's folder. usage: block LINE
block() {
  awk -v line="$1" '
    /^```/ { if (inside && found) { printf "%s", text; exit } inside = !inside; text = ""; found = 0; next }
    inside { text = text $0 "\n"; found = found || $0 == line }' docs/tier.md |
    sed "s,/etc/,$scratch/etc/,g" | grep . || die "docs/tier.md has no block with the line: $1"
}

# usage: on_machine HOME COMMAND      with what the page exports there
on_machine() {
  (cd "$scratch/$1" && HOME=$PWD PATH=$scratch/bin:$PATH bash -euc "$names"$'\n'"$2")
}

names=
on_machine first "$(block '(umask 077; cachefetch doctor --new-fleet-key > fleet.key; openssl rand -hex 32 > tier.password)')" \
  2> "$scratch/said" || die "no certificates: $(cat "$scratch/said")"
cp "$scratch"/first/{authority.crt,tier.crt,tier.key} "$scratch/etc/redis/"
cp -p "$scratch"/first/{authority.crt,fleet.key,tier.password} "$scratch/etc/cachefetch/"
block 'user default off' | sed "s/PASSWORD/$(cat "$scratch/first/tier.password")/" > "$scratch/etc/redis/redis.conf"
exec {server}< <(cd "$scratch" && exec redis-server "$scratch/etc/redis/redis.conf")
ids+=($!)
said=
until [[ $said = *"Ready to accept connections"* ]]; do
  read -r line <&"$server" || die "redis-server does not start with the page's configuration: $said"
  said+=$line$'\n'
done

names=$(block 'cachefetch doctor' | grep '^export ')
# The machine may be busy.
doctor=$(on_machine first "$(block 'cachefetch doctor' | sed "/^export /s/'\$/\&patience=10s'/")") || true
grep -q '^fine *tier: rights: may ask and offer$' <<< "$doctor" && [ "$(grep -c '^fine ' <<< "$doctor")" = "$(wc -l <<< "$doctor")" ] ||
  die "doctor says: $doctor"

# Nobody else is let in, and nothing listens without TLS.
client=(redis-cli --tls --cacert "$scratch/etc/cachefetch/authority.crt" -h cache.internal -p 6380)
[[ $("${client[@]}" ping 2>&1) = NOAUTH* ]] || die "a client without a user is let in"
[[ $("${client[@]}" auth default "" 2>&1) = WRONGPASS* ]] || die "the user default is let in"
! redis-cli -h cache.internal ping > "$scratch/said" 2>&1 || die "the server answers without TLS: $(cat "$scratch/said")"

# What one machine has fetched the other delivers when the origin is gone: of the shared account, over plain http.
coproc origin { exec python3 -c '
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Cache-Control", "public, max-age=60")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()'; }
ids+=("$origin_PID")
origin_id=$origin_PID
read -r port <&"${origin[0]}"
names+=$'\nCACHEFETCH_TIER+="&plain-http=yes&patience=10s"'
ask=$(block 'CACHEFETCH_TIER="$CACHEFETCH_TIER&accounts=ci" cachefetch --account ci -H @token.header https://api.example.com/releases')
ask=${ask//https:\/\/api.example.com/http://127.0.0.1:$port}
for machine in first second; do echo "Authorization: Bearer of the $machine" > "$scratch/$machine/token.header"; done
fetched=$(on_machine first "$ask" || true)
kill "$origin_id"
wait "$origin_id" 2>/dev/null || true
shared=$(on_machine second "$ask" 2>/dev/null || true)
[ -n "$fetched" ] && [ "$shared" = "$fetched" ] || die "the first machine fetched “$fetched”; the second, without the origin, has “$shared”"
say "docs/tier.md: the server started, was asked from another address, and shared a response"
