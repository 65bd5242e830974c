// `stdgate connect` at the end of its input, at its timeouts, and with servers that it does not
// trust.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Connect, folderFor, gatewayAt, marks } from './connect_client.mjs';
import { Stdgate, eventually, program } from './stdgate_process.mjs';

const line = (message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const greeting = line({
  id: 0, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'piped', version: '1' } },
}) + line({ method: 'notifications/initialized' });
const call = (id, args) => line({ id, method: 'tools/call', params: { name: 't', arguments: args } });

// Runs connect with `input` on stdin, like `printf … | stdgate connect …`.
function piped(input, ...words) {
  const begin = Date.now();
  const { status, stdout, stderr } = spawnSync(program, ['connect', ...words], { input, encoding: 'utf8' });
  const answers = stdout.split('\n').filter(Boolean).map((text) => JSON.parse(text));
  // On a busy machine the server may start slowly.
  const err = stderr.replaceAll(/^stdgate: connect: waiting for .*\n/gm, '');
  return { status, answers, err, took: Date.now() - begin };
}

describe('the end of input', { timeout: 100_000 }, () => {
  const ends = [];
  const folder = folderFor({ after: (end) => ends.push(end) });
  let gate;
  before(async () => {
    gate = await gatewayAt(0, folder);
  });
  after(async () => {
    await gate.stop();
    ends.forEach((end) => end());
  });

  for (const [name, url] of [['HTTP', (at) => `${at}/counts/mcp`],
    ['WebSocket', (at) => `${at.replace('http', 'ws')}/counts/ws`], ['the lookup', (at) => at]]) {
    it(`comes after the answers to what was asked before (${name})`, () => {
      const { status, answers, err } = piped(greeting + call(1, { mark: name }), url(gate.url));
      assert.equal(status, 0, err);
      assert.deepEqual(answers.map(({ id }) => id), [0, 1]);
      assert.equal(answers[1].result?.content[0].text, name, JSON.stringify(answers[1]));
      assert.equal(err, '');
    });
  }

  // More input than connect reads at a time. The writer has ended when connect reads the rest.
  for (const [name, url, count] of [['HTTP', (at) => `${at}/counts/mcp`, 1100],
    ['WebSocket', (at) => `${at.replace('http', 'ws')}/counts/ws`, 1100], ['the lookup', (at) => at, 300]]) {
    it(`loses nothing of much input (${name})`, () => {
      const pings = Array.from({ length: count }, (_, i) => line({ id: i + 1, method: 'ping' }));
      const file = join(folder, 'requests');
      writeFileSync(file, greeting + pings.join(''));
      const { status, stdout, stderr } = spawnSync('sh', ['-c', 'cat "$0" | "$1" connect "$2"', file, program, url(gate.url)],
        { encoding: 'utf8', maxBuffer: 1 << 26 });
      const answers = stdout.split('\n').filter(Boolean).map((text) => JSON.parse(text));
      assert.equal(status, 0, stderr);
      assert.equal(new Set(answers.map(({ id }) => id)).size, count + 1, stderr);
    });
  }

  it('waits for no answer that does not come soon, and says so', () => {
    const { status, answers, err, took } =
      piped(greeting + call(1, { mark: 'late', wait: 60 }), `${gate.url}/counts/mcp`);
    assert.equal(status, 0);
    assert.deepEqual(answers.map(({ id }) => id), [0]);
    assert.match(err, /the end of input came before the last answers/);
    assert.ok(took >= 9_000 && took < 20_000, `${took} ms`);
  });

  it('of a client that has gone is the end at once', async () => {
    const client = new Connect(`${gate.url}/counts/mcp`);
    await client.greet();
    client.process.stdin.write(call(1, { mark: 'gone', wait: 60 }));
    await eventually(() => marks(folder).includes('gone'), 'the call');
    client.process.stdout.destroy();
    client.process.stdin.end();
    const [code] = await once(client.process, 'exit');
    assert.equal(code, 0);
    assert.equal(client.err.replaceAll(/^stdgate: connect: waiting for .*\n/gm, ''), '');
  });

  it('of a client that has said nothing is the end at once, whatever the server does', async (t) => {
    const silent = http.createServer(() => {});
    t.after(() => { silent.closeAllConnections(); silent.close(); });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const { status, answers, err, took } = await new Promise((done) => {
      const begin = Date.now();
      const child = spawn(program, ['connect', `http://127.0.0.1:${silent.address().port}`], { stdio: ['pipe', 'pipe', 'pipe'] });
      let out = '', text = '';
      child.stdout.on('data', (data) => { out += data; });
      child.stderr.on('data', (data) => { text += data; });
      child.on('close', (code) => done({ status: code, answers: out, err: text, took: Date.now() - begin }));
      child.stdin.end();
    });
    assert.deepEqual({ status, answers, err }, { status: 0, answers: '', err: '' });
    assert.ok(took < 5_000, `${took} ms`);
  });

  it('finds a request before initialize explained', () => {
    const { status, answers, err } = piped(line({ id: 1, method: 'tools/list' }), `${gate.url}/counts/mcp`);
    assert.equal(status, 0);
    assert.match(answers[0].error.message, /^send initialize first: .* keeps sessions/);
    assert.equal(err, '');
  });

  it('of nothing is the end at once', () => {
    const { status, answers, err } = piped('', `${gate.url}/counts/mcp`);
    assert.deepEqual({ status, answers, err }, { status: 0, answers: [], err: '' });
  });
});

