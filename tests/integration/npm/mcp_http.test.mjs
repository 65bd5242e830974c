// Official MCP clients over HTTP (Streamable HTTP at /mcp, the older HTTP+SSE at /sse) and over /ws, in front of
// servers from npm. Each session has its own server.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Peer, streamable, transports } from './mcp_clients.mjs';
import { Stdgate, eventually, server } from './stdgate_process.mjs';
import { TcpProxy } from './tcp_proxy.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const everything = [server('mcp-server-everything'), 'stdio'];
// Starts a gateway that must exit cleanly after the test.
async function startFor(test, flags, ...command) {
  const gate = await Stdgate.startWith(flags, ...command);
  test.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
  return gate;
}
const resource = (number) => `demo://resource/dynamic/text/${number}`;

// Features that work on every transport.
for (const transport of Object.keys(transports)) {
  describe(`server-everything, ${transport}`, { timeout: 60_000 }, () => {
    let gate;
    let ada;
    before(async () => {
      gate = await Stdgate.startWith(['--grace', '1s'], ...everything);
      ada = await Peer.connect(transport, gate.url);
    });
    after(async () => {
      await ada.close();
      assert.deepEqual(await gate.stop(), cleanExit);
    });

    it('lists what there is, and calls tools', async () => {
      assert.match(ada.client.getServerVersion().name, /everything/);
      assert.notDeepEqual((await ada.client.listPrompts()).prompts, []);
      assert.notDeepEqual((await ada.client.listResources()).resources, []);
      await ada.offered('echo');
      assert.equal(await ada.text('echo', { message: 'caf\u00e9 \u{1F600}' }), 'Echo: caf\u00e9 \u{1F600}');
      const read = await ada.client.readResource({ uri: resource(1) });
      assert.equal(read.contents[0].uri, resource(1));
    });

    it('tells progress', async () => {
      assert.deepEqual(await ada.steps(0.4, 4), [1, 2, 3, 4]);
    });

    it('asks its client: sampling, elicitation, roots', async () => {
      await ada.offered('trigger-sampling-request');
      const sample = await ada.text('trigger-sampling-request', { prompt: 'who is there?' });
      assert.match(sample, /ada: .*who is there\?/);
      assert.match(await ada.text('trigger-elicitation-request'), /Name: ada/);
      assert.match(await ada.text('get-roots-list'), /file:\/\/\/ada/);
    });

    it('logs, at the level that was set', async () => {
      const { client } = ada;
      await client.setLoggingLevel('info');
      const before = ada.told('message').length;
      await client.subscribeResource({ uri: resource(2) });
      assert.match((await ada.hears('message', before)).data, /Subscribe/);
      await client.setLoggingLevel('error');
      const heard = ada.told('message').length;
      await client.unsubscribeResource({ uri: resource(2) });
      await client.setLoggingLevel('info');
      await client.subscribeResource({ uri: resource(3) });
      assert.match((await ada.hears('message', heard)).data, new RegExp(resource(3)));
    });

    it('updates those who subscribe', async () => {
      const { client } = ada;
      await client.subscribeResource({ uri: resource(4) });
      await ada.text('toggle-subscriber-updates');
      await eventually(() => ada.told('resources/updated').some(({ uri }) => uri === resource(4)), 'update');
      await ada.text('toggle-subscriber-updates');
      assert.ok(!ada.told('resources/updated').some(({ uri }) => uri === resource(5)));
      assert.deepEqual(ada.errors, []);
    });

    it('cancels a call, and goes on', async () => {
      const abort = new AbortController();
      const cancelled = ada.steps(3, 60, { signal: abort.signal });
      await ada.hears('progress', ada.told('progress').length);
      abort.abort('enough');
      await assert.rejects(cancelled, /enough/);
      assert.equal(await ada.text('echo', { message: 'on' }), 'Echo: on');
      assert.deepEqual(await ada.steps(0.3, 3), [1, 2, 3]);
    });
  });

  describe(`server-filesystem, ${transport}`, { timeout: 60_000 }, () => {
    it('carries large messages both ways', async (test) => {
      const gate = await startFor(test, [], server('mcp-server-filesystem'), '@DIR@');
      const ada = await Peer.connect(transport, gate.url);
      const line = 'caf\u00e9 \u{1F600} "\\ \u2028 end\n';
      const content = line.repeat(Math.ceil(2 ** 20 / Buffer.byteLength(line)) + 1000);
      writeFileSync(join(gate.folder, 'there'), content);
      assert.ok(await ada.text('read_text_file', { path: join(gate.folder, 'there') }) === content);
      const path = join(gate.folder, 'back');
      await ada.call('write_file', { path, content });
      assert.ok(readFileSync(path, 'utf8') === content);
      await ada.close();
    });
  });
}

