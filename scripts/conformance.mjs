// The verdict on one run of the conformance suite: conformance.mjs LEG REVISION DIRECTORY EXPECTED-FILE
//
// LEG is what was tested: `server` or `client`.
// DIRECTORY holds list.txt, what `conformance list` prints, and checks/, what the suite wrote. Prints a summary, writes
// `PASSED FAILED` to counts.txt, and exits with 0 when all is as expected, 1 when not, 2 when it cannot tell.
//
// A scenario passes when it left checks, none of them failed, and at least one succeeded. One whose checks the suite
// itself skipped, all of them, and one that fails as expected count as neither. A warning is printed and fails nothing: the suite uses it for what the
// specification only recommends.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const WIDTH = 240;

/** The scenarios that must run, with the suite's reason for not scoring one, or null. */
function listed(text, leg) {
    const scenarios = new Map();
    let [section, reason] = [null, null];
    for (const line of text.split('\n')) {
        section = /^(Server|Client) scenarios/.exec(line)?.[1].toLowerCase() ?? section;
        const group = /^ {2}([a-z-]+) \(\d+\):$/.exec(line);
        if (group) [section, reason] = [null, group[1]];
        const scored = /^ {2}- (\S+)$/.exec(line);
        if (scored && section === leg) scenarios.set(scored[1], null);
        const unscored = /^ {4}- (\S+) \[([a-z]+)\]$/.exec(line);
        if (unscored?.[2] === leg) scenarios.set(unscored[1], reason);
    }
    return scenarios;
}

/** The checks of each scenario that ran. A scenario of the server leg is in a directory `server-NAME-TIME`, one of the
 * client leg in `NAME-TIME`, and a name may have slashes. */
function results(directory) {
    const found = new Map();
    for (const entry of existsSync(directory) ? readdirSync(directory, { recursive: true }) : []) {
        if (basename(entry) !== 'checks.json') continue;
        const name = dirname(entry).replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
        found.set(name, [...(found.get(name) ?? []), ...JSON.parse(readFileSync(join(directory, entry), 'utf8'))]);
    }
    return found;
}

/** The scenarios that are expected to fail at this revision. */
function expectedFailures(text, revision) {
    const lines = text.split('\n').map((line) => line.replace(/#.*/, '').trim()).filter(Boolean);
    return new Set(lines.map((line) => line.split(/\s+/)).filter(([at]) => at === revision).map(([, name]) => name));
}

function message(check) {
    const text = check.errorMessage ?? check.details?.message ?? check.description ?? '';
    return `${check.id}: ${String(text).replace(/\s+/g, ' ').slice(0, WIDTH)}`;
}

/** Why a scenario's checks do not make a pass; empty when they do. */
function faults(checks) {
    if (checks === undefined || checks.length === 0) return ['it left no checks'];
    const failures = checks.filter((check) => check.status === 'FAILURE').map(message);
    const succeeded = checks.some((check) => check.status === 'SUCCESS');
    return failures.length > 0 || succeeded ? failures : ['none of its checks succeeded'];
}

const skippedByTheSuite = (checks) => checks?.length > 0 && checks.every(({ status }) => status === 'SKIPPED');

const [leg, revision, directory, expectedFile] = process.argv.slice(2);
const scenarios = listed(readFileSync(join(directory, 'list.txt'), 'utf8'), leg);
const ran = results(join(directory, 'checks'));
const expected = expectedFailures(readFileSync(expectedFile, 'utf8'), revision);
if (scenarios.size === 0) {
    console.error(`conformance: the suite lists no ${leg} scenario for ${revision}`);
    process.exit(2);
}

const lines = [];
const counts = { scored: [0, 0], unscored: [0, 0], warnings: 0, skipped: 0, known: 0 };
for (const [name, reason] of scenarios) {
    const checks = ran.get(name);
    const label = reason === null ? name : `${name} (${reason})`;
    if (skippedByTheSuite(checks)) {
        counts.skipped += 1;
        lines.push(`  skip ${label} ${message(checks[0])}`);
        continue;
    }
    const why = faults(checks);
    if (why.length > 0 && expected.has(name)) {
        counts.known += 1;
        lines.push(`  known ${label}`);
        continue;
    }
    if (expected.has(name)) why.push('it passes, but is listed as an expected failure: remove it');
    counts[reason === null ? 'scored' : 'unscored'][why.length > 0 ? 1 : 0] += 1;
    if (why.length > 0) lines.push(`  FAIL ${label}`, ...why.map((line) => `       ${line}`));
    for (const check of (checks ?? []).filter(({ status }) => status === 'WARNING')) {
        counts.warnings += 1;
        lines.push(`  warn ${label} ${message(check)}`);
    }
}
// Whatever is listed or ran without being asked for means that this file no longer understands the suite.
const strangers = [...expected, ...ran.keys()].filter((name) => !scenarios.has(name));
for (const name of strangers) lines.push(`  FAIL ${name}`, '       no such scenario at this revision');

const [passed, failed] = [counts.scored[0] + counts.unscored[0], counts.scored[1] + counts.unscored[1] + strangers.length];
const part = ([ok, bad]) => `${ok} passed, ${bad} failed`;
console.log(`${leg} ${revision}: scored ${part(counts.scored)}; not scored ${part(counts.unscored)}; ` +
    `${counts.known} known failures, ${counts.skipped} skipped by the suite, ${counts.warnings} warnings`);
for (const line of lines) console.log(line);
writeFileSync(join(directory, 'counts.txt'), `${passed} ${failed}\n`);
process.exit(failed > 0 ? 1 : 0);
