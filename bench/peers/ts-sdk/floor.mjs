// What node:http costs without a protocol: the body is parsed, the numbers are added, as many bytes are answered.

import { createServer } from 'node:http';

createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const { id, params } = JSON.parse(Buffer.concat(parts).toString());
    const sum = { sum: params.arguments.a + params.arguments.b };
    const result = { content: [{ type: 'text', text: JSON.stringify(sum) }], structuredContent: sum };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}).listen(Number(process.argv[2]), '127.0.0.1');
