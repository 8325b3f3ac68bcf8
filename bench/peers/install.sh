#!/usr/bin/env bash
# Installs the peers that the benchmarks are compared with, into the cache. One that cannot be installed says why, and the
# others go on: its rows say that it is not installed, and why.
#
#   bench/peers/install.sh [PEER...]     rmcp tiny-mcp py-sdk ts-sdk floor-raw redis; default: all of them
#
#   redis      what tiny-mcp has a mode for
#   floor-raw  floor-pipe is the same program; floor-aiohttp comes with tiny-mcp, and floor-uvicorn with py-sdk
#
# What is there at the pinned version already is left alone. PEER.failed in the cache holds the reason of a failure.
# Exit: 0 all are there, 1 at least one is not, 2 usage.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)

install_tiny() {
    local here=$HERE/tiny-mcp/requirements.txt there=$PEERS/tiny-mcp
    [ -x "$there/bin/python" ] && cmp -s "$here" "$there/installed" && return
    rm -rf "$there"
    "${PYTHON:-python3}" -m venv "$there" &&
        "$there/bin/pip" install --quiet --disable-pip-version-check -r "$here" &&
        cp "$here" "$there/installed"
}

install_cargo() { cargo build --locked --release --manifest-path "$HERE/$1/Cargo.toml" --target-dir "$PEERS/$1"; }

install_peer() {
    case $1 in
    tiny-mcp) install_tiny ;;
    rmcp | floor-raw) install_cargo "$1" ;;
    py-sdk) "$ROOT/scripts/deps.sh" python ;;
    ts-sdk) "$ROOT/scripts/deps.sh" node ;;
    redis) "$ROOT/scripts/deps.sh" redis ;;
    esac
}

[ $# -gt 0 ] || set -- py-sdk ts-sdk redis tiny-mcp floor-raw rmcp
for peer in "$@"; do
    case $peer in
    tiny-mcp | rmcp | floor-raw | py-sdk | ts-sdk | redis) ;;
    *) die "no peer is called $peer: rmcp, tiny-mcp, py-sdk, ts-sdk, floor-raw, redis" ;;
    esac
done
mkdir -p "$PEERS"
failed=0
for peer in "$@"; do
    say "peers: $peer"
    log=$(mktemp "$PEERS/log.XXXXXX")
    if install_peer "$peer" >"$log" 2>&1 </dev/null; then
        rm -f "$log" "$PEERS/$peer.failed"
    else
        mv "$log" "$PEERS/$peer.failed"
        tail -n 25 "$PEERS/$peer.failed" | sed 's/^/    /' >&2
        say "peers: $peer cannot be installed (above: why; all of it: $PEERS/$peer.failed)"
        failed=1
    fi
done
exit "$failed"
