#!/usr/bin/env bash
# Runs the load generator against servers that were built with the official SDKs, with a scenario that names their tools:
# every answer has to be right.
#
#   interop/load/run.sh
#
# INTEROP_OUT   keep the logs here (default: a directory that is removed)
#
# Exit: 0 all answers were right, 1 not, 2 they could not be run.
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"

HERE=$ROOT/interop
SECONDS_LONG=3
SERVER_END_LIMIT=20

if [ ! -e "$PYTHON_V1" ] || [ ! -e "$PYTHON_V2" ] || [ ! -e "$TYPESCRIPT_SERVERS" ]; then
    "$ROOT/scripts/deps.sh" python node >&2
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

build_binary trunkline-loadtest
passed=0 failed=0

# row SDK COMMAND...
row() {
    local sdk=$1 port log=$OUT/load-$1.log status=0
    shift
    port=$(free_port)
    start_server "$port" "$log.server" "$@" --port "$port"
    "$BINARY" run --url "http://127.0.0.1:$port/mcp" --scenario "$HERE/load/tools.toml" --clients 5 \
        --duration "${SECONDS_LONG}s" --warmup 1s --timeout 10s --slo 'errors<=0%' --slo 'rate>1/s' \
        >"$log" 2>"$log.stderr" || status=$?
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
        say "load against $sdk: $(sed -n 2p "$log" | sed 's/^ *//')"
    else
        failed=$((failed + 1))
        say "load against $sdk: FAIL, status $status"
        cat "$log" "$log.stderr" | sed 's/^/    /'
    fi
    stop_server "$SERVER_PID" "$SERVER_END_LIMIT" || true
}

for line in 1 2; do
    python=PYTHON_V$line
    row "python-$line" env PYTHONDONTWRITEBYTECODE=1 "${!python}" "$HERE/servers/python_v$line.py"
    row "typescript-$line" "$NODE" --preserve-symlinks --preserve-symlinks-main "$TYPESCRIPT_SERVERS/typescript_v$line.mjs"
done
say "interop: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
