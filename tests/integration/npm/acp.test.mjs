// The Agent Client Protocol: the official SDK's client over both transports, each status in the
// RFD's tables, and clients that lose their connection and return.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { after, before, describe, it } from 'node:test';

import * as acp from '@agentclientprotocol/sdk';
import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client';
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client';
import WebSocket from 'ws';

import { AcpHttp, AcpSocket } from './acp_client.mjs';
import { Stdgate, eventually, program } from './stdgate_process.mjs';
import { TcpProxy } from './tcp_proxy.mjs';

const agent = new URL('acp_agent.mjs', import.meta.url).pathname;
const sdkAgent = new URL('acp_sdk_agent.mjs', import.meta.url).pathname;
const start = (flags = [], words = []) =>
  Stdgate.startWith(['--protocol', 'acp', '--grace', '1s', ...flags], process.execPath, agent, ...words);
const cleanExit = { code: 0, signal: null, left: [] };

const isAsk = ({ method }) => method === 'session/request_permission';
const texts = (messages) => messages
  .filter(({ method }) => method === 'session/update')
  .map(({ params }) => params.update.content.text);
const allow = (id) => ({ id, result: { outcome: { outcome: 'selected', optionId: 'yes' } } });
const isSaying = (text) => ({ method, params }) =>
  method === 'session/update' && params.update.content.text === text;

const streams = {
  'a WebSocket': (gate) => createWebSocketStream(
    `${gate.url.replace('http', 'ws')}/acp`, { WebSocket }),
  'the WebSocket of every backend': (gate) => createWebSocketStream(gate.socketUrl, { WebSocket }),
  'Streamable HTTP': (gate) => createHttpStream(`${gate.url}/acp`),
};
// Runs `work(context, heard)` with the official client, which grants every permission.
async function withClient(stream, work, beforeItGrants = () => {}) {
  const heard = [];
  const app = acp.client({ name: 'test' })
    .onRequest(acp.methods.client.session.requestPermission, async () => {
      await beforeItGrants();
      return { outcome: { outcome: 'selected', optionId: 'yes' } };
    })
    .onRequest(acp.methods.client.fs.readTextFile, () => ({ content: 'text' }))
    .onNotification(acp.methods.client.session.update,
      ({ params }) => { heard.push(params.update.content.text); });
  await app.connectWith(stream, (context) => work(context, heard));
}
const greet = (context) => context.request(acp.methods.agent.initialize,
  { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
const beginWith = async (context) => (await context.request(acp.methods.agent.session.new,
  { cwd: '/', mcpServers: [] })).sessionId;
const promptWith = async (context, sessionId, text) => (await context.request(
  acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] })).stopReason;

describe('the official client', { timeout: 60_000 }, () => {
  let gate;
  before(async () => { gate = await start([], ['--loads']); });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  for (const [name, stream] of Object.entries(streams)) {
    it(`prompts and is asked over ${name}`, () => withClient(stream(gate), async (context, heard) => {
      assert.equal((await greet(context)).agentInfo.name, 'test-agent');
      const sessionId = await beginWith(context);
      assert.equal(await promptWith(context, sessionId, 'say:3 ask read'), 'end_turn');
      await eventually(() => heard.length >= 5, 'all updates');
      assert.deepEqual(heard, ['1', '2', '3', 'permission selected', 'read text']);
      await assert.rejects(context.request('session/nothing', { sessionId }), /no method/);
      await context.request(acp.methods.agent.session.load,
        { sessionId: 'former', cwd: '/', mcpServers: [] });
      await eventually(() => heard.includes('loaded'), 'what was loaded');
    }));
  }
});

