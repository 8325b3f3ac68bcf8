#!/usr/bin/env bash
# Runs the official conformance suite and the official clients through HAProxy, against three replicas on one Redis: each
# request of a session goes to another replica than the one before.
#
#   scripts/cluster.sh [PART...]     parts: conformance interop; default: both
#
# CLUSTER_REPLICAS, CLUSTER_BALANCER, CLUSTER_STORE  another cluster; `trunkline-harness run --help` says which there are
#
# The variables of scripts/conformance.sh and interop/run.sh count here too. Exit: 0 all passed, 1 not, 2 they could not be
# run.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || set -- conformance interop
"$ROOT/scripts/deps.sh" redis balancers >&2
build_binary trunkline-harness
HARNESS=$BINARY

# through BINARY ARGUMENTS COMMAND...: runs a command against a cluster of a server. In the end every replica has to end
# well when it is asked to.
through() {
    local server=$1 arguments=$2
    shift 2
    "$HARNESS" run --replicas "${CLUSTER_REPLICAS:-3}" --balancer "${CLUSTER_BALANCER:-haproxy}" \
        --store "${CLUSTER_STORE:-standalone}" --binary "$server" --arguments "$arguments" --drain -- "$@"
}

status=0
for part in "$@"; do
    one=0
    case $part in
    conformance)
        build_binary everything
        through "$BINARY" serve "$ROOT/scripts/conformance.sh" '{url}/mcp' || one=$?
        ;;
    interop)
        build_binary trunkline
        through "$BINARY" 'serve --demo' "$ROOT/interop/run.sh" '{url}' || one=$?
        ;;
    *) die "no such part: $part (conformance, interop)" ;;
    esac
    [ "$one" -le "$status" ] || status=$one
done
exit "$status"
