// Methods that an OpenRPC document describes. Params that do not fit never reach the child, on any transport. The
// examples of OpenRPC are valid documents.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import WebSocket from 'ws';

import { Stdgate, eventually, program } from './stdgate_process.mjs';

const fixture = new URL('described_server.mjs', import.meta.url).pathname;
const integer = { type: 'integer' };
const invalid = { code: -32001, message: 'Invalid params' };
const described = {
  openrpc: '1.3.2',
  info: { title: 'sums', version: '1' },
  methods: [
    {
      name: 'add',
      params: [{ name: 'a', required: true, schema: integer }, { name: 'b', schema: { $ref: '#/components/schemas/Small' } }],
      result: { name: 'sum', schema: {} },
    },
    { name: 'coded', params: [{ name: 'a', required: true, schema: integer }], errors: [invalid] },
    { name: 'named', paramStructure: 'by-name', params: [{ name: 'a', schema: integer }] },
    { name: 'placed', paramStructure: 'by-position', params: [{ name: 'a', schema: integer }] },
    { name: 'lie', params: [], result: { name: 'n', schema: integer } },
    { name: 'secret', params: [{ name: 'key', schema: { $ref: '#/components/schemas/Key' } }] },
    { name: 'with"quote\u0000', params: [] },
  ],
  components: { schemas: { Small: { type: 'integer', maximum: 9007199254740992 }, Key: { type: 'string' } } },
};

const folder = mkdtempSync(join(tmpdir(), 'stdgate-openrpc-'));
const heard = join(folder, 'heard');
const told = () => (existsSync(heard) ? readFileSync(heard, 'utf8').trim().split('\n') : []);
const command = JSON.stringify([process.execPath, fixture, heard]);
const backend = (more, protocol = 'jsonrpc') => [
  'listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"', 'backends:', '  sums:', `    command: ${command}`,
  '    default: true', `    protocol: ${protocol}`, ...more.map((line) => `    ${line}`), '',
].join('\n');
const checked = backend(['schema: "@DIR@/sums.json"', 'check: { arguments: true, results: true }']);
after(() => rmSync(folder, { recursive: true }));

// The exit code and output of the program with these arguments.
const run = (...words) => new Promise((resolve) => {
  execFile(program, words, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }));
});
const post = async (gate, text) => {
  const response = await fetch(`${gate.url}/rpc`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: text,
  });
  const body = await response.text();
  return { status: response.status, body: body && JSON.parse(body) };
};
const request = (method, params, id = '1') =>
  `{"jsonrpc":"2.0",${id && `"id":${id},`}"method":"${method}"${params === undefined ? '' : `,"params":${params}`}}`;

// Params that do not fit, with the place of the error and the expected value.
const misfits = [
  ['add', undefined, '', 'a member "a"'],
  ['add', '{}', '', 'a member "a"'],
  ['add', '[]', '', 'at least 1 elements'],
  ['add', '["1"]', '/0', 'integer, not string'],
  ['add', '{"a":"1"}', '/a', 'integer, not string'],
  ['add', '{"a":1,"c":1}', '', 'no member "c"'],
  ['add', '[1,2,3]', '/2', null],
  ['add', '[1,9007199254740993]', '/1', 'at most 9007199254740992'],
  ['add', '{"a":1,"b":9007199254740993}', '/b', 'at most 9007199254740992'],
  ['add', '{"a":1,"a":2}', '/a', null],
  ['add', '{"a":1,"\\u0061":"2"}', null, null],
  ['add', '{"a":1,"a\\u0000":2}', '', null],
  ['add', '{"A":1}', null, null],
  ['\\u0061dd', '["1"]', '/0', 'integer, not string'],
  ['named', '[1]', '', 'object, not array'],
  ['placed', '{"a":1}', '', 'array, not object'],
  ['with\\"quote\\u0000', '[1]', '/0', null],
];

