// The client of the official TypeScript SDK 1.x; measure.mjs says what it is asked with.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { asked, measure } from './measure.mjs';

const { url, pipe, revision, calls, inFlight } = asked();
const client = new Client({ name: 'bench', version: '1' });
const wire = url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport(pipe);
// The SDK tells its transport alone what was agreed on.
let agreed;
const tell = wire.setProtocolVersion?.bind(wire);
wire.setProtocolVersion = (version) => {
    agreed = version;
    tell?.(version);
};
await client.connect(wire);
if (agreed !== revision) throw new Error(`${agreed} was agreed on, not ${revision}`);
await measure(async (a, b) => (await client.callTool({ name: 'add', arguments: { a, b } })).structuredContent.sum, calls, inFlight);
await client.close();