describe('a session', { timeout: 30_000 }, () => {
  for (const signal of ['SIGTERM', 'SIGHUP']) {
    it(`is deleted at ${signal}`, async (test) => {
      const deleted = [];
      const server = http.createServer(async (request, response) => {
        if (request.method === 'DELETE') deleted.push(request.headers['mcp-session-id']);
        if (request.method !== 'POST') return response.writeHead(request.method === 'GET' ? 405 : 200).end();
        let body = '';
        for await (const part of request) body += part;
        const { id } = JSON.parse(body);
        if (id === undefined) return response.writeHead(202).end();
        response.writeHead(200, { 'Content-Type': 'application/json', 'Mcp-Session-Id': 's1' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities: {} } }));
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      test.after(() => { server.close(); server.closeAllConnections(); });
      const client = new Connect(`http://127.0.0.1:${server.address().port}/mcp`);
      await client.greet();
      client.process.kill(signal);
      assert.equal(await client.exited, 0);
      assert.deepEqual(deleted, ['s1']);
    });
  }
});

describe('an error', { timeout: 30_000 }, () => {
  it('is said once where both outputs go to one place', (test) => {
    const folder = folderFor(test);
    const run = (redirection) => spawnSync('sh', ['-c', `"$0" connect http://127.0.0.1:1/mcp ${redirection}`, program],
      { input: greeting, cwd: folder, encoding: 'utf8' });
    const { status, stdout } = run('2>&1');
    assert.equal(status, 3);
    assert.equal(stdout.match(/cannot reach/g).length, 1, stdout);
    assert.match(JSON.parse(stdout.split('\n')[0]).error.message, /cannot reach/);
    const apart = run('2>err; cat err >&2');
    assert.match(apart.stdout, /cannot reach/);
    assert.match(apart.stderr, /cannot reach/);
  });

  it('names the credential that is not accepted', async (test) => {
    const folder = folderFor(test);
    const server = http.createServer((_, response) => response.writeHead(401).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    test.after(() => { server.close(); server.closeAllConnections(); });
    const file = join(folder, 'key.txt');
    writeFileSync(file, `sg_${'f'.repeat(32)}\n`);
    const at = `http://127.0.0.1:${server.address().port}`;
    for (const url of [`${at}/mcp`, at]) {
      for (const option of ['--api-key-file', '--token-file']) {
        const client = new Connect(url, option, file);
        const { error } = await client.greet();
        assert.match(error.message, new RegExp(`does not accept the (key|token) of ${file} \\(401\\)`));
        assert.equal(await client.exited, 4);
      }
      const client = new Connect(url);
      assert.match((await client.greet()).error.message, /--api-key-file, --token-file or --token-command/);
      assert.equal(await client.exited, 4);
    }
  });
});

describe('a server that hangs', { timeout: 100_000 }, () => {
  // A server that accepts every request and never answers.
  async function silent(test) {
    const sockets = new Set();
    const server = http.createServer(() => {});
    server.on('connection', (socket) => sockets.add(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    test.after(() => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
    });
    return `http://127.0.0.1:${server.address().port}/mcp`;
  }

  for (const [how, end, longest] of [
    ['the end of input', (client) => client.process.stdin.end(), 20_000],
    ['SIGTERM', (client) => client.process.kill('SIGTERM'), 5_000],
  ]) {
    it(`is named, and left at ${how}`, async (test) => {
      const client = new Connect(await silent(test));
      client.process.stdin.write(greeting);
      await eventually(() => /127\.0\.0\.1/.test(client.err), 'who is waited for');
      const begin = Date.now();
      end(client);
      await client.exited;
      assert.ok(Date.now() - begin < longest);
      assert.deepEqual(client.told, []);
    });
  }
});

describe('a WebSocket', { timeout: 30_000 }, () => {
  const listening = async (test, server) => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    test.after(() => server.close());
    return `ws://127.0.0.1:${server.address().port}/ws`;
  };
  it('that is reset is said to be', async (test) => {
    const server = http.createServer();
    server.on('upgrade', ({ headers }, socket) => {
      const accept = createHash('sha1').update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
        + `Sec-WebSocket-Accept: ${accept.digest('base64')}\r\n\r\n`);
      socket.once('data', () => socket.resetAndDestroy());
    });
    const client = new Connect(await listening(test, server));
    const { error } = await client.ask(1, 'm');
    assert.match(error.message, /the answer of .* was lost .*reset by peer/);
    client.process.kill('SIGTERM');
  });

  it('at an address that only speaks HTTP is not taken for another protocol', async (test) => {
    const client = new Connect(await listening(test, http.createServer((_, response) => response.end('hi'))));
    const { error } = await client.ask(1, 'm');
    assert.match(error.message, /it answers in HTTP \(200\), so no WebSocket is served there/);
    assert.equal(await client.exited, 5);
  });
});

