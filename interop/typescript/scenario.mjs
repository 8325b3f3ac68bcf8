// The scenario that every TypeScript SDK runs against the demo server.
//
// A peer hides one SDK behind plain values; the steps below know no SDK. Each step prints one line, `ok NAME` or
// `FAIL NAME: why`, and the last line, `end N steps`, tells the runner that none was lost.
//
// A peer has: version; questions {action, content, asked}; updates and strays, both Events; tools(), resources(),
// templates() and prompts(), lists of names; call(name, arguments, {progress, signal}), which gives {isError, text,
// structured} or throws RpcError; read(uri), prompt(name, arguments), complete(prompt, argument, value);
// watch(uri), which gives a function that ends it; late, the Events of progress that nobody waits for; close().

import { parseArgs } from 'node:util';

// Milliseconds. Each step is a few round trips on loopback; the rest is room for a busy machine.
const STEP_LIMIT = 20_000;
// Milliseconds for one whole run, however many steps hang.
const RUN_LIMIT = 120_000;
// Milliseconds between two tries of a touch. The stream that carries the update may not be open at the first.
const TOUCH_EVERY = 250;
const TOUCHES = 40;
// A cancelled call is quiet when it reports nothing for this long, in milliseconds: six of its own steps.
const QUIET = 600;
// Milliseconds within which a caller must be told that its call is cancelled.
const PROMPT = 2_000;

/** A JSON-RPC error answer, whatever the SDK calls it. */
export class RpcError extends Error {
    constructor(code, message) {
        super(`${code}: ${message}`);
        this.code = code;
    }
}

/** Values in order of arrival, and a way to wait for them without polling. */
export class Events {
    values = [];
    #waiting = new Set();

    put(value) {
        this.values.push(value);
        for (const wake of this.#waiting) wake();
    }

    /** Waits until `done` holds of the values; false when that took longer than `limit` milliseconds. */
    until(done, limit) {
        if (done(this.values)) return Promise.resolve(true);
        return new Promise((resolve) => {
            const finish = (held) => {
                clearTimeout(timer);
                this.#waiting.delete(wake);
                resolve(held);
            };
            const wake = () => done(this.values) && finish(true);
            const timer = setTimeout(() => finish(false), limit);
            this.#waiting.add(wake);
        });
    }
}

/** What a streamable HTTP client did, as [method, status] pairs, and the session id that it was given. */
export class Http {
    requests = [];
    sessionId = null;

