// `stdgate connect` to a gateway that is upgraded or reloaded, or to a server that reads slowly.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { WebSocketServer } from 'ws';

import { Connect, configAt, folderFor, freePort, gatewayAt, marks } from './connect_client.mjs';
import { eventually } from './stdgate_process.mjs';

const call = (id, args) => ({ id, method: 'tools/call', params: { name: 't', arguments: args } });
const textOf = ({ result, error }) => result?.content[0].text ?? JSON.stringify(error);
const transports = [['HTTP', 'http', 'mcp'], ['WebSocket', 'ws', 'ws'], ['SSE', 'http', 'sse']];

for (const [name, scheme, path] of transports) {
  describe(`a gateway that changes in mid-call (${name})`, { timeout: 100_000 }, () => {
    const connect = (port) => new Connect(`${scheme}://127.0.0.1:${port}/counts/${path}`);

    it('an upgrade answers what is under way, and the next gateway what comes then', async (test) => {
      const folder = folderFor(test);
      const port = await freePort();
      const old = await gatewayAt(port, folder);
      const client = connect(port);
      await client.greet();
      client.say(call(1, { mark: 'under way', wait: 1 }));
      await eventually(() => marks(folder).includes('under way'), 'the call');
      old.process.kill('SIGTERM');
      assert.equal(textOf(await client.answer(1)), 'under way');
      await old.exited;
      client.say(call(2, { mark: 'between' }));
      const next = await gatewayAt(port, folder);
      test.after(() => next.stop());
      assert.equal(textOf(await client.answer(2)), 'between');
      client.say(call(3, { mark: 'afterwards' }));
      assert.equal(textOf(await client.answer(3)), 'afterwards');
      assert.deepEqual(marks(folder), ['under way', 'between', 'afterwards']);
      assert.equal(await client.end(), 0);
    });

    it('a reload that replaces the backend answers what is under way, and each call once', async (test) => {
      const folder = folderFor(test);
      const gate = await gatewayAt(0, folder);
      test.after(() => gate.stop());
      const client = connect(new URL(gate.url).port);
      await client.greet();
      client.say(call(1, { mark: 'under way', wait: 1 }));
      await eventually(() => marks(folder).includes('under way'), 'the call');
      writeFileSync(join(gate.folder, 'gateway.yaml'), configAt(0, folder, '', ', env: { RELOADED: "1" }'));
      gate.process.kill('SIGHUP');
      await eventually(() => gate.log.includes('configuration reloaded'), 'the reload');
      assert.equal(textOf(await client.answer(1)), 'under way');
      client.say(call(2, { mark: 'afterwards' }));
      assert.equal(textOf(await client.answer(2)), 'afterwards');
      assert.deepEqual(marks(folder), ['under way', 'afterwards']);
      assert.equal(await client.end(), 0);
    });
  });
}

// Each server answers nothing after the greeting until goOn(). Then it answers everything.
const slowServers = {
  async http(test) {
    const held = [];
    let may = false;
    const answer = ([text, response]) => {
      const { id, method } = JSON.parse(text);
      const result = method === 'initialize' ? { protocolVersion: '2025-11-25', capabilities: {} } : {};
      response.writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    const server = http.createServer(async (request, response) => {
      const text = (await request.toArray()).join('');
      if (request.method !== 'POST') return response.writeHead(405).end();
      const one = [text, response];
      if (may || text.includes('initialize')) return answer(one);
      return held.push(one);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    test.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return {
      url: `http://127.0.0.1:${server.address().port}/mcp`,
      goOn: () => {
        may = true;
        held.splice(0).forEach(answer);
      },
    };
  },
  async ws(test) {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mcp' });
    await once(server, 'listening');
    test.after(() => {
      server.clients.forEach((socket) => socket.terminate());
      server.close();
    });
    let socket;
    server.on('connection', (connection) => {
      socket = connection;
      socket.on('message', (text) => {
        const { id, method } = JSON.parse(text);
        const result = method === 'initialize' ? { protocolVersion: '2025-11-25', capabilities: {} } : {};
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, result }));
        if (method === 'initialize') socket.pause();
      });
    });
    return { url: `ws://127.0.0.1:${server.address().port}/mcp`, goOn: () => socket.resume() };
  },
};

describe('a server that is slow to read', { timeout: 240_000 }, () => {
  // More requests than connect buffers for a server that does not read.
  const amounts = { http: [1500, 2000], ws: [600, 50_000] };

  // A client that has greeted the server and sent more than connect reads.
  async function heldClient(test, server, count, size) {
    const client = new Connect(server.url);
    test.after(() => client.process.kill('SIGKILL'));
    assert.ok((await client.ask(0, 'initialize', { protocolVersion: '2025-11-25' })).result, client.err);
    const fill = 'x'.repeat(size);
    for (let id = 1; id <= count; id += 1) client.say({ id, method: 'm', params: { fill } });
    let before = '';
    await eventually(async () => {
      const { 0: read } = /rchar: \d+/.exec(readFileSync(`/proc/${client.process.pid}/io`, 'utf8'));
      const isHeld = read === before && client.process.stdin.writableLength > 0;
      before = read;
      await new Promise((resolve) => setTimeout(resolve, 500));
      return isHeld;
    }, 'that it is not read');
    return client;
  }

  for (const [name, start] of Object.entries(slowServers)) {
    const [count, size] = amounts[name];
    it(`holds its client back, and gets everything in the end (${name})`, async (test) => {
      const server = await start(test);
      const client = await heldClient(test, server, count, size);
      server.goOn();
      await eventually(() => client.told.length === count + 1, 'all answers', 60_000);
      assert.equal(new Set(client.told.map(({ id }) => id)).size, count + 1);
      assert.ok(client.told.every(({ result }) => result));
      assert.equal(await client.end(), 0);
    });

    it(`does not keep connect when its client has gone (${name})`, async (test) => {
      const client = await heldClient(test, await start(test), count, size);
      // Connect may see the end of stdin before the end of stdout.
      client.process.stdin.destroy();
      await new Promise((resolve) => setTimeout(resolve, 300));
      client.process.stdout.destroy();
      const begin = Date.now();
      await once(client.process, 'exit');
      assert.ok(Date.now() - begin < 10_000);
    });
  }
});
