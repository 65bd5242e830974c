// The client of npm's MCP SDK over a WebSocket: each session has its own server, with requests in
// both directions.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import {
  CreateMessageRequestSchema, ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import WebSocket from 'ws';

import { Stdgate, eventually, server } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
// The SDK expects a browser's WebSocket, which delivers one message at a time. If the answer to a
// call arrived together with the last progress notification, the SDK would drop that notification.
globalThis.WebSocket = class extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { allowSynchronousEvents: false });
  }
};

// A client that samples by putting `name` before the prompt, and has one root.
async function connect(gate, name) {
  const client = new Client({ name, version: '1' },
    { capabilities: { sampling: {}, roots: { listChanged: true } } });
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
    role: 'assistant', model: name,
    content: { type: 'text', text: `${name}: ${params.messages[0].content.text}` },
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file:///${name}` }] }));
  await client.connect(new WebSocketClientTransport(new URL(gate.socketUrl)));
  return client;
}

const call = async (client, name, args, options) =>
  (await client.callTool({ name, arguments: args }, undefined, options)).content[0].text;
// The server offers some tools only when it knows the client's capabilities.
const offers = (client, name) => eventually(
  async () => (await client.listTools()).tools.some((tool) => tool.name === name), name);

describe('MCP clients', { timeout: 60_000 }, () => {
  let gate;
  before(async () => {
    gate = await Stdgate.startWith(['--protocol', 'mcp', '--grace', '1s'],
      server('mcp-server-everything'), 'stdio');
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  it('call tools, with progress', async () => {
    const client = await connect(gate, 'ada');
    assert.match(client.getServerVersion().name, /everything/);
    assert.equal(await call(client, 'echo', { message: 'caf\u00e9' }), 'Echo: caf\u00e9');
    const steps = [];
    const text = await call(client, 'trigger-long-running-operation', { duration: 0.4, steps: 4 },
      { onprogress: ({ progress, total }) => steps.push([progress, total]) });
    assert.match(text, /completed/);
    assert.deepEqual(steps, [[1, 4], [2, 4], [3, 4], [4, 4]]);
    await client.close();
  });

  it('answer the requests of their own server', async () => {
    const clients = await Promise.all(['ada', 'bob'].map((name) => connect(gate, name)));
    const texts = await Promise.all(clients.map(async (client) => {
      await offers(client, 'trigger-sampling-request');
      return call(client, 'trigger-sampling-request', { prompt: 'who is there?' });
    }));
    assert.match(texts[0], /ada: .*who is there\?/);
    assert.match(texts[1], /bob: .*who is there\?/);
    const roots = await Promise.all(clients.map(async (client) => {
      await offers(client, 'get-roots-list');
      return call(client, 'get-roots-list', {});
    }));
    assert.match(roots[0], /file:\/\/\/ada/);
    assert.match(roots[1], /file:\/\/\/bob/);
    await Promise.all(clients.map((client) => client.close()));
  });

  it('cancel calls, and go on', async () => {
    const client = await connect(gate, 'ada');
    const abort = new AbortController();
    const long = call(client, 'trigger-long-running-operation', { duration: 60, steps: 600 },
      { signal: abort.signal, onprogress: () => abort.abort('enough') });
    await assert.rejects(long, /enough/);
    assert.equal(await call(client, 'echo', { message: 'on' }), 'Echo: on');
    await client.close();
  });

  it('leave no server behind', async () => {
    const others = gate.children();
    const client = await connect(gate, 'ada');
    // The first call wakes a sleeping server.
    await client.callTool({ name: 'echo', arguments: { message: 'up' } });
    const own = gate.children().filter((pid) => !others.includes(pid));
    assert.notDeepEqual(own, []);
    await client.close();
    await eventually(() => !gate.children().some((pid) => own.includes(pid)), `the end of ${own}`);
  });
});
