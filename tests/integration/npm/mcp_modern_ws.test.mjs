// Modern messages at /ws, at real servers of both eras: progress and log messages, questions, changes, cancels, and the
// end of a connection with calls in flight.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';

import { ModernSocket, answersTo, metaKey } from './modern_socket.mjs';
import { Stdgate, eventually } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const packages = new URL('node_modules/', import.meta.url).pathname;
const fixture = [
  `${packages}/node-linux-${process.arch}/bin/node`, new URL('conformance_server.mjs', import.meta.url).pathname];
const legacy = fixture;
const modern = [...fixture, 'modern'];

const keys = { ada: 'ada-0123456789abcdef', eve: 'eve-0123456789abcdef' };
const hash = (key) => `sha256:${createHash('sha256').update(key).digest('hex')}`;
const headersOf = (name) => ({ headers: { authorization: `Bearer ${keys[name]}` } });

const serve = (command, ...options) => Stdgate.serve([
  'listen: "127.0.0.1:0"', 'anonymous: true', 'admin: "127.0.0.1:0"', 'limits: { session_starts: 0 }',
  `auth: { api_keys: [${Object.entries(keys).map(([name, key]) => (
    `{ name: ${name}, hash: "${hash(key)}" }`))}] }`,
  'backends:', '  main:', '    bridge: true',
  `    command: ${JSON.stringify(command)}`, ...options.map((option) => `    ${option}`), '',
].join('\n'));

async function start(t, command, ...options) {
  const gate = await serve(command, ...options);
  t.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
  return gate;
}

const stateOf = async (gate) => (await (await fetch(`${gate.adminUrl}/debug/state`)).json()).backends[0];
const awaitState = (gate, condition, what) => eventually(async () => condition(await stateOf(gate)), what);
const inFlight = ({ children }) => children.reduce((sum, child) => sum + child.in_flight, 0);

const user = { elicitation: {} };
const form = (name = 'ada') => () => ({ action: 'accept', content: { username: name, email: 'a@example.org', name } });
const textOf = ({ result, error }) => {
  assert.equal(error, undefined, JSON.stringify(error));
  return result.content[0].text;
};
// Makes a call that is parked, and returns its answer.
async function park(socket, id = socket.id()) {
  const { result } = await socket.call('test_elicitation', { message: 'who?' }, {}, { id });
  assert.equal(result.resultType, 'input_required', JSON.stringify(result));
  return result;
}
const resume = (socket, result, options = {}) =>
  socket.call('test_elicitation', { message: 'who?' }, answersTo(result, form()), options);

for (const [era, command] of [['legacy', legacy], ['modern', modern]]) {
  describe(`a ${era} server over /ws`, { timeout: 120_000 }, () => {
    let gate;
    before(async () => {
      gate = await serve(command);
    });
    after(async () => assert.deepEqual(await gate.stop(), cleanExit));

    it('reports progress under the tokens of its clients, before the answer', async () => {
      const sockets = await Promise.all([ModernSocket.open(gate.socketUrl), ModernSocket.open(gate.socketUrl)]);
      await Promise.all(sockets.map(async (socket, index) => {
        const answers = await Promise.all(['same', `of ${index}`].map((progressToken) =>
          socket.call('test_tool_with_progress', {}, {}, { meta: { progressToken } })));
        answers.forEach((answer) => assert.equal(textOf(answer), 'done'));
        for (const token of ['same', `of ${index}`]) {
          const steps = socket.told('progress').filter(({ progressToken }) => progressToken === token);
          assert.deepEqual(steps.map(({ progress }) => progress), [0, 50, 100]);
        }
        assert.equal(socket.told('progress').length, 6);
        assert.ok(socket.received.at(-1).result, 'the answer is the last message');
      }));
      await Promise.all(sockets.map((socket) => socket.close()));
    });

    it('logs to calls that name a level, and from it on', async () => {
      const socket = await ModernSocket.open(gate.socketUrl);
      for (const [logLevel, count] of [[undefined, 0], ['warning', 0], ['info', 3], ['debug', 3], [undefined, 0]]) {
        const before = socket.told('message').length;
        const meta = logLevel === undefined ? {} : { [metaKey('logLevel')]: logLevel };
        await socket.call('test_tool_with_logging', {}, {}, { meta });
        assert.equal(socket.told('message').length - before, count, `${logLevel}`);
      }
      await socket.close();
    });

    it('asks in answer to a call, which goes on over this connection or another one', async () => {
      const socket = await ModernSocket.open(gate.socketUrl, { capabilities: user });
      assert.match(textOf(await resume(socket, await park(socket))), /ada/);
      const parked = await park(socket);
      await socket.close();
      const other = await ModernSocket.open(gate.socketUrl, { capabilities: user });
      assert.match(textOf(await resume(other, parked)), /ada/);
      await other.close();
    });

    it('may ask several calls of a connection at once', async () => {
      const socket = await ModernSocket.open(gate.socketUrl, { capabilities: user });
      await Promise.all(['ada', 'bob', 'eve'].map(async (name) => {
        const result = await socket.converse('test_elicitation', { message: 'who?' }, form(name));
        assert.match(result.content[0].text, new RegExp(name));
      }));
      await socket.close();
    });
  });
}

