#!/usr/bin/env bash
# Runs the official MCP conformance suite against a server or a client, strictly.
#
#   scripts/conformance.sh [URL | BINARY]
#   scripts/conformance.sh --client [PROGRAM]
#
#   URL     of an MCP endpoint that is running
#   BINARY  a program that serves the fixture at /mcp when started as `BINARY serve --bind A --admin-bind B`
#           (default: the workspace's `everything`, built first)
#   PROGRAM the client: the suite starts it once for each scenario, with the URL of a server of its own as the last argument
#           (default: the workspace's example `conformance`, built first). No spaces in its path.
#
# Every scenario of each revision must pass, the ones that the suite runs and does not score (tasks, pending) too, but
# for those in conformance-expected.txt or conformance-client-expected.txt, which must fail.
#
# CONFORMANCE_REVISIONS  which requirement sets (default: 2026-07-28 2025-11-25)
# CONFORMANCE_OUT        keep the suite's log and each scenario's checks here (default: a directory that is removed)
#
# Exit: 0 all as expected, 1 not, 2 the suite could not be run.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# Milliseconds that a scenario may take. The suite's own limit; the slowest one waits 5 s by design.
SCENARIO_LIMIT=30000
# Seconds for one revision: some fifty scenarios, of which all but a few take milliseconds.
REVISION_LIMIT=600

LEG=server EXPECTED=$ROOT/scripts/conformance-expected.txt
if [ "${1:-}" = --client ]; then
    LEG=client EXPECTED=$ROOT/scripts/conformance-client-expected.txt
    shift
fi
[ $# -le 1 ] || die "usage: $0 [URL | BINARY], or $0 --client [PROGRAM]"
[ -e "$CONFORMANCE" ] || "$ROOT/scripts/deps.sh" node >&2

OUT=${CONFORMANCE_OUT:-}
SCRATCH=
finish() {
    end_servers
    [ -z "$SCRATCH" ] || rm -rf "$SCRATCH"
}
trap finish EXIT
[ "$OUT" ] || OUT=$(mktemp -d) SCRATCH=$OUT
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)

case $LEG,${1:-} in
client,*)
    if [ $# -eq 1 ]; then BINARY=$1; else build_example trunkline-client conformance; fi
    [ -x "$BINARY" ] || die "not a program: $BINARY"
    # The suite cuts the command at spaces.
    [[ "$BINARY" != *[[:space:]]* ]] || die "there is a space in $BINARY"
    TARGET_OF_SUITE=(--command "$BINARY")
    ;;
server,http://* | server,https://*) TARGET_OF_SUITE=(--url "$1") ;;
*)
    if [ $# -eq 1 ]; then BINARY=$1; else build_binary everything; fi
    [ -x "$BINARY" ] || die "not a program: $BINARY"
    PORT=$(free_port)
    start_server "$PORT" "$OUT/server.log" \
        "$BINARY" serve --bind "127.0.0.1:$PORT" --admin-bind "127.0.0.1:$(free_port)"
    TARGET_OF_SUITE=(--url "http://127.0.0.1:$PORT/mcp")
    ;;
esac

passed=0 failed=0
for revision in ${CONFORMANCE_REVISIONS:-2026-07-28 2025-11-25}; do
    directory=$OUT/$revision
    rm -rf "$directory"
    mkdir -p "$directory"
    # What should run, in the suite's own words; a scenario that is left out must not pass for one that passed.
    "$NODE" "$CONFORMANCE" list "--$LEG" --requirements "$revision" >"$directory/list.txt" ||
        die "the suite does not know $revision"
    status=0
    timeout "$REVISION_LIMIT" "$NODE" "$CONFORMANCE" "$LEG" "${TARGET_OF_SUITE[@]}" --requirements "$revision" \
        --timeout "$SCENARIO_LIMIT" -o "$directory/checks" >"$directory/log.txt" 2>&1 || status=$?
    if [ "$status" -gt 1 ]; then
        tail -n 20 "$directory/log.txt" >&2
        die "the suite ended with status $status at $revision"
    fi
    "$NODE" "$ROOT/scripts/conformance.mjs" "$LEG" "$revision" "$directory" "$EXPECTED" ||
        [ $? -eq 1 ] || die "no verdict on $revision"
    read -r p f <"$directory/counts.txt"
    passed=$((passed + p)) failed=$((failed + f))
done
if [ "${SERVER_PID:-}" ] && ! kill -0 "$SERVER_PID" 2>/dev/null; then
    tail -n 20 "$OUT/server.log" >&2
    say "FAIL the server ended during the run"
    failed=$((failed + 1))
fi
say "conformance: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
