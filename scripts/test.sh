#!/usr/bin/env bash
# Everything that must hold before a change lands, one step after another, and a summary.
#
#   scripts/test.sh [STEP...]     default: all of them, in the order below
#
# A step that fails does not stop the next one: one run tells all. Tests are counted where a step counts its own; a step
# that fails and counts no failure (it does not compile, a lint, a time-out) is one failure. The last line is
# `N passed, N failed`. Exit: 0 all passed, 1 not.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

STEPS=(deps fmt lint doc alone unit conformance interop cluster dispatch)
# Seconds after which a step is ended. `unit` compiles the workspace, `dispatch` its
# optimized form, `lint` and `alone` check it, on a cold cache.
declare -A LIMIT=([deps]=900 [fmt]=120 [lint]=1200 [doc]=900 [alone]=1200 [unit]=2400 [conformance]=1500 [interop]=1500 [cluster]=1500 [dispatch]=1800)

[ $# -eq 0 ] || STEPS=("$@")
cd "$ROOT" || exit 2
LOGS=$TARGET/test-logs
mkdir -p "$LOGS"

# counts LOG: `PASSED FAILED` out of what a step printed: the harness's own lines, or the scripts' last one.
counts() {
    awk '
        /^test result: / { passed += $4; failed += $6 }
        /^(conformance|interop): [0-9]+ passed, [0-9]+ failed$/ { passed += $2; failed += $4 }
        END { print passed + 0, failed + 0 }
    ' "$1"
}

summary=() total_passed=0 total_failed=0
for step in "${STEPS[@]}"; do
    say "=== $step"
    started=$SECONDS status=0
    timeout -k 30 "${LIMIT[$step]:-600}" make --no-print-directory "$step" </dev/null 2>&1 | tee "$LOGS/$step.log" ||
        status=${PIPESTATUS[0]}
    read -r passed failed < <(counts "$LOGS/$step.log")
    outcome=ok
    if [ "$status" -ne 0 ]; then
        outcome=FAILED
        [ "$status" -ne 124 ] || outcome="FAILED (ended after ${LIMIT[$step]:-600} s)"
        [ "$failed" -gt 0 ] || failed=1
    fi
    # A harness that says that tests failed and exits with 0 would be a harness that lies.
    [ "$failed" -eq 0 ] || [ "$status" -ne 0 ] || outcome=FAILED
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
    summary+=("$(printf '%-12s %5d s  %6d passed %4d failed  %s' \
        "$step" "$((SECONDS - started))" "$passed" "$failed" "$outcome")")
done

say "=== summary (logs in ${LOGS#"$ROOT"/})"
printf '%s\n' "${summary[@]}"
say "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ]
