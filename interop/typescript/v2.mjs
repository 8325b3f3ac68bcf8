// The scenario on the official TypeScript SDK 2.x, which speaks both eras.

import { Client, ProtocolError, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Events, RpcError, check, main } from './scenario.mjs';

const LATE = 'unknown token';
// The response cache would answer from memory; the server is what is tested.
const FRESH = { cacheMode: 'refresh' };

function transport({ transport, url, command }, http) {
    if (transport === 'http') return new StreamableHTTPClientTransport(new URL(url), { fetch: http.fetch });
    if (transport === 'sse') return new SSEClientTransport(new URL(url));
    const [program, ...args] = command;
    return new StdioClientTransport({ command: program, args });
}

main(async (chosen, http) => {
    // Modern means found by the probe, not assumed.
    const mode = chosen.era === 'modern' ? 'auto' : 'legacy';
    const client = new Client(
        { name: 'interop', version: '2' },
        { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } }
    );
    const peer = { questions: { asked: [] }, updates: new Events(), strays: new Events(), late: new Events() };
    client.onerror = (error) => (error.message.includes(LATE) ? peer.late : peer.strays).put(error);
    client.setRequestHandler('elicitation/create', ({ params }) => {
        const { action, content, asked } = peer.questions;
        asked.push(params);
        return { action, content };
    });
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => peer.updates.put(params.uri));

    peer.call = async (name, args, { progress, signal } = {}) => {
        const options = { signal, onprogress: progress && ((report) => progress.put(report)) };
        try {
            const got = await client.callTool({ name, arguments: args }, options);
            const text = got.content.map((part) => part.text ?? '').join('');
            return { isError: got.isError === true, text, structured: got.structuredContent };
        } catch (error) {
            throw error instanceof ProtocolError ? new RpcError(error.code, error.message) : error;
        }
    };
    // Without a cursor this SDK follows the pages itself.
    peer.tools = async () => (await client.listTools(undefined, FRESH)).tools.map(({ name }) => name);
    peer.resources = async () => (await client.listResources(undefined, FRESH)).resources.map(({ uri }) => uri);
    peer.templates = async () =>
        (await client.listResourceTemplates(undefined, FRESH)).resourceTemplates.map((one) => one.uriTemplate);
    peer.prompts = async () => (await client.listPrompts(undefined, FRESH)).prompts.map(({ name }) => name);
    peer.read = async (uri) => (await client.readResource({ uri }, FRESH)).contents;
    peer.prompt = async (name, args) =>
        (await client.getPrompt({ name, arguments: args })).messages.map(({ content }) => content.text);
    peer.complete = async (name, argument, value) => {
        const ref = { type: 'ref/prompt', name };
        return (await client.complete({ ref, argument: { name: argument, value } })).completion.values;
    };
    peer.watch = async (uri) => {
        if (chosen.era === 'legacy') {
            await client.subscribeResource({ uri });
            return () => client.unsubscribeResource({ uri });
        }
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        const { resourceSubscriptions: honored } = subscription.honoredFilter;
        check(honored?.length === 1 && honored[0] === uri, `acknowledged ${honored}`);
        return () => subscription.close();
    };

    const wire = transport(chosen, http);
    await client.connect(wire);
    peer.version = client.getNegotiatedProtocolVersion();
    peer.close = async () => {
        if (chosen.transport === 'http' && chosen.era === 'legacy') await wire.terminateSession();
        // What ending the streams makes of them is not a stray message.
        client.onerror = undefined;
        await client.close();
    };
    return peer;
});
