// `stdgate connect` between clients that start their servers and gateways or servers of every kind: cut off, killed,
// restarted, lying.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { Connect, folderFor, freePort, gatewayAt, marks } from './connect_client.mjs';
import { Stdgate, eventually, program, server } from './stdgate_process.mjs';
import { TcpProxy } from './tcp_proxy.mjs';

const call = (name, args = {}) => ['tools/call', { name, arguments: args }];

describe('stdgate connect', { timeout: 110_000 }, () => {
  for (const [name, path] of [['HTTP', '/counts/mcp'], ['WebSocket', '/counts/ws'], ['SSE', '/counts/sse']]) {
    it(`a gateway that is killed and started again in mid-call: nothing is sent twice (${name})`, async (test) => {
      const folder = folderFor(test);
      const port = await freePort();
      let gate = await gatewayAt(port, folder);
      const scheme = name === 'WebSocket' ? 'ws' : 'http';
      const client = new Connect(`${scheme}://127.0.0.1:${port}${path}`);
      await client.greet();
      assert.ok((await client.ask(1, ...call('t', { mark: 'one' }))).result);
      client.say({ id: 2, method: 'tools/call', params: { name: 't', arguments: { mark: 'two', wait: 30 } } });
      await eventually(() => marks(folder).includes('two'), 'the call');
      gate.process.kill('SIGKILL');
      await gate.exited;
      const lost = name === 'HTTP' ? null : await client.answer(2);
      client.say({ id: 3, method: 'tools/call', params: { name: 't', arguments: { mark: 'three' } } });
      gate = await gatewayAt(port, folder);
      test.after(() => gate.stop());
      assert.match((lost ?? await client.answer(2)).error.message, /lost|cut/);
      assert.equal((await client.answer(3)).result.content[0].text, 'three');
      assert.deepEqual(marks(folder), ['one', 'two', 'three']);
      await eventually(() => client.told.some(({ params }) => /restarted/.test(params?.data)), 'the notice');
      assert.equal(await client.end(), 0);
    });
  }

  it('the network is cut in mid-call: the answer comes by resumption', async (test) => {
    const folder = folderFor(test);
    const gate = await gatewayAt(await freePort(), folder);
    const proxy = await TcpProxy.to(gate.url);
    test.after(async () => {
      proxy.close();
      await gate.stop();
    });
    const client = new Connect(`${proxy.url}/counts/mcp`);
    await client.greet();
    client.say({ id: 1, method: 'tools/call', params: { name: 't', arguments: { mark: 'a', wait: 3 } } });
    await eventually(() => marks(folder).includes('a'), 'the call');
    await new Promise((resolve) => setTimeout(resolve, 500)); // the stream has begun
    proxy.cut('');
    const answer = await client.answer(1);
    assert.ok(answer.result ?? /lost/.test(answer.error.message), JSON.stringify(answer));
    assert.deepEqual(marks(folder), ['a']);
    assert.ok((await client.ask(2, ...call('t', { mark: 'b' }))).result);
    assert.equal(await client.end(), 0);
    await eventually(() => gate.children().length === 0, 'the end of its session');
  });

  it('a server behind another gateway is a command', async (test) => {
    const folder = folderFor(test);
    const far = await gatewayAt(await freePort(), folder);
    const near = await Stdgate.start(program, 'connect', `${far.url}/counts/mcp`);
    test.after(async () => {
      await near.stop();
      await far.stop();
    });
    const client = new Connect(`${near.url}/mcp`);
    await client.greet();
    assert.equal((await client.ask(1, ...call('t', { mark: 'x' }))).result.content[0].text, 'x');
    assert.equal(await client.end(), 0);
    await eventually(() => far.children().length === 0, 'the end of the far session');
  });

  it('20 clients of six shared servers are six processes', async (test) => {
    const folder = folderFor(test);
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const gate = await Stdgate.serve(`listen: ["127.0.0.1:0"]
admin: "127.0.0.1:0"
backends:
${names.map((name) => `  ${name}: { command: ["python3", "${folder}/counts.py", "${folder}/marks"], protocol: mcp,
       revision: legacy, isolation: shared, pool: { min: 1, max: 1, warm: 0 } }`).join('\n')}
`);
    test.after(() => gate.stop());
    const clients = Array.from({ length: 20 }, (_, i) => new Connect(names[i % 6], '--url', gate.url));
    await Promise.all(clients.map(async (client, i) => {
      assert.ok((await client.greet()).result, client.err);
      assert.ok((await client.ask(1, ...call('t', { mark: i }))).result);
    }));
    assert.equal(gate.children().length, 6);
    assert.deepEqual(await Promise.all(clients.map((client) => client.end())), Array(20).fill(0));
  });

  it('the token of a command is shown, and asked for again after a 401', async (test) => {
    const folder = folderFor(test);
    const shown = [];
    const guarded = http.createServer((request, response) => {
      shown.push(request.headers.authorization);
      request.resume();
      if (request.headers.authorization !== 'Bearer token-2') return response.writeHead(401).end();
      response.writeHead(200, { 'content-type': 'application/json' })
        .end('{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{}}}');
    }).listen(0, '127.0.0.1');
    await once(guarded, 'listening');
    test.after(() => guarded.close());
    const command = `echo x >> ${folder}/runs; echo token-$(wc -l < ${folder}/runs)`;
    const client = new Connect(`http://127.0.0.1:${guarded.address().port}/mcp`, '--token-command', command,
      '--header', 'X-Team: core');
    assert.ok((await client.greet()).result, client.err);
    assert.deepEqual(shown.slice(0, 2), ['Bearer token-1', 'Bearer token-2']);
    await client.end();
    assert.equal(readFileSync(join(folder, 'runs'), 'utf8'), 'x\nx\n');
    for (const bad of ['exit 3', 'true', 'echo a b', 'yes']) {
      const refused = new Connect('http://127.0.0.1:1/mcp', '--token-command', bad);
      assert.match((await refused.greet()).error.message, /--token-command/);
      assert.equal(await refused.exited, 4);
    }
  });
});