describe('changes over /ws', { timeout: 120_000 }, () => {
  for (const [era, command, options] of [
    ['legacy', [...fixture, 'asking'], ['isolation: shared']], ['modern', modern, []],
  ]) {
    it(`come to each that listens, with its tag, from a ${era} server`, async (t) => {
      const gate = await start(t, command, ...options);
      const [ada, bob] = await Promise.all([ModernSocket.open(gate.socketUrl), ModernSocket.open(gate.socketUrl)]);
      const listen = (socket, id, notifications) => {
        socket.request('subscriptions/listen', { notifications }, { id });
        return eventually(() => socket.told('subscriptions/acknowledged').some(
          ({ _meta }) => _meta[metaKey('subscriptionId')] === id), 'an acknowledgement');
      };
      const tags = (socket) => socket.told('tools/list_changed').map(({ _meta }) => _meta[metaKey('subscriptionId')]);
      await listen(ada, 'first', { toolsListChanged: true });
      await listen(ada, 'second', { toolsListChanged: true });
      await listen(bob, 'first', { promptsListChanged: true });
      await bob.call('test_trigger_tool_change');
      await eventually(() => tags(ada).length === 2, 'two notifications');
      assert.deepEqual(tags(ada).sort(), ['first', 'second']);
      ada.cancel('first');
      await awaitState(gate, (state) => inFlight(state) === 2, 'the end of one');
      await bob.call('test_trigger_tool_change');
      await eventually(() => tags(ada).length === 3, 'one notification more');
      assert.equal(tags(ada).at(-1), 'second');
      assert.deepEqual(tags(bob), [], 'it wants to know of prompts alone');
      assert.ok(!ada.answered('first'), 'what is cancelled is not answered');
      await ada.close();
      await awaitState(gate, (state) => inFlight(state) === 1, 'the end of what its client listened to');
      await bob.close();
      await awaitState(gate, (state) => inFlight(state) === 0, 'the end of all');
    });
  }
});

describe('cancels over /ws', { timeout: 120_000 }, () => {
  it('take a call that waits for a child out of the queue', async (t) => {
    const gate = await start(t, legacy, 'isolation: shared', 'pool: { max: 1, max_in_flight: 1 }');
    const socket = await ModernSocket.open(gate.socketUrl);
    await socket.call('test_simple_text');
    const slow = socket.call('test_tool_with_progress', {}, {}, { meta: { progressToken: 1 } });
    const id = socket.id();
    const last = [socket.call('test_simple_text', {}, {}, { id }), socket.call('test_simple_text')][1];
    socket.cancel(id);
    textOf(await slow);
    textOf(await last);
    assert.ok(!socket.answered(id));
    await socket.close();
  });

  it('do not concern a call that is parked, but its next round', async (t) => {
    const gate = await start(t, legacy, 'pool: { max: 2, parked: 1 }');
    const socket = await ModernSocket.open(gate.socketUrl, { capabilities: user });
    const id = socket.id();
    const parked = await park(socket, id);
    socket.cancel(id);
    assert.match(textOf(await resume(socket, parked)), /ada/);
    await awaitState(gate, (state) => state.parked_calls === 0, 'no parked call');
    await socket.close();
  });

  it('end a call that waits for its turn to be parked', async (t) => {
    const gate = await start(t, legacy, 'pool: { max: 4, parked: 1 }');
    const socket = await ModernSocket.open(gate.socketUrl, { capabilities: user });
    const parked = await park(socket);
    const [gone, next] = [socket.id(), socket.id()];
    socket.call('test_elicitation', { message: 'who?' }, {}, { id: gone });
    const waiting = park(socket, next);
    await awaitState(gate, (state) => inFlight(state) === 3, 'three calls');
    socket.cancel(gone);
    await awaitState(gate, (state) => inFlight(state) === 2, 'the end of one');
    assert.ok(!socket.answered(next), 'there is no place yet');
    assert.match(textOf(await resume(socket, parked)), /ada/);
    assert.match(textOf(await resume(socket, await waiting)), /ada/);
    assert.ok(!socket.answered(gone));
    await socket.close();
  });
});

