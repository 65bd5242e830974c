// Clients of ACP that record each frame or event: over a WebSocket, and over Streamable HTTP.
import WebSocket from 'ws';

import { eventually } from './stdgate_process.mjs';

export class AcpSocket {
  static async connect(url, { headers = {}, path = '/acp' } = {}) {
    const client = new AcpSocket();
    client.socket = new WebSocket(url.replace(/^http/, 'ws') + path, { headers });
    client.socket.on('upgrade', (response) => {
      client.id = response.headers['acp-connection-id'];
    });
    client.socket.on('message', (text) => client.messages.push(JSON.parse(text)));
    client.closed = new Promise((resolve) => client.socket.on('close', resolve));
    await new Promise((resolve, reject) => {
      client.socket.on('open', resolve);
      client.socket.on('unexpected-response', (_, response) => reject(new Error(`status ${response.statusCode}`)));
      client.socket.on('error', reject);
    });
    return client;
  }

  messages = [];
  #lastId = 0;

  send(message) {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  ask(method, params) {
    const id = ++this.#lastId;
    this.send({ id, method, params });
    return id;
  }

  heard(matches, what) {
    return eventually(() => this.messages.find(matches), what);
  }

  answer(id) {
    return this.heard((message) => message.id === id && !message.method, `the answer to ${id}`);
  }

  async begin() {
    await this.answer(this.ask('initialize', { protocolVersion: 1, clientCapabilities: {} }));
    const { result } = await this.answer(this.ask('session/new', { cwd: '/', mcpServers: [] }));
    return result.sessionId;
  }

  prompt(sessionId, text) {
    return this.ask('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  }

  // Ends the connection without a close frame.
  cut() {
    this.socket.terminate();
    return this.closed;
  }
}

export class AcpHttp {
  constructor(url, headers = {}) {
    this.url = `${url}/acp`;
    this.headers = headers;
  }

  #lastId = 0;

  fetch(method, headers = {}, body = undefined) {
    return fetch(this.url, { method, body, headers: { ...this.headers, ...headers } });
  }

  post(message, headers = {}) {
    return this.fetch('POST', {
      'content-type': 'application/json',
      ...(this.id ? { 'acp-connection-id': this.id } : {}), ...headers,
    }, typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  async initialize() {
    const response = await this.post({
      id: 0, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} },
    });
    this.id = response.headers.get('acp-connection-id');
    return response;
  }

  // Opens the stream of the connection or of a session, and records its events.
  async listen(session, headers = {}) {
    const abort = new AbortController();
    const response = await fetch(this.url, {
      signal: abort.signal,
      headers: {
        ...this.headers, accept: 'text/event-stream', 'acp-connection-id': this.id,
        ...(session ? { 'acp-session-id': session } : {}), ...headers,
      },
    });
    const stream = { status: response.status, events: [], ended: false, cut: () => abort.abort() };
    if (response.status !== 200) return stream;
    (async () => {
      let text = '';
      for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
        text += bytes;
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const fields = text.slice(0, end).split('\n');
          const value = (name) => fields.find((field) => field.startsWith(`${name}: `))?.slice(name.length + 2);
          if (value('data')) stream.events.push({ id: value('id'), message: JSON.parse(value('data')) });
          text = text.slice(end + 2);
        }
      }
    })().catch(() => {}).finally(() => { stream.ended = true; });
    stream.heard = (matches, what) => eventually(
      () => stream.events.map(({ message }) => message).find(matches), what);
    stream.answer = (id) => stream.heard(
      (message) => message.id === id && !message.method, `the answer to ${id}`);
    return stream;
  }

  async ask(method, params) {
    const id = ++this.#lastId;
    const session = params.sessionId ? { 'acp-session-id': params.sessionId } : {};
    const { status } = await this.post({ id, method, params }, session);
    if (status !== 202) throw new Error(`status ${status}`);
    return id;
  }

  prompt(sessionId, text) {
    return this.ask('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  }
}