// Bad servers. Each answers all requests in the same wrong way.
const head = (type = 'application/json', more = '') =>
  `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${more}Connection: close\r\n\r\n`;
const flood = (socket, text, beginning = '') => {
  socket.write(beginning);
  const write = () => {
    while (!socket.destroyed && socket.write(text)) { /* until it is full */ }
  };
  socket.on('drain', write);
  write();
};
const lies = {
  'endless headers': [(socket) => flood(socket, `X-A: ${'a'.repeat(1000)}\r\n`.repeat(50), 'HTTP/1.1 200 OK\r\n'), 3],
  'one endless event': [(socket) => flood(socket, `${'x'.repeat(1 << 16)}`, `${head('text/event-stream')}data: `), 3],
  'an endless document': [(socket) => flood(socket, `${' '.repeat(1 << 16)}`, head()), 3],
  'cut in mid-event': [(socket) => socket.end(`${head('text/event-stream')}data: {"json`), 3],
  'cut in mid-head': [(socket) => socket.end('HTTP/1.1 200 OK\r\nContent-'), 3],
  'cut at once': [(socket) => socket.destroy(), 3],
  'a redirect': [(socket) => socket.end('HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/secret\r\nContent-Length: 0\r\n\r\n'), 5],
  'a page': [(socket) => socket.end(`${head('text/html')}<p>hello`), 5],
  'no HTTP': [(socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'), 3],
  'status 401': [(socket) => socket.end('HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer resource_metadata="https://x/m"\r\nContent-Length: 0\r\n\r\n'), 4],
  'status 500 without end': [(socket) => flood(socket, 'x'.repeat(1 << 16), 'HTTP/1.1 500 No\r\n\r\n'), 3],
};

describe('stdgate connect at a server that lies', { timeout: 110_000 }, () => {
  for (const [name, [lie, exit]] of Object.entries(lies)) {
    for (const scheme of ['http', 'ws']) {
      it(`${name}, ${scheme}`, async (test) => {
        const liar = net.createServer((socket) => {
          socket.on('error', () => {});
          socket.once('data', () => lie(socket));
        }).listen(0, '127.0.0.1');
        await once(liar, 'listening');
        test.after(() => liar.close());
        const client = new Connect(`${scheme}://127.0.0.1:${liar.address().port}/mcp`);
        const answer = await client.greet();
        assert.ok(answer.error, JSON.stringify(answer));
        assert.ok(answer.error.message.length < 1500);
        assert.equal(client.told.length, 1);
        const code = await client.exited;
        if (scheme === 'http') assert.equal(code, exit, client.err);
        assert.notEqual(code, 0);
        assert.match(client.err, /^stdgate: connect: /);
      });
    }
  }

  it('300 MB of events pass, and memory stays small', async (test) => {
    const text = 'x'.repeat(100_000);
    const event = `data: {"jsonrpc":"2.0","method":"n","params":{"text":"${text}"}}\n\n`;
    const answer = '{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{}}}';
    const liar = http.createServer(async (request, response) => {
      request.resume();
      response.on('error', () => {});
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let i = 0; i < 3000; ++i) {
        if (!response.write(event)) await once(response, 'drain');
      }
      response.end(`data: ${answer}\n\n`);
    }).listen(0, '127.0.0.1');
    await once(liar, 'listening');
    test.after(() => {
      liar.closeAllConnections();
      liar.close();
    });
    const client = spawn(program, ['connect', `http://127.0.0.1:${liar.address().port}/mcp`],
      { stdio: ['pipe', 'pipe', 'inherit'] });
    client.stdin.write('{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n');
    await new Promise((resolve) => setTimeout(resolve, 1000)); // not read: the server must wait
    let size = 0;
    let last = '';
    for await (const bytes of client.stdout) {
      size += bytes.length;
      last = (last + bytes.toString('latin1')).slice(-200);
      if (last.includes('"id":"hello"')) break;
    }
    const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${client.pid}/status`, 'utf8'));
    assert.ok(size > 300_000_000, String(size));
    if (!process.env.STDGATE.includes('asan')) assert.ok(Number(peak?.[1] ?? 0) < 100_000, peak?.[0]);
    client.kill('SIGKILL');
  });
});