    fetch = async (url, init) => {
        const response = await fetch(url, init);
        this.requests.push([init?.method ?? 'GET', response.status]);
        this.sessionId = response.headers.get('mcp-session-id') ?? this.sessionId;
        return response;
    };
}

/** Reads `--transport T --era E [--expect REVISION] (--url URL | -- COMMAND...)`. */
export function options() {
    const { values, positionals } = parseArgs({
        allowPositionals: true,
        options: {
            transport: { type: 'string' },
            era: { type: 'string' },
            expect: { type: 'string' },
            url: { type: 'string' }
        }
    });
    const known = ['http', 'sse', 'stdio'].includes(values.transport) && ['legacy', 'modern'].includes(values.era);
    const stdio = values.transport === 'stdio';
    if (!known || stdio !== positionals.length > 0 || stdio === Boolean(values.url)) {
        console.error('usage: --transport http|sse|stdio --era legacy|modern [--expect REVISION] (--url URL | -- COMMAND...)');
        process.exit(64);
    }
    return { ...values, command: positionals };
}

/** An assertion with a message that says what was there instead. */
export function check(holds, message) {
    if (!holds) throw new Error(typeof message === 'string' ? message : `got ${JSON.stringify(message)}`);
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// === the steps ===

async function toolsList(peer) {
    const names = await peer.tools();
    const wanted = ['add', 'echo', 'payload', 'counter', 'remember', 'recall', 'confirm', 'slow', 'fail', 'touch'];
    const missing = wanted.filter((name) => !names.includes(name));
    check(missing.length === 0, `missing ${missing}`);
    check(new Set(names).size === names.length, `a tool is listed twice: ${names}`);
}

async function callStructured(peer) {
    const got = await peer.call('add', { a: 2, b: 3 });
    check(!got.isError && same(got.structured, { sum: 5 }), got);
}

async function callText(peer) {
    const text = 'tram à Zürich ✓ 漢字\n"quoted" \\ \u2028 end';
    const got = await peer.call('echo', { text });
    check(!got.isError && got.text === text, got);
}

async function callLarge(peer) {
    const got = await peer.call('payload', { bytes: 200_000 });
    check(!got.isError && got.text === 'x'.repeat(200_000), `got ${got.text.length} bytes, isError=${got.isError}`);
}

async function callsAtOnce(peer) {
    const numbers = Array.from({ length: 16 }, (_, n) => n);
    const got = await Promise.all(numbers.map((n) => peer.call('add', { a: n, b: 1000 })));
    check(same(got.map((one) => one.structured?.sum), numbers.map((n) => n + 1000)), got);
}

async function badArguments(peer) {
    const got = await peer.call('add', { a: 'two', b: 3 });
    check(got.isError && got.text !== '', got);
}

async function rpcFailure(peer, name, args) {
    try {
        const got = await peer.call(name, args);
        throw new Error(`no error: ${JSON.stringify(got)}`);
    } catch (error) {
        if (error instanceof RpcError) return error.code;
        throw error;
    }
}

async function unknownTool(peer) {
    const code = await rpcFailure(peer, 'no_such_tool', {});
    check(code === -32602, `the code is ${code}`);
}

async function toolError(peer, kind) {
    const got = await peer.call('fail', { kind });
    check(got.isError && got.text !== '', got);
}

async function rpcError(peer) {
    return String(await rpcFailure(peer, 'fail', { kind: 'rpc' }));
}

async function progress(peer) {
    const seen = new Events();
    // Four steps for three reports: some SDKs drop a report that arrives together with the result.
    const got = await peer.call('slow', { ms: 400, steps: 4 }, { progress: seen });
    check(!got.isError, got);
    check(await seen.until((values) => values.length >= 3, 5_000), seen.values);
    const steps = seen.values.map((report) => report.progress);
    check(steps.every((step, at) => at === 0 || step > steps[at - 1]), `not increasing: ${steps}`);
    check(seen.values.every((report) => report.total === 4), seen.values);
}

async function elicitation(peer, action, content, word) {
    Object.assign(peer.questions, { action, content, asked: [] });
    const got = await peer.call('confirm', { question: 'Ship it?' });
    check(peer.questions.asked.length === 1, `asked ${peer.questions.asked.length} times`);
    const [{ message, requestedSchema }] = peer.questions.asked;
    check(message.includes('Ship it?'), `the question was ${message}`);
    check(requestedSchema?.properties?.confirmed?.type === 'boolean', requestedSchema);
    check(!got.isError && got.text.includes(word), got);
}

async function resourcesList(peer) {
    const [uris, templates] = [await peer.resources(), await peer.templates()];
    const missing = ['demo://greeting', 'demo://logo', 'demo://counter'].filter((uri) => !uris.includes(uri));
    check(missing.length === 0, `missing ${missing}`);
    check(templates.includes('demo://notes/{id}'), `templates are ${templates}`);
}

async function resourceText(peer) {
    const parts = await peer.read('demo://greeting');
    check(parts.length === 1 && parts[0].uri === 'demo://greeting' && Boolean(parts[0].text), parts);
}

async function resourceBlob(peer) {
    const [part, ...more] = await peer.read('demo://logo');
    check(more.length === 0 && part.mimeType === 'image/png' && typeof part.blob === 'string', part);
    const bytes = Buffer.from(part.blob, 'base64');
    check(bytes.toString('base64') === part.blob && bytes.subarray(1, 6).toString('latin1') === 'PNG\r\n', part);
}

async function resourceTemplate(peer) {
    const parts = await peer.read('demo://notes/seven');
    check(parts.length === 1 && parts[0].uri === 'demo://notes/seven' && parts[0].text?.includes('seven'), parts);
}

async function updateNotification(peer) {
    const uri = 'demo://counter';
    const end = await peer.watch(uri);
    try {
        for (let touches = 0; touches < TOUCHES; touches += 1) {
            check(!(await peer.call('touch', { uri })).isError, 'touch failed');
            if (await peer.updates.until((seen) => seen.includes(uri), TOUCH_EVERY)) return;
        }
        throw new Error(`${TOUCHES} touches, and these updates: ${peer.updates.values}`);
    } finally {
        await end();
    }
}

async function promptGet(peer) {
    check((await peer.prompts()).includes('summarize'), 'summarize is not listed');
    const texts = await peer.prompt('summarize', { text: 'a long story', style: 'short' });
    check(texts.some((text) => text?.includes('a long story')), texts);
}

async function completion(peer) {
    const everything = await peer.complete('summarize', 'style', '');
    check(same([...everything].sort(), ['bullet', 'long', 'short']), everything);
    check((await peer.complete('summarize', 'style', 'sh')).includes('short'), '`sh` does not complete to `short`');
}

async function sessionValues(peer) {
    check(!(await peer.call('remember', { key: 'tram', value: 'line 8' })).isError, 'remember failed');
    const got = await peer.call('recall', { key: 'tram' });
    check(!got.isError && got.text.includes('line 8'), got);
}

async function sessionCounter(peer) {
    const values = [];
    for (let n = 0; n < 2; n += 1) values.push((await peer.call('counter', { key: 'k', by: 2 })).structured);
    check(same(values, [{ value: 2 }, { value: 4 }]), values);
}

async function cancellation(peer) {
    const [seen, abort] = [new Events(), new AbortController()];
    // 200 steps of 100 ms: many more reports would follow if the server went on.
    const options = { progress: seen, signal: abort.signal };
    const outcome = peer.call('slow', { ms: 20_000, steps: 200 }, options).then(
        (got) => `it answered ${JSON.stringify(got)}`,
        () => null
    );
    check(await seen.until((values) => values.length > 0, STEP_LIMIT), 'no progress');
    abort.abort('changed my mind');
    const told = await Promise.race([outcome, new Promise((resolve) => setTimeout(resolve, PROMPT, 'not told'))]);
    check(told === null, told);
    await callStructured(peer);
    for (let tries = 0; tries < 5; tries += 1) {
        const count = peer.late.values.length;
        if (!(await peer.late.until((values) => values.length > count, QUIET))) return 'the server went quiet';
    }
    throw new Error(`the server went on and reports ${JSON.stringify(peer.late.values.at(-1))}`);
}

/** A second answer, an answer to a cancelled call, an unreadable message: all of them end up here. */
async function noStrays(peer) {
    check(peer.strays.values.length === 0, peer.strays.values.map(String).join('; '));
}

const STEPS = [
    ['tools_list', toolsList],
    ['call_structured', callStructured],
    ['call_text', callText],
    ['call_large', callLarge],
    ['calls_at_once', callsAtOnce],
    ['bad_arguments', badArguments],
    ['unknown_tool', unknownTool],
    ['tool_error', toolError, 'error'],
    ['tool_panic', toolError, 'panic'],
    ['rpc_error', rpcError],
    ['progress', progress],
    ['elicitation_accepted', elicitation, 'accept', { confirmed: true }, 'yes'],
    ['elicitation_declined', elicitation, 'decline', undefined, 'declined'],
    ['resources_list', resourcesList],
    ['resource_text', resourceText],
    ['resource_blob', resourceBlob],
    ['resource_template', resourceTemplate],
    ['update_notification', updateNotification],
    ['prompt', promptGet],
    ['completion', completion]
];
// 2026-07-28 has no session, so nothing to keep a value in.
const SESSION_STEPS = [
    ['session_values', sessionValues],
    ['session_counter', sessionCounter]
];
// The cancelled call's stray answer, if there is one, has had time to arrive by the time that its step ends.
const LAST_STEPS = [
    ['cancellation', cancellation],
    ['no_strays', noStrays]
];

// === the end of a connection ===

async function close(peer, chosen, http) {
    await peer.close();
    if (chosen.transport !== 'http') return undefined;
    const deletes = http.requests.filter(([method]) => method === 'DELETE').map(([, status]) => status);
    if (chosen.era === 'modern') {
        check(http.sessionId === null && deletes.length === 0, `a session in a stateless revision: ${http.sessionId}`);
        return 'no session';
    }
    check(http.sessionId !== null, 'the server gave no session id');
    check(deletes.length === 1 && deletes[0] >= 200 && deletes[0] < 300, `DELETE answered ${deletes}`);
    const after = await fetch(chosen.url, {
        method: 'POST',
        headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-session-id': http.sessionId
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        signal: AbortSignal.timeout(5_000)
    });
    check(after.status === 404, `a request after DELETE answered ${after.status}`);
    return 'the session is gone';
}

// === main ===

/** Runs the scenario on what `connect(chosen, http)` gives, and ends the process with its status. */
export async function main(connect) {
    const chosen = options();
    let steps = 0;
    let failed = 0;
    const report = (name, failure, detail) => {
        steps += 1;
        failed += failure === undefined ? 0 : 1;
        const ok = `ok ${name}${detail ? ` (${detail})` : ''}`;
        console.log(failure === undefined ? ok : `FAIL ${name}: ${String(failure).replace(/\s+/g, ' ')}`);
    };
    const finish = () => {
        console.log(`end ${steps} steps`);
        process.exit(failed > 0 ? 1 : 0);
    };
    const step = async (name, body, ...args) => {
        let timer;
        const limit = new Promise((_, reject) => {
            timer = setTimeout(() => reject(new Error(`not done within ${STEP_LIMIT / 1000} s`)), STEP_LIMIT);
        });
        try {
            const value = await Promise.race([body(...args), limit]);
            return report(name, undefined, name === 'connect' ? value.version : value), value;
        } catch (error) {
            return report(name, error), undefined;
        } finally {
            clearTimeout(timer);
        }
    };
    setTimeout(() => {
        report('run', `not done within ${RUN_LIMIT / 1000} s`);
        finish();
    }, RUN_LIMIT).unref();

    const http = new Http();
    const peer = await step('connect', async () => {
        const connected = await connect(chosen, http);
        const wrong = chosen.expect !== undefined && connected.version !== chosen.expect;
        check(!wrong, `negotiated ${connected.version}, not ${chosen.expect}`);
        return connected;
    });
    if (peer === undefined) finish();
    for (const [name, body, ...args] of [...STEPS, ...(chosen.era === 'legacy' ? SESSION_STEPS : []), ...LAST_STEPS]) {
        await step(name, body, peer, ...args);
    }
    await step('close', close, peer, chosen, http);
    finish();
}
