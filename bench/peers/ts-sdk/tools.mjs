// The benchmark's tools, for either SDK.

import { z } from 'zod';

const text = (text) => ({ content: [{ type: 'text', text }] });
const data = (data) => ({ ...text(JSON.stringify(data)), structuredContent: data });

const customer = z.object({ name: z.string(), email: z.string() });
const address = z.object({ street: z.string(), city: z.string(), zip: z.string(), country: z.string() });
const item = z.object({ sku: z.string(), quantity: z.number().int(), price: z.number().int() });

const orderOf = {
    customer,
    address,
    items: z.array(item),
    priority: z.enum(['low', 'normal', 'high']),
    note: z.string().optional(),
    gift: z.boolean(),
    coupon: z.string().optional(),
    currency: z.string(),
    channel: z.string(),
    locale: z.string(),
    newsletter: z.boolean(),
    reference: z.string()
};

// `shape` makes of fields what the SDK takes for a schema.
export function register(server, shape) {
    const integer = z.number().int();
    const add = { description: 'Adds two numbers.', inputSchema: shape({ a: integer, b: integer }), outputSchema: shape({ sum: integer }) };
    server.registerTool('add', add, async ({ a, b }) => data({ sum: a + b }));
    const long = { description: 'A text of so many bytes.', inputSchema: shape({ size: integer }) };
    server.registerTool('text', long, async ({ size }) => text('x'.repeat(size)));
    const total = { total: integer, lines: integer };
    const order = { description: 'What an order comes to.', inputSchema: shape(orderOf), outputSchema: shape(total) };
    server.registerTool('order', order, async ({ items }) =>
        data({ total: items.reduce((sum, { quantity, price }) => sum + quantity * price, 0), lines: items.length })
    );
    return server;
}
