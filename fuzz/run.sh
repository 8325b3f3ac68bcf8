#!/usr/bin/env bash
# Runs every fuzz target for some seconds each:  fuzz/run.sh [SECONDS] [TARGET...]
# Installs cargo-fuzz if it is missing. Ends with 1 if any target found something; what it found is in fuzz/artifacts.
#
# What fuzzing learns is kept in fuzz/target/corpus, so that the inputs under version control stay few. To keep a finding:
#   RUSTC_BOOTSTRAP=1 cargo fuzz tmin TARGET fuzz/artifacts/TARGET/crash-…
# and put the result into fuzz/corpus/TARGET under a name that says what it shows; every test run checks it from then on.
set -euo pipefail

seconds=${1:-60}
shift || true
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The sanitizer is behind an unstable flag; this lets the pinned stable toolchain take it.
export RUSTC_BOOTSTRAP=1

if ! command -v cargo-fuzz >/dev/null; then
    cargo install --locked --version 0.13.2 cargo-fuzz
fi

if [ $# -gt 0 ]; then
    targets=("$@")
else
    mapfile -t targets < <(cargo fuzz list)
fi

failed=()
for target in "${targets[@]}"; do
    echo "== $target, $seconds s"
    learned=fuzz/target/corpus/$target
    mkdir -p "$learned" "fuzz/corpus/$target"
    # 4096 bytes hold whatever a parser of ours can get wrong; longer inputs only slow the search.
    cargo fuzz run "$target" "$learned" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 ||
        failed+=("$target")
done

if [ ${#failed[@]} -gt 0 ]; then
    echo "found something: ${failed[*]}; see fuzz/artifacts" >&2
    exit 1
fi
