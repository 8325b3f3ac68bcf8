// The official TypeScript SDK 1.x: streamable HTTP with sessions on a port, or stdio.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { register } from './tools.mjs';

const build = () => register(new McpServer({ name: 'ts-sdk', version: '1' }), (fields) => fields);
const sessions = new Map();

async function answer(request, response) {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (transport === undefined) {
        const onsessioninitialized = (id) => sessions.set(id, transport);
        transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
        await build().connect(transport);
    }
    return transport.handleRequest(request, response);
}

const port = process.argv[2];
if (port === undefined) await build().connect(new StdioServerTransport());
else createServer(answer).listen(Number(port), '127.0.0.1');
