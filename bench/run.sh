#!/usr/bin/env bash
# The first measurement: the server beside a floor, every revision. Takes about an hour; --quick takes some minutes and says
# little. --help lists the parts. Figures go to bench/out, the tables to bench/out/report.md and standard output.
#
# The server has core 0 to itself and the client core 1: leave both alone meanwhile. A cell that others disturbed is
# measured again, and the table says how much of the core they took.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

for tool in wrk valgrind taskset python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "run.sh: $tool is missing; on Debian and Ubuntu: apt-get install wrk valgrind util-linux python3" >&2
        exit 2
    fi
done

cd "$here/.."
if [[ " $* " != *" --report "* && " $* " != *" --help "* ]]; then
    ${CARGO:-cargo} build --locked --release -p trunkline -p floor
fi
exec python3 "$here/bench.py" "$@"