describe('a connection that ends', { timeout: 120_000 }, () => {
  it('takes with it what waits for its turn, and leaves what is parked', async (t) => {
    const gate = await start(t, legacy, 'pool: { max: 4, parked: 1 }', 'timeout: 1m');
    const socket = await ModernSocket.open(gate.socketUrl, { capabilities: user });
    const parked = await park(socket);
    socket.call('test_elicitation', { message: 'who?' });
    await awaitState(gate, (state) => inFlight(state) === 2, 'two calls');
    await socket.close();
    await awaitState(gate, (state) => inFlight(state) === 1 && state.parked_calls === 1, 'the parked one');
    const other = await ModernSocket.open(gate.socketUrl, { capabilities: user });
    assert.match(textOf(await resume(other, parked)), /ada/);
    const { error } = await resume(other, parked);
    assert.deepEqual(error, { code: -32602, message: 'requestState is not valid' });
    await other.close();
    await awaitState(gate, (state) => inFlight(state) === 0 && state.parked_calls === 0, 'nothing');
  });
});

describe('a parked call over /ws', { timeout: 120_000 }, () => {
  it('goes on for its principal alone, with the same request, once', async (t) => {
    const gate = await start(t, legacy);
    const open = (name) => ModernSocket.open(gate.socketUrl, { capabilities: user, ...(name && headersOf(name)) });
    const [ada, eve, nobody] = await Promise.all([open('ada'), open('eve'), open()]);
    const parked = await park(ada);
    const invalid = { code: -32602, message: 'requestState is not valid' };
    for (const other of [eve, nobody]) assert.deepEqual((await resume(other, parked)).error, invalid);
    const changed = await ada.call('test_elicitation', { message: 'you?' }, answersTo(parked, form()));
    assert.deepEqual(changed.error, invalid);
    assert.match(textOf(await resume(ada, parked)), /ada/);
    assert.deepEqual((await resume(ada, parked)).error, invalid);
    await Promise.all([ada, eve, nobody].map((socket) => socket.close()));
  });
});

describe('limits over /ws', { timeout: 120_000 }, () => {
  it('of calls count those at work, not the parked ones', async (t) => {
    const gate = await start(t, legacy, 'calls: { in_flight: 1 }');
    const socket = await ModernSocket.open(gate.socketUrl, { capabilities: user });
    const parked = await park(socket);
    const slow = socket.call('test_tool_with_progress');
    const refused = await socket.call('test_simple_text');
    assert.equal(refused.error.code, -31429, JSON.stringify(refused));
    textOf(await slow);
    assert.match(textOf(await resume(socket, parked)), /ada/);
    await socket.close();
  });

  it('of one message end its connection', async (t) => {
    const gate = await start(t, modern);
    const socket = await ModernSocket.open(gate.socketUrl);
    textOf(await socket.call('test_simple_text'));
    const other = await ModernSocket.open(gate.socketUrl);
    socket.call('test_simple_text', { text: 'x'.repeat(17 << 20) });
    assert.equal(await socket.closed, 1009);
    textOf(await other.call('test_simple_text'));
    await other.close();
  });
});

describe('a client of modern messages alone', { timeout: 120_000 }, () => {
  it('needs no child of its own', async (t) => {
    const gate = await start(t, legacy, 'pool: { max: 8 }');
    const sockets = await Promise.all(Array.from({ length: 4 }, () => ModernSocket.open(gate.socketUrl)));
    await Promise.all(sockets.map(async (socket) => {
      assert.match(textOf(await socket.call('test_simple_text')), /simple text/);
    }));
    await awaitState(gate, ({ parked_sessions }) => parked_sessions === 4, 'sessions without a child');
    await Promise.all(sockets.map((socket) => socket.close()));
  });

  it('can begin a session later', async (t) => {
    const gate = await start(t, legacy);
    const socket = await ModernSocket.open(gate.socketUrl);
    await socket.call('test_simple_text');
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'ada', version: '1' } };
    socket.send({ id: 'begin', method: 'initialize', params });
    await eventually(() => socket.answered('begin'), 'an answer');
    socket.send({ method: 'notifications/initialized' });
    socket.send({ id: 'list', method: 'tools/list' });
    await eventually(() => socket.answered('list'), 'a list');
    await awaitState(gate, ({ parked_sessions }) => parked_sessions === 0, 'a session with a child');
    assert.deepEqual(socket.told('message'), [], 'nothing was lost');
    assert.match(textOf(await socket.call('test_simple_text')), /simple text/);
    await awaitState(gate, ({ parked_sessions }) => parked_sessions === 0, 'it still has it');
    await socket.close();
  });
});
