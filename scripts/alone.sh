#!/usr/bin/env bash
# Checks each crate of the workspace by itself. Together they lend each other features of their dependencies, so that
# one which forgot to ask for a feature compiles with the others and fails its user.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

cd "$ROOT"
names=$(cargo metadata --locked --no-deps --format-version 1 |
    "${PYTHON:-python3}" -c 'import json, sys; print(*(p["name"] for p in json.load(sys.stdin)["packages"]), sep="\n")')
failed=()
for name in $names; do
    say "cargo check -p $name"
    cargo check --locked --quiet -p "$name" || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || { say "these do not compile alone: ${failed[*]}"; exit 1; }
