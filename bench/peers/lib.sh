# Shared by the peers' `run`: where things are. To be sourced.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the names are for the scripts that source this

. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
PEERS=$CACHE/peers

# absent WHAT REMEDY: a peer that cannot be run here says so, and ends with 3.
absent() {
    printf '%s\n' "not installed: $1; $2" >&2
    exit 3
}

usage() {
    printf 'usage: %s about | serve PORT MODE | stdio\n' "$0" >&2
    exit 2
}
