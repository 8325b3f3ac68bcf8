# Shared by the peers' `run`: where things are. To be sourced.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the names are for the scripts that source this

. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
PEERS=$CACHE/peers

# there PEER FILE...: whether PEER is installed: these are there, and the last try to install it did not fail.
there() {
    local file
    [ ! -e "$PEERS/$1.failed" ] || return 1
    for file in "${@:2}"; do [ -e "$file" ] || return 1; done
}

# absent PEER WHAT: what of PEER cannot be run here, and why, as far as install.sh has left word; ends with 3.
absent() {
    local why=
    if [ -s "$PEERS/$1.failed" ]; then why=" (it could not be: $(tail -n 1 "$PEERS/$1.failed"))"; fi
    printf '%s\n' "not installed: $2; run bench/peers/install.sh $1$why" >&2
    exit 3
}

# usage ROLE...: what this peer can do, beside `about`.
usage() {
    local role
    printf 'usage: %s about\n' "$0" >&2
    for role in "$@"; do
        case $role in
        serve) printf '       %s serve PORT MODE\n' "$0" >&2 ;;
        stdio) printf '       %s stdio [MODE]\n' "$0" >&2 ;;
        client) printf '       %s client MODE http URL REVISION CALLS IN_FLIGHT\n' "$0" >&2 ;;
        pipe-client) printf '       %s client MODE stdio REVISION CALLS IN_FLIGHT -- COMMAND...\n' "$0" >&2 ;;
        esac
    done
    exit 2
}
