// Sessions of official clients at a virtual server whose members lose their part of a session. The member's process
// dies or gives way to another session, or the gateway is restarted. The clients do not notice.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { Peer, streamable, transports } from './mcp_clients.mjs';
import { Stdgate, eventually, server } from './stdgate_process.mjs';
import { TcpProxy } from './tcp_proxy.mjs';

const cleanExit = { code: 0, signal: null, left: [] };
const small = ['node', new URL('soak_mcp_server.mjs', import.meta.url).pathname, '@DIR@'];
const everything = [server('mcp-server-everything'), 'stdio'];

const serve = (pool = '', more = []) => Stdgate.serve([
  'listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"', ...more,
  'backends:',
  `  small: { command: ${JSON.stringify(small)}, protocol: mcp${pool} }`,
  `  everything: { command: ${JSON.stringify(everything)}, isolation: session }`,
  'servers: { team: { default: true, members: [small, everything] } }', '',
].join('\n'));

async function startFor(test, ...how) {
  const gate = await serve(...how);
  test.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
  return gate;
}

const childrenOf = async (gate, backend) => {
  const { backends } = await (await fetch(`${gate.adminUrl}/debug/state`)).json();
  return backends.find(({ name }) => name === backend).children;
};
const echo = (peer, message) => peer.text('small_echo', { message });
// Notices that the member's gateway sends about a new process, under the member's name.
const restarted = (peer) => peer.told('message').filter(({ logger }) => logger === 'small/stdgate').length;

for (const transport of Object.keys(transports).filter((name) => !name.includes('connect'))) {
  describe(`parts of sessions at a virtual server, ${transport}`, { timeout: 120_000 }, () => {
    it('go on when their server has been killed, and the client is told', async (test) => {
      const gate = await startFor(test);
      const peer = await Peer.connect(transport, gate.url);
      assert.equal(await echo(peer, 'one'), 'one');
      assert.equal(await peer.text('everything_echo', { message: 'one' }), 'Echo: one');
      const others = await childrenOf(gate, 'everything');
      for (const { pid } of await childrenOf(gate, 'small')) process.kill(pid, 'SIGKILL');
      await eventually(() => /backend=small.*reason=child_ended/.test(gate.log), 'its end');
      assert.equal(await echo(peer, 'two'), 'two');
      assert.equal(restarted(peer), 1);
      assert.deepEqual((await childrenOf(gate, 'everything')).map(({ pid }) => pid), others.map(({ pid }) => pid));
      await peer.close();
    });

    it('take turns where the member has one place', async (test) => {
      const gate = await startFor(test, ', pool: { max: 1 }');
      const ada = await Peer.connect(transport, gate.url, 'ada');
      assert.equal(await echo(ada, 'ada 1'), 'ada 1');
      const bob = await Peer.connect(transport, gate.url, 'bob');
      assert.equal(await echo(bob, 'bob 1'), 'bob 1');
      assert.equal(await echo(ada, 'ada 2'), 'ada 2');
      assert.equal(await echo(bob, 'bob 2'), 'bob 2');
      assert.equal((await childrenOf(gate, 'small')).length, 1);
      await Promise.all([ada.close(), bob.close()]);
    });
  });
}

for (const transport of streamable) {
  it(`a session goes on in the next gateway, and asks its client there (${transport})`, { timeout: 120_000 }, async (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'stdgate-keys-'));
    const keys = join(folder, 'sessions.key');
    writeFileSync(keys, `${'42'.repeat(32)}\n`, { mode: 0o600 });
    test.after(() => rmSync(folder, { recursive: true }));
    const start = () => serve('', [`sessions: { key_file: ${JSON.stringify(keys)} }`]);
    let gate = await start();
    const proxy = await TcpProxy.to(gate.url);
    const ada = await Peer.connect(transport, proxy.url);
    assert.equal(await echo(ada, 'one'), 'one');
    assert.deepEqual(await gate.stop(), cleanExit);
    gate = await start();
    proxy.leadTo(gate.url);
    assert.equal(await echo(ada, 'two'), 'two');
    assert.equal(await ada.text('everything_echo', { message: 'two' }), 'Echo: two');
    gate.process.kill('SIGKILL');
    await gate.exited;
    const killed = gate;
    gate = await start();
    proxy.leadTo(gate.url);
    assert.equal(await echo(ada, 'three'), 'three');
    assert.deepEqual((await killed.stop()).left, []);
    await ada.text('everything_echo', { message: 'begin' });
    await ada.offered('everything_trigger-sampling-request');
    const text = await ada.text('everything_trigger-sampling-request', { prompt: 'still there?', maxTokens: 10 });
    assert.match(text, /ada: .*still there\?/s);
    await ada.close();
    proxy.close();
    assert.deepEqual(await gate.stop(), cleanExit);
  });
}