describe('the official agent', { timeout: 60_000 }, () => {
  let gate;
  before(async () => {
    gate = await Stdgate.startWith(['--protocol', 'acp', '--grace', '1s'], process.execPath, sdkAgent);
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  for (const [name, stream] of Object.entries(streams)) {
    it(`asks and tells over ${name}`, () => withClient(stream(gate), async (context, heard) => {
      assert.equal((await greet(context)).agentInfo.name, 'sdk-agent');
      assert.equal(await promptWith(context, await beginWith(context), 'hello'), 'end_turn');
      await eventually(() => heard.length > 0, 'what was chosen');
      assert.deepEqual(heard, ['yes']);
    }));
  }
});

describe('stdgate connect', { timeout: 60_000 }, () => {
  const connectTo = (url) => {
    const process = spawn(program, ['connect', `${url}/acp`], { stdio: ['pipe', 'pipe', 'ignore'] });
    const exited = new Promise((resolve) => process.on('exit', resolve));
    return { process, exited, stream: acp.ndJsonStream(Writable.toWeb(process.stdin), Readable.toWeb(process.stdout)) };
  };

  it('goes on where the network was cut, in mid-prompt and while the agent asks', async () => {
    const gate = await start();
    const proxy = await TcpProxy.to(gate.url);
    const { process: connect, exited, stream } = connectTo(proxy.url);
    await withClient(stream, async (context, heard) => {
      await greet(context);
      const ended = promptWith(context, await beginWith(context), 'say:2 wait:300 say:2 ask wait:300 say:2');
      await eventually(() => heard.length === 2, 'the first updates');
      assert.ok(proxy.cut('') > 0);
      assert.equal(await ended, 'end_turn');
      await eventually(() => heard.length >= 7, 'all updates');
      assert.deepEqual(heard, ['1', '2', '1', '2', 'permission selected', '1', '2']);
    }, () => assert.ok(proxy.cut('') > 0));
    connect.stdin.end();
    assert.equal(await exited, 0);
    await eventually(() => gate.children().length === 0, 'the end of the agent');
    proxy.close();
    assert.deepEqual(await gate.stop(), cleanExit);
  });

  it('ends with an agent that has ended', async () => {
    const gate = await start();
    const { exited, stream } = connectTo(gate.url);
    await withClient(stream, async (context) => {
      await greet(context);
      const ended = promptWith(context, await beginWith(context), 'wait:60000');
      await eventually(() => gate.children().length === 1, 'the agent');
      process.kill(gate.children()[0], 'SIGKILL');
      await assert.rejects(ended);
    });
    assert.equal(await exited, 1);
    assert.deepEqual(await gate.stop(), cleanExit);
  });

  it('is the agent at either URL of its path, for a program on stdin and stdout', async () => {
    const gate = await Stdgate.startWith(['--protocol', 'acp', '--grace', '1s'], process.execPath, sdkAgent);
    for (const url of [gate.url, gate.url.replace('http', 'ws')]) {
      const { process: connect, exited, stream } = connectTo(url);
      await withClient(stream, async (context) => {
        assert.equal((await greet(context)).agentInfo.name, 'sdk-agent');
        assert.equal(await promptWith(context, await beginWith(context), 'hello'), 'end_turn');
      });
      connect.stdin.end();
      assert.equal(await exited, 0);
    }
    assert.deepEqual(await gate.stop(), cleanExit);
  });
});

describe('Streamable HTTP', { timeout: 60_000 }, () => {
  let gate;
  before(async () => { gate = await start(); });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  const open = async () => {
    const client = new AcpHttp(gate.url);
    const response = await client.initialize();
    assert.equal(response.status, 200);
    client.greeting = await response.json();
    client.stream = await client.listen();
    return client;
  };
  const begin = async (client) => {
    const id = await client.ask('session/new', { cwd: '/', mcpServers: [] });
    return (await client.stream.answer(id)).result.sessionId;
  };

  it('answers initialize at once, all else on streams', async () => {
    const client = await open();
    assert.equal(client.greeting.result.agentInfo.name, 'test-agent');
    const session = await begin(client);
    const stream = await client.listen(session);
    const prompt = await client.prompt(session, 'say:2 ask');
    const asked = await stream.heard(isAsk, 'the permission request');
    const answered = await client.post(allow(asked.id), { 'acp-session-id': session });
    assert.equal(answered.status, 202);
    assert.equal((await stream.answer(prompt)).result.stopReason, 'end_turn');
    assert.deepEqual(texts(stream.events.map(({ message }) => message)),
      ['1', '2', 'permission selected']);
    assert.equal((await client.fetch('DELETE', { 'acp-connection-id': client.id })).status, 202);
    await eventually(() => stream.ended && client.stream.ended, 'the ends of the streams');
    assert.equal((await client.post({ method: 'x' })).status, 404);
  });

  it('cancels a prompt', async () => {
    const client = await open();
    const session = await begin(client);
    const stream = await client.listen(session);
    const prompt = await client.prompt(session, 'say:1 wait:1 ask say:1');
    const asked = await stream.heard(isAsk, 'the permission request');
    const named = { 'acp-session-id': session };
    assert.equal((await client.post(
      { method: 'session/cancel', params: { sessionId: session } }, named)).status, 202);
    await client.post({ id: asked.id, result: { outcome: { outcome: 'cancelled' } } }, named);
    assert.equal((await stream.answer(prompt)).result.stopReason, 'cancelled');
    await client.fetch('DELETE', { 'acp-connection-id': client.id });
  });

  it('keeps what is said while no stream is open', async () => {
    const client = await open();
    const session = await begin(client);
    const prompt = await client.prompt(session, 'say:5');
    const stream = await client.listen(session);
    await stream.answer(prompt);
    assert.deepEqual(texts(stream.events.map(({ message }) => message)), ['1', '2', '3', '4', '5']);
    stream.cut();
    const again = await client.listen(session, { 'last-event-id': stream.events[2].id });
    await again.answer(prompt);
    assert.deepEqual(texts(again.events.map(({ message }) => message)), ['4', '5']);
    await client.fetch('DELETE', { 'acp-connection-id': client.id });
  });

  // The behaviour that the RFD described in April 2026.
  it('tells a client with one stream all of it there', async () => {
    const client = await open();
    const session = await begin(client);
    const prompt = await client.prompt(session, 'say:2 ask say:1');
    const asked = await client.stream.heard(isAsk, 'the permission request');
    await client.post(allow(asked.id), { 'acp-session-id': session });
    assert.equal((await client.stream.answer(prompt)).result.stopReason, 'end_turn');
    const told = texts(client.stream.events.map(({ message }) => message));
    assert.deepEqual(told, ['1', '2', 'permission selected', '1']);
    await client.fetch('DELETE', { 'acp-connection-id': client.id });
  });

  it('has the statuses of the RFD', async () => {
    const client = await open();
    const session = await begin(client);
    const id = { 'acp-connection-id': client.id };
    const json = { 'content-type': 'application/json' };
    const stream = { accept: 'text/event-stream' };
    const of = (sessionId) => JSON.stringify(
      { jsonrpc: '2.0', method: 'session/cancel', params: { sessionId } });
    const note = '{"jsonrpc":"2.0","method":"x"}';
    const greeting = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}';
    for (const [status, method, headers, body] of [
      [415, 'POST', { ...id, 'content-type': 'text/plain' }, note],
      [501, 'POST', { ...id, ...json }, `[${note}]`],
      [400, 'POST', { ...id, ...json }, '{'],
      [400, 'POST', { ...id, ...json }, '{"method":"x"}'],
      [400, 'POST', { ...id, ...json }, greeting],
      [400, 'POST', json, note],
      [404, 'POST', { ...json, 'acp-connection-id': 'nothing' }, note],
      [400, 'POST', { ...id, ...json }, of(session)],
      [400, 'POST', { ...id, ...json, 'acp-session-id': 'another' }, of(session)],
      [202, 'POST', { ...id, ...json, 'acp-session-id': session }, of(session)],
      [202, 'POST', { ...id, ...json }, note],
      [406, 'GET', { ...id, accept: 'application/json' }],
      [400, 'GET', stream],
      [404, 'GET', { ...stream, 'acp-connection-id': 'nothing' }],
      [404, 'GET', { ...stream, ...id, 'acp-session-id': 'another' }],
      [400, 'GET', { ...stream, ...id, 'last-event-id': 'x' }],
      [400, 'DELETE', {}],
      [404, 'DELETE', { 'acp-connection-id': 'nothing' }],
      [202, 'DELETE', id],
      [404, 'DELETE', id],
    ]) {
      const response = await client.fetch(method, headers, body);
      assert.equal(response.status, status, `${method} ${JSON.stringify(headers)} ${body}`);
      await response.text();
    }
  });

  it('lets a client that may load a session listen to it first', async () => {
    const loading = await start([], ['--loads']);
    const client = new AcpHttp(loading.url);
    await client.initialize();
    client.stream = await client.listen();
    const stream = await client.listen('former');
    const load = await client.ask('session/load', { sessionId: 'former', cwd: '/', mcpServers: [] });
    await client.stream.answer(load);
    await stream.heard(isSaying('loaded'), 'what was loaded');
    assert.deepEqual(await loading.stop(), cleanExit);
  });
});

describe('a client that comes back', { timeout: 60_000 }, () => {
  let gate;
  before(async () => { gate = await start(); });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  const back = (client) => AcpSocket.connect(gate.url, { headers: { 'acp-connection-id': client.id } });

  it('hears what it has missed, and the answer', async () => {
    const client = await AcpSocket.connect(gate.url);
    const session = await client.begin();
    const prompt = client.prompt(session, 'say:1 wait:300 say:4');
    await client.heard(isSaying('1'), 'an update');
    await client.cut();
    await eventually(() => true, 'a moment');
    await new Promise((resolve) => setTimeout(resolve, 600)); // the agent continues meanwhile
    const again = await back(client);
    assert.equal(again.id, client.id);
    assert.equal((await again.answer(prompt)).result.stopReason, 'end_turn');
    assert.deepEqual(texts(again.messages), ['1', '2', '3', '4']);
    const next = again.prompt(session, 'say:1');
    await again.answer(next);
    again.socket.close();
  });

  it('is asked again, and its answer goes on', async () => {
    const client = await AcpSocket.connect(gate.url);
    const session = await client.begin();
    const prompt = client.prompt(session, 'ask');
    await client.heard(isAsk, 'the permission request');
    await client.cut();
    const again = await back(client);
    const asked = await again.heard(isAsk, 'the permission request');
    again.send(allow(asked.id));
    assert.equal((await again.answer(prompt)).result.stopReason, 'end_turn');
    assert.deepEqual(texts(again.messages), ['permission selected']);
    await again.cut();
    const third = await back(client);
    await third.answer(third.prompt(session, 'say:1'));
    assert.deepEqual(third.messages.filter(isAsk), []);
    third.socket.close();
  });

  it('takes the place of a connection that is not known to be gone', async () => {
    const client = await AcpSocket.connect(gate.url);
    const session = await client.begin();
    const again = await back(client);
    await client.closed;
    const prompt = again.prompt(session, 'say:1');
    assert.equal((await again.answer(prompt)).result.stopReason, 'end_turn');
    again.socket.close();
  });

  it('finds nothing by an id that was never given out', async () => {
    await assert.rejects(
      AcpSocket.connect(gate.url, { headers: { 'acp-connection-id': 'x'.repeat(40) } }), /status 404/);
  });
});

describe('linger: 0', { timeout: 60_000 }, () => {
  it('ends the agent with its connection', async () => {
    const gate = await start(['--linger', '0s']);
    const client = await AcpSocket.connect(gate.url);
    await client.begin();
    await client.cut();
    await eventually(() => gate.children().length === 0, 'the end of the agent');
    await assert.rejects(
      AcpSocket.connect(gate.url, { headers: { 'acp-connection-id': client.id } }), /status 404/);
    assert.deepEqual(await gate.stop(), cleanExit);
  });
});

const keyOf = (name) => `the-long-key-of-${name}`;
const hash = (key) => `sha256:${createHash('sha256').update(key).digest('hex')}`;

describe('another principal', { timeout: 60_000 }, () => {
  it('cannot use the id of a connection', async () => {
    const gate = await Stdgate.serve(`
listen: 127.0.0.1:0
admin: "off"
backends:
  agent:
    command: ["${process.execPath}", "${agent}"]
    protocol: acp
auth:
  api_keys:
    - { name: anna, hash: "${hash(keyOf('anna'))}" }
    - { name: bert, hash: "${hash(keyOf('bert'))}" }
`);
    const anna = { authorization: `Bearer ${keyOf('anna')}` };
    const bert = { authorization: `Bearer ${keyOf('bert')}` };
    const socket = await AcpSocket.connect(gate.url, { headers: anna });
    const theirs = { 'acp-connection-id': socket.id };
    await assert.rejects(
      AcpSocket.connect(gate.url, { headers: { ...bert, ...theirs } }), /status 404/);
    const own = await AcpSocket.connect(gate.url, { headers: { ...anna, ...theirs } });
    own.socket.close();
    const http = new AcpHttp(gate.url, anna);
    await http.initialize();
    const other = new AcpHttp(gate.url, bert);
    other.id = http.id;
    assert.equal((await other.post({ method: 'x' })).status, 404);
    assert.equal((await other.listen()).status, 404);
    assert.equal((await other.fetch('DELETE', { 'acp-connection-id': http.id })).status, 404);
    assert.equal((await http.post({ method: 'x' })).status, 202);
    await gate.stop();
  });
});

describe('many connections', { timeout: 120_000 }, () => {
  it('are served next to each other', async () => {
    // The demo server is small, and each connection starts one.
    const gate = await Stdgate.startWith(
      ['--protocol', 'acp', '--max', '200', '--linger', '1m', '--grace', '1s'], program, 'demo-server');
    const clients = await Promise.all(Array.from({ length: 200 }, () => AcpSocket.connect(gate.url)));
    assert.equal(new Set(clients.map(({ id }) => id)).size, 200);
    const echo = async (client, params) => {
      const { result } = await client.answer(client.ask('echo', params));
      assert.deepEqual(result, params);
    };
    await Promise.all(clients.map((client, i) => echo(client, [i])));
    assert.equal(gate.children().length, 200);
    await Promise.all(clients.map((client) => client.cut()));
    const again = await Promise.all(clients.map((client) => AcpSocket.connect(
      gate.url, { headers: { 'acp-connection-id': client.id } })));
    await Promise.all(again.map((client, i) => echo(client, [i, 'again'])));
    assert.equal(gate.children().length, 200);
    for (const client of again) client.socket.close();
    assert.deepEqual(await gate.stop(), cleanExit);
  });
});
