# Shared by the scripts beside this file: where things are, how a server is started and ended. To be sourced.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the names are for the scripts that source this

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Everything the tests install goes here; removing it is always safe.
CACHE=${TRUNKLINE_CACHE:-$ROOT/.cache}
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}

PYTHON_V1=$CACHE/python-v1/bin/python
PYTHON_V2=$CACHE/python-v2/bin/python
NODE=$CACHE/node/node
# The interop sources are seen through these links, so that their imports resolve in the cache and not in the tree.
TYPESCRIPT=$CACHE/typescript/src
TYPESCRIPT_SERVERS=$CACHE/typescript/servers
CONFORMANCE=$CACHE/typescript/node_modules/@modelcontextprotocol/conformance/dist/index.js
RUST_CLIENT=$TARGET/debug/trunkline-interop
RUST_SERVER=$TARGET/debug/trunkline-interop-server

say() { printf '%s\n' "$*"; }

# die MESSAGE...: a script that cannot do its work ends with 2; 1 means that it did and something failed.
die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 2
}

# --- servers ----------------------------------------------------------------

SERVER_PIDS=()

# Ends what start_server started. Call it from an EXIT trap.
end_servers() {
    local pid
    for pid in "${SERVER_PIDS[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${SERVER_PIDS[@]}"; do wait "$pid" 2>/dev/null || true; done
    SERVER_PIDS=()
}

# Prints a TCP port that is free on loopback. Below 32768, where no outgoing connection is given a port, so that only
# another server can take it before ours does.
free_port() {
    "${PYTHON:-python3}" - <<'PY'
import random, socket
while True:
    port = random.randrange(20000, 32000)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
PY
}

# start_server PORT LOG COMMAND...: starts a server and returns when it listens on PORT. The pid is in SERVER_PID.
start_server() {
    local port=$1 log=$2 deadline=$((SECONDS + ${SERVER_START_LIMIT:-30}))
    shift 2
    "$@" >"$log" 2>&1 </dev/null &
    SERVER_PID=$!
    SERVER_PIDS+=("$SERVER_PID")
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        kill -0 "$SERVER_PID" 2>/dev/null || { tail -n 20 "$log" >&2; die "$1 ended before it listened on port $port"; }
        [ "$SECONDS" -lt "$deadline" ] || { tail -n 20 "$log" >&2; die "$1 does not listen on port $port in time"; }
        sleep 0.05
    done
}

# stop_server PID SECONDS: asks a server to end, and returns its status; 124 when it had to be killed.
stop_server() {
    local pid=$1 deadline=$((SECONDS + $2)) status=0
    kill -TERM "$pid" 2>/dev/null || return 1
    while kill -0 "$pid" 2>/dev/null; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            kill -KILL "$pid" 2>/dev/null || true
            wait "$pid" 2>/dev/null || true
            return 124
        fi
        sleep 0.05
    done
    wait "$pid" || status=$?
    return "$status"
}

# build_binary NAME: builds a binary of the workspace for a test that runs it; its path is in BINARY.
# The dev profile: `cargo test` has compiled everything under it already, debug assertions and overflow checks count
# while a foreign client talks to the server, and the release profile's link-time optimisation costs minutes.
build_binary() {
    (cd "$ROOT" && cargo build --locked --quiet --bin "$1" --target-dir "$TARGET") || die "the binary $1 does not build"
    BINARY=$TARGET/debug/$1
}

# build_example PACKAGE NAME: the same for an example of a package.
build_example() {
    (cd "$ROOT" && cargo build --locked --quiet -p "$1" --example "$2" --target-dir "$TARGET") ||
        die "the example $2 of $1 does not build"
    BINARY=$TARGET/debug/examples/$2
}
