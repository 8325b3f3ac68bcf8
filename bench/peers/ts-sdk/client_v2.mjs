// The client of the official TypeScript SDK 2.x; measure.mjs says what it is asked with.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { asked, measure } from './measure.mjs';

const { url, pipe, revision, calls, inFlight } = asked();
const mode = revision === '2026-07-28' ? 'auto' : 'legacy';
const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } });
await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport(pipe));
const agreed = client.getNegotiatedProtocolVersion();
if (agreed !== revision) throw new Error(`${agreed} was agreed on, not ${revision}`);
await measure(async (a, b) => (await client.callTool({ name: 'add', arguments: { a, b } })).structuredContent.sum, calls, inFlight);
await client.close();