describe('server-memory', { timeout: 60_000 }, () => {
  it('keeps what one session says for the next', async (test) => {
    const gate = await startFor(test, [], 'env', 'MEMORY_FILE_PATH=@DIR@/memory.jsonl',
      server('mcp-server-memory'));
    const ada = await Peer.connect('client 2 at /mcp', gate.url);
    await ada.call('create_entities', {
      entities: [{ name: 'gate', entityType: 'program', observations: ['has sessions'] }],
    });
    await ada.transport.terminateSession();
    const bob = await Peer.connect('sdk 1 at /mcp', gate.url, 'bob');
    assert.match(await bob.text('search_nodes', { query: 'gate' }), /has sessions/);
    await Promise.all([ada.close(), bob.close()]);
  });
});

// Posts a message to /mcp without an SDK. An `initialize` without a session opens one.
function post(gate, session, message) {
  return fetch(`${gate.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    signal: AbortSignal.timeout(20_000),
  });
}
const ping = { id: 'ping', method: 'ping' };
const initialize = {
  id: 'first',
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'by hand', version: '1' },
  },
};

describe('sessions at /mcp', { timeout: 80_000 }, () => {
  let gate;
  before(async () => {
    gate = await Stdgate.startWith(['--max', '32', '--grace', '1s'], ...everything);
  });
  after(async () => assert.deepEqual(await gate.stop(), cleanExit));

  it('are apart: 20 at once, with equal ids and tokens', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `peer${String(index).padStart(2, '0')}`);
    const peers = await Promise.all(names.map((name, index) =>
      Peer.connect(streamable[index % 2], gate.url, name)));
    assert.equal(new Set(peers.map(({ transport }) => transport.sessionId)).size, 20);
    await Promise.all(peers.map(async (peer) => {
      const { name } = peer;
      await peer.call('gzip-file-as-resource',
        { name, data: `data:text/plain,${name}`, outputType: 'resourceLink' });
      assert.deepEqual(await peer.steps(0.5, 5), [1, 2, 3, 4, 5]);
      await peer.offered('trigger-sampling-request');
      assert.match(await peer.text('trigger-sampling-request', { prompt: 'who?' }), new RegExp(`${name}: `));
      const listed = JSON.stringify(await peer.client.listResources());
      assert.ok(listed.includes(`session/${name}`), listed);
    }));
    for (const { name, received } of peers) {
      const said = new Set(JSON.stringify(received).match(/peer\d\d/g));
      assert.deepEqual([...said], [name]);
    }
    await Promise.all(peers.map(async (peer) => {
      await peer.transport.terminateSession();
      await peer.close();
    }));
    await eventually(() => gate.children().length === 0, 'the end of 20 servers');
  });

  for (const transport of streamable) {
    // Connects, and returns the peer and the process that serves it.
    async function connect() {
      const others = gate.children();
      const peer = await Peer.connect(transport, gate.url);
      // The first call wakes a sleeping server.
      assert.equal(await peer.text('echo', { message: 'up' }), 'Echo: up');
      const own = gate.children().filter((pid) => !others.includes(pid));
      assert.equal(own.length, 1);
      return { peer, pid: own[0], session: peer.transport.sessionId };
    }
    const gone = (pid) => eventually(() => !gate.children().includes(pid), `the end of ${pid}`);

    it(`end by DELETE, with their server (${transport})`, async () => {
      const { peer, pid, session } = await connect();
      assert.equal((await post(gate, session, ping)).status, 200);
      await peer.transport.terminateSession();
      assert.equal((await post(gate, session, ping)).status, 404);
      await gone(pid);
      await peer.close();
    });

    it(`go on when their server dies (${transport})`, async () => {
      const { peer, pid, session } = await connect();
      const call = peer.steps(30, 300);
      await peer.hears('progress');
      process.kill(pid, 'SIGKILL');
      await assert.rejects(call, (error) => error.code === -31502);
      assert.equal(await peer.text('echo', { message: 'on' }), 'Echo: on');
      assert.equal((await post(gate, session, ping)).status, 200);
      await peer.transport.terminateSession();
      await peer.close();
    });
  }

  it('resume what a lost connection has cut off', async (test) => {
    const upTo = (last) => Array.from({ length: last }, (_, index) => index + 1);
    await Promise.all(streamable.map(async (transport) => {
      const proxy = await TcpProxy.to(gate.url);
      test.after(() => proxy.close());
      const peer = await Peer.connect(transport, proxy.url);
      // This call ends before its client returns.
      const short = peer.steps(0.5, 10);
      await peer.hears('progress', 2);
      assert.equal(proxy.cut('trigger-long-running-operation'), 1);
      assert.deepEqual(await short, upTo(10));
      // This call continues meanwhile. The stream for messages outside of calls is cut off as well.
      const long = peer.steps(2, 20);
      await peer.hears('progress', 12);
      assert.ok(proxy.cut('') >= 2);
      assert.deepEqual(await long, upTo(20));
      const answers = peer.received.filter(({ result }) => /completed/.test(result?.content?.[0].text));
      assert.equal(answers.length, 2);
      await peer.client.setLoggingLevel('info');
      const heard = peer.told('message').length;
      await peer.client.subscribeResource({ uri: resource(1) });
      await peer.hears('message', heard);
      await peer.transport.terminateSession();
      await peer.close();
    }));
  });
});

describe('idle sessions at /mcp', { timeout: 60_000 }, () => {
  it('do without a server until they are used again, unless somebody listens', async (test) => {
    const gate = await startFor(test, ['--idle-timeout', '1s', '--grace', '1s'], ...everything);
    const peer = await Peer.connect('sdk 1 at /mcp', gate.url);
    const [listened] = gate.children();
    const opened = await post(gate, undefined, initialize);
    assert.equal(opened.status, 200);
    await opened.text();
    const session = opened.headers.get('mcp-session-id');
    assert.equal(gate.children().length, 2);
    await eventually(() => gate.children().length === 1, 'the end of the idle one');
    assert.deepEqual(gate.children(), [listened]);
    assert.equal((await post(gate, session, ping)).status, 200);
    assert.equal(await peer.text('echo', { message: 'here' }), 'Echo: here');
    await peer.close(); // leaves without DELETE
    await eventually(() => gate.children().length === 0, 'the end of both');
  });
});

describe('calls at /mcp that take too long', { timeout: 120_000 }, () => {
  it('are answered once, and not asked for again', async (test) => {
    // Much longer than the other calls take on a busy machine, and much shorter than one step of this call.
    const gate = await startFor(test, ['--timeout', '8s', '--grace', '1s'], ...everything);
    await Promise.all(streamable.map(async (transport) => {
      const proxy = await TcpProxy.to(gate.url);
      test.after(() => proxy.close());
      const peer = await Peer.connect(transport, proxy.url);
      await assert.rejects(peer.steps(300, 10), (error) => error.code === -31504);
      // The SDK does not accept an error on a stream as an answer. A second after the stream's end it asks for the
      // stream again, and would repeat that if it got an empty stream.
      await new Promise((resolve) => setTimeout(resolve, 3500));
      const gets = proxy.requests.filter((line) => line.startsWith('GET')).length;
      assert.ok(gets <= 2, `${transport}: ${gets} GETs`);
      assert.equal(await peer.text('echo', { message: 'on' }), 'Echo: on');
      await peer.transport.terminateSession();
      await peer.close();
    }));
  });
});
