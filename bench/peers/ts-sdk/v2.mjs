// The official TypeScript SDK 2.x: 2026-07-28 on a port, or stdio.

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { register } from './tools.mjs';

const build = () => register(new McpServer({ name: 'ts-sdk', version: '1' }), (fields) => z.object(fields));

async function read(request) {
    const parts = [];
    for await (const part of request) parts.push(part);
    return JSON.parse(Buffer.concat(parts).toString());
}

function serve(port) {
    const answer = toNodeHandler(createMcpHandler(build, { legacy: 'reject' }));
    createServer(async (request, response) => answer(request, response, await read(request))).listen(port, '127.0.0.1');
}

const port = process.argv[2];
if (port === undefined) serveStdio(build);
else serve(Number(port));