describe('an address without a path', { timeout: 30_000 }, () => {
  it('may be a server of HTTP and SSE', async (test) => {
    let events;
    const server = http.createServer(async (request, response) => {
      if (request.method === 'GET') {
        events = response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        events.write('event: endpoint\ndata: /messages\n\n');
        return;
      }
      let body = '';
      for await (const part of request) body += part;
      response.writeHead(request.url === '/messages' ? 202 : 405).end();
      const { id } = JSON.parse(body);
      if (request.url === '/messages') events.write(`data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}\n\n`);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    test.after(() => { server.close(); server.closeAllConnections(); });
    const client = new Connect(`http://127.0.0.1:${server.address().port}`);
    assert.deepEqual((await client.greet()).result, {});
    assert.equal(await client.end(), 0);
  });
});

describe('TLS', { timeout: 100_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'stdgate-connect-tls-'));
  const file = (name) => join(folder, name);
  const openssl = (...words) => execFileSync('openssl', words, { cwd: folder, stdio: 'ignore' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  let gate;
  before(async () => {
    for (const name of ['authority', 'other']) {
      openssl('req', '-x509', ...key, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.crt`);
    }
    for (const [name, issuer] of [['server', 'authority'], ['ada', 'authority'], ['stranger', 'other']]) {
      openssl('req', '-x509', ...key, '-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1',
        '-addext', 'basicConstraints=critical,CA:FALSE',
        '-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`, '-keyout', `${name}.key`, '-out', `${name}.crt`);
    }
    gate = await Stdgate.serve(`listen: [{ address: "127.0.0.1:0", tls: { certificate: ${file('server.crt')}, key: ${file('server.key')}, client_ca: ${file('authority.crt')} } }]
admin: "off"
backends:
  demo: { command: ["${program}", "demo-server"], protocol: jsonrpc }
  echo: { command: ["python3", "-c", "import json, sys\\nfor line in sys.stdin:\\n m = json.loads(line)\\n if 'id' in m: print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {'name': 'e', 'version': '1'}}}), flush=True)"], protocol: mcp, revision: legacy }
`);
  });
  after(async () => {
    await gate.stop();
    rmSync(folder, { recursive: true });
  });
  const known = () => ['--ca', file('authority.crt'), '--cert', file('ada.crt'), '--key', file('ada.key')];
  const add = line({ id: 1, method: 'math/add', params: [2, 3] });

  it('of https, wss and the lookup is verified, both ways', () => {
    const at = gate.url;
    for (const [url, input, answer] of [
      [`${at}/echo/mcp`, greeting, ({ result }) => result.protocolVersion === '2025-11-25'],
      [`${at.replace('https', 'wss')}/demo/ws`, add, ({ result }) => result === 5],
    ]) {
      const { status, answers, err } = piped(input, url, ...known());
      assert.equal(status, 0, err);
      assert.ok(answer(answers[0]), JSON.stringify(answers));
    }
    const found = piped(add, 'demo', '--url', at, ...known());
    assert.equal(found.answers[0]?.result, 5, found.err);
  });

  for (const [scheme, path, input] of [['https', '/echo/mcp', greeting], ['wss', '/demo/ws', add]]) {
    it(`of an authority that is not known is refused, with what to do (${scheme})`, () => {
      const url = gate.url.replace('https', scheme) + path;
      for (const words of [[], ['--ca', file('other.crt')]]) {
        const { status, answers, err } = piped(input, url, ...words);
        assert.equal(status, 3, err);
        assert.match(err, /certificate|TLS|SSL/i);
        assert.match(err, /--ca/);
        assert.ok(answers[0].error.message.includes('--ca'), JSON.stringify(answers));
      }
    });

    it(`without a certificate of the client, or with a stranger's, is refused (${scheme})`, () => {
      const url = gate.url.replace('https', scheme) + path;
      for (const words of [[], ['--cert', file('stranger.crt'), '--key', file('stranger.key')]]) {
        const { status, answers, err } = piped(input, url, '--ca', file('authority.crt'), ...words);
        assert.notEqual(status, 0);
        assert.ok(answers[0].error, JSON.stringify(answers));
        assert.notEqual(err, '');
      }
    });
  }

  it('says which file it cannot use', () => {
    const { status, err } = piped(add, gate.url, '--ca', file('missing'));
    assert.equal(status, 2);
    assert.match(err, /--ca: .*missing/);
    assert.match(piped(add, gate.url, '--key', file('ada.key')).err, /--key goes with --cert/);
  });
});
