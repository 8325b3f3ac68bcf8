#!/usr/bin/env bash
# Installs the peers that the benchmarks are compared with, into the cache. One that cannot be installed says why, and the
# others go on: its rows say that it is not installed.
#
#   bench/peers/install.sh [PEER...]     rmcp tiny-mcp; default: all of them, and the SDKs that scripts/deps.sh installs
#
# Exit: 0 all are there, 1 at least one is not.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)

install_tiny() {
    [ -x "$PEERS/tiny-mcp/bin/python" ] && cmp -s "$HERE/tiny-mcp/requirements.txt" "$PEERS/tiny-mcp/installed" && return
    rm -rf "$PEERS/tiny-mcp"
    "${PYTHON:-python3}" -m venv "$PEERS/tiny-mcp" &&
        "$PEERS/tiny-mcp/bin/pip" install --quiet --disable-pip-version-check -r "$HERE/tiny-mcp/requirements.txt" &&
        cp "$HERE/tiny-mcp/requirements.txt" "$PEERS/tiny-mcp/installed"
}

install_rmcp() { cargo build --locked --release --manifest-path "$HERE/rmcp/Cargo.toml" --target-dir "$PEERS/rmcp"; }

mkdir -p "$PEERS"
[ $# -gt 0 ] || { "$ROOT/scripts/deps.sh" python node redis && set -- tiny-mcp rmcp; }
failed=0
for peer in "$@"; do
    say "peers: $peer"
    case $peer in
    tiny-mcp) install_tiny ;;
    rmcp) install_rmcp ;;
    *) die "no peer is called $peer: rmcp, tiny-mcp" ;;
    esac || { say "peers: $peer cannot be installed"; failed=1; }
done
exit "$failed"
