// WebSockets from the point of view of npm's `ws`: many clients of one child, the opening
// handshake, and the end of connections.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import WebSocket from 'ws';

import { Stdgate, program } from './stdgate_process.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const startDemo = (...flags) =>
  Stdgate.startWith(['--protocol', 'jsonrpc', ...flags], program, 'demo-server');

// A connection, and the texts that it has received.
class Connection {
  static async open(gate, protocols = [], options = {}) {
    const connection = new Connection();
    const socket = new WebSocket(gate.socketUrl, protocols, options);
    connection.socket = socket;
    socket.on('message', (data, isBinary) => {
      connection.#texts.push(isBinary ? data : data.toString());
      connection.#wake();
    });
    connection.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    socket.once('close', () => connection.#wake());
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return connection;
  }

  #texts = [];
  #wake = () => {};

  send(text, options) {
    this.socket.send(text, options);
  }

  // The next text, unchanged.
  async next() {
    while (this.#texts.length === 0) {
      assert.equal(this.socket.readyState, WebSocket.OPEN, 'closed while a message was due');
      await new Promise((resolve) => (this.#wake = resolve));
    }
    return this.#texts.shift();
  }

  // Sends `text`, and returns the next text.
  ask(text) {
    this.send(text);
    return this.next();
  }

  close() {
    this.socket.close(1000);
    return this.closed;
  }
}

// The status and headers of the answer that refuses a WebSocket.
function refusal(gate, options) {
  const socket = new WebSocket(gate.socketUrl, options);
  return new Promise((resolve, reject) => {
    socket.on('open', () => reject(new Error('it was opened')));
    socket.on('error', reject);
    socket.on('unexpected-response', (request, { statusCode, headers }) => {
      request.destroy();
      resolve({ status: statusCode, headers });
    });
  }).finally(() => socket.on('error', () => {}).terminate());
}

const echo = (id, params) => `{"jsonrpc":"2.0","id":${id},"method":"echo","params":${params}}`;
const result = (id, value) => `{"jsonrpc":"2.0","id":${id},"result":${value}}`;

describe('clients of one child', { timeout: 60_000 }, () => {
  let gate;
  before(async () => {
    gate = await startDemo('--max', '1');
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  it('get their own answers, though their ids are equal', async () => {
    const clients = await Promise.all(
      Array.from({ length: 50 }, () => Connection.open(gate, 'jsonrpc')));
    for (let round = 0; round < 20; round += 1) {
      const id = round % 2 === 0 ? '1' : '"1"';
      const answers = await Promise.all(clients.map(
        (client, index) => client.ask(echo(id, `[${index}, ${round}]`))));
      answers.forEach((answer, index) => assert.equal(answer, result(id, `[${index}, ${round}]`)));
    }
    assert.equal(gate.children().length, 1);
    await Promise.all(clients.map((client) => client.close()));
  });

  it('get ids back byte for byte', async () => {
    const client = await Connection.open(gate);
    for (const id of ['0', '-0', '1', '-1', '1.0', '1e3', '0.1E-2', '12345678901234567890', 'null',
      '""', '"1"', '" "', '"\\u00e9"', '"\u00e9"', '"\\"\\\\\\/\\n"', '"\\ud83d\\ude00"',
      '"\u{1F600}"', `"${'x'.repeat(1000)}"`]) {
      assert.equal(await client.ask(echo(id, '[1.0]')), result(id, '[1.0]'));
    }
    await client.close();
  });

  it('get payloads back as they were', async () => {
    const client = await Connection.open(gate);
    for (const params of ['{ "b" : 1.10, "a" : [ 1e400 ] }', '["\\u0000\\/\u{1F600}"]',
      `["${'\u00e9'.repeat(1_000_000)}"]`]) {
      assert.equal(await client.ask(echo('7', params)), result('7', params));
    }
    await client.close();
  });

  it('get one answer to a batch, and none to notifications', async () => {
    const client = await Connection.open(gate);
    client.send('{"jsonrpc":"2.0","method":"echo","params":[0]}');
    client.send('[{"jsonrpc":"2.0","method":"echo","params":[0]}]');
    const batch = [echo('1', '[1]'), '2', '{"jsonrpc":"2.0","method":"echo","params":[3]}',
      echo('"4"', '[4]')];
    const answers = JSON.parse(await client.ask(`[${batch.join(' ,\n')}]`));
    assert.equal(answers.length, 3);
    assert.deepEqual(answers.find(({ id }) => id === 1).result, [1]);
    assert.deepEqual(answers.find(({ id }) => id === '4').result, [4]);
    assert.equal(answers.find(({ id }) => id === null).error.code, -32600);
    await client.close();
  });

  it('hear what is wrong with a message, and go on', async () => {
    const client = await Connection.open(gate);
    for (const [text, id, code] of [['{"jsonrpc":"2.0",', null, -32700], ['', null, -32700],
      ['[]', null, -32600], ['{"jsonrpc":"2.0","id":"a","method":1}', 'a', -32600],
      ['{"jsonrpc":"2.0","id":5,"method":"no/such"}', 5, -32601]]) {
      const answer = JSON.parse(await client.ask(text));
      assert.equal(answer.id, id, text);
      assert.equal(answer.error.code, code, text);
    }
    assert.equal(await client.ask(echo('1', '[1]')), result('1', '[1]'));
    await client.close();
  });

  it('cancel their own calls only', async () => {
    const [one, other] = await Promise.all([Connection.open(gate), Connection.open(gate)]);
    other.send('{"jsonrpc":"2.0","id":1,"method":"sleep","params":[200]}');
    one.send('{"jsonrpc":"2.0","id":1,"method":"sleep","params":[60000]}');
    one.send('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}');
    assert.equal(JSON.parse(await one.next()).error.message, 'cancelled');
    assert.equal(await other.next(), result('1', '{"slept_ms":200}'));
    await Promise.all([one.close(), other.close()]);
  });

  it('all hear what the child tells', async () => {
    const clients = await Promise.all([Connection.open(gate), Connection.open(gate)]);
    const [one, other] = clients;
    one.send('{"jsonrpc":"2.0","id":1,"method":"tick/subscribe","params":{"interval_ms":20}}');
    const first = JSON.parse(await one.next());
    assert.equal(first.id, 1);
    for (const client of [one, other]) assert.equal(JSON.parse(await client.next()).method, 'tick');
    // The child is shared, so clients of later tests would receive the ticks too.
    one.send(`{"jsonrpc":"2.0","id":2,"method":"tick/unsubscribe","params":[${first.result}]}`);
    while (JSON.parse(await one.next()).id !== 2);
    await Promise.all(clients.map((client) => client.close()));
  });

  it('may send a message in pieces, with a ping between them', async () => {
    const client = await Connection.open(gate);
    const pong = new Promise((resolve) => client.socket.once('pong', (data) => resolve(`${data}`)));
    const text = Buffer.from(echo('1', '["\u00e9"]'));
    const split = text.indexOf(0xc3) + 1; // inside a character
    client.send(text.subarray(0, split), { fin: false, binary: false });
    client.socket.ping('are you there');
    client.send(text.subarray(split), { fin: true, binary: false });
    assert.equal(await client.next(), result('1', '["\u00e9"]'));
    assert.equal(await pong, 'are you there');
    await client.close();
  });
});

describe('the opening handshake', { timeout: 60_000 }, () => {
  let gate;
  before(async () => {
    gate = await startDemo();
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  it('echoes the first subprotocol that is known', async () => {
    for (const [offered, chosen] of [[[], ''], [['jsonrpc'], 'jsonrpc'], [['mcp'], 'mcp'],
      [['other', 'mcp'], 'mcp'], [['jsonrpc', 'mcp'], 'jsonrpc'], [['mcp', 'jsonrpc'], 'mcp']]) {
      const client = await Connection.open(gate, offered);
      assert.equal(client.socket.protocol, chosen);
      assert.equal(client.socket.extensions, '');
      await client.close();
    }
    // If the gateway knows no offered subprotocol, it chooses none. The client decides whether to
    // go on.
    await assert.rejects(Connection.open(gate, ['other']), /Server sent no subprotocol/);
  });

  it('lets pages of this machine in, and no others', async () => {
    const port = new URL(gate.url).port;
    for (const origin of [`http://127.0.0.1:${port}`, 'http://localhost:3000', 'https://[::1]']) {
      await (await Connection.open(gate, [], { origin })).close();
    }
    for (const options of [{ origin: 'http://example.org' },
      { origin: 'http://localhost.example.org' }, { origin: 'null' },
      { headers: { host: 'example.org' } }]) {
      assert.equal((await refusal(gate, options)).status, 403, JSON.stringify(options));
    }
  });

  it('demands the version, and an upgrade at all', async () => {
    const { status, headers } = await refusal(gate, { protocolVersion: 8 });
    assert.equal(status, 426);
    assert.equal(headers['sec-websocket-version'], '13');
    const plain = await fetch(`${gate.url}/ws`);
    assert.equal(plain.status, 426);
    assert.equal(plain.headers.get('upgrade'), 'websocket');
    assert.ok(await plain.json());
  });
});

describe('the end of a connection', { timeout: 60_000 }, () => {
  let gate;
  before(async () => {
    gate = await startDemo('--max-message', '64KiB');
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  it('has a code that tells why', async () => {
    const utf8 = (...bytes) => [Buffer.from(bytes), { binary: false }];
    for (const [code, ...frame] of [
      [1003, Buffer.from('{"jsonrpc":"2.0"}'), { binary: true }],
      [1007, ...utf8(0x22, 0xff)],
      [1007, ...utf8(0x22, 0xed, 0xa0, 0x80, 0x22)], // a surrogate
      [1007, ...utf8(0x22, 0xc3)], // ends inside a character
      [1009, ' '.repeat((64 << 10) + 1)],
    ]) {
      const client = await Connection.open(gate);
      client.send(...frame);
      assert.equal((await client.closed).code, code);
    }
    const client = await Connection.open(gate);
    const large = `["${'x'.repeat((64 << 10) - echo('1', '[""]').length)}"]`;
    assert.equal(await client.ask(echo('1', large)), result('1', large));
    assert.deepEqual(await client.close(), { code: 1000, reason: '' });
  });

  it('leaves the others alone', async () => {
    const [one, other] = await Promise.all([Connection.open(gate), Connection.open(gate)]);
    one.send('{"jsonrpc":"2.0","id":1,"method":"sleep","params":[60000]}');
    other.send('{"jsonrpc":"2.0","id":1,"method":"sleep","params":[100]}');
    one.socket.terminate();
    assert.equal(await other.next(), result('1', '{"slept_ms":100}'));
    await other.close();
  });

  it('comes after the calls under way when the gateway ends', async () => {
    const ending = await startDemo();
    const [busy, idle] = await Promise.all([Connection.open(ending), Connection.open(ending)]);
    busy.send('{"jsonrpc":"2.0","id":1,"method":"sleep","params":[300]}');
    // When this answer arrives, the gateway has read the sleep request too.
    assert.equal(await busy.ask(echo('2', '[2]')), result('2', '[2]'));
    const stopped = ending.stop();
    assert.equal((await idle.closed).code, 1001);
    assert.equal(await busy.next(), result('1', '{"slept_ms":300}'));
    assert.equal((await busy.closed).code, 1001);
    assert.deepEqual(await stopped, cleanExit);
  });
});