describe('params and results', { timeout: 60_000 }, () => {
  let gate;
  before(async () => {
    gate = await Stdgate.serve(checked, { 'sums.json': JSON.stringify(described, null, 2) });
  });
  after(async () => assert.equal((await gate.stop()).code, 0));
  beforeEach(() => rmSync(heard, { force: true }));

  it('lets what fits pass, byte for byte', async () => {
    for (const [method, params] of [
      ['add', '[1]'], ['add', '[1,2]'], ['add', '{"b":9007199254740992, "a":1}'], ['named', '{}'], ['named', undefined],
      ['placed', '[]'], ['placed', undefined], ['with\\"quote\\u0000', undefined], ['unknown', '{"x":[1,"a"]}'],
    ]) {
      const { status, body } = await post(gate, request(method, params));
      assert.equal(status, 200);
      assert.deepEqual(body.result, params === undefined ? null : JSON.parse(params), method);
    }
    assert.equal(told().length, 9);
  });

  for (const [method, params, place, expected] of misfits) {
    it(`answers ${method} with ${params}, by each transport, and no child sees it`, async () => {
      const { status, body } = await post(gate, request(method, params));
      assert.equal(status, 200);
      assert.equal(body.error.code, -32602);
      assert.equal(body.error.message, 'Invalid params');
      const [first] = body.error.data.errors;
      if (place !== null) assert.equal(first.place, place);
      if (expected !== null) assert.equal(first.expected, expected);
      // The params in a batch, in a notification, and over a WebSocket.
      const batch = await post(gate, `[${request(method, params)},${request(method, params, '')},${request('add', '[5]', '2')}]`);
      assert.deepEqual(new Set(batch.body.map(({ id }) => id)), new Set([1, 2]));
      assert.equal((await post(gate, request(method, params, ''))).status, 204);
      const socket = new WebSocket(gate.socketUrl);
      await new Promise((resolve) => socket.once('open', resolve));
      const answers = [];
      socket.on('message', (text) => answers.push(JSON.parse(text)));
      socket.send(request(method, params, ''));
      socket.send(request(method, params));
      socket.send(`[${request(method, params, '3')}]`);
      socket.send(request('add', '[6]', '"last"'));
      await eventually(() => answers.flat().some(({ id }) => id === 'last'), 'the last answer');
      assert.equal(answers.flat().find(({ id }) => id === 1).error.code, -32602);
      socket.close();
      assert.deepEqual(told().map((line) => JSON.parse(line).params), [[5], [6]]);
    });
  }

  it('answers with the code that the document has for it', async () => {
    const { body } = await post(gate, request('coded', '["x"]'));
    assert.deepEqual(body.error, {
      ...invalid, data: { errors: [{ place: '/0', expected: 'integer, not string' }] },
    });
  });

  it('refuses members of the envelope that readers could mistake', async () => {
    for (const text of [
      '{"jsonrpc":"2.0","id":1,"method":"add","params":[1],"params":["x"]}',
      '{"jsonrpc":"2.0","id":1,"method":"add","params":[1],"Params":["x"]}',
      '{"jsonrpc":"2.0","id":1,"method":"add","params":[1],"\\u0070arams":["x"]}',
      '{"jsonrpc":"2.0","id":1,"method":"add","method":"free","params":["x"]}',
    ]) {
      const { body } = await post(gate, text);
      assert.equal(body.error?.code, -32600, text);
    }
    assert.deepEqual(told(), []);
  });

  it('turns a result that does not fit into a fault, with its place in the log', async () => {
    const { status, body } = await post(gate, request('lie'));
    assert.equal(status, 502);
    assert.match(body.error.message, /does not fit the schema/);
    await eventually(() => gate.log.includes('integer, not string'), 'the log line');
  });

  it('counts them, and stays quick for hostile params', async () => {
    const metrics = async () => (await fetch(`${gate.adminUrl}/metrics`)).text();
    const count = async () => Number(/check_failures_total\{backend="sums",of="arguments"\} (\d+)/.exec(await metrics())[1]);
    const before = await count();
    await post(gate, request('add', '["1"]'));
    await post(gate, request('add', '["1"]', ''));
    assert.equal(await count(), before + 2);
    const began = Date.now();
    const many = Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(',');
    assert.equal((await post(gate, request('add', `{${many}}`))).body.error.code, -32602);
    assert.equal((await post(gate, request('add', `[1,${'9'.repeat(100_000)}]`))).body.error.code, -32602);
    assert.ok(Date.now() - began < 2000);
  });
});

describe('a language server', { timeout: 60_000 }, () => {
  const lsp = new URL('scripted_language_server.mjs', import.meta.url).pathname;
  const document = {
    openrpc: '1.3.2', info: { title: 'l', version: '1' },
    methods: [{ name: 'test/echo', params: [{ name: 'n', schema: integer }], result: { name: 'r', schema: { required: ['n'] } } }],
  };

  it('gets no params that do not fit, and its results are checked', async () => {
    const gate = await Stdgate.serve([
      'listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"', 'backends:', '  ls:', '    protocol: lsp', '    default: true',
      `    command: ${JSON.stringify([process.execPath, lsp, join(folder, 'lsp')])}`,
      '    schema: "@DIR@/lsp.json"', '    check: { arguments: true, results: true }', '',
    ].join('\n'), { 'lsp.json': JSON.stringify(document) });
    const socket = new WebSocket(gate.socketUrl);
    await new Promise((resolve) => socket.once('open', resolve));
    const answers = new Map();
    socket.on('message', (text) => {
      const answer = JSON.parse(text);
      answers.set(answer.id, answer);
    });
    const ask = async (id, method, params) => {
      socket.send(request(method, params, `${id}`));
      return eventually(() => answers.get(id), method);
    };
    assert.ok((await ask(1, 'initialize', '{"capabilities":{},"processId":null,"rootUri":null}')).result);
    assert.equal((await ask(2, 'test/echo', '{"n":"x"}')).error.code, -32602);
    assert.equal((await ask(3, 'test/echo', '[1.5]')).error.code, -32602);
    assert.deepEqual((await ask(4, 'test/echo', '{"n":1}')).result, { n: 1 });
    assert.match((await ask(5, 'test/echo', '{}')).error.message, /does not fit the schema/);
    socket.send(request('test/echo', '{"n":"x"}', ''));
    assert.equal((await ask(6, 'rpc.discover')).result.info.title, 'l');
    const metrics = await (await fetch(`${gate.adminUrl}/metrics`)).text();
    assert.match(metrics, /check_failures_total\{backend="ls",of="arguments"\} 3/);
    assert.match(metrics, /check_failures_total\{backend="ls",of="result"\} 1/);
    socket.close();
    assert.equal((await gate.stop()).code, 0);
  });
});

