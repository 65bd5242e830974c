// Clients on npm's MCP SDKs, the SDK of the years before 2026 and its successor, with one interface for tests. Each
// client records all messages that arrive over its transport.
import * as successor from '@modelcontextprotocol/client';
import * as successorStdio from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import WebSocket from 'ws';

import { eventually, program } from './stdgate_process.mjs';

// The SDK expects a browser's WebSocket, which delivers one message at a time. If the answer to a call arrived together
// with the last progress notification, the SDK would drop that notification.
globalThis.WebSocket = class extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { allowSynchronousEvents: false });
  }
};

const schemas = {
  'sampling/createMessage': CreateMessageRequestSchema,
  'elicitation/create': ElicitRequestSchema,
  'roots/list': ListRootsRequestSchema,
};

const reconnectionOptions = {
  initialReconnectionDelay: 100, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 2, maxRetries: 5,
};

// A transport that starts `stdgate connect` between the client and the gateway.
const connecting = (url) => ({ command: program, args: ['connect', url] });

// Functions that make a transport to the gateway at `url`.
export const transports = {
  'sdk 1 at /mcp': (url) =>
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { reconnectionOptions }),
  'client 2 at /mcp': (url) =>
    new successor.StreamableHTTPClientTransport(new URL(`${url}/mcp`), { reconnectionOptions }),
  'sdk 1 at /sse': (url) => new SSEClientTransport(new URL(`${url}/sse`)),
  'sdk 1 at /ws': (url) => new WebSocketClientTransport(new URL(`${url.replace('http', 'ws')}/ws`)),
  'sdk 1, connect, /mcp': (url) => new StdioClientTransport(connecting(`${url}/mcp`)),
  'client 2, connect, /mcp': (url) => new successorStdio.StdioClientTransport(connecting(`${url}/mcp`)),
  'sdk 1, connect, /sse': (url) => new StdioClientTransport(connecting(`${url}/sse`)),
  'sdk 1, connect, /ws': (url) =>
    new StdioClientTransport(connecting(`${url.replace('http', 'ws')}/ws`)),
};
export const streamable = ['sdk 1 at /mcp', 'client 2 at /mcp'];

export class Peer {
  received = []; // each message, unchanged
  errors = []; // reported errors, except for progress of finished calls

  // The client samples by putting its name before the prompt, fills forms with its name, and has one root.
  static async connect(transport, url, name = 'ada') {
    const peer = new Peer(transport, name);
    peer.transport = transports[transport](url);
    peer.transport.onmessage = (message) => peer.received.push(message);
    peer.client.onerror = (error) => {
      if (!/unknown token/.test(error.message)) peer.errors.push(error);
    };
    await peer.client.connect(peer.transport);
    return peer;
  }

  constructor(transport, name) {
    this.name = name;
    this.isOld = transport.startsWith('sdk 1');
    const Kind = this.isOld ? Client : successor.Client;
    this.client = new Kind({ name, version: '1' },
      { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } });
    this.#answer('sampling/createMessage', ({ params }) => ({
      role: 'assistant', model: name,
      content: { type: 'text', text: `${name}: ${params.messages[0].content.text}` },
    }));
    this.#answer('elicitation/create', () => ({ action: 'accept', content: { name } }));
    this.#answer('roots/list', () => ({ roots: [{ uri: `file:///${name}` }] }));
  }

  #answer(method, handler) {
    this.client.setRequestHandler(this.isOld ? schemas[method] : method, handler);
  }

  call(name, args = {}, options = {}) {
    const parameters = { name, arguments: args };
    return this.isOld ? this.client.callTool(parameters, undefined, options)
      : this.client.callTool(parameters, options);
  }

  // The text of a tool's result.
  async text(name, args, options) {
    const { content } = await this.call(name, args, options);
    return content.map((part) => part.text).join('\n');
  }

  // Calls for `steps` progress notifications within `duration` seconds. Returns the notifications that arrived before
  // the answer, from the recorded messages: the SDKs drop progress that arrives together with the answer.
  async steps(duration, steps, options) {
    const before = this.received.length;
    await this.call('trigger-long-running-operation', { duration, steps },
      { ...options, onprogress: () => {} });
    const since = this.received.slice(before);
    const answer = since.findIndex(({ result }) => /completed/.test(result?.content?.[0].text));
    return since.slice(0, answer).map(({ params }) => params ?? {})
      .filter(({ progressToken }) => progressToken === since[answer].id).map(({ progress }) => progress);
  }

  // Waits until the server offers a tool. Some tools are offered only when the server knows the client's capabilities.
  offered(tool) {
    return eventually(async () =>
      (await this.client.listTools()).tools.some(({ name }) => name === tool), tool);
  }

  // The params of all notifications of this kind so far.
  told(notification) {
    return this.received.filter(({ method }) => method === `notifications/${notification}`)
      .map(({ params }) => params ?? {});
  }

  // Waits until there are more than `before` notifications of this kind.
  hears(notification, before = 0) {
    return eventually(() => this.told(notification)[before], `${this.name}: ${notification}`);
  }

  close() {
    return this.client.close();
  }
}
