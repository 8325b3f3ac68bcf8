#!/usr/bin/env bash
# Runs the official clients against the demo server, and our client against servers that were built with the official
# SDKs: every SDK, transport and era in the tables below.
#
#   interop/run.sh [URL | BINARY]
#
#   URL     scheme, host and port of the demo, where it runs already, as http://127.0.0.1:8080; stdio and our client are
#           left out then
#   BINARY  the program that serves the demo, `BINARY serve --demo --bind A --admin-bind B` and `BINARY stdio --demo`
#           (default: the workspace's `trunkline`, built first)
#
# INTEROP_ONLY  run only the rows that match this regular expression, as in INTEROP_ONLY='python.*http' or '^ours'
# INTEROP_OUT   keep the logs here (default: a directory that is removed)
#
# Each client prints a line for each step and ends with their number; a client that loses a step, dies or is too slow
# has failed. Exit: 0 all passed, 1 not, 2 they could not be run.
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"

# SDK, transport, era. Legacy is the newest revision with a handshake, modern is 2026-07-28; only the Rust SDK can be told
# to offer an older one. What an SDK cannot speak is not in the table: 1.x knows no 2026-07-28, 2026-07-28 has no HTTP+SSE,
# and the Rust SDK has no HTTP+SSE client.
TABLE='
python-1      http   legacy
python-1      stdio  legacy
python-1      sse    legacy
python-2      http   legacy
python-2      http   modern
python-2      stdio  legacy
python-2      stdio  modern
python-2      sse    legacy
typescript-1  http   legacy
typescript-1  stdio  legacy
typescript-1  sse    legacy
typescript-2  http   legacy
typescript-2  http   modern
typescript-2  stdio  legacy
typescript-2  stdio  modern
typescript-2  sse    legacy
rust          http   legacy
rust          http   modern
rust          stdio  legacy
rust          stdio  modern
rust          http   2025-06-18
rust          stdio  2025-06-18
rust          http   2025-03-26
rust          stdio  2025-03-26
rust          http   2024-11-05
rust          stdio  2024-11-05
'
# Server, transport, era; for our client, modern means found out by the probe. HTTP+SSE is in three of the SDKs.
SERVERS='
python-1      http   legacy
python-1      http   modern 2025-11-25
python-1      stdio  legacy
python-1      stdio  modern 2025-11-25
python-1      sse    legacy
python-2      http   legacy
python-2      http   modern
python-2      stdio  legacy
python-2      stdio  modern
python-2      sse    legacy
typescript-1  http   legacy
typescript-1  stdio  legacy
typescript-1  sse    legacy
typescript-2  http   legacy
typescript-2  http   modern
typescript-2  stdio  legacy
typescript-2  stdio  modern
rust          http   legacy
rust          http   modern
rust          stdio  legacy
rust          stdio  modern
'
# Seconds for one client. Its own limit is shorter; this one is for a client that does not keep it.
CLIENT_LIMIT=150
# Seconds for the server to end once it is asked to, with no client left.
SERVER_END_LIMIT=20

HERE=$ROOT/interop
if [ ! -e "$PYTHON_V1" ] || [ ! -e "$PYTHON_V2" ] || [ ! -e "$CONFORMANCE" ] || [ ! -e "$RUST_CLIENT" ] ||
    [ ! -e "$RUST_SERVER" ] || [ ! -e "$TYPESCRIPT_SERVERS" ]; then
    "$ROOT/scripts/deps.sh" >&2
fi

SCRATCH=
finish() {
    end_servers
    [ -z "$SCRATCH" ] || rm -rf "$SCRATCH"
}
trap finish EXIT
OUT=${INTEROP_OUT:-}
[ "$OUT" ] || OUT=$(mktemp -d) SCRATCH=$OUT
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)

[ $# -le 1 ] || die "usage: $0 [URL | BINARY]"
case ${1:-} in
http://* | https://*) URL=${1%/} BINARY= ;;
*)
    if [ $# -gt 0 ]; then BINARY=$1; else build_binary trunkline; fi
    [ -x "$BINARY" ] || die "not a program: $BINARY"
    PORT=$(free_port)
    ADMIN_PORT=$(free_port)
    start_server "$PORT" "$OUT/server.log" \
        "$BINARY" serve --demo --bind "127.0.0.1:$PORT" --admin-bind "127.0.0.1:$ADMIN_PORT"
    URL=http://127.0.0.1:$PORT
    ;;
esac

passed=0 failed=0

# client SDK: the command line of a client, into the array CLIENT.
client() {
    case $1 in
    python-1) CLIENT=(env PYTHONDONTWRITEBYTECODE=1 "$PYTHON_V1" "$HERE/python/v1.py") ;;
    python-2) CLIENT=(env PYTHONDONTWRITEBYTECODE=1 "$PYTHON_V2" "$HERE/python/v2.py") ;;
    typescript-*)
        CLIENT=("$NODE" --preserve-symlinks --preserve-symlinks-main "$TYPESCRIPT/v${1#*-}.mjs") ;;
    rust) CLIENT=("$RUST_CLIENT") ;;
    esac
}

fail() {
    say "  FAIL $1"
    failed=$((failed + 1))
}

# row SDK TRANSPORT ERA
row() {
    local name=$1-$2-$3 arguments=(--transport "$2" --era "$3")
    local log=$OUT/$name.log server_log=$OUT/server.log ends=$OUT/$name.ends
    # Over HTTP+SSE the server may answer with the transport's own revision or with the one that it is asked for.
    case $2-$3 in
    sse-*) ;;
    *-legacy) arguments+=(--expect 2025-11-25) ;;
    *-modern) arguments+=(--expect 2026-07-28) ;;
    *) arguments+=(--expect "$3") ;;
    esac
    case $2 in
    http) arguments+=(--url "$URL/mcp") ;;
    sse) arguments+=(--url "$URL/sse") ;;
    stdio)
        server_log=$OUT/$name.server.log
        : >"$ends"
        arguments+=(-- "$BASH" "$HERE/stdio-server.sh" "$ends" "$server_log" "$BINARY" stdio --demo) ;;
    esac
    client "$1"
    play "$1 $2 $3" "$log" "$server_log" "${CLIENT[@]}" "${arguments[@]}"
    [ "$2" != stdio ] || judge_end "$ends"
}