describe('rpc.discover', { timeout: 60_000 }, () => {
  it('answers the document, and asks no child', async () => {
    rmSync(heard, { force: true });
    const gate = await Stdgate.serve(backend(['schema: "@DIR@/sums.json"']), { 'sums.json': JSON.stringify(described, null, 2) });
    assert.deepEqual((await post(gate, request('rpc.discover'))).body.result, described);
    assert.deepEqual(told(), []);
    // Without `check`, params are not checked.
    assert.deepEqual((await post(gate, request('add', '["x"]'))).body.result, ['x']);
    assert.equal((await gate.stop()).code, 0);
  });

  for (const [whose, schema] of [['the document', ['schema: "@DIR@/sums.json"']], ["the server's own answer", []]]) {
    it(`has no method that its caller may not use, in ${whose}`, async () => {
      const gate = await Stdgate.serve(
        backend([...schema, 'rules:', '  - { allow: ["*"], methods: ["*"], except: [secret] }']),
        { 'sums.json': JSON.stringify(described) },
      );
      const { body } = await post(gate, request('rpc.discover'));
      assert.ok(body.result.methods.length > 0);
      assert.ok(!JSON.stringify(body).includes('secret'), JSON.stringify(body));
      if (schema.length > 0) {
        assert.deepEqual(Object.keys(body.result.components.schemas), ['Small']);
      }
      assert.equal((await post(gate, request('secret'))).body.error.code, -32601);
      assert.equal((await gate.stop()).code, 0);
    });
  }
});

describe('stdgate check and reload', { timeout: 60_000 }, () => {
  const file = join(folder, 'sums.json');
  const config = join(folder, 'gateway.yaml');
  before(() => writeFileSync(config, backend([`schema: ${file}`, 'check: { arguments: true }'])));
  const check = (document) => {
    writeFileSync(file, typeof document === 'string' ? document : JSON.stringify(document));
    return run('check', '--config', config);
  };

  const examples = new URL('node_modules/@open-rpc/examples/build/service-descriptions/', import.meta.url).pathname;
  for (const name of readdirSync(examples)) {
    it(`takes ${name}, an example of OpenRPC`, async () => {
      const { code, err, out } = await check(readFileSync(join(examples, name), 'utf8'));
      assert.equal(code, 0, out + err);
    });
  }

  it('tells all faults at once, with file and place', async () => {
    const bad = structuredClone(described);
    bad.methods[0].name = 5;
    bad.methods[1].params = {};
    const { code, err, out } = await check(bad);
    assert.notEqual(code, 0);
    assert.match(out + err, /sums\.json is no OpenRPC document: \/methods\/0\/name: expected string, not number/);
    assert.match(out + err, /\/methods\/1\/params: expected array, not object/);
    assert.match((await check('{')).err, /valid JSON/);
  });

  it('refuses what has no use', async () => {
    writeFileSync(file, JSON.stringify(described));
    for (const [lines, words, protocol] of [
      [[`schema: ${file}`], /only for protocols jsonrpc and lsp/, 'mcp'],
      [['check: { arguments: true }'], /needs schema/],
      [['schema: nowhere.json'], /nowhere\.json/],
    ]) {
      const other = join(folder, 'other.yaml');
      writeFileSync(other, backend(lines, protocol));
      const { code, out, err } = await run('check', '--config', other);
      assert.notEqual(code, 0, lines.join());
      assert.match(out + err, words);
    }
  });

  it('takes over another document with a reload, and keeps the last good one', async () => {
    const gate = await Stdgate.serve(checked, { 'sums.json': JSON.stringify(described) });
    const reload = (document) => {
      writeFileSync(join(gate.folder, 'sums.json'), document);
      gate.process.kill('SIGHUP');
    };
    assert.equal((await post(gate, request('add', '["x"]'))).body.error.code, -32602);
    reload('{}');
    await eventually(() => gate.log.includes('is no OpenRPC document'), 'the refusal');
    assert.equal((await post(gate, request('add', '["x"]'))).body.error.code, -32602);
    const other = structuredClone(described);
    other.methods[0].params[0].schema = { type: 'string' };
    reload(JSON.stringify(other));
    await eventually(async () => (await post(gate, request('add', '["x"]'))).body.result, 'the new document');
    assert.equal((await post(gate, request('add', '[1]'))).body.error.code, -32602);
    assert.equal((await gate.stop()).code, 0);
  });
});
