// The scenario on the official TypeScript SDK 1.x, which speaks the handshake revisions.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, McpError, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Events, RpcError, main } from './scenario.mjs';

const LATE = 'unknown token';

function transport({ transport, url, command }, http) {
    if (transport === 'http') return new StreamableHTTPClientTransport(new URL(url), { fetch: http.fetch });
    if (transport === 'sse') return new SSEClientTransport(new URL(url));
    const [program, ...args] = command;
    return new StdioClientTransport({ command: program, args });
}

/** Every page of a list, as SDK 1.x leaves it to its user. */
async function all(list, key) {
    const found = [];
    let cursor;
    do {
        const page = await list({ cursor });
        found.push(...page[key]);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
}

main(async (chosen, http) => {
    const client = new Client({ name: 'interop', version: '1' }, { capabilities: { elicitation: {} } });
    const peer = { questions: { asked: [] }, updates: new Events(), strays: new Events(), late: new Events() };
    client.onerror = (error) => (error.message.includes(LATE) ? peer.late : peer.strays).put(error);
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        const { action, content, asked } = peer.questions;
        asked.push(params);
        return { action, content };
    });
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => peer.updates.put(params.uri));

    peer.call = async (name, args, { progress, signal } = {}) => {
        const options = { signal, onprogress: progress && ((report) => progress.put(report)) };
        try {
            const got = await client.callTool({ name, arguments: args }, undefined, options);
            const text = got.content.map((part) => part.text ?? '').join('');
            return { isError: got.isError === true, text, structured: got.structuredContent };
        } catch (error) {
            throw error instanceof McpError ? new RpcError(error.code, error.message) : error;
        }
    };
    peer.tools = async () => (await all((page) => client.listTools(page), 'tools')).map((tool) => tool.name);
    peer.resources = async () => (await all((page) => client.listResources(page), 'resources')).map(({ uri }) => uri);
    peer.templates = async () =>
        (await all((page) => client.listResourceTemplates(page), 'resourceTemplates')).map((one) => one.uriTemplate);
    peer.prompts = async () => (await all((page) => client.listPrompts(page), 'prompts')).map(({ name }) => name);
    peer.read = async (uri) => (await client.readResource({ uri })).contents;
    peer.prompt = async (name, args) =>
        (await client.getPrompt({ name, arguments: args })).messages.map(({ content }) => content.text);
    peer.complete = async (name, argument, value) => {
        const ref = { type: 'ref/prompt', name };
        return (await client.complete({ ref, argument: { name: argument, value } })).completion.values;
    };
    peer.watch = async (uri) => {
        await client.subscribeResource({ uri });
        return () => client.unsubscribeResource({ uri });
    };

    const wire = transport(chosen, http);
    // The SDK tells every transport the revision and its user nothing.
    const tell = wire.setProtocolVersion?.bind(wire);
    wire.setProtocolVersion = (version) => {
        peer.version = version;
        tell?.(version);
    };
    await client.connect(wire);
    peer.close = async () => {
        if (chosen.transport === 'http') await wire.terminateSession();
        // What ending the streams makes of them is not a stray message.
        client.onerror = undefined;
        await client.close();
    };
    return peer;
});
