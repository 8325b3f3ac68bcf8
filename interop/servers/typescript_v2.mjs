// The interop server on the official TypeScript SDK 2.x, which speaks both eras. README.md says what it serves; HTTP+SSE
// is not in this SDK any more.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { McpServer, completable, createMcpHandler, inputRequired, isLegacyRequest } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const GREETING = 'interop://greeting';
const NAMES = ['Ada', 'Alan', 'Grace'];
// Calls of `hang` that were cancelled.
let cancelled = 0;

const text = (text) => ({ content: [{ type: 'text', text }] });

// Tells those who listen what changed; over HTTP and 2026-07-28 that is not the affair of one server of many.
let touched = (server) => server.server.sendToolListChanged();
let updated = (server) => server.server.sendResourceUpdated({ uri: GREETING });

function build({ era }) {
    const server = new McpServer({ name: 'typescript-2', version: '2' });
    const numbers = z.object({ a: z.number(), b: z.number() });
    const sum = { description: 'Adds two numbers.', inputSchema: numbers, outputSchema: z.object({ result: z.number() }) };
    server.registerTool('add', sum, async ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { result: a + b } }));
    const echo = { description: 'Says it again.', inputSchema: z.object({ text: z.string() }) };
    server.registerTool('echo', echo, async (args) => text(args.text));
    const slow = { description: 'Reports progress as often as it is told to.', inputSchema: z.object({ steps: z.number() }) };
    server.registerTool('slow', slow, async ({ steps }, { mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken;
        for (let progress = 1; progress <= steps; progress += 1) {
            const params = { progressToken, progress, total: steps, message: `step ${progress}` };
            if (progressToken !== undefined) await mcpReq.notify({ method: 'notifications/progress', params });
        }
        return text('done');
    });
    const ask = { description: 'Asks the person.', inputSchema: z.object({ question: z.string() }) };
    server.registerTool('ask', ask, async ({ question }, { mcpReq }) => {
        const given = mcpReq.inputResponses?.person;
        if (given !== undefined) return text(given.action === 'accept' ? `accept: ${given.content.answer}` : given.action);
        const requestedSchema = z.object({ answer: z.string() });
        return inputRequired({ inputRequests: { person: inputRequired.elicit({ message: question, requestedSchema }) } });
    });
    const sample = { description: 'Asks the model.', inputSchema: z.object({ prompt: z.string() }) };
    server.registerTool('sample', sample, async ({ prompt }, { mcpReq }) => {
        const given = mcpReq.inputResponses?.model;
        if (given !== undefined) return text(`${given.model}: ${given.content.text}`);
        const asked = { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 10 };
        return inputRequired({ inputRequests: { model: inputRequired.createMessage(asked) } });
    });
    server.registerTool('roots', { description: 'Asks for the folders.' }, async ({ mcpReq }) => {
        const given = mcpReq.inputResponses?.roots;
        if (given !== undefined) return text(given.roots.map(({ uri }) => uri).join(' '));
        return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    });
    const hang = { description: 'Reports progress once, and then does nothing until it is cancelled.' };
    server.registerTool('hang', hang, async ({ mcpReq }) => {
        const params = { progressToken: mcpReq._meta?.progressToken, progress: 1, total: 2 };
        if (params.progressToken !== undefined) await mcpReq.notify({ method: 'notifications/progress', params });
        await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
        cancelled += 1;
        return text('never');
    });
    server.registerTool('cancelled', { description: 'Says how many calls of `hang` were cancelled.' }, async () => text(`${cancelled}`));
    server.registerTool('update', { description: 'Says that the resource changed.' }, async () => {
        await updated(server, era);
        return text('updated');
    });
    server.registerTool('touch', { description: 'Says that the list of tools changed.' }, async () => {
        await touched(server, era);
        return text('touched');
    });
    server.registerResource('greeting', GREETING, { mimeType: 'text/plain' }, async ({ href }) => ({
        contents: [{ uri: href, mimeType: 'text/plain', text: 'hello' }]
    }));
    server.server.registerCapabilities({ resources: { subscribe: true } });
    server.server.setRequestHandler('resources/subscribe', async () => ({}));
    server.server.setRequestHandler('resources/unsubscribe', async () => ({}));
    const name = completable(z.string(), (given) => NAMES.filter((name) => name.startsWith(given)));
    const greet = { description: 'A greeting.', argsSchema: z.object({ name }) };
    server.registerPrompt('greet', greet, ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${name}.` } }]
    }));
    return server;
}

const sessions = new Map();

async function legacy(request, response) {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (id !== undefined && transport === undefined) return response.writeHead(404).end();
    if (transport === undefined) {
        transport = new NodeStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: (given) => sessions.set(given, transport),
            onsessionclosed: (given) => sessions.delete(given)
        });
        await build({ era: 'legacy' }).connect(transport);
    }
    return transport.handleRequest(request, response, request.body);
}

async function read(request) {
    const parts = [];
    for await (const part of request) parts.push(part);
    return parts.length > 0 ? JSON.parse(Buffer.concat(parts).toString()) : undefined;
}

const { port } = parseArgs({ options: { port: { type: 'string' } } }).values;
if (port === undefined) {
    serveStdio(build);
} else {
    const endpoint = createMcpHandler(build, { legacy: 'reject' });
    touched = (server, era) => (era === 'modern' ? endpoint.notify.toolsChanged() : server.server.sendToolListChanged());
    updated = (server, era) =>
        era === 'modern' ? endpoint.notify.resourceUpdated(GREETING) : server.server.sendResourceUpdated({ uri: GREETING });
    const modern = toNodeHandler(endpoint);
    const answer = async (request, response) => {
        try {
            if (!request.url.startsWith('/mcp')) return response.writeHead(404).end();
            request.body = await read(request);
            const old = await isLegacyRequest(await toWebRequest(request, request.body));
            return await (old ? legacy(request, response) : modern(request, response, request.body));
        } catch (error) {
            console.error(error);
            return response.headersSent ? response.destroy() : response.writeHead(500).end();
        }
    };
    createServer(answer).listen(Number(port), '127.0.0.1');
}
