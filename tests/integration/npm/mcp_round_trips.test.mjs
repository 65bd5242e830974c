// The requestState of a call that is parked at a legacy server: attacks by modern clients, and the end of the client,
// the server or the gateway while the call is parked.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';

import { Stdgate, eventually } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const packages = new URL('node_modules/', import.meta.url).pathname;
const command = [
  `${packages}/node-linux-${process.arch}/bin/node`, new URL('conformance_server.mjs', import.meta.url).pathname];
const invalid = { code: -32602, message: 'requestState is not valid' };
const ada = 'ada-0123456789abcdef';
const eve = 'eve-0123456789abcdef';

const hash = (key) => `sha256:${createHash('sha256').update(key).digest('hex')}`;
const serve = (...more) => Stdgate.serve([
  'listen: "127.0.0.1:0"', 'admin: "off"',
  `auth: { api_keys: [{ name: ada, hash: "${hash(ada)}" }, { name: eve, hash: "${hash(eve)}" }] }`,
  ...more, 'backends:', '  main:', `    command: ${JSON.stringify(command)}`, '    bridge: true',
  '    pool: { grace: 500ms }', '',
].join('\n'));

let ids = 0;

// Sends a request of a client that declares elicitation. Returns the status and the message.
async function call(gate, { params = {}, key = ada, name = 'test_elicitation', message = 'who?', signal } = {}) {
  const body = {
    jsonrpc: '2.0',
    id: (ids += 1),
    method: 'tools/call',
    params: {
      name,
      arguments: { message },
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
      },
    },
  };
  const response = await fetch(`${gate.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${key}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify(body),
    signal,
  });
  const text = await response.text();
  const message_ = text.startsWith('{') ? text : text.split('\n').filter((line) => line.startsWith('data: {')).at(-1).slice(6);
  return { status: response.status, ...JSON.parse(message_) };
}

// Makes a call that is parked, and returns its state with the answers that resume it.
async function park(gate, options) {
  const { result } = await call(gate, options);
  assert.equal(result.resultType, 'input_required');
  const answer = { action: 'accept', content: { username: 'ada', email: 'ada@example.org' } };
  return {
    requestState: result.requestState,
    inputResponses: Object.fromEntries(Object.keys(result.inputRequests).map((key) => [key, answer])),
  };
}

describe('the state of a parked call', { timeout: 60_000 }, () => {
  let gate;
  before(async () => {
    gate = await serve();
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  it('lets its client go on, once', async () => {
    const params = await park(gate);
    const { status, result } = await call(gate, { params });
    assert.equal(status, 200);
    assert.match(result.content[0].text, /ada@example.org/);
    assert.deepEqual((await call(gate, { params })).error, invalid);
  });

  it('is worth nothing to others, for other requests, or changed', async () => {
    const params = await park(gate);
    assert.deepEqual((await call(gate, { params, key: eve })).error, invalid);
    assert.deepEqual((await call(gate, { params, message: 'you?' })).error, invalid);
    assert.deepEqual((await call(gate, { params, name: 'test_sampling' })).error, invalid);
    const bytes = Buffer.from(params.requestState, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Buffer.from(bytes);
      flipped[at] ^= 1 << (at % 8);
      const requestState = flipped.toString('base64url');
      assert.deepEqual((await call(gate, { params: { ...params, requestState } })).error, invalid);
    }
    for (const requestState of ['', 'x', params.requestState.slice(1), `${params.requestState}AAAA`, 'A'.repeat(100_000)]) {
      assert.deepEqual((await call(gate, { params: { ...params, requestState } })).error, invalid);
    }
    const other = await park(gate);
    const mixed = { ...other, inputResponses: params.inputResponses };
    assert.equal((await call(gate, { params: mixed })).result.resultType, 'input_required', 'keys of another call');
    assert.match((await call(gate, { params })).result.content[0].text, /ada@example.org/);
  });

  it('is worth nothing when the server has gone', async () => {
    const before = new Set(gate.children());
    const params = await park(gate);
    const mine = gate.children().filter((pid) => !before.has(pid));
    for (const pid of mine.length > 0 ? mine : gate.children()) process.kill(pid, 'SIGKILL');
    await eventually(() => /child ended/.test(gate.log), 'the end of the child');
    const { error } = await call(gate, { params });
    assert.equal(error.code, -31502);
    assert.deepEqual((await call(gate, { params })).error, invalid);
  });

  it('is worth nothing at another gateway, or the next one', async () => {
    const params = await park(gate);
    const former = await serve();
    const lost = await park(former);
    assert.deepEqual((await call(former, { params })).error, invalid);
    former.process.kill('SIGKILL');
    await eventually(() => former.children().length === 0, 'the end of its servers');
    assert.deepEqual((await former.stop()).left, []);
    assert.deepEqual((await call(gate, { params: lost })).error, invalid);
    assert.match((await call(gate, { params })).result.content[0].text, /ada@example.org/);
  });

  it('is not waited for by a gateway that stops', async () => {
    const other = await serve();
    await park(other);
    const begin = Date.now();
    assert.deepEqual(await other.stop(), cleanExit);
    assert.ok(Date.now() - begin < 10_000);
  });

  it('ends in time', async () => {
    const other = await serve('timeouts: { input: 300ms }');
    const params = await park(other);
    await eventually(() => other.children().length === 0 || /child ended/.test(other.log), 'the end of the child');
    assert.deepEqual((await call(other, { params })).error, invalid);
    assert.deepEqual(await other.stop(), cleanExit);
  });
});
