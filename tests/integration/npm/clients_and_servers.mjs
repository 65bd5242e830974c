// The clients from npm, and clients without a library, of tests/integration/python/clients_and_servers_test.py. The
// program connects each client to each server in its input (JSON), and prints what worked.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as OldHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { readFileSync } from 'node:fs';
import WebSocket from 'ws';

import { ModernSocket } from './modern_socket.mjs';

// For the reason see mcp_clients.mjs.
globalThis.WebSocket = class extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { allowSynchronousEvents: false });
  }
};

const { url, root, patience, servers } = JSON.parse(readFileSync(0, 'utf8'));

const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };
const answers = {
  'sampling/createMessage': () => (
    { role: 'assistant', model: 'none', content: { type: 'text', text: 'by ada' } }),
  'elicitation/create': ({ mode }) => (mode === 'url' ? { action: 'accept' } : {
    action: 'accept', content: { name: 'by ada', username: 'by ada', email: 'ada@example.org' },
  }),
  'roots/list': () => ({ roots: [{ uri: `file://${root}` }] }),
};
const oldSchemas = {
  'sampling/createMessage': CreateMessageRequestSchema,
  'elicitation/create': ElicitRequestSchema,
  'roots/list': ListRootsRequestSchema,
};

const at = (path) => new URL(`${url}/${path}`);
const socketAt = (path) => new URL(`${url.replace('http', 'ws')}/${path}`);

// Each client connects to a server by its name, and has `list()`, `call(tool, args)` and `close()`. `canBeAsked`:
// whether the server can ask the client.

async function newClient(server, mode) {
  const client = new Client({ name: 'ada', version: '1' }, { capabilities, versionNegotiation: { mode } });
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(method, ({ params }) => answer(params ?? {}));
  }
  const transport = new StreamableHTTPClientTransport(at(`${server}/mcp`));
  await client.connect(transport);
  return {
    canBeAsked: true,
    list: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: async () => {
      if (transport.sessionId !== undefined) await transport.terminateSession();
      await client.close();
    },
  };
}

async function oldClient(transport) {
  const client = new OldClient({ name: 'ada', version: '1' }, { capabilities });
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(oldSchemas[method], ({ params }) => answer(params ?? {}));
  }
  await client.connect(transport);
  return {
    canBeAsked: true,
    list: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: async () => {
      await transport.terminateSession?.();
      await client.close();
    },
  };
}

function result({ result: value, error }) {
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return value;
}

// A client that posts to /rpc, as users of curl do.
function plain(server) {
  const post = async (method, params) => {
    const response = await fetch(at(`${server}/rpc`), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return result(JSON.parse(await response.text()));
  };
  return {
    canBeAsked: false,
    list: async () => (await post('tools/list', {})).tools,
    call: (name, args) => post('tools/call', { name, arguments: args }),
    close: () => {},
  };
}

// A few lines of JSON over a WebSocket, without a library.
async function modernSocket(server) {
  const socket = await ModernSocket.open(socketAt(`${server}/ws`), { capabilities });
  return {
    canBeAsked: true,
    list: async () => result(await socket.request('tools/list')).tools,
    call: (name, args) => socket.converse(name, args, ({ method, params }) => answers[method](params ?? {})),
    close: () => socket.close(),
  };
}

const clients = {
  'client legacy': (server) => newClient(server, 'legacy'),
  'client auto': (server) => newClient(server, 'auto'),
  'client modern': (server) => newClient(server, { pin: '2026-07-28' }),
  'client modern, bridged': (server) => newClient(`${server}-bridged`, { pin: '2026-07-28' }),
  'sdk mcp': (server) => oldClient(new OldHttpTransport(at(`${server}/mcp`))),
  'sdk sse': (server) => oldClient(new SSEClientTransport(at(`${server}/sse`))),
  'sdk ws': (server) => oldClient(new WebSocketClientTransport(socketAt(`${server}/ws`))),
  'modern ws': modernSocket,
  'modern ws, bridged': (server) => modernSocket(`${server}-bridged`),
  rpc: async (server) => plain(server),
};

const textOf = ({ content }) => content.map((part) => part.text).join('\n');

async function until(condition) {
  const deadline = Date.now() + patience * 1000;
  for (;;) {
    if (await condition()) return;
    if (Date.now() > deadline) throw new Error('not in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// Servers offer some tools, and know the client's roots, only a while after a session has begun.
const calls = (client, { tool, args, expect }) => until(async () => {
  const names = (await client.list()).map(({ name }) => name);
  return names.includes(tool) && textOf(await client.call(tool, args)).includes(expect);
});

// The features that work between a client and `server`, and why the others do not.
async function probe(open, server) {
  const seen = { calls: false, asks: [], why: {} };
  let client;
  try {
    client = await open(server.name);
    await calls(client, server.call);
    seen.calls = true;
    for (const [kind, question] of Object.entries(client.canBeAsked ? server.asks : {})) {
      await calls(client, question).then(() => seen.asks.push(kind), (error) => (seen.why[kind] = error.message));
    }
    await client.close();
  } catch (error) {
    seen.why.calls = error.message;
  }
  return seen;
}

const seen = Object.fromEntries(Object.keys(clients).map((name) => [name, {}]));
// Two servers are probed at a time, each with one client after the other.
const left = [...servers];
await Promise.all([0, 1].map(async () => {
  for (let server = left.shift(); server !== undefined; server = left.shift()) {
    for (const [name, open] of Object.entries(clients)) seen[name][server.name] = await probe(open, server);
  }
}));
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