# play NAME LOG SERVER-LOG COMMAND...: runs a client and counts its steps.
play() {
    local name=$1 log=$2 server_log=$3 status=0 ok bad
    shift 3
    timeout -k 5 "$CLIENT_LIMIT" "$@" >"$log" 2>"$log.stderr" </dev/null || status=$?
    ok=$(grep -c '^ok ' "$log" || true)
    bad=$(grep -c '^FAIL ' "$log" || true)
    passed=$((passed + ok)) failed=$((failed + bad))
    say "$name: $ok passed, $bad failed"
    grep '^FAIL ' "$log" | sed 's/^/  /' || true
    # Its own count, which a lost step would not match, and its exit status must say the same as its lines.
    grep -qx "end $((ok + bad)) steps" "$log" || fail "the client ended with status $status before its last step"
    [ "$bad" -gt 0 ] || [ "$status" -eq 0 ] || fail "the client ended with status $status"
    [ "$ok" -gt 0 ] || fail "no step passed"
    if [ "$bad" -gt 0 ] || [ "$status" -ne 0 ]; then
        tail -n 15 "$log.stderr" | sed 's/^/    client: /'
        tail -n 10 "$server_log" 2>/dev/null | sed 's/^/    server: /'
    fi
}

# judge_end FILE: the stdio server must have ended by itself, and well.
judge_end() {
    if grep -qx 'exit 0' "$1" && ! grep -qvx 'exit 0' "$1"; then
        passed=$((passed + 1))
    else
        fail "the server did not end with status 0 when its stdin closed: $(tr '\n' ' ' <"$1")"
    fi
}

# server SDK: the command line of a server, into the array SERVER.
server() {
    case $1 in
    python-1) SERVER=(env PYTHONDONTWRITEBYTECODE=1 "$PYTHON_V1" "$HERE/servers/python_v1.py") ;;
    python-2) SERVER=(env PYTHONDONTWRITEBYTECODE=1 "$PYTHON_V2" "$HERE/servers/python_v2.py") ;;
    typescript-*)
        SERVER=("$NODE" --preserve-symlinks --preserve-symlinks-main "$TYPESCRIPT_SERVERS/typescript_v${1#*-}.mjs") ;;
    rust) SERVER=("$RUST_SERVER") ;;
    esac
}

# own_row SDK TRANSPORT ERA [REVISION]: our client against a server of that SDK.
own_row() {
    local name=ours-$1-$2-$3 arguments=(--transport "$2" --era "$3") port
    local log=$OUT/$name.log server_log=$OUT/$name.server.log ends=$OUT/$name.ends
    case $2-$3 in
    sse-*) ;;
    *-legacy) arguments+=(--expect "${4:-2025-11-25}") ;;
    *-modern) arguments+=(--expect "${4:-2026-07-28}") ;;
    esac
    server "$1"
    if [ "$2" = stdio ]; then
        : >"$ends"
        arguments+=(-- "$BASH" "$HERE/stdio-server.sh" "$ends" "$server_log" "${SERVER[@]}")
    else
        port=$(free_port)
        start_server "$port" "$server_log" "${SERVER[@]}" --port "$port"
        arguments+=(--url "http://127.0.0.1:$port/$([ "$2" = sse ] && echo sse || echo mcp)")
    fi
    play "ours against $1 $2 $3" "$log" "$server_log" "$OWN_CLIENT" "${arguments[@]}"
    # How its server ends otherwise is that SDK's affair.
    if [ "$2" = stdio ]; then judge_end "$ends"; else stop_server "$SERVER_PID" "$SERVER_END_LIMIT" || true; fi
}

rows=0
while read -r sdk transport era; do
    [ "$sdk" ] || continue
    [[ "$sdk $transport $era" =~ ${INTEROP_ONLY:-.} ]] || continue
    [ "$transport" != stdio ] || [ "$BINARY" ] || continue
    rows=$((rows + 1))
    row "$sdk" "$transport" "$era"
done <<<"$TABLE"
if [ "$BINARY" ]; then
    demo_pid=$SERVER_PID OWN_CLIENT=
    while read -r sdk transport era revision; do
        [ "$sdk" ] || continue
        [[ "ours $sdk $transport $era" =~ ${INTEROP_ONLY:-.} ]] || continue
        if [ ! "$OWN_CLIENT" ]; then
            demo=$BINARY
            build_example trunkline-client interop
            OWN_CLIENT=$BINARY BINARY=$demo
        fi
        rows=$((rows + 1))
        own_row "$sdk" "$transport" "$era" "$revision"
    done <<<"$SERVERS"
    SERVER_PID=$demo_pid
fi
[ "$rows" -gt 0 ] || die "no row matches INTEROP_ONLY=${INTEROP_ONLY:-}"

status=0
[ ! "$BINARY" ] || stop_server "$SERVER_PID" "$SERVER_END_LIMIT" || status=$?
if [ "$status" -eq 0 ]; then
    [ ! "$BINARY" ] || passed=$((passed + 1))
else
    fail "the server ended with status $status, or not within $SERVER_END_LIMIT s, when asked to by SIGTERM"
    tail -n 20 "$OUT/server.log" | sed 's/^/    server: /'
fi
say "interop: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
