// The interop server on the official TypeScript SDK 1.x, which speaks the handshake revisions. README.md says what it serves.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const GREETING = 'interop://greeting';
const NAMES = ['Ada', 'Alan', 'Grace'];
// Calls of `hang` that were cancelled.
let cancelled = 0;

const text = (text) => ({ content: [{ type: 'text', text }] });

function build() {
    const server = new McpServer({ name: 'typescript-1', version: '1' });
    const sum = { description: 'Adds two numbers.', inputSchema: { a: z.number(), b: z.number() }, outputSchema: { result: z.number() } };
    server.registerTool('add', sum, async ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { result: a + b } }));
    const echo = { description: 'Says it again.', inputSchema: { text: z.string() } };
    server.registerTool('echo', echo, async (args) => text(args.text));
    const slow = { description: 'Reports progress as often as it is told to.', inputSchema: { steps: z.number() } };
    server.registerTool('slow', slow, async ({ steps }, { _meta, sendNotification }) => {
        for (let progress = 1; progress <= steps; progress += 1) {
            const params = { progressToken: _meta?.progressToken, progress, total: steps, message: `step ${progress}` };
            if (_meta?.progressToken !== undefined) await sendNotification({ method: 'notifications/progress', params });
        }
        return text('done');
    });
    const ask = { description: 'Asks the person.', inputSchema: { question: z.string() } };
    server.registerTool('ask', ask, async ({ question }, { requestId }) => {
        const requestedSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
        const asked = { message: question, requestedSchema };
        const { action, content } = await server.server.elicitInput(asked, { relatedRequestId: requestId });
        return text(action === 'accept' ? `accept: ${content.answer}` : action);
    });
    const sample = { description: 'Asks the model.', inputSchema: { prompt: z.string() } };
    server.registerTool('sample', sample, async ({ prompt }, { requestId }) => {
        const asked = { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 10 };
        const got = await server.server.createMessage(asked, { relatedRequestId: requestId });
        return text(`${got.model}: ${got.content.text}`);
    });
    server.registerTool('roots', { description: 'Asks for the folders.' }, async ({ requestId }) => {
        const { roots } = await server.server.listRoots({}, { relatedRequestId: requestId });
        return text(roots.map(({ uri }) => uri).join(' '));
    });
    const hang = { description: 'Reports progress once, and then does nothing until it is cancelled.' };
    server.registerTool('hang', hang, async ({ _meta, sendNotification, signal }) => {
        const params = { progressToken: _meta?.progressToken, progress: 1, total: 2 };
        if (_meta?.progressToken !== undefined) await sendNotification({ method: 'notifications/progress', params });
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        cancelled += 1;
        return text('never');
    });
    server.registerTool('cancelled', { description: 'Says how many calls of `hang` were cancelled.' }, async () => text(`${cancelled}`));
    server.registerTool('update', { description: 'Says that the resource changed.' }, async () => {
        await server.server.sendResourceUpdated({ uri: GREETING });
        return text('updated');
    });
    server.registerTool('touch', { description: 'Says that the list of tools changed.' }, async () => {
        await server.server.sendToolListChanged();
        return text('touched');
    });
    server.registerResource('greeting', GREETING, { mimeType: 'text/plain' }, async ({ href }) => ({
        contents: [{ uri: href, mimeType: 'text/plain', text: 'hello' }]
    }));
    server.server.registerCapabilities({ resources: { subscribe: true } });
    server.server.setRequestHandler(SubscribeRequestSchema, async () => ({}));
    server.server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));
    const name = completable(z.string(), (given) => NAMES.filter((name) => name.startsWith(given)));
    const greet = { description: 'A greeting.', argsSchema: { name } };
    server.registerPrompt('greet', greet, ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${name}.` } }]
    }));
    return server;
}

const sessions = new Map();

async function streamable(request, response) {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (id !== undefined && transport === undefined) return response.writeHead(404).end();
    if (transport === undefined) {
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: (given) => sessions.set(given, transport),
            onsessionclosed: (given) => sessions.delete(given)
        });
        await build().connect(transport);
    }
    return transport.handleRequest(request, response);
}

async function route(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://127.0.0.1');
    if (pathname === '/mcp') return streamable(request, response);
    if (pathname === '/messages') return sessions.get(searchParams.get('sessionId')).handlePostMessage(request, response);
    if (pathname !== '/sse') return response.writeHead(404).end();
    const transport = new SSEServerTransport('/messages', response);
    sessions.set(transport.sessionId, transport);
    response.on('close', () => sessions.delete(transport.sessionId));
    return build().connect(transport);
}

const { port } = parseArgs({ options: { port: { type: 'string' } } }).values;
if (port === undefined) {
    await build().connect(new StdioServerTransport());
} else {
    const answer = (request, response) =>
        route(request, response).catch((error) => {
            console.error(error);
            if (!response.headersSent) response.writeHead(500).end();
        });
    createServer(answer).listen(Number(port), '127.0.0.1');
}
