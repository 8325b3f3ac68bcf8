#!/usr/bin/env bash
# Whether each peer that is installed does what README.md says of it: every mode in every revision, a call each, as a server
# and as a client, over HTTP and over a pipe. Says nothing about speed. Clients call the workspace's demo, built first.
#
#   bench/peers/check.sh [PEER...]     default: all of them
#
# Exit: 0 all that are installed are right, 1 one is wrong, 2 it could not be tried.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
BINARY=${TRUNKLINE_BIN:-}
[ -n "$BINARY" ] || build_binary trunkline
exec "${PYTHON:-python3}" -B "$(dirname "$0")/check/main.py" "$BINARY" "$@"
