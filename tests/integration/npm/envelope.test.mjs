// envelope: lenient: servers and clients that omit "jsonrpc", in every combination and on every
// transport. Codex's app-server, which omits "jsonrpc", is tested where it is installed.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import WebSocket from 'ws';

import { Stdgate, eventually, server } from './stdgate_process.mjs';

const bareServer = new URL('bare_server.mjs', import.meta.url).pathname;
const start = (...flags) => Stdgate.startWith(
  ['--protocol', 'jsonrpc', '--grace', '1s', ...flags], process.execPath, bareServer);
const cleanExit = { code: 0, signal: null, left: [] };
const forms = { 'a bare client': {}, 'a client that names its version': { jsonrpc: '2.0' } };

async function open(url) {
  const socket = new WebSocket(url);
  const messages = [];
  socket.on('message', (text) => messages.push(JSON.parse(text)));
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
  return {
    messages,
    send: (message) => socket.send(JSON.stringify(message)),
    heard: (matches) => eventually(() => messages.find(matches), 'a message'),
    close: () => socket.close(),
  };
}

const post = (gate, message, accept = 'application/json') => fetch(`${gate.url}/rpc`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept },
  body: JSON.stringify(message),
});

describe('a lenient backend', { timeout: 60_000 }, () => {
  let gate, own;
  before(async () => {
    gate = await start('--envelope', 'lenient');
    own = await start('--envelope', 'lenient', '--isolation', 'session');
  });
  after(async () => {
    assert.deepEqual(await gate.stop(), cleanExit);
    assert.deepEqual(await own.stop(), cleanExit);
  });

  for (const [name, form] of Object.entries(forms)) {
    it(`answers ${name} at /rpc`, async () => {
      // After a child's first message, the gateway writes "jsonrpc" only if the child does.
      await (await post(gate, { ...form, id: 1, method: 'first' })).json();
      const answer = await (await post(gate, { ...form, id: 'x', method: 'a' })).json();
      const { got } = answer.result;
      assert.deepEqual(answer, { ...form, id: 'x', result: { got } });
      assert.deepEqual(got, { id: got.id, method: 'a' });
    });

    it(`answers a batch of ${name}`, async () => {
      const batch = [{ ...form, id: 1, method: 'a' }, { ...form, id: 2, method: 'b' }];
      const answers = await (await post(gate, batch)).json();
      assert.deepEqual(answers.map(({ result, ...rest }) => rest).sort((a, b) => a.id - b.id),
        [{ ...form, id: 1 }, { ...form, id: 2 }]);
    });

    it(`streams to ${name}`, async () => {
      const response = await post(gate, { ...form, id: 1, method: 'tell' }, 'text/event-stream');
      const data = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)));
      assert.deepEqual(data[0], { ...form, method: 'told', params: {} });
      assert.equal(data[1].jsonrpc, form.jsonrpc);
    });

    it(`tells, asks and answers ${name} over a WebSocket`, async () => {
      const client = await open(own.socketUrl);
      client.send({ ...form, id: 1, method: 'tell' });
      await client.heard(({ id }) => id === 1);
      client.send({ ...form, id: 2, method: 'ask' });
      const question = await client.heard(({ method }) => method === 'question');
      client.send({ ...form, id: question.id, result: 'yes' });
      const { result } = await client.heard(({ id, method }) => id === 2 && !method);
      assert.deepEqual(result.got, { id: 1, result: 'yes' });
      for (const message of client.messages) assert.equal(message.jsonrpc, form.jsonrpc);
      client.close();
    });
  }

  it('refuses a version that is another one', async () => {
    const response = await post(gate, { jsonrpc: '1.0', id: 1, method: 'a' });
    assert.equal(response.status, 400);
    await response.text();
  });
});

describe('a strict backend', { timeout: 60_000 }, () => {
  it('refuses a bare client, and gives up on a bare child', async () => {
    const gate = await start('--timeout', '1s');
    const refused = await post(gate, { id: 1, method: 'a' });
    assert.equal(refused.status, 400);
    assert.match((await refused.json()).error.message, /jsonrpc must be the string 2.0|invalid/i);
    const unread = await post(gate, { jsonrpc: '2.0', id: 1, method: 'a' });
    assert.notEqual(unread.status, 200);
    await unread.text();
    await gate.stop();
  });
});

const codex = process.env.CODEX ?? server('codex');
describe('codex app-server', { timeout: 60_000, skip: !existsSync(codex) }, () => {
  // A turn begins even without a model, and the test interrupts it.
  it('lists models, and begins and interrupts a turn', async () => {
    const gate = await Stdgate.startWith(
      ['--protocol', 'jsonrpc', '--envelope', 'lenient', '--isolation', 'session',
        '--env', 'CODEX_HOME=@DIR@'], codex, 'app-server');
    const client = await open(gate.socketUrl);
    client.send({
      id: 1, method: 'initialize', params: { clientInfo: { name: 'me', title: 'Me', version: '1' } },
    });
    const greeting = await client.heard(({ id }) => id === 1);
    assert.match(greeting.result.userAgent, /^me\//);
    client.send({ method: 'initialized' });
    client.send({ id: 2, method: 'model/list', params: {} });
    const { result } = await client.heard(({ id }) => id === 2);
    assert.ok(result.data.length > 0);
    client.send({ id: 3, method: 'thread/start', params: { cwd: gate.folder } });
    const threadId = (await client.heard(({ id }) => id === 3)).result.thread.id;
    await client.heard(({ method, params }) => method === 'thread/started' && params.thread.id === threadId);
    client.send({ id: 4, method: 'turn/start', params: { threadId, input: [{ type: 'text', text: 'hello' }] } });
    const turnId = (await client.heard(({ id }) => id === 4)).result.turn.id;
    await client.heard(({ method, params }) => method === 'turn/started' && params.turn.id === turnId);
    client.send({ id: 5, method: 'turn/interrupt', params: { threadId, turnId } });
    await client.heard(({ id }) => id === 5);
    await client.heard(({ method, params }) => method === 'turn/completed' && params.turn.id === turnId);
    client.send({ id: 'no', method: 'no/such' });
    assert.equal((await client.heard(({ id }) => id === 'no')).error.code, -32600);
    for (const message of client.messages) assert.equal('jsonrpc' in message, false);
    client.close();
    await gate.stop();
  });
});
