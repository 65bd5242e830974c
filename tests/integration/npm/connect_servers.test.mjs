// `stdgate connect` with servers that end their session, fail at its beginning, or omit the version;
// and `stdgate call` of those that only connect reaches.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Connect } from './connect_client.mjs';
import { Stdgate, eventually, program } from './stdgate_process.mjs';

// Answers everything, and exits at `exit` with its `code`, or before an answer to `die`. With
// Content-Length headers if "length" is among its words.
const server = `
import json, sys
by_length = "length" in sys.argv
def read():
    if not by_length:
        return sys.stdin.buffer.readline()
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        length = int(line.split(b":")[1])
    return sys.stdin.buffer.read(length)
while text := read():
    message = json.loads(text)
    if message["method"] in ("exit", "die"):
        sys.exit((message.get("params") or {}).get("code", 0))
    if "id" not in message:
        continue
    answer = {"id": message["id"], "result": {"version": message.get("jsonrpc"), "capabilities": {}}}
    if "bare" not in sys.argv:
        answer["jsonrpc"] = "2.0"
    out = json.dumps(answer).encode()
    head = b"Content-Length: %d\\r\\n\\r\\n" % len(out) if by_length else b""
    sys.stdout.buffer.write(head + out + (b"" if by_length else b"\\n"))
    sys.stdout.buffer.flush()
`;

const folder = mkdtempSync(join(tmpdir(), 'stdgate-connect-servers-'));
let gate;
before(async () => {
  const file = join(folder, 'server.py');
  writeFileSync(file, server);
  gate = await Stdgate.serve(`listen: ["127.0.0.1:0"]
admin: "off"
backends:
  lsp: { command: [python3, ${file}, length], protocol: lsp }
  plain: { command: [python3, ${file}], protocol: jsonrpc, isolation: session }
  bare: { command: [python3, ${file}, bare], protocol: jsonrpc, isolation: session, envelope: lenient }
  calc: { command: [python3, -c, "import sys; sys.exit(1)"], protocol: mcp }
  gone: { command: [${folder}/missing], protocol: mcp }
  agent: { command: [python3, -c, "import sys; sys.exit(1)"], protocol: acp }
`);
});
after(async () => {
  await gate.stop();
  rmSync(folder, { recursive: true });
});
const bareServer = () => ['--protocol', 'jsonrpc', '--', 'python3', join(folder, 'server.py'), 'bare'];
const connect = (name) => new Connect(name, '--url', gate.url);

describe('the end of a session by its server', { timeout: 60_000 }, () => {
  const begin = ['initialize', { processId: null, rootUri: null, capabilities: {} }];

  it('is the clean end of connect', async () => {
    const client = connect('lsp');
    await client.ask(1, ...begin);
    await client.ask(2, 'shutdown');
    client.say({ method: 'exit' });
    assert.equal(await client.exited, 0);
    assert.equal(client.err, '');
    assert.equal(client.told.length, 2);
  });

  it('is none where no session was begun by a greeting', async () => {
    const client = connect('plain');
    await client.ask(1, 'begin');
    client.say({ method: 'exit' });
    await eventually(() => /connecting again/.test(client.err));
    await client.ask(2, 'begin');
    client.end();
    assert.equal(await client.exited, 0);
  });

  it('with another exit code is none', async () => {
    const client = connect('lsp');
    await client.ask(1, ...begin);
    client.say({ method: 'exit', params: { code: 7 } });
    assert.equal(await client.exited, 1);
    assert.match(client.err, /exited with code 7; what the server kept for this client is gone/);
  });

  it('with an open call is none', async () => {
    const client = connect('lsp');
    await client.ask(1, ...begin);
    assert.match((await client.ask(2, 'die')).error.message, /exited with code 0/);
    assert.equal(await client.exited, 1);
    assert.match(client.err, /what the server kept for this client is gone/);
  });
});

describe('a server that fails at its beginning', { timeout: 60_000 }, () => {
  for (const [name, why] of [['calc', 'the child exited with code 1'], ['gone', 'the child could not be started'],
    ['agent', 'the child exited with code 1']]) {
    it(`is the end of connect, which says why (${name})`, async () => {
      const client = connect(name);
      client.say({
        id: 1, method: 'initialize',
        params: { protocolVersion: name === 'agent' ? 1 : '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
      });
      assert.equal(await client.exited, 3);
      assert.ok(client.told[0].error.message.endsWith(why), JSON.stringify(client.told));
      assert.match(client.err, new RegExp(`/${name}/(mcp|acp) does not begin: ${why}`));
      assert.match(client.err, new RegExp(`stdgate doctor ${name} tries this one`));
    });
  }
});

describe('messages without a version', { timeout: 60_000 }, () => {
  const without = (client, message) => client.process.stdin.write(`${JSON.stringify(message)}\n`);

  it('pass to a server that takes them, and back', async () => {
    const client = connect('bare');
    without(client, { id: 1, method: 'm' });
    assert.deepEqual(await client.answer(1), { id: 1, result: { version: '2.0', capabilities: {} } });
    without(client, { id: 2, method: 'm' });
    assert.deepEqual((await client.answer(2)).result, { version: null, capabilities: {} });
    assert.equal(await client.end(), 0);
    assert.equal(client.err, '');
  });

  it('are refused by the gateway where it does not', async () => {
    const client = connect('plain');
    without(client, { id: 1, method: 'm' });
    assert.match((await client.answer(1)).error.message, /jsonrpc must be the string 2\.0/);
    await client.end();
  });

  it('are answers to the tools with envelope: lenient', () => {
    const run = (...words) => spawnSync(program, words, { encoding: 'utf8', cwd: folder });
    const call = run('call', '--envelope', 'lenient', '--timeout', '5s', 'x', ...bareServer());
    assert.equal(call.status, 0, call.stderr);
    assert.equal(run('doctor', '--envelope', 'lenient', ...bareServer()).status, 0);
    const strict = run('doctor', '--timeout', '1s', ...bareServer());
    assert.notEqual(strict.status, 0);
    assert.match(strict.stdout, /set\s+envelope: lenient/);
  });
});

// Calls go to /rpc, and these two have none.
describe('a call of a server that takes no single calls', { timeout: 30_000 }, () => {
  for (const [name, what] of [['lsp', /lsp is a language server, .* at \/lsp\/ws/],
    ['agent', /agent is an agent, .* at \/agent\/acp, and stdgate connect agent speaks with it/]]) {
    it(`says where it is served (${name})`, () => {
      const { status, stderr } = spawnSync(program, ['call', '--url', gate.url, name, 'initialize'], { encoding: 'utf8' });
      assert.equal(status, 3);
      assert.match(stderr, what);
    });
  }
});
