// The client of the official TypeScript SDK 1.x: `http URL REVISION CALLS IN_FLIGHT`.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { measure } from './measure.mjs';

const [, url, , calls, inFlight] = process.argv.slice(2);
const client = new Client({ name: 'bench', version: '1' });
const wire = new StreamableHTTPClientTransport(new URL(url));
await client.connect(wire);
await measure(async (a, b) => (await client.callTool({ name: 'add', arguments: { a, b } })).structuredContent.sum, Number(calls), Number(inFlight));
await client.close();
