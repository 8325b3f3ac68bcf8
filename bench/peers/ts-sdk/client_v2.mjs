// The client of the official TypeScript SDK 2.x: `http URL REVISION CALLS IN_FLIGHT`.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { measure } from './measure.mjs';

const [, url, revision, calls, inFlight] = process.argv.slice(2);
const mode = revision === '2026-07-28' ? 'auto' : 'legacy';
const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const agreed = client.getNegotiatedProtocolVersion();
if (agreed !== revision) throw new Error(`${agreed} was agreed on, not ${revision}`);
await measure(async (a, b) => (await client.callTool({ name: 'add', arguments: { a, b } })).structuredContent.sum, Number(calls), Number(inFlight));
await client.close();
